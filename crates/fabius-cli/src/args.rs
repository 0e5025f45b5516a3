//! What can be said on the command line, and the parsers of its values.
//!
//! Length: one table of options; the parsers of their values are read together with it.

use clap::{Args, Parser, Subcommand, ValueEnum};
use fabius_trace::{Bound, Points, SchedulerKind};
use fabius_verify::Strategy;
use fabius_verify::compare::{WAYS, Way};
use fabius_verify::prove::SolverChoice;
use std::path::PathBuf;
use std::time::Duration;

/// Finds the schedule that breaks a concurrent program, or shows that none within a stated bound does.
#[derive(Debug, Parser)]
#[command(name = "fabius", version, propagate_version = true, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

/// The largest bound of a translation.
const MOST: i64 = fabius_verify::prove::MOST as i64;

const EXIT_CODES: &str = "\
Exit codes:
  0  no bug (within the bounds that the answer names), or nothing to report
  1  bug; for `fmt --check`: some file is not formatted
  2  bad input or usage, or an output that could not be written
  3  unknown: a limit or Ctrl-C stopped the search";

const CHECK_HELP: &str = "\
By default schedules are explored in order of their preemptions: none, one, two, .. until every schedule
has been explored or a limit stops the search. So the first bug found needs the fewest preemptions.

