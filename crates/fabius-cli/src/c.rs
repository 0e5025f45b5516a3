//! C programs on the command line.
//!
//! What belongs to a program besides its text is kept as its constants, so that a saved trace knows it too: `N=4` is a macro
//! of the preprocessor, `-I` a folder of headers, `--with` one more file.

use crate::args::common::{DataModelArg, ProgramArgs};
use crate::failure::{Failure, Wrong, input};
use crate::files;
use fabius_c::{Creation, DataModel, Limits, Options, Property};
use fabius_lang::program::{Expr, ExprKind, Program, StmtKind, Value};
use fabius_trace::{Action, ProgramId, Span};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The name of what stands for a folder of headers among the constants.
const INCLUDE: &str = "-I";
/// The name of what stands for one more file.
const WITH: &str = "--with";
/// The name of what stands for the most allocations.
/// The limits on allocations that `fabius FILE` raises those that it begins with to, one after the other.
pub const LARGER: [u32; 2] = [32, 128];

const ALLOCATIONS: &str = "--allocations";
/// The names of what is asked, and of what is assumed.
const PROPERTY: &str = "--property";
const DATA_MODEL: &str = "--data-model";
const OVERFLOW: &str = "--overflow";
const LEAKS: &str = "--leaks";
pub const HAVOC: &str = "--havoc";
/// The name of what says that loops without an end start any number of threads.
const THREADS: &str = "--threads";

/// What belongs to a C program besides its text, as constants.
pub fn constants(args: &ProgramArgs) -> Result<Vec<(String, String)>, Failure> {
    let paths = |name: &str, paths: &[PathBuf]| -> Vec<(String, String)> {
        paths.iter().map(|p| (name.to_string(), p.display().to_string())).collect()
    };
    let mut all = args.consts.clone();
    all.extend(paths(INCLUDE, &args.includes));
    all.extend(paths(WITH, &args.with));
    all.extend(args.allocations.map(|n| (ALLOCATIONS.to_string(), n.to_string())));
    if let Some(file) = &args.property {
        all.push((PROPERTY.into(), property_of(file)?.name().into()));
    }
    if args.data_model == Some(DataModelArg::Ilp32) {
        all.push((DATA_MODEL.into(), "ilp32".into()));
    }
    let given = [(OVERFLOW, args.overflow), (LEAKS, args.leaks), (HAVOC, args.havoc)];
    for (name, _) in given.into_iter().filter(|(_, given)| *given) {
        all.push((name.into(), "yes".into()));
    }
    Ok(all)
}

/// The same program, where loops of `main` without an end start any number of threads.
pub fn of_any_number(args: &ProgramArgs) -> ProgramArgs {
    let mut args = args.clone();
    args.consts.push((THREADS.into(), "any".into()));
    args
}

/// Refuses what is for C programs alone, where a program is none.
pub fn refuse_for_others(path: &Path, args: &ProgramArgs) -> Result<(), Failure> {
    let given = [
        (INCLUDE, !args.includes.is_empty()),
        (WITH, !args.with.is_empty()),
        (ALLOCATIONS, args.allocations.is_some()),
        (PROPERTY, args.property.is_some()),
        (DATA_MODEL, args.data_model.is_some()),
        (OVERFLOW, args.overflow),
        (LEAKS, args.leaks),
        (HAVOC, args.havoc),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((name, _)) => Err(input(format!("`{name}` is for C programs, and `{}` is none", path.display()))
            .help(format!("leave out `{name}`"))),
    }
}

/// The property that a file asks about, or that has this name.
pub fn property_of(file: &Path) -> Result<Property, Failure> {
    if let Some(property) = file.to_str().and_then(Property::of_name) {
        return Ok(property);
    }
    let known = Property::ALL.map(Property::name).join(", ");
    Property::of_text(&files::read(file)?).ok_or_else(|| {
        input(format!("`{}` asks about a property that is not known", file.display()))
            .help(format!("known are: {known}"))
    })
}

/// The property that a program was read for.
pub fn property(id: &ProgramId) -> Option<Property> {
    id.consts.iter().find(|(name, _)| name == PROPERTY).and_then(|(_, value)| Property::of_name(value))
}

/// Whether a program was read with pointers of 32 bits.
pub fn is_ilp32(id: &ProgramId) -> bool {
    id.consts.iter().any(|(name, _)| name == DATA_MODEL)
}

/// The place of a choice among so many values that they cannot be tried one by one.
pub fn wide_choice(program: &Program) -> Option<Span> {
    let wide = std::cell::Cell::new(None);
    program.any_stmt(|s| {
        if let StmtKind::Any(_, lo, hi) = &s.kind
            && let (ExprKind::Const(Value::Int(lo)), ExprKind::Const(Value::Int(hi))) = (&lo.kind, &hi.kind)
            && Program::is_wide(*lo, *hi)
        {
            wide.set(Some(s.span));
        }
        wide.get().is_some()
    });
    wide.get()
}

/// Whether a program has one thread only: nothing races then, whatever the values are.
pub fn has_one_thread(program: &Program) -> bool {
    let are_any = program.processes.iter().any(|process| process.count.is_none());
    !are_any && !program.any_stmt(|s| matches!(s.kind, StmtKind::Spawn(..) | StmtKind::Post(..)))
}

