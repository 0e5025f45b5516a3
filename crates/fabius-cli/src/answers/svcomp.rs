//! Answers in the words of SV-COMP: the verdict, and witnesses in YAML: of violations (format 2.0; 2.2 where there are threads) and
//! of correctness (2.0).

use super::natively::{self, no_binary};
use crate::args::common::{ProgramArgs, SvcompArgs};
use crate::c;
use crate::failure::{Failure, input};
use crate::files;
use crate::program::Loaded;
use crate::task;
use fabius_c::Property;
use fabius_trace::{BugKind, ErrorTrace, Span, Step, Verdict};
use fabius_verify::Report;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Refuses what cannot be given of this program, before anything runs.
pub fn refuse_what_cannot_be_given(file: &Path, program: &ProgramArgs, args: &SvcompArgs) -> Result<(), Failure> {
    // A task definition names a C program and its property.
    if task::is_task(file) {
        return Ok(());
    }
    if args.natively && !c::is_c(file) {
        return Err(no_binary(file));
    }
    match program.property {
        None if args.witness.is_some() || args.svcomp => Err(no_property()),
        _ => Ok(()),
    }
}

fn no_property() -> Failure {
    input("no property of a C program is asked about").help("name one: `--property unreach-call`")
}

/// Writes and prints what the options ask for.
pub fn give(report: &Report, loaded: &Loaded, args: &SvcompArgs) -> Result<(), Failure> {
    let verdict = &report.verdict;
    if args.natively {
        natively::give(verdict, loaded)?;
    }
    if args.witness.is_none() && !args.svcomp {
        return Ok(());
    }
    let Some(property) = c::property(&loaded.id) else {
        return Err(no_property());
    };
    let word = match verdict {
        // What was left out, or is assumed, may break it.
        Verdict::Verified if loaded.assumed.is_some() || !report.limits.is_empty() => "unknown",
        _ => word(verdict, property),
    };
    if let Some(path) = args.witness.as_ref().filter(|_| word != "unknown") {
        let text = match verdict {
            Verdict::Bug { trace } => violation(trace, loaded, property)?,
            _ => correctness(loaded, property)?,
        };
        files::write(path, &text)?;
    }
    if args.svcomp {
        files::print(&format!("{word}\n"))?;
    }
    Ok(())
}

/// The verdict in the word of SV-COMP.
fn word(verdict: &Verdict, property: Property) -> &'static str {
    let trace = match verdict {
        Verdict::Verified => return "true",
        Verdict::NoBugWithinBounds { .. } | Verdict::Unknown { .. } => return "unknown",
        Verdict::Bug { trace } => trace,
    };
    match (property, trace.kind) {
        (Property::UnreachCall, BugKind::Assertion) => "false(unreach-call)",
        (Property::NoDataRace, BugKind::DataRace) => "false(no-data-race)",
        (Property::NoOverflow, BugKind::RangeOverflow) => "false(no-overflow)",
        (Property::ValidMemcleanup, BugKind::Leak) => "false(valid-memcleanup)",
        (Property::ValidMemsafety, BugKind::Leak) => "false(valid-memtrack)",
        (Property::ValidMemsafety, BugKind::Memory)
            if fabius_c::WRONG_FREES.iter().any(|w| trace.message.contains(w)) =>
        {
            "false(valid-free)"
        }
        (Property::ValidMemsafety, BugKind::Memory | BugKind::NullDereference | BugKind::IndexOutOfBounds) => {
            "false(valid-deref)"
        }
        // Something else is wrong that nobody asked about.
        _ => "unknown",
    }
}

/// A place where a thread is on its way to the bug.
struct Waypoint {
    thread: u32,
    line: u32,
    /// Of a statement none: its line says which one.
    column: Option<u32>,
    what: What,
}

/// What a waypoint says.
enum What {
    /// The thread takes a step here.
    Step,
    /// A call here returns this value.
    Returns(String),
    Target,
}

/// The correctness witness: a set of invariants, and what knows that there is no bug knows none of the program's text. The set is
/// empty: it holds.
fn correctness(loaded: &Loaded, property: Property) -> Result<String, Failure> {
    let text = files::read(Path::new(&loaded.id.file))?;
    let seed = format!("{} correct", loaded.id.hash);
    Ok(format!(
        "{}  content: []\n",
        head(&Head { entry: "invariant_set", version: "2.0", seed, text: &text }, loaded, property)
    ))
}

/// The violation witness: a waypoint for each step, one for each value that was chosen in it, and the target.
fn violation(trace: &ErrorTrace, loaded: &Loaded, property: Property) -> Result<String, Failure> {
    let file = &loaded.id.file;
    let text = files::read(Path::new(file))?;
    let threaded = trace.steps.iter().any(|s| s.lane > 0);
    let is_here = |span: Span| is_in(span, &text);
    let mut way: Vec<Waypoint> = Vec::new();
    let mut seen = 0;
    for (n, step) in trace.steps.iter().enumerate() {
        seen = seen.max(step.lane);
        let here = step.actions.iter().map(|action| action.span).find(|span| is_here(*span));
        let here = here.or_else(|| last_of(step.lane, &trace.steps[..n], &text));
        let line = here.map_or(1, |span| span.line_col(&loaded.source).line);
        way.push(Waypoint { thread: step.lane, line, column: None, what: What::Step });
        let root = step.actions.first().and_then(|a| a.stack.first());
        for action in step.actions.iter().filter(|action| is_here(action.span)) {
            let Some(value) = c::chosen(action) else { continue };
            // A thread that is started runs to its first access in the step of who starts it.
            let thread = if action.stack.first() == root { step.lane } else { seen + 1 };
            let place = c::end_of(action.span).line_col(&loaded.source);
            way.push(Waypoint {
                thread,
                line: place.line,
                column: Some(place.column),
                what: What::Returns(value.value()),
            });
        }
    }
    let thread = trace.steps.last().map_or(0, |s| s.lane);
    let at = target(trace, &text).map(|span| span.line_col(&loaded.source));
    let (line, column) = at.map_or((1, None), |at| (at.line, Some(at.column)));
    way.push(Waypoint { thread, line, column, what: What::Target });
    let turns: Vec<String> = trace.steps.iter().map(|s| format!("{:?}", s.turn)).collect();
    let seed = format!("{} {}", trace.program.hash, turns.join(" "));
    let version = if threaded { "2.2" } else { "2.0" };
    let mut out = head(&Head { entry: "violation_sequence", version, seed, text: &text }, loaded, property);
    out += "  content:\n";
    for w in &way {
        out += &waypoint(w, file, threaded);
    }
    Ok(out)
}

