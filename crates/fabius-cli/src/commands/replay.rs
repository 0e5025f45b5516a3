//! `fabius replay`: runs a saved trace again in the reference semantics and shows it.

use crate::answers::again::replay_command;
use crate::answers::give::write_sarif;
use crate::answers::sarif::Answered;
use crate::answers::shown::shown;
use crate::answers::svcomp::{hash_of, target};
use crate::answers::{documents, lanes, page};
use crate::args::common::{LimitArgs, ProgramArgs};
use crate::args::replay::ReplayArgs;
use crate::failure::{Failure, input, of_proof};
use crate::outputs::refuse_losses;
use crate::paint::{Ink, Style, printable};
use crate::program::{compile, load_trace};
use crate::saved::{beside, read_trace};
use crate::{c, files, task, witness};
use fabius_html::Source;
use fabius_lang::Choices;
use fabius_trace::{ErrorTrace, LaneKind, LineCol, Reason, Verdict};
use fabius_verify::prove::{Budget, ProofError, within};
use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Runs the command; returns the exit code.
pub fn run(args: &ReplayArgs) -> Result<u8, Failure> {
    let given: Vec<&Path> = std::iter::once(&args.trace).chain(&args.program).map(PathBuf::as_path).collect();
    refuse_losses(&given, &args.outputs())?;
    if task::is_task(&args.trace) {
        return witnessed(args);
    }
    let trace = read_trace(&args.trace)?;
    if trace.program.hash.is_empty() {
        return Err(of_no_model(args, &trace));
    }
    let program = program_of(args, &trace)?;
    let limited = Limited::new(args);
    let budget = limited.budget();
    refuse_losses(&[&args.trace, &program], &args.outputs())?;
    if trace.lanes.iter().any(|lane| lane.kind == LaneKind::Node) {
        let loaded = load_trace(&program, budget)?;
        if let Some(reason) = &loaded.cut {
            return Ok(limited.unread(reason));
        }
        if loaded.id.hash != trace.program.hash {
            return Err(fabius_verify::ReplayError::OtherProgram.into());
        }
        let again = fabius_messages::replay::again(&loaded.ctp, &loaded.id, &trace).map_err(|reason| {
            input(format!("the trace departs from the rules: {reason}"))
                .help("the trace has been edited, or was made by another version of Fabius")
        })?;
        return show(args, &again, &loaded.ctp.source, &program);
    }
    // Before anything is said about the program: whether it is the one of the trace.
    let source = files::read(&program)?;
    let id = fabius_verify::program_id("", &source, &trace.program.consts, &trace.program.instances);
    // Of what files a C program consists is known when it has been read.
    if id.hash != trace.program.hash && !c::is_c(&program) {
        return Err(fabius_verify::ReplayError::OtherProgram.into());
    }
    let of_trace = ProgramArgs {
        instances: trace.program.instances.clone(),
        consts: trace.program.consts.clone(),
        ..ProgramArgs::default()
    };
    let loaded = compile(source, &program, &of_trace, Choices::Unbounded, budget)?;
    let model = match loaded.program {
        Ok(model) => model,
        Err(reason) => return Ok(limited.unread(&reason)),
    };
    let id = loaded.id.clone();
    let again = match limited.within(move || fabius_verify::replay(&model, &id, &trace)) {
        Ok(again) => again?,
        Err(over) => return over,
    };
    show(args, &again, &loaded.source, &program)
}

/// How long all of it may take, and how much memory.
struct Limited<'a> {
    args: &'a ReplayArgs,
    began: Instant,
    stop: Arc<AtomicBool>,
}

impl Limited<'_> {
    fn new(args: &ReplayArgs) -> Limited<'_> {
        Limited { args, began: Instant::now(), stop: Arc::default() }
    }

    /// What is left.
    fn budget(&self) -> Budget<'_> {
        let LimitArgs { time, memory } = self.args.limits;
        Budget { time: time.map(|time| time.saturating_sub(self.began.elapsed())), memory, stop: &self.stop }
    }

    /// The exit code where there was not enough to read the program.
    fn unread(&self, reason: &Reason) -> u8 {
        self.over(format!("the program was not read: {}", reason.words()))
    }

    fn over(&self, why: String) -> u8 {
        files::unwritten(&input(why), self.args.output.color)
    }

    /// Does some work with what is left, or says that this is not enough: the exit code.
    fn within<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Result<u8, Failure>> {
        within(self.budget(), work).map_err(|error| match error {
            ProofError::GaveUp(reason) => Ok(self.over(format!("the trace was not replayed: {}", reason.words()))),
            error => Err(of_proof(error, "", "")),
        })
    }
}