/// Whether nothing in a program waits or drops executions: with one thread none is stuck, and there is one for all values.
pub fn goes_on(program: &Program) -> bool {
    let number = |e: &Expr| match e.kind {
        ExprKind::Const(Value::Int(n)) => Some(n),
        _ => None,
    };
    let is_true = |e: &Expr| number(e) == Some(1);
    !program.any_stmt(|s| match &s.kind {
        StmtKind::Await(e) | StmtKind::Assume(e) => !is_true(e),
        StmtKind::Any(_, lo, hi) => number(lo).zip(number(hi)).is_none_or(|(lo, hi)| lo > hi),
        StmtKind::Join(_) => true,
        _ => false,
    })
}

/// Refuses to try all values of an integer one by one.
pub fn refuse_wide_choices(program: &Program, source: &str) -> Result<(), Failure> {
    match wide_choice(program) {
        None => Ok(()),
        Some(span) => {
            let line = span.line_col(source).line;
            Err(input(format!("the program chooses any integer in line {line}, and all cannot be tried one by one"))
                .help("restrict it: `fabius_any_int(0, 7)`; `fabius check` tries those that matter"))
        }
    }
}

/// Whether data races are bugs of a program that is read with these arguments.
pub fn looks_for_races(args: &ProgramArgs) -> Result<bool, Failure> {
    Ok(match &args.property {
        Some(file) => property_of(file)? == Property::NoDataRace,
        None => true,
    })
}

/// What is assumed of functions without a body, and of atomic operations that are weaker than they are taken to be.
pub fn assumed(havocked: &[String], weaker: fabius_c::Weaker, looks_for_races: bool) -> Option<String> {
    let races = "some atomic operations are taken to order what is around them, which they may not do: a data race may be missed";
    let said = [(weaker.hides_races && looks_for_races, races), (weaker.shows_more, fabius_native::SHOWS_MORE)];
    let said = said.into_iter().filter(|(holds, _)| *holds).map(|(_, words)| words.to_string());
    let all: Vec<String> = without_bodies(havocked).into_iter().chain(said).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

fn without_bodies(havocked: &[String]) -> Option<String> {
    let names: Vec<String> = havocked.iter().map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [] => None,
        [one] => Some(format!("{one} has no body: it is taken to return any value and to change nothing")),
        [first @ .., last] => {
            let all = format!("{} and {last}", first.join(", "));
            Some(format!("{all} have no bodies: they are taken to return any value and to change nothing"))
        }
    }
}

/// Whether a file is a C program.
pub fn is_c(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "c" || e == "i")
}

/// What the compiler is given for a program: its files, its macros, its folders of headers.
pub fn compiler_arguments(id: &ProgramId) -> Vec<OsString> {
    let mut all = vec![OsString::from(&id.file)];
    for (name, value) in &id.consts {
        match name.as_str() {
            WITH => all.push(value.into()),
            INCLUDE => all.push(format!("-I{value}").into()),
            ALLOCATIONS | PROPERTY | DATA_MODEL | OVERFLOW | LEAKS | HAVOC | THREADS => {}
            _ => all.push(format!("-D{name}={value}").into()),
        }
    }
    all
}

/// Reads a C program.
pub fn load(path: &Path, consts: &[(String, String)]) -> Result<fabius_c::Loaded, Failure> {
    let mut files = vec![path.to_path_buf()];
    let mut options = Options::default();
    for (name, value) in consts {
        match name.as_str() {
            WITH => files.push(PathBuf::from(value)),
            INCLUDE => options.preprocessor.push(format!("-I{value}")),
            ALLOCATIONS => {
                let allocations = value.parse().map_err(|_| input(format!("`{value}` is no number of allocations")))?;
                options.limits = Limits::of(allocations);
            }
            PROPERTY => options.property = Some(property_of(Path::new(value))?),
            DATA_MODEL => options.model = DataModel::Ilp32,
            OVERFLOW => options.overflow = true,
            LEAKS => options.leaks = true,
            HAVOC => options.havoc = true,
            THREADS => options.creation = Creation::AnyNumber,
            _ => options.preprocessor.push(format!("-D{name}={value}")),
        }
    }
    fabius_c::load(&files, &options).map_err(|failure| match failure {
        fabius_c::Failure::Plain(message) => input(message),
        fabius_c::Failure::Source(wrong) => {
            let of = |wrong: fabius_c::Wrong| Wrong {
                file: wrong.file,
                source: wrong.source,
                diagnostics: wrong.diagnostics,
            };
            Failure::Source(wrong.into_iter().map(of).collect())
        }
    })
}

/// What a call of a function without a body has returned, where a value was chosen.
pub struct Chosen {
    pub function: String,
    /// The value in 64 bits.
    pub code: u64,
}

/// What the call that an action is has returned.
pub fn chosen(action: &Action) -> Option<Chosen> {
    let function = action.text.strip_suffix("()")?;
    let value: i64 = action.note.as_deref()?.strip_prefix("chose ")?.parse().ok()?;
    Some(Chosen { function: function.trim().into(), code: value as u64 })
}

impl Chosen {
    /// As C writes it.
    pub fn value(&self) -> String {
        // What is chosen of the widest type without a sign is its code.
        let unsigned =
            ["ulong", "ulonglong", "size_t", "sector_t", "u64", "U64"].iter().any(|ty| self.function.ends_with(ty));
        if unsigned { self.code.to_string() } else { (self.code as i64).to_string() }
    }
}

/// The last character of a span: where a call ends, as witnesses have it.
pub fn end_of(span: Span) -> Span {
    Span { start: span.end.saturating_sub(1), end: span.end }
}
