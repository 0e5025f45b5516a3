//! `fabius compare`: strategies side by side, as tables and as curves.

mod charts;
mod native;
mod tables;

use crate::answers::documents;
use crate::args::compare::CompareArgs;
use crate::failure::{self, Failure, input, nothing_written, output, usage};
use crate::native::{is_program, target};
use crate::outputs::refuse_losses;
use crate::paint::Paint;
use crate::program::{Loaded, for_reading, load};
use crate::progress::Ticker;
use crate::{c, files, stop};
use charts::Drawn;
use fabius_lang::Choices;
use fabius_lang::program::Program;
use fabius_native::Target;
use fabius_trace::{COMPARISON_VERSION, Compared, Comparison, Counted, ProgramId, Reason};
use fabius_verify::Plan;
use fabius_verify::compare::{Extent, Way, measure};
use fabius_verify::prove::{Budget, most_of_available};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a file of the command line is.
enum Subject {
    Program(Box<Program>, ProgramId),
    Native(String, Target),
    Measured(Vec<Compared>),
}

/// Runs the command; returns the exit code.
pub fn run(args: &CompareArgs) -> Result<u8, Failure> {
    let mut known = BTreeSet::new();
    if let Some(twice) = args.strategies.iter().find(|way| !known.insert(&way.name)) {
        return Err(usage(format!("the strategy `{}` is given twice", twice.name)).help("give it once"));
    }
    let stop = stop::on_interrupt();
    // Whatever is wrong with one file is said before any is measured.
    let mut subjects = Vec::new();
    for file in &args.files {
        match subject(file, args, &stop)? {
            Ok(subject) => subjects.push(subject),
            Err(reason) => return Ok(files::unwritten(&nothing_written(&reason), args.output.color)),
        }
    }
    for folder in args.svg.iter().chain(&args.csv) {
        std::fs::create_dir_all(folder)
            .map_err(|error| output(format!("cannot make the folder `{}`: {error}", folder.display())))?;
    }
    if args.svg.is_some() || args.csv.is_some() {
        charts::refuse_same_names(&names(&subjects))?;
    }
    refuse_lost_inputs(args, &charts::names_of(&names(&subjects)))?;
    let paint = Paint::of_stdout(args.output.color);
    let mut programs = Vec::new();
    for subject in subjects {
        let new = match subject {
            Subject::Program(program, id) => vec![compare(&program, &id, args, &stop)?],
            Subject::Native(name, target) => vec![compare_native(name, &target, args, &stop)?],
            Subject::Measured(programs) => programs,
        };
        for compared in &new {
            if !args.json {
                files::print_in(paint, &tables::program(compared, paint))?;
            }
            for drawn in charts::of_program(compared) {
                write(args, &drawn)?;
            }
        }
        programs.extend(new);
    }
    for drawn in charts::of_all(&programs) {
        write(args, &drawn)?;
    }
    let comparison = Comparison { version: COMPARISON_VERSION, programs };
    match args.json {
        true => files::print(&documents::text(&comparison))?,
        false => files::print_in(paint, &tables::bugs(&comparison.programs, paint))?,
    }
    Ok(if stop.load(Ordering::Relaxed) { 3 } else { 0 })
}

fn refuse_lost_inputs(args: &CompareArgs, charts: &[String]) -> Result<(), Failure> {
    let inputs: Vec<&Path> = args.files.iter().map(PathBuf::as_path).collect();
    let folders = [("--svg", &args.svg, "svg"), ("--csv", &args.csv, "csv")];
    let in_folder = |(option, folder, extension): (&'static str, &Option<PathBuf>, &str)| {
        let folder = folder.iter();
        let paths = folder.flat_map(|f| charts.iter().map(|chart| f.join(format!("{chart}.{extension}"))));
        paths.map(|path| (option, path)).collect::<Vec<_>>()
    };
    let written: Vec<(&str, PathBuf)> = folders.into_iter().flat_map(in_folder).collect();
    refuse_losses(&inputs, &written.iter().map(|(option, path)| (*option, path.as_path())).collect::<Vec<_>>())
}

