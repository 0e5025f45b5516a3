//! A trace in lanes: one column for each thread or buffer, time downwards, source lines beside the steps.

use crate::paint::{Ink, Paint, Style, clip, pad, printable, width, wrap};
use fabius_html::wordless;
use fabius_trace::{Action, ErrorTrace, Mark, Stretch, stretches};

/// Narrowest useful column.
const NARROWEST: usize = 26;

/// What is repeated more often than this is shown twice: as it is the first time, and as it is the last time.
const OFTEN: usize = 8;

/// The steps of a trace.
pub fn draw(trace: &ErrorTrace, style: Style) -> String {
    let Style { paint, width: columns } = style;
    let columns_of = columns_of(trace);
    let used: Vec<usize> = (0..trace.lanes.len()).filter(|l| columns_of[*l].is_some()).collect();
    let gutter = gutter_width(trace);
    let room = columns.saturating_sub(gutter + 2);
    let lane_width = (room / used.len().max(1)).min(48);
    let wide = lane_width >= NARROWEST;
    let drawing = Drawing { trace, columns_of, marks: trace.marks(), gutter, room, lane_width, wide, paint };
    let mut out = String::new();
    if wide {
        let names: String =
            used.iter().map(|l| pad(&clip(&trace.lanes[*l].name, lane_width - 1), lane_width)).collect();
        out += &format!("{}  {}\n", " ".repeat(gutter), paint.ink(Ink::Strong, names.trim_end()));
    }
    let rows = rows_of(trace);
    for Stretch { start, length, times } in stretches(&rows, OFTEN, |a, b| drawing.is_repeated(*a, *b)) {
        let draw = |out: &mut String, from: usize| rows[from..from + length].iter().for_each(|r| drawing.row(*r, out));
        draw(&mut out, start);
        if times > 1 {
            let of = if length == 1 { String::new() } else { format!("these {length} lines ") };
            out += &drawing.note(rows[start], &format!(".. {of}{} times more ..", times - 2));
            draw(&mut out, start + length * (times - 1));
        }
    }
    out
}

/// A row of the drawing: a statement of a step, or a step without any.
#[derive(Clone, Copy)]
struct Row<'a> {
    step: usize,
    action: Option<&'a Action>,
    /// Whether it is the first one of its step.
    is_first: bool,
}

fn rows_of(trace: &ErrorTrace) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for (number, step) in trace.steps.iter().enumerate() {
        let is_message = matches!(step.mark, Some(Mark::Message { .. }));
        if step.actions.is_empty() || is_message {
            rows.push(Row { step: number, action: None, is_first: true });
            continue;
        }
        let row = |(i, action)| Row { step: number, action: Some(action), is_first: i == 0 };
        rows.extend(step.actions.iter().enumerate().map(row));
    }
    rows
}

struct Drawing<'a> {
    trace: &'a ErrorTrace,
    columns_of: Vec<Option<usize>>,
    marks: Vec<Option<String>>,
    gutter: usize,
    room: usize,
    lane_width: usize,
    wide: bool,
    paint: Paint,
}

