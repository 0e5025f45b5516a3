//! Whether the bug of a C program is in the real binary, too: it is built as by `fabius cc`, with the values that were chosen,
//! and explored as by `fabius run` within the preemptions of the schedule that was found.

use crate::c::{self, Chosen};
use crate::failure::{Failure, input};
use crate::files;
use crate::native::{library, unexplored};
use crate::paint::printable;
use crate::program::Loaded;
use crate::stop;
use fabius_c::Folder;
use fabius_native::{Language, Plan, SHRINKING, Target, Walk};
use fabius_trace::{Bound, BugKind, ErrorTrace, Mark, SchedulerKind, Verdict};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

/// The longest search.
const TIME: Duration = Duration::from_secs(20);
const MAX_STEPS: u32 = 100_000;

/// Says whether the bug is seen in the real binary, or why not.
pub fn give(verdict: &Verdict, loaded: &Loaded) -> Result<(), Failure> {
    let file = Path::new(&loaded.id.file);
    if !c::is_c(file) {
        return Err(no_binary(file));
    }
    let Verdict::Bug { trace } = verdict else { return Ok(()) };
    let words = match seen(trace, loaded)? {
        Seen::Yes(words) => format!("seen in the real binary: {words}"),
        Seen::No(words) => format!("not seen in the real binary: {words}"),
    };
    files::print(&format!("\n{}\n", printable(&words)))
}

/// Of what is no C program nothing can be built.
pub fn no_binary(file: &Path) -> Failure {
    input(format!("`{}` is no C program: there is no binary of it", printable(&file.display().to_string())))
}

enum Seen {
    Yes(String),
    No(String),
}

fn seen(trace: &ErrorTrace, loaded: &Loaded) -> Result<Seen, Failure> {
    if loaded.id.consts.iter().any(|(name, _)| name == c::HAVOC) && loaded.assumed.is_some() {
        return Ok(Seen::No("functions of it have no body".into()));
    }
    if c::is_ilp32(&loaded.id) {
        return Ok(Seen::No("it has 64 bits, and the program was read with 32".into()));
    }
    let values = match values(trace) {
        Ok(values) => values,
        Err(text) => return Ok(Seen::No(format!("`{text}` was a choice, which the binary cannot be given"))),
    };
    let folder = Folder::new("natively").map_err(|e| input(format!("a temporary folder cannot be made: {e}")))?;
    let (program, given) = (folder.path().join("program"), folder.path().join("values.c"));
    std::fs::write(&given, functions(&values))
        .map_err(|e| input(format!("cannot write `{}`: {e}", given.display())))?;
    let library = library()?;
    let mut args: Vec<OsString> = ["-g", "-O0", "-w", "-pthread", "-o"].map(Into::into).into();
    args.push(program.clone().into());
    args.extend(c::compiler_arguments(&loaded.id));
    args.push(given.into());
    let mut command = fabius_native::compile(Language::C, None, &library, &args).map_err(input)?;
    let built = command.output().map_err(|e| input(format!("the C compiler cannot be run: {e}")))?;
    if !built.status.success() {
        let said = String::from_utf8_lossy(&built.stderr);
        let error = said.lines().find(|l| l.contains("error") || l.contains("undefined")).or(said.lines().next());
        return Ok(Seen::No(format!("it is not built: {}", error.unwrap_or("the compiler fails"))));
    }
    let most = preemptions(trace);
    let plan = Plan {
        bound: Bound::Preemptions,
        max: Some(most),
        scheduler: SchedulerKind::Bag,
        walk: Walk::Iterative,
        points: trace.points,
        first_race: trace.kind == BugKind::DataRace,
        leaks: trace.kind == BugKind::Leak,
        reduction: true,
        executions: None,
        time: Some(TIME),
        memory: None,
        max_steps: MAX_STEPS,
        shrinking: SHRINKING,
        seed: 0,
        isolation: None,
        jobs: 1,
    };
    let target = Target { program, args: Vec::new(), library };
    let report = fabius_native::explore(&target, &plan, &stop::on_interrupt(), &|_| {}).map_err(unexplored)?;
    let bound = Bound::Preemptions.count(most);
    Ok(match report.verdict {
        Verdict::Bug { trace: native } => compared(trace, &native, &loaded.source),
        Verdict::Verified | Verdict::NoBugWithinBounds { .. } => Seen::No(format!("nothing fails there with {bound}")),
        Verdict::Unknown { reason, .. } => Seen::No(reason.words()),
    })
}