/// Whether a place is in the program's file. What is in another one, or in a text of ours, has no place in a witness.
fn is_in(span: Span, text: &str) -> bool {
    span != Span::default() && (span.end as usize) <= text.len()
}

/// Where a thread was in the file last.
fn last_of(lane: u32, steps: &[Step], text: &str) -> Option<Span> {
    let (mut last, mut seen) = (None, 0);
    for step in steps {
        seen = seen.max(step.lane);
        let root = step.actions.first().and_then(|a| a.stack.first());
        for action in step.actions.iter().filter(|action| is_in(action.span, text)) {
            // A thread that is started runs to its first access in the step of who starts it.
            let thread = if action.stack.first() == root { step.lane } else { seen + 1 };
            if thread == lane {
                last = Some(action.span);
            }
        }
    }
    last
}

/// Where the target of a bug is: of one in a function of the library, where the thread that calls it was last.
pub fn target(trace: &ErrorTrace, text: &str) -> Option<Span> {
    let lane = trace.steps.last().map_or(0, |step| step.lane);
    Some(trace.span).filter(|span| is_in(*span, text)).or_else(|| last_of(lane, &trace.steps, text))
}

/// What a witness begins with.
struct Head<'a> {
    entry: &'a str,
    version: &'a str,
    /// What its name is made from.
    seed: String,
    /// The text of the program.
    text: &'a str,
}

fn head(head: &Head<'_>, loaded: &Loaded, property: Property) -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let hash = hash_of(head.text);
    let model = if c::is_ilp32(&loaded.id) { "ILP32" } else { "LP64" };
    format!(
        "- entry_type: \"{}\"\n  metadata:\n    format_version: \"{}\"\n    uuid: \"{}\"\n    \
         creation_time: \"{}\"\n    producer:\n      name: \"Fabius\"\n      version: \"{}\"\n    task:\n      \
         input_files:\n      - {file}\n      input_file_hashes:\n        {file}: \"{hash}\"\n      specification: {}\n      \
         data_model: \"{model}\"\n      language: \"C\"\n",
        head.entry,
        head.version,
        uuid(&format!("{} {seconds}", head.seed)),
        time(seconds),
        env!("CARGO_PKG_VERSION"),
        quoted(property.specification()),
        file = quoted(&loaded.id.file),
    )
}

fn waypoint(w: &Waypoint, file: &str, threaded: bool) -> String {
    let (kind, constraint) = match &w.what {
        What::Step => ("assumption", Some(("1".to_string(), "c_expression"))),
        What::Returns(value) => ("function_return", Some((format!("\\result == {value}"), "acsl_expression"))),
        What::Target => ("target", None),
    };
    let thread = if threaded { format!("        thread_id: {}\n", w.thread) } else { String::new() };
    let column = w.column.map_or(String::new(), |n| format!("          column: {n}\n"));
    let constraint = constraint.map_or(String::new(), |(value, format)| {
        format!("        constraint:\n          value: {}\n          format: \"{format}\"\n", quoted(&value))
    });
    format!(
        "  - segment:\n    - waypoint:\n        type: \"{kind}\"\n        action: \"follow\"\n{thread}        \
         location:\n          file_name: {}\n          line: {}\n{column}{constraint}",
        quoted(file),
        w.line,
    )
}

/// As YAML takes it, which takes what JSON does.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a text is plain data")
}

/// The SHA-256 of a text, as witnesses name a file by.
pub fn hash_of(text: &str) -> String {
    hex(&hmac_sha256::Hash::hash(text.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, b| text + &format!("{b:02x}"))
}

/// A name that no other witness has: version 8 of RFC 9562, from what it shows and the time.
fn uuid(seed: &str) -> String {
    let digits = hex(&hmac_sha256::Hash::hash(seed.as_bytes()));
    format!("{}-{}-8{}-a{}-{}", &digits[..8], &digits[8..12], &digits[13..16], &digits[17..20], &digits[20..32])
}

/// A time of the Universal Time as ISO 8601 writes it.
fn time(seconds: u64) -> String {
    let (days, rest) = ((seconds / 86_400) as i64, seconds % 86_400);
    // Days of the proleptic Gregorian calendar, in eras of 400 years that begin in March.
    let z = days + 719_468;
    let (era, day) = (z.div_euclid(146_097), z.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_799, "2000-02-29T23:59:59Z"),
            (1_767_225_599, "2025-12-31T23:59:59Z"),
        ] {
            assert_eq!(time(seconds), text);
        }
    }
}