Examples:
  fabius check examples/bluetooth.fab
  fabius check examples/bluetooth.fab --trace bug.trace.json
  fabius check examples/bluetooth.fab --bound delays --max 2 --stats
  fabius check examples/philosophers.fab --const N=4 --json
  fabius check examples/bluetooth.fab --strategy pct:3 --executions 1000 --seed 7
  fabius check models/*.fab --max 2 --junit results.xml --sarif results.sarif

Exit codes, of several files the worst (2, 1, 3, 0):
  0  no bug within the bounds that the answer names, or verified
  1  bug
  2  bad input or usage, or an output that could not be written
  3  unknown: a limit or Ctrl-C stopped the search";

const VERIFY_HELP: &str = "\
The program is translated to a sequential one, whose loops and calls are followed as far as --unwind and
--recursion say; a solver looks for values for which an assertion fails. What is found is run again in the
reference semantics before it is shown. Deadlocks are looked for with --rounds only.

Examples:
  fabius verify examples/bluetooth.fab --rounds 2
  fabius verify examples/fig10.fab --const N=8 --zields 8
  fabius verify examples/account.fab
  fabius verify examples/bluetooth.fab --dump smt2 question.smt2

Exit codes:
  0  no bug within the bounds that the answer names
  1  bug
  2  bad input or usage, or an output that could not be written
  3  unknown: a limit or Ctrl-C stopped the search";

const TRACE_HELP: &str = "\
A recorded run of a message-passing program (docs/messages.md describes the text) stands for all runs that take
the same path with their messages in other orders. A solver looks for one that is a bug; what it finds is run
again, step by step, before it is shown. Other paths of the program are other traces.

Examples:
  fabius trace examples/mcapi.ctp
  fabius trace examples/mcapi.ctp --property deadlock --buffering zero
  fabius trace examples/mcapi.ctp --enumerate
  fabius trace examples/mcapi.ctp --encoding match-pair --stats

Exit codes:
  0  no order of the messages is a bug on this path
  1  bug
  2  bad input or usage, or an output that could not be written
  3  unknown: a limit or Ctrl-C stopped the search";

const TRANSLATE_HELP: &str = "\
The printed program is one of Fabius again. It makes guesses of states and takes back (`assume`) those that
were wrong; it fails its last assertion in the executions in which the concurrent program fails one.

Examples:
  fabius translate examples/bluetooth.fab --to sequential --delays 1
  fabius translate examples/fig10.fab --to single-buffer --zields 3

Exit codes:
  0  done
  2  bad input or usage";

const COMPARE_HELP: &str = "\
Strategies: icb (preemptions, the fewest first), delay:round-robin and delay:depth-first (delays, the
fewest first), dfs, random, pct:D (random priorities with D - 1 points of change), db:N (depth-first,
executions cut after N steps), idfs (the shortest executions first).

Those that go from low costs to higher ones are also searched as `fabius check` does, to count what is
within each bound. Then every strategy runs executions one after the other from the beginning, up to the
first bug, without leaving any out. A file that ends in `.json` holds what was measured before: what
--json printed, or what `fabius::compare` saved of a Rust test; it is read and drawn as it is.

Examples:
  fabius compare corpus/coverage/safe/work_stealing_queue.fab --points sync
  fabius compare examples/bluetooth.fab --strategies icb,delay:round-robin,random --seeds 20
  fabius compare corpus/threads/bug/*.fab --svg plots --csv plots
  fabius compare target/fabius/queue.comparison.json --svg plots

Exit codes:
  0  done, whether or not there are bugs
  2  bad input or usage, or an output that could not be written
  3  Ctrl-C stopped it; what is printed is not complete";

const REPORT_HELP: &str = "\
The page holds everything and needs no network: send it to a colleague. The source is shown if the program is found
unchanged, at the path in the trace, from the current directory and from the trace's. The traces that Rust tests save are
read too.

Example:
  fabius report bug.json -o bug.html

Exit codes:
  0  done
  2  bad input, or a page that could not be written";

const REPLAY_HELP: &str = "\
The program is looked for at the path in the trace, from the current directory and from the trace's. When
standard input is a terminal you step through the trace; otherwise it is printed.

Exit codes:
  1  the bug happened again
  2  bad input: the trace is damaged, edited, of another program or of another version of Fabius";

const COMPLETIONS_HELP: &str = "\
Examples:
  fabius completions bash > ~/.local/share/bash-completion/completions/fabius
  fabius completions zsh > ~/.zfunc/_fabius
  fabius completions fish > ~/.config/fish/completions/fabius.fish";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Explores the schedules of a program and reports the simplest one that breaks it.
    #[command(after_help = CHECK_HELP)]
    Check(Box<CheckArgs>),
    /// Translates a program to a sequential one and solves that: data may be of any size.
    #[command(after_help = VERIFY_HELP)]
    Verify(Box<VerifyArgs>),
    /// Finds another order of the messages of a recorded run that is a bug, or shows that there is none on its path.
    #[command(after_help = TRACE_HELP)]
    Trace(Box<TraceArgs>),
    /// Prints a concurrent program as a sequential one, or as one with fewer concepts.
    #[command(after_help = TRANSLATE_HELP)]
    Translate(TranslateArgs),
    /// Runs a saved trace again and shows it step by step.
    #[command(after_help = REPLAY_HELP)]
    Replay(ReplayArgs),
    /// Makes a web page of a saved trace.
    #[command(after_help = REPORT_HELP)]
    Report(ReportArgs),
    /// Measures how fast strategies see what a program does, and find its first bug; draws the curves.
    #[command(after_help = COMPARE_HELP)]
    Compare(CompareArgs),
    /// Formats programs.
    #[command(
        after_help = "Exit codes:\n  0  done; with --check: every file is formatted\n  1  with --check: some file is not\n  2  bad input, or a file that could not be written"
    )]
    Fmt(FmtArgs),
    /// Explains the code of an error message, for instance `E0103`.
    Explain {
        /// The code, or nothing for a list of all codes.
        code: Option<String>,
        #[command(flatten)]
        output: ColourArgs,
    },
    /// Prints what a shell needs to complete commands and options.
    #[command(after_help = COMPLETIONS_HELP)]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Prints the JSON schema of a document.
    Schema {
        /// Which document.
        of: crate::documents::SchemaOf,
    },
    /// Prints the manual page, or writes one for each command.
    #[command(after_help = "Examples:\n  fabius man | man -l -\n  fabius man --dir ~/.local/share/man/man1")]
    Man {
        /// Write `fabius.1`, `fabius-check.1`, .. into this folder, which exists
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The program, or several: then one line is printed for each, and the worst answer decides the exit code.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// What deviations from an undisturbed run are counted [default: preemptions, or what --scheduler or --strategy asks for]
    #[arg(long, value_name = "BOUND", help_heading = "Bounds")]
    pub bound: Option<BoundArg>,
    /// Explore schedules with at most N such deviations [default: no limit]
    #[arg(long, value_name = "N", help_heading = "Bounds")]
    pub max: Option<u32>,
    #[command(flatten)]
    pub program: ProgramArgs,

    /// Who is next: bag, bounded-bag:K, round-robin, depth-first [default: bag; round-robin for delays]
    #[arg(long, value_name = "SCHEDULER", value_parser = parse_scheduler, help_heading = "Search")]
    pub scheduler: Option<SchedulerKind>,
    /// In which order schedules are tried: iterative, dfs, random, pct:D [default: iterative]
    #[arg(long, value_name = "STRATEGY", value_parser = parse_strategy, help_heading = "Search")]
    pub strategy: Option<Strategy>,
    /// Where a thread may be preempted: before every access to shared state, or to synchronization variables only
    /// (and then every execution is checked for data races)
    #[arg(long, value_name = "POINTS", default_value = "all", help_heading = "Search")]
    pub points: PointsArg,
    /// Enumerate executions without storing states
    #[arg(long, help_heading = "Search")]
    pub stateless: bool,
    /// Seed of the random strategies
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Search")]
    pub seed: u64,

    /// Report data races too
    #[arg(long, help_heading = "What is a bug")]
    pub races: bool,
    /// Report livelocks too: reachable fair cycles without progress
    #[arg(long, help_heading = "What is a bug")]
    pub livelock: bool,
    /// Do not report deadlocks
    #[arg(long, help_heading = "What is a bug")]
    pub no_deadlock: bool,

    /// Processors to use [default: all]; the answer does not depend on it
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub jobs: Option<usize>,
    /// Stop at this much memory for states: 512M, 4G
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Limits")]
    pub memory: Option<u64>,
    /// Stop after this time: 500ms, 30s, 5m, 1h
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, help_heading = "Limits")]
    pub time: Option<Duration>,
    /// Stop after this many executions (random strategies) [default for random strategies: 10000]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub executions: Option<u64>,

    /// Write the answers as JUnit XML: a test case for each file
    #[arg(long, value_name = "FILE.xml", help_heading = "Output")]
    pub junit: Option<PathBuf>,
    /// Write the graph of the states that were explored, of one small program; Graphviz draws it
    #[arg(long, value_name = "FILE.dot", help_heading = "Output")]
    pub dot: Option<PathBuf>,
    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// What belongs to a program besides its text.
#[derive(Clone, Debug, Default, Args)]
pub struct ProgramArgs {
    /// How many copies of `process PROC[*]` run; may be repeated
    #[arg(long, value_name = "PROC=N", value_parser = parse_instances, help_heading = "Bounds")]
    pub instances: Vec<(String, u32)>,
    /// Value of a constant of the program; may be repeated
    #[arg(long = "const", value_name = "NAME=VALUE", value_parser = parse_const, help_heading = "Bounds")]
    pub consts: Vec<(String, String)>,
}

/// How an answer is given.
#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// Save the trace of a bug; `fabius replay` steps through it
    #[arg(long, value_name = "FILE.json", help_heading = "Output")]
    pub trace: Option<PathBuf>,
    /// Write the answer as a web page: lanes, source and values to step through
    #[arg(long, value_name = "FILE.html", help_heading = "Output")]
    pub html: Option<PathBuf>,
    /// Write the answer as SARIF, for code scanning: bugs with their interleaving
    #[arg(long, value_name = "FILE.sarif", help_heading = "Output")]
    pub sarif: Option<PathBuf>,
    /// Print one JSON document on standard output
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Print what the answer took: what was explored at each value of the bound, or where the time went
    #[arg(long, help_heading = "Output")]
    pub stats: bool,
    #[command(flatten)]
    pub output: ColourArgs,
}

/// Which schedules are translated.
#[derive(Clone, Debug, Args)]
pub struct SequentialArgs {
    /// Schedules of the depth-first scheduler with at most K delays
    #[arg(long, value_name = "K", help_heading = "Bounds", value_parser = clap::value_parser!(u32).range(0..=MOST), conflicts_with_all = ["rounds", "zields", "yields"])]
    pub delays: Option<u32>,
    /// Schedules of K rounds over the threads [default for threads: 3]
    #[arg(long, value_name = "K", help_heading = "Bounds", value_parser = clap::value_parser!(u32).range(1..=MOST), conflicts_with_all = ["zields", "yields"])]
    pub rounds: Option<u32>,
    /// Schedules of K rounds over the task buffers [default for tasks: 2; with --yields: 1]
    #[arg(long, value_name = "K", help_heading = "Bounds", value_parser = clap::value_parser!(u32).range(1..=MOST))]
    pub zields: Option<u32>,
    /// Schedules of K rounds over the tasks of a level whenever it is active [default for tasks: 2; with --zields: 1]
    #[arg(long, value_name = "K", help_heading = "Bounds", value_parser = clap::value_parser!(u32).range(1..=MOST))]
    pub yields: Option<u32>,
    /// The scheduler whose delays are counted
    #[arg(long, value_name = "SCHEDULER", help_heading = "Bounds", requires = "delays", conflicts_with_all = ["rounds", "zields", "yields"])]
    pub scheduler: Option<DelayedArg>,
    /// Any number of threads of each `process p[*]`; with --rounds [the default where there is one, and for 2 rounds]
    #[arg(long, value_name = "NUMBER", help_heading = "Bounds", conflicts_with_all = ["delays", "zields", "yields", "instances"])]
    pub threads: Option<ThreadsArg>,
    #[command(flatten)]
    pub program: ProgramArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ThreadsArg {
    /// As many as there may be
    Any,
}

impl SequentialArgs {
    /// No bound is given.
    pub fn is_default(&self) -> bool {
        [self.delays, self.rounds, self.zields, self.yields].iter().all(Option::is_none)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DelayedArg {
    /// New tasks first
    DepthFirst,
}

/// Who decides formulas.
#[derive(Debug, Args)]
pub struct SolverArgs {
    /// Who solves: embedded, or z3 or cvc5 if it is installed
    #[arg(long, value_name = "NAME", default_value = "embedded", help_heading = "Solver")]
    pub solver: String,
    /// Where the solver is, if not on the search path; any that reads SMT-LIB 2
    #[arg(long, value_name = "FILE", help_heading = "Solver")]
    pub solver_path: Option<PathBuf>,
}

impl SolverArgs {
    pub fn choice(&self) -> SolverChoice {
        match (&self.solver_path, self.solver.as_str()) {
            (Some(path), _) => SolverChoice::At(path.clone()),
            (None, "embedded") => SolverChoice::Embedded,
            (None, name) => SolverChoice::Named(name.into()),
        }
    }
}

#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// The program.
    pub file: PathBuf,
    #[command(flatten)]
    pub sequential: SequentialArgs,
    /// Follow each loop for at most U iterations
    #[arg(long, value_name = "U", default_value_t = 10, help_heading = "Bounds")]
    pub unwind: u32,
    /// Follow at most R active calls of a procedure
    #[arg(long, value_name = "R", default_value_t = 10, help_heading = "Bounds")]
    pub recursion: u32,
    /// Raise the bounds in turn, from the least ones to those given (or 64), until there is a bug
    #[arg(long, help_heading = "Bounds", conflicts_with_all = ["dump"])]
    pub incremental: bool,

    /// Who decides the sequential program
    #[arg(long, value_name = "NAME", default_value = "automatic", help_heading = "Solver")]
    pub engine: EngineArg,
    #[command(flatten)]
    pub solver: SolverArgs,

    /// Stop after this time: 500ms, 30s, 5m, 1h
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, help_heading = "Limits")]
    pub time: Option<Duration>,

    /// Write the question for another tool, and answer nothing: the formula (smt2), Horn clauses (horn), or the sequential program (fab, boogie, c)
    #[arg(long, num_args = 2, value_names = ["FORMAT", "FILE"], help_heading = "Output", conflicts_with_all = ["trace", "json"])]
    pub dump: Vec<String>,
    #[command(flatten)]
    pub answer: AnswerArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineArg {
    /// `interfaces` for any number of threads with finite data, otherwise `bmc`
    Automatic,
    /// Bounded model checking: any data, loops and calls as far as they are followed
    Bmc,
    /// Procedure summaries with decision diagrams: finite data, exact
    Summaries,
    /// Linear interfaces as relations: any number of threads, finite data, exact
    Interfaces,
    /// Horn clauses, solved by z3: any data, loops and calls without a bound
    Horn,
}

#[derive(Debug, Args)]
pub struct TraceArgs {
    /// The recorded run.
    pub file: PathBuf,
    /// What is a bug
    #[arg(long, value_name = "PROPERTY", default_value = "assert", help_heading = "What is a bug")]
    pub property: PropertyArg,
    /// How many messages the network holds
    #[arg(long, value_name = "BUFFERING", default_value = "infinite", help_heading = "What is a bug")]
    pub buffering: BufferingArg,

    /// How precisely it is found beforehand which receive may get which message
    #[arg(long, value_name = "PAIRS", default_value = "tight", help_heading = "Solver")]
    pub pairs: PairsArg,
    /// How the question is put to the solver; the answer does not depend on it
    #[arg(long, value_name = "ENCODING", default_value = "sparse", help_heading = "Solver")]
    pub encoding: EncodingArg,
    #[command(flatten)]
    pub solver: SolverArgs,
    /// Do not ask again when what the solver found is no run
    #[arg(long, help_heading = "Solver")]
    pub no_refine: bool,

    /// Find every matching of receives and messages, too
    #[arg(long, help_heading = "Output")]
    pub enumerate: bool,
    /// Which paths are looked at: with `all`, also which other sides of its branches some order of the messages takes
    #[arg(long, value_name = "PATHS", default_value = "recorded", help_heading = "Output")]
    pub paths: PathsArg,
    /// Write the question for another solver, and answer nothing; the format is smt2
    #[arg(long, num_args = 2, value_names = ["FORMAT", "FILE"], help_heading = "Output", conflicts_with_all = ["trace", "json", "enumerate"])]
    pub dump: Vec<String>,

    /// Stop after this time: 500ms, 30s, 5m, 1h
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, help_heading = "Limits")]
    pub time: Option<Duration>,
    /// Stop at this much memory for the states of `--pairs exact`: 512M, 4G
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Limits")]
    pub memory: Option<u64>,
    #[command(flatten)]
    pub answer: AnswerArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PathsArg {
    /// The one in the file
    Recorded,
    /// Also those that branch off from it: they are named, for runs of the program to be recorded
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PropertyArg {
    /// An assertion that fails
    Assert,
    /// Nodes that wait for ever
    Deadlock,
    /// A message that is never received
    Unmatched,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BufferingArg {
    /// Any number: a send is complete at once
    Infinite,
    /// None: a send is complete when its message is received
    Zero,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PairsArg {
    /// Those of some run, by exploration
    Exact,
    /// Those that their places and what happens before them allow
    Tight,
    /// All at the same endpoint
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EncodingArg {
    /// The paper's, with times as numbers
    MatchPair,
    /// By the order of arrivals, without pairs
    Order,
    /// Pairs, and an order without numbers
    Sparse,
}

#[derive(Debug, Args)]
pub struct TranslateArgs {
    /// The program.
    pub file: PathBuf,
    /// What is wanted
    #[arg(long, value_name = "FORM", default_value = "sequential")]
    pub to: FormArg,
    #[command(flatten)]
    pub sequential: SequentialArgs,
    #[command(flatten)]
    pub output: ColourArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormArg {
    /// Scheduling points, waiting and faults written out
    Explicit,
    /// Several task buffers as one
    SingleBuffer,
    /// Several task buffers and levels as one buffer of one level, by shared memory
    SharedMemory,
    /// One task buffer without `yield`
    YieldFree,
    /// No tasks or threads
    Sequential,
}

#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// The trace, as written by `fabius check --trace`.
    pub trace: PathBuf,
    /// The program, if it is not where the trace says
    #[arg(long, value_name = "FILE")]
    pub program: Option<PathBuf>,
    /// Write the trace as a web page
    #[arg(long, value_name = "FILE.html", help_heading = "Output")]
    pub html: Option<PathBuf>,
    /// Write the bug as SARIF, for code scanning
    #[arg(long, value_name = "FILE.sarif", help_heading = "Output")]
    pub sarif: Option<PathBuf>,
    /// Print one JSON document on standard output
    #[arg(long)]
    pub json: bool,
    /// Step through the trace even if standard input is not a terminal
    #[arg(long, conflicts_with = "json")]
    pub step: bool,
    #[command(flatten)]
    pub output: ColourArgs,
}

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The trace, or the document of `--json`.
    pub trace: PathBuf,
    /// Where to write the page
    #[arg(short, long, value_name = "FILE.html")]
    pub output: PathBuf,
    /// The program, if it is not where the trace says
    #[arg(long, value_name = "FILE")]
    pub program: Option<PathBuf>,
    #[command(flatten)]
    pub colour: ColourArgs,
}

#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The programs, and comparisons that were saved.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Which, in the order of the tables; the first bugs of the first are compared with those of the others
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        value_parser = parse_way,
        default_value = "icb,delay:round-robin,delay:depth-first,dfs,random,pct:3,db:20,db:40,idfs",
        help_heading = "Search"
    )]
    pub strategies: Vec<Way>,
    /// How often a random strategy begins anew, with seeds from 0
    #[arg(long, value_name = "S", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=10_000), help_heading = "Search")]
    pub seeds: u64,
    /// Where a thread may be preempted
    #[arg(long, value_name = "POINTS", default_value = "all", help_heading = "Search")]
    pub points: PointsArg,
    #[command(flatten)]
    pub program: ProgramArgs,

    /// Executions of a run
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..), help_heading = "Limits")]
    pub executions: u64,
    /// Stop each search after this time: 500ms, 30s, 5m, 1h
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_duration, help_heading = "Limits")]
    pub time: Duration,
    /// Stop a search that stores states at this much memory for them: 512M, 4G
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Limits")]
    pub memory: Option<u64>,

    /// Draw the curves as SVG into this folder, which is made if it is not there
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub svg: Option<PathBuf>,
    /// Write the numbers of the curves as CSV into this folder, which is made if it is not there
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub csv: Option<PathBuf>,
    /// Print one JSON document on standard output
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    #[command(flatten)]
    pub output: ColourArgs,
}

#[derive(Debug, Args)]
pub struct FmtArgs {
    /// The programs; `-` formats standard input to standard output.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Change nothing, only say which files are not formatted
    #[arg(long)]
    pub check: bool,
    #[command(flatten)]
    pub output: ColourArgs,
}

#[derive(Debug, Args)]
pub struct ColourArgs {
    /// When to use colour
    #[arg(long, value_name = "WHEN", default_value = "auto", help_heading = "Output", alias = "colour")]
    pub color: When,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum When {
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BoundArg {
    /// Nothing is counted: all schedules in no particular order
    None,
    /// Switches from one thread to another
    Contexts,
    /// Switches away from a thread that could go on
    Preemptions,
    /// Deviations from what a deterministic scheduler would do
    Delays,
    /// Steps
    Depth,
    /// Passages to a thread or task buffer that was made earlier
    Rounds,
}

impl From<BoundArg> for Bound {
    fn from(bound: BoundArg) -> Bound {
        match bound {
            BoundArg::None => Bound::None,
            BoundArg::Contexts => Bound::Contexts,
            BoundArg::Preemptions => Bound::Preemptions,
            BoundArg::Delays => Bound::Delays,
            BoundArg::Depth => Bound::Depth,
            BoundArg::Rounds => Bound::Rounds,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PointsArg {
    /// Before every access to shared state
    All,
    /// Before accesses to synchronization variables
    Sync,
}

impl From<PointsArg> for Points {
    fn from(points: PointsArg) -> Points {
        match points {
            PointsArg::All => Points::All,
            PointsArg::Sync => Points::Sync,
        }
    }
}

/// `name:number`, if the text begins with this name.
fn numbered(text: &str, name: &str, example: &str) -> Option<Result<u32, String>> {
    let rest = text.strip_prefix(name)?;
    let number = rest.strip_prefix(':').and_then(|n| n.parse().ok()).filter(|n| *n >= 1);
    Some(number.ok_or_else(|| format!("write a number of at least 1 after `{name}`, for instance `{example}`")))
}

fn parse_scheduler(text: &str) -> Result<SchedulerKind, String> {
    match text {
        "bag" => return Ok(SchedulerKind::Bag),
        "round-robin" => return Ok(SchedulerKind::RoundRobin),
        "depth-first" => return Ok(SchedulerKind::DepthFirst),
        _ => {}
    }
    if let Some(number) = numbered(text, "bounded-bag", "bounded-bag:2") {
        return number.map(SchedulerKind::BoundedBag);
    }
    Err(unknown(text, &["bag", "bounded-bag:K", "round-robin", "depth-first"]))
}

fn parse_strategy(text: &str) -> Result<Strategy, String> {
    match text {
        "iterative" => return Ok(Strategy::Iterative),
        "dfs" => return Ok(Strategy::DepthFirst),
        "random" => return Ok(Strategy::Random),
        _ => {}
    }
    if let Some(number) = numbered(text, "pct", "pct:3") {
        return number.map(Strategy::Pct);
    }
    Err(unknown(text, &["iterative", "dfs", "random", "pct:D"]))
}

fn parse_way(text: &str) -> Result<Way, String> {
    Way::named(text).ok_or_else(|| unknown(text, &WAYS))
}

fn unknown(text: &str, known: &[&str]) -> String {
    let all = format!("possible values: {}", known.join(", "));
    match nearest(text, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`? ({all})"),
        None => all,
    }
}

/// The candidate that is most like the text, if one is like it at all.
pub fn nearest<'a>(text: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .map(|candidate| (distance(&text.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len() / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Fewest insertions, deletions and replacements of characters that make one text of the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

fn parse_const(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() && !value.trim().is_empty() => {
            Ok((name.trim().to_string(), value.trim().to_string()))
        }
        _ => Err("write NAME=VALUE, for instance `N=3`".to_string()),
    }
}

fn parse_instances(text: &str) -> Result<(String, u32), String> {
    let wrong = || "write PROC=N, for instance `worker=2`".to_string();
    let (name, number) = text.split_once('=').ok_or_else(wrong)?;
    let number = number.trim().parse().map_err(|_| wrong())?;
    if name.trim().is_empty() { Err(wrong()) } else { Ok((name.trim().to_string(), number)) }
}

/// A number and the unit behind it, which may be missing.
fn with_unit(text: &str) -> Option<(u64, String)> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    Some((number.parse().ok()?, unit.trim().to_lowercase()))
}

fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || "write a number of bytes with or without a unit, for instance `512M` or `4G`".to_string();
    let (number, unit) = with_unit(text).ok_or_else(wrong)?;
    let shift = match unit.trim_end_matches("ib").trim_end_matches('b') {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return Err(wrong()),
    };
    number.checked_mul(1 << shift).ok_or_else(|| "that is more than 64 bits of bytes".to_string())
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || "write a time, for instance `500ms`, `30s`, `5m` or `1h`".to_string();
    let (number, unit) = with_unit(text).ok_or_else(wrong)?;
    let (factor, milliseconds) = match unit.as_str() {
        "ms" => (1, true),
        "" | "s" => (1, false),
        "m" | "min" => (60, false),
        "h" => (3600, false),
        _ => return Err(wrong()),
    };
    let total = number.checked_mul(factor).filter(|t| *t <= 1 << 40).ok_or_else(wrong)?;
    Ok(if milliseconds { Duration::from_millis(total) } else { Duration::from_secs(total) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_options_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn values_are_read() {
        assert_eq!(parse_size("512"), Ok(512));
        assert_eq!(parse_size("64K"), Ok(64 << 10));
        assert_eq!(parse_size("2GiB"), Ok(2 << 30));
        assert!(parse_size("G").is_err() && parse_size("1x").is_err() && parse_size("99999999999T").is_err());
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("2m"), Ok(Duration::from_secs(120)));
        assert!(parse_duration("fast").is_err() && parse_duration("1w").is_err());
        assert_eq!(parse_scheduler("bounded-bag:2"), Ok(SchedulerKind::BoundedBag(2)));
        assert!(parse_scheduler("bounded-bag:0").unwrap_err().contains("bounded-bag:2"));
        assert!(parse_scheduler("roundrobin").unwrap_err().contains("did you mean `round-robin`"));
        assert_eq!(parse_strategy("pct:3"), Ok(Strategy::Pct(3)));
        assert!(parse_strategy("ddfs").unwrap_err().contains("did you mean `dfs`"));
        assert!(parse_instances("p").is_err() && parse_instances("=2").is_err() && parse_instances("p=-1").is_err());
        assert!(parse_const("N=").is_err() && parse_const("=3").is_err());
        assert_eq!(parse_const("N=3"), Ok(("N".into(), "3".into())));
    }

    #[test]
    fn near_misses_are_found() {
        assert_eq!(nearest("E0103x", ["E0103", "E0200"].into_iter()), Some("E0103"));
        assert_eq!(nearest("zzzzzzz", ["bag"].into_iter()), None);
    }
}
