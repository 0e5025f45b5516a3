//! Answers in the words of SV-COMP: the verdict, and violation witnesses in YAML (format 2.0; 2.2 where there are threads).

use crate::args::common::SvcompArgs;
use crate::c;
use crate::failure::{Failure, input};
use crate::files;
use crate::program::Loaded;
use fabius_c::Property;
use fabius_trace::{BugKind, ErrorTrace, Span, Verdict};
use std::fmt::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Writes and prints what the options ask for.
pub fn give(verdict: &Verdict, loaded: &Loaded, args: &SvcompArgs) -> Result<(), Failure> {
    if args.witness.is_none() && !args.svcomp {
        return Ok(());
    }
    let Some(property) = c::property(&loaded.id) else {
        return Err(input("no property of a C program is asked about").help("name one: `--property unreach-call`"));
    };
    if let (Some(path), Verdict::Bug { trace }) = (&args.witness, verdict)
        && word(verdict, property) != "unknown"
    {
        files::write(path, &witness(trace, loaded, property)?)?;
    }
    if args.svcomp {
        let word = match verdict {
            // What is assumed may not hold.
            Verdict::Verified if loaded.assumed.is_some() => "unknown",
            _ => word(verdict, property),
        };
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
    column: u32,
}

/// The violation witness.
fn witness(trace: &ErrorTrace, loaded: &Loaded, property: Property) -> Result<String, Failure> {
    let file = &loaded.id.file;
    let text = files::read(Path::new(file))?;
    let threaded = trace.steps.iter().any(|s| s.lane > 0);
    let at = |thread: u32, span: Span| -> Option<Waypoint> {
        // What is in another file has no place here.
        let place = span.line_col(&loaded.source);
        (span != Span::default() && (span.end as usize) <= text.len()).then_some(Waypoint {
            thread,
            line: place.line,
            column: place.column,
        })
    };
    let mut way: Vec<Waypoint> = Vec::new();
    for step in &trace.steps {
        way.extend(step.actions.iter().find_map(|action| at(step.lane, action.span)));
    }
    let last = trace.steps.last().map_or(0, |s| s.lane);
    let target = at(last, trace.span).or_else(|| way.pop()).unwrap_or(Waypoint { thread: last, line: 1, column: 1 });
    let mut out = String::new();
    let quoted = |text: &str| serde_json::to_string(text).expect("a text is plain data");
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let hash = hex(&hmac_sha256::Hash::hash(text.as_bytes()));
    let model = if c::is_ilp32(&loaded.id) { "ILP32" } else { "LP64" };
    let _ = write!(
        out,
        "- entry_type: \"violation_sequence\"\n  metadata:\n    format_version: \"{}\"\n    uuid: \"{}\"\n    \
         creation_time: \"{}\"\n    producer:\n      name: \"Fabius\"\n      version: \"{}\"\n    task:\n      \
         input_files:\n      - {file}\n      input_file_hashes:\n        {file}: \"{hash}\"\n      specification: {}\n      \
         data_model: \"{model}\"\n      language: \"C\"\n  content:\n",
        if threaded { "2.2" } else { "2.0" },
        uuid(trace, seconds),
        time(seconds),
        env!("CARGO_PKG_VERSION"),
        quoted(property.specification()),
        file = quoted(file),
    );
    let mut waypoint = |w: &Waypoint, kind: &str, constraint: &str| {
        let thread = if threaded { format!("        thread_id: {}\n", w.thread) } else { String::new() };
        let _ = write!(
            out,
            "  - segment:\n    - waypoint:\n        type: \"{kind}\"\n        action: \"follow\"\n{thread}        \
             location:\n          file_name: {}\n          line: {}\n          column: {}\n{constraint}",
            quoted(file),
            w.line,
            w.column,
        );
    };
    for w in &way {
        waypoint(w, "assumption", "        constraint:\n          value: \"1\"\n          format: \"c_expression\"\n");
    }
    waypoint(&target, "target", "");
    Ok(out)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, b| text + &format!("{b:02x}"))
}

/// A name that no other witness has: version 8 of RFC 9562, from the bug and the time.
fn uuid(trace: &ErrorTrace, seconds: u64) -> String {
    let turns: Vec<String> = trace.steps.iter().map(|s| format!("{:?}", s.turn)).collect();
    let seed = format!("{} {} {seconds}", trace.program.hash, turns.join(" "));
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
