//! A trace in lanes: one column for each thread or buffer, time downwards, source lines beside the steps.

use crate::paint::{Ink, Paint, Style, clip, pad, printable, width, wrap};
use fabius_html::wordless;
use fabius_trace::{Action, ErrorTrace, Mark};

/// Narrowest useful column.
const NARROWEST: usize = 26;

/// The steps of a trace.
pub fn draw(trace: &ErrorTrace, style: Style) -> String {
    let Style { paint, width: columns } = style;
    let columns_of = columns_of(trace);
    let column_of = |lane: u32| columns_of.get(lane as usize).copied().flatten().unwrap_or(0);
    let used: Vec<usize> = (0..trace.lanes.len()).filter(|l| columns_of[*l].is_some()).collect();
    let gutter = gutter_width(trace);
    let room = columns.saturating_sub(gutter + 2);
    let lane_width = (room / used.len().max(1)).min(48);
    let mut out = String::new();
    let marks = trace.marks();
    let wide = lane_width >= NARROWEST;
    if wide {
        let names: String =
            used.iter().map(|l| pad(&clip(&trace.lanes[*l].name, lane_width - 1), lane_width)).collect();
        out += &format!("{}  {}\n", " ".repeat(gutter), paint.ink(Ink::Strong, names.trim_end()));
    }
    for (number, step) in trace.steps.iter().enumerate() {
        if trace.cycle == Some(number as u32) {
            out += &rule("from here on everything repeats", gutter, room, paint);
        }
        if let Some(Mark::Message { from }) = step.mark {
            let (sender, receiver) = (column_of(from), column_of(step.lane));
            let names = (&trace.lanes[from as usize].name, &trace.lanes[step.lane as usize].name);
            let label = step.actions.first().map_or("", |a| a.text.as_str());
            let lines = if wide {
                vec![clip(&arrow(label, sender * lane_width, receiver * lane_width), room)]
            } else {
                wrap(&format!("{label}: {} -> {}", names.0, names.1), room)
            };
            for line in lines {
                out += &format!("{}  {}\n", " ".repeat(gutter), paint.ink(Ink::Mark, &line));
            }
            continue;
        }
        if let Some(text) = &marks[number] {
            out += &rule(text, gutter, room, paint);
        }
        let column = column_of(step.lane);
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
            let head = clip(&head, room);
            out += &format!("{}  {}{}\n", " ".repeat(gutter), " ".repeat(indent), paint.ink(Ink::Strong, &head));
        }
        for action in &step.actions {
            out += &lines_of(action, gutter, indent, room, paint);
        }
        if step.actions.is_empty() {
            let word = paint.ink(Ink::Faint, wordless(trace, number));
            out += &format!("{}  {}{word}\n", " ".repeat(gutter), " ".repeat(indent));
        }
    }
    out
}

/// The column of each lane that makes a step.
fn columns_of(trace: &ErrorTrace) -> Vec<Option<usize>> {
    let mut columns = vec![None; trace.lanes.len()];
    for step in &trace.steps {
        if let Some(column) = columns.get_mut(step.lane as usize) {
            *column = Some(0);
        }
    }
    for (number, column) in columns.iter_mut().flatten().enumerate() {
        *column = number;
    }
    columns
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

fn rule(text: &str, gutter: usize, room: usize, paint: Paint) -> String {
    let lines = wrap(&format!("-- {text} --"), room);
    lines.iter().map(|line| format!("{}  {}\n", " ".repeat(gutter), paint.ink(Ink::Mark, line))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabius_lang::Options;
    use fabius_trace::Verdict;
    use fabius_verify::Plan;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    fn of_program(source: &str, plan: &Plan) -> ErrorTrace {
        let program = fabius_lang::compile(source, &Options::default()).expect("a program");
        let id = fabius_verify::program_id("m.fab", source, &[], &[]);
        let found = fabius_verify::check(&program, &id, plan, &AtomicBool::new(false), &|_| {}).expect("an answer");
        let Verdict::Bug { trace } = found.verdict else { panic!("a bug") };
        *trace
    }

    fn of_messages(source: &str) -> ErrorTrace {
        let run = fabius_messages::parse(source).expect("a run");
        let id = fabius_verify::program_id("m.ctp", source, &[], &[]);
        let stop = Arc::new(AtomicBool::new(false));
        let found = fabius_messages::decide(&run, &id, &fabius_messages::Plan::default(), &stop).expect("an answer");
        let Verdict::Bug { trace } = found.verdict else { panic!("a bug") };
        *trace
    }

    #[test]
    fn every_line_fits_however_narrow_the_terminal_is() {
        let long = "var the_number_of_all_things_together: 0..9 = 0;\n\
            proc a_task_with_a_name_that_is_longer_than_any_lane_of_a_narrow_terminal() {\n\
            the_number_of_all_things_together = the_number_of_all_things_together + 1;\n\
            assert the_number_of_all_things_together != 2;\n}\n\
            process a_thread_with_a_name_that_is_longer_than_any_lane_of_a_narrow_terminal[2] {\n\
            a_task_with_a_name_that_is_longer_than_any_lane_of_a_narrow_terminal();\n}\n";
        let example = |name: &str| {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/").to_string() + name;
            std::fs::read_to_string(path).expect("the example is there")
        };
        let traces = [
            of_program(long, &Plan::default()),
            of_program(&example("bluetooth.fab"), &Plan::default()),
            of_program(&example("fig9.fab"), &Plan::default()),
            of_messages(&example("mcapi.ctp")),
        ];
        for trace in &traces {
            for columns in 24..140 {
                let text = draw(trace, Style { paint: Paint::Plain, width: columns });
                let wide = text.lines().find(|line| width(line) > columns);
                assert_eq!(wide, None, "{columns}\n{text}");
            }
        }
    }
}
