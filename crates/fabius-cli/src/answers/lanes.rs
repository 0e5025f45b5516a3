//! A trace in lanes: one column for each thread or buffer, time downwards, source lines beside the steps.

use crate::paint::{Ink, Paint, Style, pad, printable, width, wrap};
use fabius_trace::{Action, ErrorTrace, Mark};

/// Narrowest useful column.
const NARROWEST: usize = 26;

/// The steps of a trace.
pub fn draw(trace: &ErrorTrace, style: Style) -> String {
    let Style { paint, width: columns } = style;
    let used: Vec<usize> =
        (0..trace.lanes.len()).filter(|l| trace.steps.iter().any(|s| s.lane as usize == *l)).collect();
    let gutter = gutter_width(trace);
    let room = columns.saturating_sub(gutter + 2);
    let lane_width = (room / used.len().max(1)).min(48);
    let mut out = String::new();
    let marks = trace.marks();
    let wide = lane_width >= NARROWEST;
    if wide {
        let names: String = used.iter().map(|l| pad(&trace.lanes[*l].name, lane_width)).collect();
        out += &format!("{}  {}\n", " ".repeat(gutter), paint.ink(Ink::Strong, names.trim_end()));
    }
    for (number, step) in trace.steps.iter().enumerate() {
        if trace.cycle == Some(number as u32) {
            out += &rule("from here on everything repeats", gutter, paint);
        }
        if let Some(Mark::Message { from }) = step.mark {
            let sender = used.iter().position(|l| *l == from as usize).unwrap_or(0);
            let receiver = used.iter().position(|l| *l == step.lane as usize).unwrap_or(0);
            let names = (&trace.lanes[from as usize].name, &trace.lanes[step.lane as usize].name);
            let label = step.actions.first().map_or("", |a| a.text.as_str());
            let text = if wide {
                arrow(label, sender * lane_width, receiver * lane_width)
            } else {
                format!("  {label}: {} -> {}", names.0, names.1)
            };
            out += &format!("{}  {}\n", " ".repeat(gutter), paint.ink(Ink::Mark, &text));
            continue;
        }
        if let Some(text) = &marks[number] {
            out += &rule(text, gutter, paint);
        }
        let column = used.iter().position(|l| *l == step.lane as usize).unwrap_or(0);
        let name = trace.lanes.get(step.lane as usize).map_or("", |l| l.name.as_str());
        let head = match (&step.task_name, wide) {
            (Some(task), true) => Some(format!("[{task}]")),
            (Some(task), false) => Some(format!("{name} [{task}]")),
            (None, true) => None,
            (None, false) => Some(name.to_string()),
        };
        let (indent, room) =
            if wide { (column * lane_width, lane_width - 1) } else { (2, room.saturating_sub(2).max(8)) };
        if let Some(head) = head.filter(|_| number == 0 || !wide || changes_task(trace, number)) {
            let indent = if wide { indent } else { 0 };
            out += &format!("{}  {}{}\n", " ".repeat(gutter), " ".repeat(indent), paint.ink(Ink::Strong, &head));
        }
        for action in &step.actions {
            out += &lines_of(action, gutter, indent, room, paint);
        }
        if step.actions.is_empty() {
            out += &format!("{}  {}{}\n", " ".repeat(gutter), " ".repeat(indent), paint.ink(Ink::Faint, "(ends)"));
        }
    }
    out
}

/// A message from one column to another.
fn arrow(label: &str, from: usize, to: usize) -> String {
    let label = printable(label);
    if from < to {
        let line = (to - from).saturating_sub(width(&label) + 3).max(1);
        return format!("{}{label} {}>", " ".repeat(from), "-".repeat(line));
    }
    let line = (from - to).saturating_sub(2);
    format!("{}<{} {label}", " ".repeat(to), "-".repeat(line))
}

fn changes_task(trace: &ErrorTrace, number: usize) -> bool {
    let (before, now) = (&trace.steps[number - 1], &trace.steps[number]);
    before.lane != now.lane || before.task_name != now.task_name
}

fn gutter_width(trace: &ErrorTrace) -> usize {
    let places = trace.steps.iter().flat_map(|s| &s.actions).map(|a| a.at.line.to_string().len());
    places.max().unwrap_or(1) + 2
}

fn lines_of(action: &Action, gutter: usize, indent: usize, room: usize, paint: Paint) -> String {
    let place = format!("{:>width$}", action.at.line, width = gutter);
    let mut out = String::new();
    for (i, line) in wrap(&printable(&action.text), room).iter().enumerate() {
        let place = if i == 0 { paint.ink(Ink::Faint, &place) } else { " ".repeat(width(&place)) };
        out += &format!("{place}  {}{line}\n", " ".repeat(indent));
    }
    let changes = action.changes.iter().map(|c| format!("{}: {} -> {}", c.variable, c.old, c.new));
    for text in changes.chain(action.note.clone()) {
        for line in wrap(&printable(&text), room.saturating_sub(4).max(4)) {
            let painted = paint.ink(Ink::Value, &line);
            out += &format!("{}  {}    {painted}\n", " ".repeat(gutter), " ".repeat(indent));
        }
    }
    out
}

fn rule(text: &str, gutter: usize, paint: Paint) -> String {
    format!("{}  {}\n", " ".repeat(gutter), paint.ink(Ink::Mark, &format!("-- {text} --")))
}
