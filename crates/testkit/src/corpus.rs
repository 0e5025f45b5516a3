//! Programs with the answers that are expected of them.
//!
//! The comments at the top of a program (all of its lines up to the first that is neither blank nor a `//` comment)
//! may contain claims, one a line:
//!
//! ```text
//! // expect: VERDICT [KIND] [cost N] [with OPTION..]
//! // states: BOUND N.. [..] [with OPTION..]
//! ```
//!
//! * VERDICT is `bug`, `no_bug_within_bounds`, `verified` or `unknown`; a `bug` has a KIND (`assertion`, `deadlock`,
//!   `data_race`, .. : the names of [`BugKind`] in the JSON output) and may have a cost.
//! * BOUND is `none`, `contexts`, `preemptions`, `delays`, `depth` or `rounds`. The numbers are the distinct states
//!   reached with a cost of at most 0, 1, 2, ..; levels beyond the last number have the last number, unless the list
//!   ends in `..`: then they are not claimed.
//! * OPTION is what `fabius check` takes on its command line: `--const N=8`, `--instances p=2`, `--bound delays`,
//!   `--max 3`, `--scheduler round-robin`, `--strategy dfs`, `--points sync`, `--stateless`, `--races`, `--no-deadlock`,
//!   `--livelock`, `--seed 7`, `--executions 100`. What is not given has the command line's default.
//!
//! A comment that begins with `expect` or `states` and a colon but is not of this form is an error, and so is a claim
//! below the header: a claim can not be lost by a slip of the pen.

use fabius_trace::{Bound, BugKind, Points, SchedulerKind};
use serde::de::DeserializeOwned;
use std::fmt;
use std::path::{Path, PathBuf};

/// A program of the corpus and what it claims.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Where it is.
    pub path: PathBuf,
    /// Its text.
    pub source: String,
    /// Its claims, in order.
    pub claims: Vec<Claim>,
}

/// One line `// expect:` or `// states:`.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Its line in the file, from 1.
    pub line: usize,
    /// How the program is to be checked.
    pub options: Options,
    /// What is to come out.
    pub expected: Expected,
}

/// What is expected.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// An answer.
    Answer {
        /// Which.
        verdict: VerdictName,
        /// What kind of bug.
        kind: Option<BugKind>,
        /// The cost of the trace.
        cost: Option<u32>,
    },
    /// Distinct states by value of the bound (cumulative).
    States {
        /// By bound value 0, 1, 2, ..
        counts: Vec<u64>,
        /// Whether nothing is said about the levels beyond.
        open: bool,
    },
}

/// The verdicts' names, without what they carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum VerdictName {
    Bug,
    NoBugWithinBounds,
    Verified,
    Unknown,
}

/// How a search walks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum StrategyName {
    Iterative,
    DepthFirst,
    Random,
    Pct(u32),
}

/// The options of `fabius check` that a claim may name.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Options {
    pub consts: Vec<(String, String)>,
    pub instances: Vec<(String, u32)>,
    pub bound: Option<Bound>,
    pub max: Option<u32>,
    pub scheduler: Option<SchedulerKind>,
    pub strategy: Option<StrategyName>,
    pub points: Points,
    pub stateless: bool,
    pub races: bool,
    pub deadlock: bool,
    pub livelock: bool,
    pub seed: Option<u64>,
    pub executions: Option<u64>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            consts: vec![],
            instances: vec![],
            bound: None,
            max: None,
            scheduler: None,
            strategy: None,
            points: Points::All,
            stateless: false,
            races: false,
            deadlock: true,
            livelock: false,
            seed: None,
            executions: None,
        }
    }
}

/// A claim that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimError {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for ClaimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path.display(), self.line, self.message)
    }
}

impl std::error::Error for ClaimError {}

/// All `.fab` files below a directory, in order of their paths.
pub fn find(root: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = vec![];
    let mut open = vec![root.to_path_buf()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory)? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "fab") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The programs below these folders of the project that are meant to compile.
///
/// # Panics
/// If a folder cannot be read: they are part of the project.
pub fn programs(folders: &[&str]) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let all = folders.iter().flat_map(|folder| find(&root.join(folder)).expect("the folder can be read"));
    all.filter(|path| !path.iter().any(|part| part == "reject")).collect()
}

