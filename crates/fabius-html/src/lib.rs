//! A counterexample as one web page: lanes, source, values, and a script that steps through them. It needs no network,
//! and every text of a program is escaped by the template library.
//!
//! The page can be read and printed without its script; with it, it can be stepped through, filtered and searched.

mod steps;

use fabius_trace::{After, Bound, ErrorTrace, LevelStats, Points, SchedulerKind, TRACE_VERSION};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::Value;

/// What a page shows.
#[derive(Clone, Debug)]
pub struct Page<'a> {
    /// The answer, in a word or two.
    pub verdict: &'a str,
    /// What that means for the reader.
    pub tone: Tone,
    /// The answer in a sentence.
    pub headline: &'a str,
    /// More about it: names and values.
    pub facts: Vec<(String, String)>,
    /// The command line that runs the schedule again.
    pub command: Option<String>,
    /// What was explored at each value of the bound.
    pub levels: &'a [LevelStats],
    /// The failing execution.
    pub trace: Option<&'a ErrorTrace>,
    /// The files that its steps are in, as far as they are known.
    pub sources: &'a [Source],
}

/// How an answer is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Something breaks.
    Bug,
    /// Nothing can break.
    Good,
    /// Neither is known.
    Open,
}

/// The text of a file.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name, as the trace has it.
    pub file: String,
    /// What is in it.
    pub text: String,
}

/// What is said of a step in which no statement is: a thread of a real program begins, or a thread ends.
pub fn wordless(trace: &ErrorTrace, number: usize) -> &'static str {
    let step = &trace.steps[number];
    let is_first = !trace.steps[..number].iter().any(|s| s.lane == step.lane);
    if is_first && step.after != Some(After::Finished) { "(begins)" } else { "(ends)" }
}

/// The sources of a trace, by what `read` gives for the files that it names.
pub fn sources_of(trace: &ErrorTrace, read: impl Fn(&str) -> Option<String>) -> Vec<Source> {
    let mut names: Vec<&str> = vec![&trace.program.file];
    for action in trace.steps.iter().flat_map(|s| &s.actions) {
        if let Some(file) = action.file.as_deref().filter(|f| !names.contains(f)) {
            names.push(file);
        }
    }
    names.into_iter().filter_map(|file| Some(Source { file: file.into(), text: read(file)? })).collect()
}

/// Reads a saved trace, or the trace in the document that `--json` prints.
///
/// # Errors
/// Says what is wrong in a sentence, and whether it is the version of the format.
pub fn parse(text: &str) -> Result<ErrorTrace, ParseError> {
    let damaged = |e: serde_json::Error| ParseError::Damaged(e.to_string());
    let mut value: Value = serde_json::from_str(text).map_err(damaged)?;
    if value["verdict"].is_string() {
        value = value["trace"].take();
        if value.is_null() {
            return Err(ParseError::Damaged("it is an answer without a bug".into()));
        }
    }
    // The version first: other versions may have other fields.
    match value["version"].as_u64() {
        Some(version) if version != u64::from(TRACE_VERSION) => Err(ParseError::Version(version)),
        _ => serde_json::from_value(value).map_err(damaged),
    }
}

/// Why a text is not a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// It is none, for this reason.
    Damaged(String),
    /// It is one of another version of the format.
    Version(u64),
}

/// The page.
pub fn page(page: &Page<'_>) -> String {
    let title = format!("{}: {}", page.verdict, page.headline);
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                // Whatever slips through: nothing is fetched, nothing is sent.
                meta http-equiv="Content-Security-Policy"
                    content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";
                title { (title) " - Fabius" }
                style { (PreEscaped(include_str!("viewer.css"))) (PreEscaped(narrow(page))) }
            }
            body {
                (header(page))
                @match page.trace {
                    Some(trace) => {
                        (toolbar())
                        main { (steps::timeline(trace)) (source_pane(page, trace)) (state()) }
                        (help())
                        script id="trace" type="application/json" { (PreEscaped(embedded(trace))) }
                        script { (PreEscaped(include_str!("viewer.js"))) }
                    }
                    None => @if !page.levels.is_empty() { (levels(page.levels)) },
                }
            }
        }
    };
    markup.into_string()
}

/// Lanes get a column each where there is room for that, else a rail each and one column for the text.
fn narrow(page: &Page<'_>) -> String {
    let lanes = page.trace.map_or(1, |t| t.lanes.len()).max(1);
    let rails = "--lane: var(--rail);";
    let body = format!(
        "margin-left: calc(var(--g) + {lanes} * var(--rail) + 6px); width: calc(100% - var(--g) - {lanes} * var(--rail) - 12px);"
    );
    let rules = format!(
        ".steps>ol,.lanes,.geo{{{rails}}}.steps>ol{{background-size:calc({lanes} * var(--rail)) 100%}}.lanes{{flex-wrap:wrap;gap:0 16px}}.lanes span{{flex:none;width:auto!important}}.body{{border-left:0;{body}}}.body::before{{content:'';position:absolute;top:var(--top,0);bottom:0;left:calc(var(--x) + 1px);width:7px;background:var(--c)}}.marked{{--top:var(--row)}}.first .body::before{{border-radius:4px 4px 0 0}}.last .body::before{{border-radius:0 0 4px 4px}}.first.last .body::before{{border-radius:4px}}"
    );
    let limit = 5 + lanes * 15;
    format!(":root{{--n:{lanes}}}@container(max-width:{limit}rem){{{rules}}}")
}

