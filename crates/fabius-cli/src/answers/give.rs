//! Giving an answer: on standard output, and as the files that the options ask for.

use super::again::{found_again, replay_command};
use super::checked::{Checked, Question};
use super::junit::{self, Case};
use super::page::{self, About};
use super::sarif::{self, Answered};
use super::{documents, text};
use crate::args::common::AnswerArgs;
use crate::failure::{Failure, output};
use crate::files;
use crate::paint::{Ink, Style, printable};
use crate::program::Loaded;
use fabius_trace::{Reason, Verdict};
use fabius_verify::{Plan, Report};
use std::path::Path;
use std::time::Instant;

/// Prints the answer and saves the trace of a bug, as the options ask for; returns the exit code. `statistics` is the
/// table for `--stats`, `document` what `--json` prints.
pub fn answer(
    found: &Report,
    question: Question,
    loaded: &Loaded,
    args: &AnswerArgs,
    statistics: impl FnOnce(&Report, Style) -> String,
    document: &documents::Answer<'_>,
) -> Result<u8, Failure> {
    let mut facts = vec![("time".to_string(), format!("{:.2} s", found.elapsed.as_secs_f64()))];
    if let Some(level) = found.levels.last().filter(|l| l.states > 0) {
        facts.push(("explored".into(), format!("{} states, {} transitions", level.states, level.transitions)));
    }
    let about = About {
        file: &loaded.id.file,
        source: &loaded.source,
        good: match found.limits.join(", and ") {
            none if none.is_empty() => "no schedule breaks the program".into(),
            limits => format!("{limits}; otherwise no schedule breaks the program"),
        },
        facts,
        levels: &found.levels,
    };
    let written = write(&found.verdict, about, args);
    if args.json {
        files::print(&documents::text(document))?;
    } else {
        let style = Style::of_stdout(args.output.color);
        let mut text = text::text(found, question, &loaded.source, &loaded.id, style);
        if args.stats {
            text += &statistics(found, style);
        }
        if let Verdict::Bug { .. } = found.verdict {
            text += &loaded.assumed.as_ref().map_or(String::new(), |words| format!("\n{}\n", printable(words)));
            text += &format!("\nreplay it: {}\n", style.paint.ink(Ink::Strong, &printable(&written.again)));
        }
        files::print_in(style.paint, &text)?;
    }
    written.result?;
    Ok(found.verdict.exit_code())
}

/// The answer about a program that a limit did not let be read; returns the exit code.
pub fn unread(
    reason: &Reason,
    asked: Question,
    began: Instant,
    loaded: &Loaded,
    args: &AnswerArgs,
) -> Result<u8, Failure> {
    let report = fabius_verify::unknown(asked.bound, asked.scheduler, &loaded.id, reason.clone());
    let report = Report { elapsed: began.elapsed(), ..report };
    let document = documents::Answer::of(&report, asked, &loaded.id);
    answer(&report, asked, loaded, args, |_, _| String::new(), &document)
}

/// Writes answers as SARIF.
pub fn write_sarif(path: &Path, answers: &[Answered<'_>], exit_code: u8) -> Result<(), Failure> {
    let here = std::env::current_dir().map_err(|e| output(format!("the current directory is not known: {e}")))?;
    files::write(path, &format!("{:#}\n", sarif::document(answers, exit_code, &here)))
}

fn answered(checked: &Checked) -> Answered<'_> {
    let source = checked.outcome.as_ref().map_or("", |(loaded, _)| &loaded.source);
    let answer = checked.outcome.as_ref().map(|(_, report)| &report.verdict);
    Answered { file: &checked.file, source, answer }
}

/// Writes the answers about several files as SARIF.
pub fn write_sarif_of_all(path: &Path, all: &[Checked], exit_code: u8) -> Result<(), Failure> {
    write_sarif(path, &all.iter().map(answered).collect::<Vec<_>>(), exit_code)
}

/// Writes the answers as JUnit XML.
pub fn write_junit(path: &Path, plan: &Plan, all: &[Checked]) -> Result<(), Failure> {
    let cases = all.iter().map(|checked| Case {
        answered: answered(checked),
        text: text::told(checked, plan, Style::IN_FILES),
        elapsed: checked.elapsed,
    });
    files::write(path, &junit::document("check", &cases.collect::<Vec<_>>()))
}

/// What became of the files of an answer.
pub struct Written {
    /// The command that runs a bug again.
    pub again: String,
    /// Whether every file was written. The answer is printed first.
    pub result: Result<(), Failure>,
}

/// Writes the files that the options ask for: the trace of a bug, the answer for code scanning and as a page.
pub fn write(answer: &Verdict, about: About<'_>, args: &AnswerArgs) -> Written {
    let saved = match (answer, &args.trace) {
        (Verdict::Bug { trace }, Some(path)) => {
            let text = serde_json::to_string_pretty(trace).expect("traces are plain data");
            Some(files::write(path, &(text + "\n")))
        }
        _ => None,
    };
    let again = match args.trace.as_deref().filter(|_| saved.as_ref().is_some_and(Result::is_ok)) {
        Some(path) => replay_command(path, about.file),
        None => found_again(),
    };
    let answered = Answered { file: about.file, source: about.source, answer: Ok(answer) };
    let sarif = args.sarif.as_ref().map_or(Ok(()), |path| write_sarif(path, &[answered], answer.exit_code()));
    let page = args.html.as_ref().map(|path| page::write_answer(path, answer, about, Some(again.clone())));
    Written { again, result: saved.unwrap_or(Ok(())).and(sarif).and(page.unwrap_or(Ok(()))) }
}
