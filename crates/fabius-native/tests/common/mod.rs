//! Building and exploring programs in tests.

use fabius_native::{Language, Plan, Report, SHRINKING, Target, Walk, compile, explore};
use fabius_trace::{Bound, ErrorTrace, Points, Reason, SchedulerKind, Verdict};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("native")
}

pub fn library() -> PathBuf {
    fabius_native::install(&folder()).expect("the folder for tests can be written")
}

pub fn plan() -> Plan {
    Plan {
        bound: Bound::Preemptions,
        max: None,
        scheduler: SchedulerKind::Bag,
        walk: Walk::Iterative,
        points: Points::Sync,
        first_race: false,
        leaks: false,
        reduction: true,
        executions: Some(200_000),
        time: None,
        memory: None,
        max_steps: 100_000,
        shrinking: SHRINKING,
        seed: 0,
        isolation: None,
        jobs: 1,
    }
}

/// The folder in which programs make their files, for as long as a test has it: what executions that end early leave there goes
/// with it. All tests of a process share it, as they share what folder they are in.
pub struct Files(());

static USED_BY: Mutex<usize> = Mutex::new(0);

impl Files {
    #[allow(dead_code, reason = "not every test has programs that make files")]
    pub fn begin() -> Files {
        let mut used_by = USED_BY.lock().unwrap();
        *used_by += 1;
        std::fs::create_dir_all(Files::folder()).unwrap();
        std::env::set_current_dir(Files::folder()).unwrap();
        Files(())
    }

    fn folder() -> PathBuf {
        folder().join(format!("files-{}", std::process::id()))
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let mut used_by = USED_BY.lock().unwrap();
        *used_by -= 1;
        if *used_by == 0 {
            let _ = std::env::set_current_dir(env!("CARGO_MANIFEST_DIR"));
            let _ = std::fs::remove_dir_all(Files::folder());
        }
    }
}

/// Builds a program by gcc.
pub fn build(source: &Path) -> Target {
    build_with(None, source)
}

/// Builds a program, by another compiler than gcc if one is named. It may ask for options of its own by `// flags:`.
pub fn build_with(compiler: Option<&str>, source: &Path) -> Target {
    let library = library();
    let name = source.file_name().unwrap().to_string_lossy().replace('.', "_");
    let program = folder().join(compiler.unwrap_or_default().to_string() + &name);
    let is_cpp = source.extension().is_some_and(|e| e == "cpp");
    let language = if is_cpp { Language::Cpp } else { Language::C };
    let with = compiler.map(|c| OsString::from(if is_cpp { format!("{c}++") } else { c.to_string() }));
    let text = std::fs::read_to_string(source).unwrap();
    let flags = text.lines().find_map(|l| l.strip_prefix("// flags: ")).unwrap_or_default();
    let flags = flags.split_whitespace().chain(["-w", "-o"]).map(OsString::from);
    let args: Vec<OsString> = flags.chain([program.clone().into(), source.into()]).collect();
    let status = compile(language, with.as_deref(), &library, &args).unwrap().status().unwrap();
    assert!(status.success(), "{} does not compile", source.display());
    Target { program, args: Vec::new(), library }
}

pub fn run(target: &Target, plan: &Plan) -> Report {
    explore(target, plan, &AtomicBool::new(false), &|_| {}).expect("the program can be run")
}

pub fn told(report: &Report) -> String {
    match &report.verdict {
        Verdict::Bug { trace } => {
            let kind = serde_json::to_value(trace.kind).unwrap();
            format!("bug {} {}", kind.as_str().unwrap(), trace.cost)
        }
        Verdict::Verified => "verified".into(),
        Verdict::NoBugWithinBounds { .. } => "bounded".into(),
        Verdict::Unknown { reason: Reason::Program { message }, .. } => format!("unknown {message}"),
        Verdict::Unknown { reason, .. } => format!("unknown {reason:?}"),
    }
}

/// Builds a program that a test has as text.
#[allow(dead_code, reason = "not every test has one")]
pub fn build_text(name: &str, text: &str) -> Target {
    library();
    let source = folder().join(name);
    std::fs::write(&source, text).unwrap();
    build(&source)
}

/// The bug of a report.
#[allow(dead_code, reason = "not every test looks at it")]
pub fn bug(report: &Report) -> &ErrorTrace {
    match &report.verdict {
        Verdict::Bug { trace } => trace,
        verdict => panic!("no bug: {verdict:?}"),
    }
}
