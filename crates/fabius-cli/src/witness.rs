//! Violation witnesses of SV-COMP, read back: those whose waypoints say which thread takes which step, as `--witness` writes them.

use crate::args::common::{DataModelArg, ProgramArgs};
use crate::failure::{Failure, input};
use crate::{c, files};
use fabius_c::Property;
use fabius_lang::program::{Expr, ExprKind, Program, StmtKind, Value};
use fabius_lang::walk::statements;
use fabius_trace::{BugKind, Points, Schedule, Turn, parts_of_wide};
use std::path::{Path, PathBuf};
use yaml_rust2::{Yaml, YamlLoader};

/// A witness.
pub struct Witness {
    /// The program, as the witness names it.
    pub file: String,
    /// The SHA-256 of its text.
    pub hash: String,
    pub property: Property,
    pub ilp32: bool,
    /// The steps, in order.
    steps: Vec<Step>,
    /// Line and column of the target.
    pub target: Place,
}

/// A line and a column, from 1.
type Place = (u32, Option<u32>);

/// A step of a thread, and what calls in it return.
struct Step {
    thread: u32,
    values: Vec<(Place, i128)>,
}

/// Reads a witness.
pub fn read(path: &Path) -> Result<Witness, Failure> {
    let shown = path.display().to_string();
    let wrong = |why: &str| {
        input(format!("`{shown}` is no witness that can be replayed: {why}"))
            .help("violation witnesses of format 2.0 or 2.2 as `--witness` writes them are read")
    };
    let documents = YamlLoader::load_from_str(&files::read(path)?).map_err(|e| wrong(&e.to_string()))?;
    let entry = documents.first().map(|d| &d[0]).ok_or_else(|| wrong("it is empty"))?;
    match entry["entry_type"].as_str() {
        Some("violation_sequence") => {}
        Some(other) => return Err(wrong(&format!("it is a `{other}`"))),
        None => return Err(wrong("it has no `entry_type`")),
    }
    let metadata = &entry["metadata"];
    match metadata["format_version"].as_str() {
        Some("2.0" | "2.1" | "2.2") => {}
        other => return Err(wrong(&format!("its format is {}", other.unwrap_or("not said")))),
    }
    let task = &metadata["task"];
    let files = task["input_files"].as_vec().map(Vec::as_slice).unwrap_or_default();
    let [Yaml::String(file)] = files else { return Err(wrong("it does not name one input file")) };
    let hash = task["input_file_hashes"][file.as_str()].as_str().ok_or_else(|| wrong("it has no hash of the file"))?;
    let property = task["specification"].as_str().and_then(Property::of_text);
    let property = property.ok_or_else(|| wrong("its specification is not known"))?;
    let segments = entry["content"].as_vec().ok_or_else(|| wrong("it has no content"))?;
    let (steps, target) = steps(segments, file).map_err(|why| wrong(&why))?;
    let ilp32 = task["data_model"].as_str() == Some("ILP32");
    Ok(Witness { file: file.clone(), hash: hash.into(), property, ilp32, steps, target })
}

/// The steps that the waypoints say, and the place of the target.
fn steps(segments: &[Yaml], file: &str) -> Result<(Vec<Step>, Place), String> {
    let mut steps: Vec<Step> = Vec::new();
    let mut target = None;
    for (i, segment) in segments.iter().enumerate() {
        let at = |what: &str| format!("{what} in segment {}", i + 1);
        let waypoints = segment["segment"].as_vec().map(Vec::as_slice).unwrap_or_default();
        let [one] = waypoints else { return Err(at("there is not one waypoint")) };
        let waypoint = &one["waypoint"];
        if target.is_some() {
            return Err(at("something comes behind the target"));
        }
        if waypoint["action"].as_str() != Some("follow") {
            return Err(at("a waypoint to avoid is not taken"));
        }
        let location = &waypoint["location"];
        if location["file_name"].as_str().is_some_and(|name| name != file) {
            return Err(at("another file is named"));
        }
        let number = |y: &Yaml| y.as_i64().and_then(|n| u32::try_from(n).ok());
        let line = number(&location["line"]).ok_or_else(|| at("there is no line"))?;
        let place = (line, number(&location["column"]));
        let constraint = waypoint["constraint"]["value"].as_str();
        match waypoint["type"].as_str().unwrap_or_default() {
            "assumption" if constraint == Some("1") => {
                let thread = match &waypoint["thread_id"] {
                    Yaml::BadValue => 0,
                    other => number(other).ok_or_else(|| at("the thread is no number"))?,
                };
                steps.push(Step { thread, values: Vec::new() });
            }
            "assumption" => return Err(at("an assumption about values is not taken")),
            "function_return" => {
                let value = constraint.and_then(|c| c.strip_prefix("\\result == ")).map(str::trim);
                let value = value.and_then(|v| v.parse().ok()).ok_or_else(|| at("no value is given"))?;
                let step = steps.last_mut().ok_or_else(|| at("a value comes before the first step"))?;
                step.values.push((place, value));
            }
            "target" => target = Some(place),
            other => return Err(at(&format!("a waypoint of type `{other}` is not taken"))),
        }
    }
    Ok((steps, target.ok_or("it has no target")?))
}