impl Drawing<'_> {
    fn column_of(&self, lane: u32) -> usize {
        self.columns_of.get(lane as usize).copied().flatten().unwrap_or(0)
    }

    /// Where the text of a lane begins, and how wide it may be.
    fn text_of(&self, lane: u32) -> (usize, usize) {
        if self.wide {
            return (self.column_of(lane) * self.lane_width, self.lane_width - 1);
        }
        (2, self.room.saturating_sub(2).max(8))
    }

    /// Whether one row says what another one has said, but for values.
    fn is_repeated(&self, row: Row<'_>, other: Row<'_>) -> bool {
        let said_once = |row: Row<'_>| {
            let mark = self.trace.cycle == Some(row.step as u32) || self.marks[row.step].is_some();
            row.is_first && (mark || matches!(self.trace.steps[row.step].mark, Some(Mark::Message { .. })))
        };
        let whose = |row: Row<'_>| (self.trace.steps[row.step].lane, &self.trace.steps[row.step].task_name);
        let (Some(action), Some(again)) = (row.action, other.action) else { return false };
        (action.at, &action.file, &action.text) == (again.at, &again.file, &again.text)
            && whose(row) == whose(other)
            && !said_once(row)
            && !said_once(other)
    }

    fn row(&self, row: Row<'_>, out: &mut String) {
        let Drawing { trace, gutter, room, paint, .. } = *self;
        let (number, step) = (row.step, &trace.steps[row.step]);
        if row.is_first && trace.cycle == Some(number as u32) {
            *out += &rule("from here on everything repeats", gutter, room, paint);
        }
        if let Some(Mark::Message { from }) = step.mark {
            let label = step.actions.first().map_or("", |a| a.text.as_str());
            return *out += &self.message(label, from, step.lane);
        }
        if row.is_first {
            *out += &self.head(number);
        }
        let (indent, room) = self.text_of(step.lane);
        *out += &match row.action {
            Some(action) => lines_of(action, gutter, indent, room, paint),
            None => self.note(row, wordless(trace, number)),
        };
    }

    /// A line of our own words below a row.
    fn note(&self, row: Row<'_>, text: &str) -> String {
        let (indent, _) = self.text_of(self.trace.steps[row.step].lane);
        format!("{}  {}{}\n", " ".repeat(self.gutter), " ".repeat(indent), self.paint.ink(Ink::Faint, text))
    }

    fn message(&self, label: &str, from: u32, to: u32) -> String {
        let names = (&self.trace.lanes[from as usize].name, &self.trace.lanes[to as usize].name);
        let lines = if self.wide {
            let (sender, receiver) = (self.column_of(from), self.column_of(to));
            vec![clip(&arrow(label, sender * self.lane_width, receiver * self.lane_width), self.room)]
        } else {
            wrap(&format!("{label}: {} -> {}", names.0, names.1), self.room)
        };
        let drawn = |line: &String| format!("{}  {}\n", " ".repeat(self.gutter), self.paint.ink(Ink::Mark, line));
        lines.iter().map(drawn).collect()
    }

    /// What stands in front of a step: why it costs something, and whose it is where that is not the column alone.
    fn head(&self, number: usize) -> String {
        let Drawing { trace, gutter, paint, wide, .. } = *self;
        let step = &trace.steps[number];
        let mut out = self.marks[number].as_ref().map_or(String::new(), |text| rule(text, gutter, self.room, paint));
        let name = trace.lanes.get(step.lane as usize).map_or("", |l| l.name.as_str());
        let head = match (&step.task_name, wide) {
            (Some(task), true) => Some(format!("[{task}]")),
            (Some(task), false) => Some(format!("{name} [{task}]")),
            (None, true) => None,
            (None, false) => Some(name.to_string()),
        };
        if let Some(head) = head.filter(|_| number == 0 || !wide || changes_task(trace, number)) {
            let (indent, room) = self.text_of(step.lane);
            let indent = if wide { indent } else { 0 };
            out += &format!(
                "{}  {}{}\n",
                " ".repeat(gutter),
                " ".repeat(indent),
                paint.ink(Ink::Strong, &clip(&head, room))
            );
        }
        out
    }
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
    fn what_a_loop_repeats_is_shown_twice() {
        let source = "var x: int = 0;\nproc count() {\nvar i: int = 0;\nwhile i < 1000 { i = i + 1; }\nx = i;\n}\n\
            process one[1] { count(); }\nprocess two[1] { await x == 1000; count(); assert x != 1000; }\n";
        let text = draw(&of_program(source, &Plan::default()), Style { paint: Paint::Plain, width: 80 });
        for said in ["i: 0 -> 1\n", ".. these 2 lines 998 times more ..", "i: 999 -> 1000"] {
            assert_eq!(text.matches(said).count(), 1, "{said}\n{text}");
        }
        assert!(text.lines().count() < 40, "{text}");
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