/// What both have in common.
fn compared(trace: &ErrorTrace, native: &ErrorTrace, source: &str) -> Seen {
    let cost = Bound::Preemptions.count(native.cost);
    if native.kind != trace.kind {
        return Seen::No(format!("something else fails there first, with {cost}: {}", native.message));
    }
    if !is_at(trace, native, source) {
        return Seen::No(format!("the like fails there first at another place, with {cost}: {}", native.message));
    }
    let schedule = match turns(trace) == turns(native) {
        true => "on the same order of threads",
        false => "on another order of threads",
    };
    Seen::Yes(format!("{} ({schedule}, with {cost})", native.message))
}

/// Whether an assertion fails in the same line; of other bugs the places are several, or the compiler's.
fn is_at(trace: &ErrorTrace, native: &ErrorTrace, source: &str) -> bool {
    let own = trace.span.text(source);
    // A call of `reach_error` fails inside of it.
    if trace.kind != BugKind::Assertion || own.contains("reach_error") {
        return true;
    }
    let place = native.message.rsplit_once(", at ").and_then(|(_, place)| place.rsplit_once(':'));
    let Some((file, Ok(line))) = place.map(|(file, line)| (file, line.parse::<usize>())) else { return true };
    let Ok(text) = std::fs::read_to_string(file) else { return true };
    let first = trace.span.line_col(source).line as usize;
    let mut mine = source.lines().skip(first - 1).take(own.lines().count().max(1));
    text.lines().nth(line.saturating_sub(1)).is_some_and(|there| mine.any(|line| line == there))
}

/// Who runs after whom.
fn turns(trace: &ErrorTrace) -> Vec<u32> {
    let mut order: Vec<u32> = trace.steps.iter().map(|s| s.lane).collect();
    order.dedup();
    order
}

fn preemptions(trace: &ErrorTrace) -> u32 {
    trace.steps.iter().filter(|s| s.mark == Some(Mark::Preemption)).count() as u32
}

/// The values that calls have returned, in order; or a choice that is no such value.
fn values(trace: &ErrorTrace) -> Result<Vec<Chosen>, String> {
    let mut all = Vec::new();
    for action in trace.steps.iter().flat_map(|s| &s.actions) {
        if action.note.as_deref().is_some_and(|n| n.starts_with("chose ")) {
            all.push(c::chosen(action).ok_or_else(|| action.text.clone())?);
        }
    }
    Ok(all)
}

/// The functions of SV-COMP, and those that have returned values, for the compiler. What the program defines itself goes first.
fn functions(values: &[Chosen]) -> String {
    let mut text = String::from(
        "#include <stdlib.h>\n#include <assert.h>\n#include <pthread.h>\n\
         static pthread_mutex_t section = PTHREAD_MUTEX_INITIALIZER;\n\
         #define WEAK __attribute__((weak))\n\
         WEAK void __VERIFIER_atomic_begin(void) { pthread_mutex_lock(&section); }\n\
         WEAK void __VERIFIER_atomic_end(void) { pthread_mutex_unlock(&section); }\n\
         WEAK void __VERIFIER_assume(int holds) { if (!holds) exit(0); }\n\
         WEAK void reach_error(void) { assert(0 && \"reach_error\"); }\n",
    );
    let mut names: Vec<&str> = values.iter().map(|v| v.function.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let mine: Vec<String> =
            values.iter().filter(|v| v.function == name).map(|v| format!("{}ull", v.code)).collect();
        // One for each call, in the order of the schedule; what is called more often returns the last one again.
        text += &format!(
            "WEAK unsigned long long {name}(void) {{\n    static const unsigned long long all[] = {{ {} }};\n    \
             static unsigned at;\n    return all[at + 1 < sizeof all / sizeof *all ? at++ : at];\n}}\n",
            mine.join(", ")
        );
    }
    text
}