/// The claims in a program's header.
pub fn parse(path: &Path, source: &str) -> Result<Entry, ClaimError> {
    let mut claims = vec![];
    let mut in_header = true;
    for (index, text) in source.lines().enumerate() {
        let error = |message: String| ClaimError { path: path.to_path_buf(), line: index + 1, message };
        let comment = text.trim().strip_prefix("//").map(str::trim);
        in_header &= comment.is_some() || text.trim().is_empty();
        let Some(comment) = comment else { continue };
        let (word, rest) = comment.split_once(':').unwrap_or((comment, ""));
        let word = word.trim();
        if word != "expect" && word != "states" {
            continue;
        }
        if !in_header {
            return Err(error(format!("a claim `{word}:` belongs to the comments above the program")));
        }
        let (claim, options) = match rest.split_once(" with ") {
            Some((claim, options)) => (claim, parse_options(options).map_err(error)?),
            None => (rest, Options::default()),
        };
        let words: Vec<&str> = claim.split_whitespace().collect();
        let (expected, options) = match word {
            "expect" => (parse_answer(&words).map_err(error)?, options),
            _ => parse_states(&words, options).map_err(error)?,
        };
        claims.push(Claim { line: index + 1, options, expected });
    }
    Ok(Entry { path: path.to_path_buf(), source: source.to_string(), claims })
}

fn parse_answer(words: &[&str]) -> Result<Expected, String> {
    let mut words = words.iter().copied();
    let verdict = match words.next() {
        Some("bug") => VerdictName::Bug,
        Some("no_bug_within_bounds") => VerdictName::NoBugWithinBounds,
        Some("verified") => VerdictName::Verified,
        Some("unknown") => VerdictName::Unknown,
        other => return Err(format!("`{}` is no verdict", other.unwrap_or(""))),
    };
    let mut kind = None;
    let mut cost = None;
    if verdict == VerdictName::Bug {
        let name = words.next().ok_or("a bug has a kind")?;
        kind = Some(from_name(name).ok_or(format!("`{name}` is no kind of bug"))?);
        match words.next() {
            Some("cost") => cost = Some(number(words.next().unwrap_or(""))?),
            Some(other) => return Err(format!("expected `cost` or `with`, not `{other}`")),
            None => {}
        }
    }
    match words.next() {
        Some(other) => Err(format!("`{other}` is too much")),
        None => Ok(Expected::Answer { verdict, kind, cost }),
    }
}

fn parse_states(words: &[&str], mut options: Options) -> Result<(Expected, Options), String> {
    let (bound, counts) = words.split_first().ok_or("expected a bound and numbers")?;
    if options.bound.is_some() {
        return Err("the bound stands in front of the numbers".into());
    }
    options.bound = Some(from_name(bound).ok_or(format!("`{bound}` is no bound"))?);
    let (open, counts) = match counts.split_last() {
        Some((&"..", counts)) => (true, counts),
        _ => (false, counts),
    };
    let counts = counts.iter().map(|c| number(c)).collect::<Result<Vec<u64>, String>>()?;
    if counts.is_empty() || counts.windows(2).any(|w| w[0] > w[1]) {
        return Err("expected one or more numbers that do not decrease".into());
    }
    Ok((Expected::States { counts, open }, options))
}

fn parse_options(text: &str) -> Result<Options, String> {
    let mut options = Options::default();
    let mut words = text.split_whitespace();
    while let Some(option) = words.next() {
        let mut argument = || words.next().ok_or(format!("`{option}` needs an argument"));
        match option {
            "--const" => options.consts.push(pair(argument()?)?),
            "--instances" => {
                let (name, count) = pair(argument()?)?;
                options.instances.push((name, number(&count)?));
            }
            "--bound" => options.bound = Some(named(argument()?)?),
            "--max" => options.max = Some(number(argument()?)?),
            "--scheduler" => options.scheduler = Some(scheduler(argument()?)?),
            "--strategy" => options.strategy = Some(strategy(argument()?)?),
            "--points" => options.points = named(argument()?)?,
            "--stateless" => options.stateless = true,
            "--races" => options.races = true,
            "--no-deadlock" => options.deadlock = false,
            "--livelock" => options.livelock = true,
            "--seed" => options.seed = Some(number(argument()?)?),
            "--executions" => options.executions = Some(number(argument()?)?),
            other => return Err(format!("`{other}` is no option of a claim")),
        }
    }
    Ok(options)
}

fn scheduler(name: &str) -> Result<SchedulerKind, String> {
    if let Some(copies) = name.strip_prefix("bounded-bag:") {
        return Ok(SchedulerKind::BoundedBag(number(copies)?));
    }
    named(name)
}