fn header(page: &Page<'_>) -> Markup {
    let tone = match page.tone {
        Tone::Bug => "verdict bug",
        Tone::Good => "verdict good",
        Tone::Open => "verdict",
    };
    let facts = page.trace.map(facts_of).unwrap_or_default();
    html! {
        header {
            h1 { span class=(tone) { (page.verdict) } " " bdi { (page.headline) } }
            dl.facts {
                @for (name, value) in facts.iter().chain(&page.facts) {
                    div { dt { (name) } dd { bdi { (value) } } }
                }
            }
            @if let Some(command) = &page.command {
                p.command { code #command { (command) } button #copy type="button" { "copy" } }
            }
        }
    }
}

/// What a trace says about itself.
fn facts_of(trace: &ErrorTrace) -> Vec<(String, String)> {
    let mut facts = vec![("program".to_string(), trace.program.file.clone())];
    let steps = Bound::Depth.count(trace.steps.len() as u32);
    facts.push(("length".into(), steps));
    if !matches!(trace.bound, Bound::None | Bound::Depth) {
        facts.push(("cost".into(), trace.price()));
    }
    if trace.scheduler != SchedulerKind::Bag {
        facts.push(("scheduler".into(), trace.scheduler.words()));
    }
    if trace.points == Points::Sync {
        facts.push(("preempted".into(), "at synchronization only".into()));
    }
    facts.extend(trace.program.consts.iter().map(|(name, value)| (name.clone(), value.clone())));
    facts.extend(trace.program.instances.iter().map(|(name, n)| (name.clone(), format!("{n} copies"))));
    facts
}

fn toolbar() -> Markup {
    let button = |id: &str, label: &str, text: &str| {
        html! { button id=(id) type="button" aria-label=(label) title=(label) { (text) } }
    };
    html! {
        div.bar role="toolbar" aria-label="steps" {
            (button("first", "first step", "|◀")) (button("back", "step back", "◁")) (button("play", "play", "▶"))
            (button("next", "next step", "▷")) (button("end", "last step", "▶|"))
            span #at .at {}
            span.grow {}
            label { "lane" select #lane { option value="" { "all" } } }
            label { "changes" select #variable { option value="" { "anything" } } }
            label { "search" input #search type="search" placeholder="/"; }
            span #shown role="status" {}
            button #keys type="button" { "?" span.sr { " keys" } }
        }
        p #said .sr aria-live="polite" {}
    }
}

fn source_pane(page: &Page<'_>, trace: &ErrorTrace) -> Markup {
    let mut run = std::collections::BTreeSet::new();
    for action in trace.steps.iter().flat_map(|s| &s.actions) {
        run.insert((action.file.as_deref().unwrap_or(&trace.program.file), action.at.line));
    }
    html! {
        div.source tabindex="0" role="region" aria-label="source" {
            @if page.sources.is_empty() {
                h2 { "Source" }
                p.none { "The source was not there when this page was made." }
            }
            @for (number, source) in page.sources.iter().enumerate() {
                section data-file=(source.file) {
                    h3 { bdi { (source.file) } }
                    pre {
                        @for (i, line) in source.text.lines().enumerate() {
                            @let executed = run.contains(&(source.file.as_str(), i as u32 + 1));
                            div id={ "L" (number) "-" (i + 1) } .sl .run[executed] { i { (i + 1) } code { (line) } }
                        }
                    }
                }
            }
        }
    }
}

fn state() -> Markup {
    html! {
        div.state tabindex="0" role="region" aria-label="values" {
            h2 { "After this step" }
            div #values {}
            h3 #stack-title { "Stack" }
            ol #stack {}
        }
    }
}

fn help() -> Markup {
    let keys = [
        ("↓ ↑ or j k", "next, previous step"),
        ("] [ or Page", "next, previous run of a lane"),
        ("Home End", "first, last step"),
        ("space or p", "play, pause"),
        ("/ n N", "search, next and previous found"),
        ("Esc", "show everything again"),
    ];
    html! {
        dialog #help aria-label="keys" {
            h2 { "Keys" }
            dl { @for (key, what) in keys { dt { kbd { (key) } } dd { (what) } } }
            p { "The address of a step is its number: " code { "#step-17" } "." }
            form method="dialog" { button { "close" } }
        }
    }
}

fn levels(levels: &[LevelStats]) -> Markup {
    html! {
        table.levels {
            thead { tr { @for name in ["bound", "executions", "states", "transitions"] { th scope="col" { (name) } } } }
            tbody {
                @for level in levels {
                    tr { td { (level.bound) } td { (level.executions) } td { (level.states) } td { (level.transitions) } }
                }
            }
        }
    }
}

/// JSON that cannot end the element that it stands in.
fn embedded(trace: &ErrorTrace) -> String {
    serde_json::to_string(trace).expect("traces are plain data").replace('<', "\\u003c")
}
