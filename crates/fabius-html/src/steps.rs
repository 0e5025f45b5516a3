//! The lanes of a trace. Every row is equally high, so that the script knows where each step is without asking.

use crate::wordless;
use fabius_trace::{Action, After, ErrorTrace, LaneKind, Link, LinkKind, Mark, Step};
use maud::{Markup, html};
use std::collections::HashMap;

/// Steps of one list; the browser lays out only lists in sight.
const CHUNK: usize = 100;

/// All steps.
pub fn timeline(trace: &ErrorTrace) -> Markup {
    let marks = trace.marks();
    let mut links: HashMap<u32, Vec<&Link>> = HashMap::new();
    for link in &trace.links {
        links.entry(link.to).or_default().push(link);
    }
    let views: Vec<View<'_>> = (0..trace.steps.len())
        .map(|n| View {
            trace,
            number: n,
            mark: marks[n].as_deref(),
            links: links.get(&(n as u32)).map(Vec::as_slice).unwrap_or_default(),
        })
        .collect();
    html! {
        div.scroll {
            div.time {
                div.lanes {
                    @for (l, lane) in trace.lanes.iter().enumerate() {
                        span class={ "c" (l % 8) } style="width:var(--lane)" title=(lane.name) {
                            bdi { (lane.name) } " " small { (kind(lane.kind)) }
                        }
                    }
                }
                @for l in 0..trace.lanes.len() { i.geo style={ "--l:" (l) } {} }
                div.steps {
                    svg #arrows .arrows aria-hidden="true" {
                        defs {
                            marker #head viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse" {
                                path d="M0,0L8,4L0,8z" style="fill:var(--ink);stroke:none;opacity:1" {}
                            }
                            marker #race-head viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto-start-reverse" {
                                path d="M0,0L8,4L0,8z" style="fill:var(--bad);stroke:none;opacity:1" {}
                            }
                        }
                    }
                    @for (chunk, views) in views.chunks(CHUNK).enumerate() {
                        ol start=(chunk * CHUNK + 1) style={ "--rows:" (views.iter().map(View::rows).sum::<usize>()) } {
                            @for view in views { (view.item()) }
                        }
                    }
                    p.end { bdi { (trace.message) } }
                }
            }
        }
    }
}

fn kind(kind: LaneKind) -> &'static str {
    match kind {
        LaneKind::Thread => "thread",
        LaneKind::Buffer => "buffer",
        LaneKind::Node => "node",
    }
}

/// A step and what belongs to it.
struct View<'a> {
    trace: &'a ErrorTrace,
    number: usize,
    mark: Option<&'a str>,
    links: &'a [&'a Link],
}

impl View<'_> {
    fn step(&self) -> &Step {
        &self.trace.steps[self.number]
    }

    /// Whether this step and the one before it belong to one run.
    fn goes_on(&self, number: usize) -> bool {
        let steps = &self.trace.steps;
        number > 0
            && number < steps.len()
            && steps[number].lane == steps[number - 1].lane
            && steps[number].task_name == steps[number - 1].task_name
    }

    /// What the step did; the arrival of a message is told by its arrow.
    fn actions(&self) -> &[Action] {
        let arrives = self.links.iter().any(|l| l.kind == LinkKind::Message);
        if arrives && matches!(self.step().mark, Some(Mark::Message { .. })) { &[] } else { &self.step().actions }
    }

    fn repeats(&self) -> bool {
        self.trace.cycle == Some(self.number as u32)
    }

    /// How many rows [`View::item`] makes.
    fn rows(&self) -> usize {
        let step = self.step();
        let of = |a: &Action| 1 + usize::from(!a.changes.is_empty()) + usize::from(a.note.is_some());
        let said = self.actions().iter().map(of).sum::<usize>().max(usize::from(step.actions.is_empty()));
        let head = usize::from(!self.goes_on(self.number));
        let links = self.links.iter().filter(|l| l.kind != LinkKind::HappensBefore).count();
        let marks = usize::from(self.mark.is_some()) + usize::from(self.repeats());
        marks + head + links + said + usize::from(step.after.is_some())
    }

    fn item(&self) -> Markup {
        let step = self.step();
        let (number, lane) = (self.number + 1, step.lane as usize);
        let first = !self.goes_on(self.number);
        let last = !self.goes_on(self.number + 1);
        let name = self.trace.lanes.get(lane).map_or("", |l| l.name.as_str());
        let free = matches!(step.mark, Some(Mark::Switch | Mark::Interrupt));
        html! {
            li id={ "step-" (number) } .{ "c" (lane % 8) } .first[first] .last[last] .marked[self.mark.is_some()]
                style={ "--l:" (lane) } data-r=(self.rows()) {
                @if self.repeats() { div.mark.cycle { "from here on everything repeats" } }
                @if let Some(mark) = self.mark { div.mark .free[free] { (mark) } }
                a.no href={ "#step-" (number) } tabindex="-1" { span.sr { "step " } (number) }
                div.body {
                    @if first {
                        div.r.who {
                            bdi { (name) }
                            @if let Some(task) = &step.task_name { " [" bdi { (task) } "]" }
                            @if let Some(level) = &step.level { " " small { "at level " bdi { (level) } } }
                        }
                    } @else {
                        span.sr { (name) }
                    }
                    @for link in self.links.iter().filter(|l| l.kind != LinkKind::HappensBefore) { (said(link)) }
                    @for action in self.actions() { (act(action)) }
                    @if step.actions.is_empty() { div.r.note { (wordless(self.trace, self.number)) } }
                    @match step.after {
                        Some(After::Waits) => div.r.then { "waits" },
                        Some(After::Finished) => div.r.then { "finished" },
                        None => {},
                    }
                }
            }
        }
    }
}

/// An arrow in words.
fn said(link: &Link) -> Markup {
    let what = match link.kind {
        LinkKind::Spawn => "started by",
        LinkKind::Post => "posted by",
        LinkKind::Join => "joins what ended in",
        LinkKind::Message => "receives from",
        LinkKind::HappensBefore => "after",
        LinkKind::Finds => "finds the older store of",
        LinkKind::Race => "races with",
    };
    html! {
        div.r.links {
            (what) " " a href={ "#step-" (link.from + 1) } { "step " (link.from + 1) }
            @if let Some(label) = &link.label { ": " code { (label) } }
        }
    }
}

fn act(action: &Action) -> Markup {
    html! {
        div.r title=(action.text) { span.ln { (action.at.line) } code { (action.text) } }
        @if !action.changes.is_empty() {
            div.r.chg {
                @for (i, change) in action.changes.iter().enumerate() {
                    @if i > 0 { ", " }
                    code { (change.variable) " " del { (change.old) } " → " ins { (change.new) } }
                }
            }
        }
        @if let Some(note) = &action.note { div.r.note { bdi { (note) } } }
    }
}