/// A violation witness: the execution that it describes, if it is one and breaks the property there.
fn witnessed(args: &ReplayArgs) -> Result<u8, Failure> {
    let witness = witness::read(&args.trace)?;
    let program = args.program.clone().or_else(|| beside(&args.trace, &witness.file)).ok_or_else(|| {
        input(format!("the program `{}` of this witness is not there", witness.file))
            .help("say where it is: `--program FILE`")
    })?;
    refuse_losses(&[&args.trace, &program], &args.outputs())?;
    let source = files::read(&program)?;
    if hash_of(&source) != witness.hash {
        return Err(input(format!(
            "`{}` is not the program of this witness: its hash is another one",
            program.display()
        )));
    }
    let refuted = |why: String| input(format!("the witness does not show a bug: {why}"));
    let limited = Limited::new(args);
    let loaded = compile(source.clone(), &program, &witness.arguments(), Choices::Unbounded, limited.budget())?;
    let model = match loaded.program {
        Ok(model) => Arc::new(model),
        Err(reason) => return Ok(limited.unread(&reason)),
    };
    let schedules = witness.schedules(&model).map_err(refuted)?;
    let (kinds, points) = witness.asks();
    let mut why = String::new();
    for schedule in schedules {
        let (model, id, kind) = (Arc::clone(&model), loaded.id.clone(), kinds[0]);
        let run = match limited.within(move || fabius_verify::run_schedule(&model, &id, &schedule, points, kind)) {
            Ok(run) => run,
            Err(over) => return over,
        };
        match run {
            Ok(trace) => {
                let at = target(&trace, &source).map_or(LineCol { line: 1, column: 1 }, |s| s.line_col(&loaded.source));
                if !kinds.contains(&trace.kind) {
                    return Err(refuted(format!("something else happens: {}", trace.message)));
                }
                let (line, column) = witness.target;
                if at.line != line || column.is_some_and(|column| at.column != column) {
                    return Err(refuted(format!("the error is in line {}, and not at the target", at.line)));
                }
                return show(args, &trace, &loaded.source, &program);
            }
            Err(error) if why.is_empty() => why = Failure::from(error).message(),
            Err(_) => {}
        }
    }
    Err(refuted(why))
}

/// Traces of C and C++ programs and of Rust tests: no text says what these do.
fn of_no_model(args: &ReplayArgs, trace: &ErrorTrace) -> Failure {
    let (saved, program) = (args.trace.display(), &trace.program.file);
    input(format!("`{saved}` is the trace of `{program}`, which is no model: only the program itself can run it again"))
        .help(format!(
            "of a C or C++ program `fabius run {program} --replay {saved}`, of a Rust test `fabius::replay`; \
             `fabius report {saved} -o FILE.html` shows it as it was"
        ))
}

fn show(args: &ReplayArgs, again: &ErrorTrace, source: &str, program: &Path) -> Result<u8, Failure> {
    let verdict = Verdict::Bug { trace: Box::new(again.clone()) };
    let file = program.display().to_string();
    let answered = Answered { file: &file, source, answer: Ok(&verdict) };
    let sarif = args.sarif.as_ref().map_or(Ok(()), |path| write_sarif(path, &[answered], verdict.exit_code()));
    let page = write_page(args, again, source);
    print(args, again, source, program)?;
    sarif.and(page)?;
    Ok(verdict.exit_code())
}

fn write_page(args: &ReplayArgs, again: &ErrorTrace, source: &str) -> Result<(), Failure> {
    let Some(path) = &args.html else { return Ok(()) };
    let sources = [Source { file: again.program.file.clone(), text: source.into() }];
    page::write(path, page::of_bug(again, Some(replay_command(&args.trace, &again.program.file))), &sources)
}

fn print(args: &ReplayArgs, again: &ErrorTrace, source: &str, program: &Path) -> Result<(), Failure> {
    if args.json {
        let text = serde_json::to_string_pretty(again).expect("traces are plain data");
        return files::print(&(documents::escaped(&text) + "\n"));
    }
    let again = &shown(again);
    let style = Style::of_stdout(args.output.color);
    let at = again.span.line_col(source);
    let end = format!(
        "\n{} {}\n  --> {}:{}:{}\n",
        style.paint.ink(Ink::Bad, "  =>"),
        again.message,
        printable(&program.display().to_string()),
        at.line,
        at.column
    );
    let interactive = args.step || std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if interactive {
        step_through(again, style)?;
    } else {
        files::print_in(style.paint, &lanes::draw(again, style))?;
    }
    files::print_in(style.paint, &end)
}

/// The program: as given, or where the trace says.
fn program_of(args: &ReplayArgs, trace: &ErrorTrace) -> Result<PathBuf, Failure> {
    let file = &trace.program.file;
    args.program.clone().or_else(|| beside(&args.trace, file)).ok_or_else(|| {
        if file == files::STDIN {
            return input("the program of this trace came from standard input")
                .help("say where it is: `--program FILE`; or `--program -`, from standard input again");
        }
        input(format!("the program `{file}` of this trace is not there"))
            .help("run from the folder where the trace was made, or say where it is: `--program FILE`")
    })
}

/// One step at a time, on Enter.
fn step_through(trace: &ErrorTrace, style: Style) -> Result<(), Failure> {
    let mut lines = std::io::stdin().lock().lines();
    files::print("Enter: next step. q: to the end.\n")?;
    for shown in 1..=trace.steps.len() {
        let mut part = trace.clone();
        part.steps.truncate(shown);
        let whole = lanes::draw(&part, style);
        part.steps.truncate(shown - 1);
        let before = if shown == 1 { String::new() } else { lanes::draw(&part, style) };
        // A new lane makes the columns narrower: then everything is drawn again.
        let new = whole.strip_prefix(before.as_str()).unwrap_or(&whole);
        files::print_in(style.paint, new)?;
        match lines.next() {
            Some(Ok(line)) if line.trim() == "q" => {
                let rest = lanes::draw(trace, style);
                return files::print_in(style.paint, rest.strip_prefix(whole.as_str()).unwrap_or(&rest));
            }
            Some(Ok(_)) => {}
            Some(Err(_)) | None => {
                let rest = lanes::draw(trace, style);
                return files::print_in(style.paint, rest.strip_prefix(whole.as_str()).unwrap_or(&rest));
            }
        }
    }
    Ok(())
}