impl Witness {
    /// The schedules that its steps may be in a program: what comes before threads are started is a step of its own, or there is
    /// nothing.
    pub fn schedules(&self, program: &Program) -> Result<[Schedule; 2], String> {
        let asked = choices(program);
        let turns = self.steps.iter().map(|step| {
            let mut choices = Vec::new();
            for (place, value) in &step.values {
                choices.extend(alternative(&asked, *place, *value)?);
            }
            Ok(Turn { task: step.thread, choices })
        });
        let plain: Schedule = turns.collect::<Result<_, String>>()?;
        let mut with_start = plain.clone();
        if let Some(first) = with_start.first_mut() {
            first.task = Turn::START;
        }
        Ok([with_start, plain])
    }

    /// What belongs to the program besides its text.
    pub fn arguments(&self) -> ProgramArgs {
        ProgramArgs {
            property: Some(PathBuf::from(self.property.name())),
            // Nothing says which limits the bug was found with; larger ones change no step.
            allocations: c::LARGER.last().copied(),
            data_model: self.ilp32.then_some(DataModelArg::Ilp32),
            ..ProgramArgs::default()
        }
    }

    /// The kinds of bugs that break the property, and where threads are switched.
    pub fn asks(&self) -> (&'static [BugKind], Points) {
        match self.property {
            Property::UnreachCall => (&[BugKind::Assertion], Points::All),
            Property::NoDataRace => (&[BugKind::DataRace], Points::Sync),
            Property::NoOverflow => (&[BugKind::RangeOverflow], Points::All),
            Property::ValidMemcleanup => (&[BugKind::Leak], Points::All),
            Property::ValidMemsafety => {
                (&[BugKind::Memory, BugKind::NullDereference, BugKind::IndexOutOfBounds, BugKind::Leak], Points::All)
            }
        }
    }
}

/// A choice of the program: where the call that returns the value ends, and between which values it chooses.
struct Choice {
    line: u32,
    column: u32,
    lo: i64,
    hi: i64,
}

fn choices(program: &Program) -> Vec<Choice> {
    let number = |e: &Expr| match e.kind {
        ExprKind::Const(Value::Int(n)) => Some(n),
        _ => None,
    };
    let mut choices = Vec::new();
    for proc in &program.procs {
        statements(&proc.body, &mut |s| {
            if let StmtKind::Any(_, lo, hi) = &s.kind
                && let (Some(lo), Some(hi)) = (number(lo), number(hi))
            {
                let at = c::end_of(s.span).line_col(&program.source);
                choices.push(Choice { line: at.line, column: at.column, lo, hi });
            }
        });
    }
    choices
}

/// The alternative of the choice at a place that a value is.
fn alternative(choices: &[Choice], (line, column): Place, value: i128) -> Result<Vec<u32>, String> {
    let is_here = |c: &&Choice| c.line == line && column.is_none_or(|n| c.column == n);
    let choice = choices.iter().find(is_here).ok_or_else(|| format!("no call in line {line} returns any value"))?;
    // What is chosen of the widest type without a sign is its code.
    let is_widest = (choice.lo, choice.hi) == (i64::MIN, i64::MAX) && u64::try_from(value).is_ok();
    let code = if is_widest { i128::from(value as i64) } else { value };
    let (lo, hi) = (i128::from(choice.lo), i128::from(choice.hi));
    if !(lo..=hi).contains(&code) {
        return Err(format!("{value} is none of the values that are chosen in line {line}"));
    }
    let (chosen, most) = ((code - lo) as u64, (hi - lo) as u64);
    Ok(match most {
        // Between one value there is no choice.
        0 => Vec::new(),
        _ if most < u64::from(u32::MAX) => vec![chosen as u32],
        _ => parts_of_wide(chosen).to_vec(),
    })
}