fn strategy(name: &str) -> Result<StrategyName, String> {
    match name.split_once(':') {
        Some(("pct", depth)) => Ok(StrategyName::Pct(number(depth)?)),
        _ => match name {
            "iterative" => Ok(StrategyName::Iterative),
            "dfs" => Ok(StrategyName::DepthFirst),
            "random" => Ok(StrategyName::Random),
            _ => Err(format!("`{name}` is no strategy")),
        },
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => Ok((name.into(), value.into())),
        _ => Err(format!("expected NAME=VALUE, not `{text}`")),
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is no number"))
}

fn named<T: DeserializeOwned>(name: &str) -> Result<T, String> {
    from_name(name).ok_or(format!("`{name}` is unknown"))
}

/// The value that the JSON output calls by this name.
fn from_name<T: DeserializeOwned>(name: &str) -> Option<T> {
    serde_json::from_value(serde_json::Value::String(name.into())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(source: &str) -> Result<Vec<Claim>, String> {
        parse(Path::new("x.fab"), source).map(|e| e.claims).map_err(|e| e.to_string())
    }

    #[test]
    fn reads_claims_with_options() {
        let source = "// What it is.\n//\n// expect: bug assertion cost 2 with --const N=8 --bound delays --scheduler round-robin\n\
            // expect: verified\n// states: preemptions 36 97 .. with --points sync --instances p=3\nvar x: int;\n";
        let claims = claims(source).unwrap();
        assert_eq!(claims.len(), 3);
        assert_eq!(claims[0].line, 3);
        assert_eq!(
            claims[0].expected,
            Expected::Answer { verdict: VerdictName::Bug, kind: Some(BugKind::Assertion), cost: Some(2) }
        );
        assert_eq!(claims[0].options.consts, [("N".to_string(), "8".to_string())]);
        assert_eq!(claims[0].options.bound, Some(Bound::Delays));
        assert_eq!(claims[0].options.scheduler, Some(SchedulerKind::RoundRobin));
        assert_eq!(claims[1].expected, Expected::Answer { verdict: VerdictName::Verified, kind: None, cost: None });
        assert_eq!(claims[1].options, Options::default());
        assert_eq!(claims[2].expected, Expected::States { counts: vec![36, 97], open: true });
        assert_eq!(claims[2].options.bound, Some(Bound::Preemptions));
        assert_eq!(claims[2].options.points, Points::Sync);
        assert_eq!(claims[2].options.instances, [("p".to_string(), 3)]);
    }

    #[test]
    fn reads_every_option() {
        let all = "// expect: unknown with --max 3 --scheduler bounded-bag:2 --strategy pct:3 --stateless --races \
            --no-deadlock --livelock --seed 7 --executions 100";
        let options = claims(all).unwrap().remove(0).options;
        assert_eq!(options.max, Some(3));
        assert_eq!(options.scheduler, Some(SchedulerKind::BoundedBag(2)));
        assert_eq!(options.strategy, Some(StrategyName::Pct(3)));
        assert!(options.stateless && options.races && !options.deadlock && options.livelock);
        assert_eq!((options.seed, options.executions), (Some(7), Some(100)));
    }

    #[test]
    fn refuses_malformed_claims() {
        for (source, message) in [
            ("// expect: maybe", "`maybe` is no verdict"),
            ("// expect:", "`` is no verdict"),
            ("// expect: bug", "a bug has a kind"),
            ("// expect: bug bad_luck", "`bad_luck` is no kind of bug"),
            ("// expect: bug assertion cost", "`` is no number"),
            ("// expect: bug assertion const 2", "expected `cost` or `with`, not `const`"),
            ("// expect: verified cost 2", "`cost` is too much"),
            ("// expect: verified with --quick", "`--quick` is no option of a claim"),
            ("// expect: verified with --const N", "expected NAME=VALUE, not `N`"),
            ("// expect: verified with --bound", "`--bound` needs an argument"),
            ("// expect: verified with --scheduler lifo", "`lifo` is unknown"),
            ("// expect: verified with --strategy luck", "`luck` is no strategy"),
            ("// states: 1 2", "`1` is no bound"),
            ("// states: preemptions", "expected one or more numbers that do not decrease"),
            ("// states: preemptions 3 2", "expected one or more numbers that do not decrease"),
            ("// states: preemptions 3 with --bound delays", "the bound stands in front of the numbers"),
            ("var x: int;\n// expect: verified", "a claim `expect:` belongs to the comments above the program"),
        ] {
            let error = claims(source).unwrap_err();
            assert!(error.ends_with(message), "{source}: {error}");
            assert!(error.starts_with("x.fab:"), "{error}");
        }
        assert_eq!(claims("// expected to be fine\n// The states: many.\nvar x: int;"), Ok(vec![]));
    }
}