fn names(subjects: &[Subject]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for subject in subjects {
        match subject {
            Subject::Program(_, id) => names.push(&id.file),
            Subject::Native(name, _) => names.push(name),
            Subject::Measured(programs) => names.extend(programs.iter().map(|p| p.name.as_str())),
        }
    }
    names
}

/// What a file holds, or the limit that was hit before it was read.
fn subject(file: &Path, args: &CompareArgs, stop: &Arc<AtomicBool>) -> Result<Result<Subject, Reason>, Failure> {
    if file.extension().is_some_and(|e| e == "json") {
        return read(file).map(|comparison| Ok(Subject::Measured(comparison.programs)));
    }
    if is_program(file) {
        return Ok(Ok(Subject::Native(file.display().to_string(), target(file, &[])?)));
    }
    let budget = Budget { time: Some(args.time), memory: for_reading(args.memory), stop };
    let Loaded { program, id, source, .. } = load(file, &args.program, Choices::Finite, budget)?;
    match program {
        Ok(program) => {
            c::refuse_wide_choices(&program, &source)?;
            Plan::default().validate(&program)?;
            Ok(Ok(Subject::Program(Box::new(program), id)))
        }
        Err(reason) => Ok(Err(reason)),
    }
}

/// Reads a comparison that was saved.
fn read(path: &Path) -> Result<Comparison, Failure> {
    let (text, shown) = (files::read(path)?, path.display());
    let damaged = |error: serde_json::Error| {
        input(format!("`{shown}` is not a comparison of Fabius: {error}"))
            .help("save one with `fabius compare FILE --json`, or with `fabius::compare` in a Rust test")
    };
    let value: serde_json::Value = serde_json::from_str(&text).map_err(damaged)?;
    match value.get("version").and_then(serde_json::Value::as_u64) {
        Some(version) if version != u64::from(COMPARISON_VERSION) && value.get("programs").is_some() => {
            Err(input(format!(
                "`{shown}` is a comparison of format {version}; this version of Fabius reads format {COMPARISON_VERSION}"
            ))
            .help("measure again"))
        }
        _ => serde_json::from_value(value).map_err(damaged),
    }
}

fn extent(args: &CompareArgs) -> Extent {
    Extent {
        executions: args.executions,
        seeds: args.seeds,
        time: Some(args.time),
        memory: args.memory.or_else(most_of_available),
        points: args.points.into(),
    }
}

fn compare_native(name: String, target: &Target, args: &CompareArgs, stop: &AtomicBool) -> Result<Compared, Failure> {
    let one = |way: &Way| {
        let ticker = Ticker::of(&format!("{name}, {}", way.name));
        let measured = native::measure(target, way, &extent(args), stop, &|p| ticker.tick(p));
        ticker.clear();
        measured
    };
    let strategies = args.strategies.iter().map(one).collect::<Result<_, _>>()?;
    Ok(Compared { name, counted: Counted::Classes, strategies })
}

fn compare(program: &Program, id: &ProgramId, args: &CompareArgs, stop: &AtomicBool) -> Result<Compared, Failure> {
    let one = |way: &Way| {
        let what = format!("{}, {}", id.file, way.name);
        let ticker = Ticker::of(&what);
        let measured = measure(program, id, way, &extent(args), stop, &|p| ticker.tick(p));
        ticker.clear();
        measured.map_err(failure::of_check)
    };
    let strategies = args.strategies.iter().map(one).collect::<Result<_, _>>()?;
    Ok(Compared { name: id.file.clone(), counted: Counted::States, strategies })
}

fn write(args: &CompareArgs, drawn: &Drawn) -> Result<(), Failure> {
    if let Some(folder) = &args.svg {
        let text = fabius_curves::svg(&drawn.chart).map_err(|e| output(format!("cannot draw {}: {e}", drawn.name)))?;
        files::write(&folder.join(format!("{}.svg", drawn.name)), &text)?;
    }
    if let Some(folder) = &args.csv {
        files::write(&folder.join(format!("{}.csv", drawn.name)), &fabius_curves::csv(&drawn.chart))?;
    }
    Ok(())
}
