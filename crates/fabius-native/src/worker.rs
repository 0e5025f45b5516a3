//! The program's process: started, watched, and what is left of it when it dies.

use crate::shared::Shared;
use fabius_native_protocol::{
    Answer, FAILS, FD, Header, MOST_WORKERS, Request, STANDS_STILL, STATE_BEGAN, STATE_RUNS, What,
};
use fabius_trace::Schedule;
use std::ffi::OsString;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// What is run.
#[derive(Clone, Debug)]
pub struct Target {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// The folder of the library.
    pub library: PathBuf,
}

/// How far the search is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The cost that is being explored.
    pub bound: u32,
    /// Executions so far.
    pub executions: u64,
    /// Steps so far.
    pub steps: u64,
}

/// How a process has ended.
pub enum Ended {
    /// With an answer.
    Answered(Box<Answer>),
    /// Before `main`, with this status.
    Early(ExitStatus),
    /// In the middle of an execution.
    Died(Died),
    /// Its explorer failed and has said so.
    Failed,
    /// It took more memory than it may.
    TooLarge {
        /// Executions so far.
        executions: u64,
    },
    /// It did not end in time.
    Late(At),
}

/// Where a process was that did not end in time.
pub enum At {
    /// Ahead of `main`, if it has one that is ours.
    Beginning,
    /// In an execution, behind so many.
    Execution(u64),
}

/// What is left of a process that has died in the middle of an execution.
pub struct Died {
    /// How.
    pub status: ExitStatus,
    /// What the execution had decided.
    pub schedule: Schedule,
    /// Executions so far.
    pub executions: u64,
    /// Addresses of data that were scheduling points.
    pub data_points: Vec<u64>,
}

/// How often the process is looked at.
const TICK: Duration = Duration::from_millis(20);

/// Processor time without a scheduling point after which the process is told so.
const STILL: Duration = Duration::from_secs(3);

/// How long a process that is asked to stop may take to say what it has found.
const PATIENCE: Duration = Duration::from_secs(5);

/// The same while it reaches no scheduling point: then it has nothing to say yet.
const PATIENCE_STILL: Duration = Duration::from_millis(350);

/// The status with which the library ends a process that it cannot go on with.
const GIVES_UP: i32 = 125;

/// What ends a search from outside, and who is told how far it is.
pub struct Watch<'a> {
    /// Set to end the search.
    pub stop: &'a AtomicBool,
    /// Called a few times a second.
    pub progress: &'a dyn Fn(&Progress),
    /// Bytes that the process may use.
    pub memory: Option<u64>,
}

/// Runs the program with a request.
///
/// # Errors
/// If the process cannot be started.
pub fn run(target: &Target, request: &Request, watch: &Watch<'_>) -> io::Result<Ended> {
    let shared = Shared::new(request)?;
    let began = Instant::now();
    let mut child = start(target, &shared, matches!(request.what, What::Replay(_)))?;
    let over = request.time.map(|t| began + Duration::from_millis(t));
    let header = shared.header();
    let (mut watched, mut tick) = (Vec::new(), 0u32);
    let mut asked: Option<Asked> = None;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        std::thread::sleep(if tick < 10 { TICK / 10 } else { TICK });
        tick += 1;
        if watch.stop.load(Relaxed) {
            header.stop.store(1, Relaxed);
        }
        if watch.stop.load(Relaxed) || over.is_some_and(|over| Instant::now() >= over) {
            asked
                .get_or_insert_with(|| Asked { began, at: Instant::now(), moved: Instant::now(), steps: 0 })
                .look(header.steps());
        }
        let executions = header.executions();
        if tick % 10 == 0 {
            (watch.progress)(&Progress { bound: header.bound.load(Relaxed), executions, steps: header.steps() });
            if watch.memory.is_some_and(|most| memory(header, &child) > most) {
                end(&mut child);
                return Ok(Ended::TooLarge { executions });
            }
        }
        watch_over(header, &mut watched);
        let state = header.state.load(Relaxed);
        if asked.as_ref().is_some_and(|asked| asked.is_late(state)) {
            end(&mut child);
            return Ok(Ended::Late(if state == STATE_BEGAN { At::Beginning } else { At::Execution(executions) }));
        }
    };
    if let Some(answer) = shared.answer()? {
        return Ok(Ended::Answered(Box::new(answer)));
    }
    Ok(match status.code() {
        Some(GIVES_UP) => Ended::Failed,
        _ if header.state.load(Relaxed) == STATE_BEGAN => Ended::Early(status),
        _ => Ended::Died(Died {
            status,
            schedule: shared.schedule(),
            executions: header.executions(),
            data_points: shared.data_points(),
        }),
    })
}

/// Runs the program with a request in gdb, which stops where it fails; how gdb has ended.
///
/// # Errors
/// If gdb cannot be started.
pub fn debug(target: &Target, request: &Request) -> io::Result<ExitStatus> {
    let shared = Shared::new(request)?;
    let mut command = Command::new("gdb");
    let mut orders = vec!["set startup-with-shell off".into(), "set breakpoint pending on".into()];
    for (name, value) in environment(target) {
        orders.push(format!("set environment {name} {}", value.display()));
    }
    orders.extend([format!("break {FAILS}"), "run".into(), "backtrace".into()]);
    command.arg("-quiet");
    for order in orders {
        command.arg("-ex").arg(order);
    }
    command.arg("--args").arg(&target.program).args(&target.args);
    share(&mut command, &shared, Signals::Shared);
    command.status()
}

fn start(target: &Target, shared: &Shared, shows_output: bool) -> io::Result<Child> {
    let mut command = Command::new(&target.program);
    command.args(&target.args).stdin(Stdio::null()).envs(environment(target));
    if !shows_output {
        command.stdout(Stdio::null());
    }
    share(&mut command, shared, Signals::Ours);
    command.spawn()
}

/// What the program's environment needs.
fn environment(target: &Target) -> [(&'static str, OsString); 2] {
    let mut path = target.library.as_os_str().to_os_string();
    if let Some(more) = std::env::var_os("LD_LIBRARY_PATH") {
        path.push(":");
        path.push(more);
    }
    [("LD_BIND_NOW", "1".into()), ("LD_LIBRARY_PATH", path)]
}

/// Who is meant by Ctrl-C.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Signals {
    /// This process alone: the other one is told.
    Ours,
    /// Both.
    Shared,
}

/// The process that this starts has the shared file, addresses that do not change, and ends with this one.
fn share(command: &mut Command, shared: &Shared, signals: Signals) {
    let file = shared.file.as_raw_fd();
    // SAFETY: only calls of the kernel between `fork` and `exec`.
    unsafe {
        command.pre_exec(move || {
            if libc::dup2(file, FD) < 0 {
                return Err(io::Error::last_os_error());
            }
            if signals == Signals::Ours {
                libc::setpgid(0, 0);
            }
            libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            libc::setrlimit(libc::RLIMIT_CORE, &none);
            Ok(())
        });
    }
}

/// A process that has been asked to stop, or whose time is over.
struct Asked {
    /// When it was started.
    began: Instant,
    at: Instant,
    /// When it was last seen to make a step.
    moved: Instant,
    steps: u64,
}

impl Asked {
    fn look(&mut self, steps: u64) {
        if steps != self.steps {
            (self.moved, self.steps) = (Instant::now(), steps);
        }
    }

    fn is_late(&self, state: u32) -> bool {
        match state {
            STATE_BEGAN => self.began.elapsed() > PATIENCE,
            STATE_RUNS if self.moved.elapsed() > PATIENCE_STILL => true,
            _ => self.at.elapsed() > PATIENCE,
        }
    }
}

/// Ends the process, and those that come from it.
fn end(child: &mut Child) {
    // SAFETY: a group that our own child leads, which nobody has waited for.
    unsafe { libc::kill(-(child.id() as i32), libc::SIGKILL) };
    let _ = child.kill();
    let _ = child.wait();
}

/// Tells workers that reach no scheduling point any more. What they were doing when they were looked at last is in `watched`.
fn watch_over(header: &Header, watched: &mut Vec<Watched>) {
    watched.resize(MOST_WORKERS, Watched::default());
    for (worker, last) in header.workers.iter().zip(watched) {
        let process = worker.process.load(Relaxed);
        if process == 0 {
            continue;
        }
        let (steps, cpu) = (worker.steps.load(Relaxed), cpu_time(process));
        if (process, steps) != (last.process, last.steps) {
            *last = Watched { process, steps, cpu, since: Some(Instant::now()) };
        } else if cpu.saturating_sub(last.cpu) > STILL
            || last.since.is_some_and(|since| since.elapsed() > STILL) && cpu == last.cpu && sleeps(process)
        {
            // Who waits in the kernel takes no time of a processor; a worker that has nothing to do is not harmed.
            // SAFETY: a signal to a process that comes from our own child.
            unsafe { libc::kill(process as i32, STANDS_STILL) };
            (last.cpu, last.since) = (cpu, Some(Instant::now()));
        }
    }
}

/// A worker as it was.
#[derive(Clone, Copy, Default)]
struct Watched {
    process: u32,
    steps: u64,
    cpu: Duration,
    /// When it did another step, or was told.
    since: Option<Instant>,
}

/// Whether it waits in the kernel.
fn sleeps(process: u32) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    text.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('S'))
}

/// The processor time that a process has taken.
fn cpu_time(process: u32) -> Duration {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let numbers = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: u64 = numbers.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

/// The memory that all processes use: what they share, once.
fn memory(header: &Header, child: &Child) -> u64 {
    let of = |process: u32| {
        let text = std::fs::read_to_string(format!("/proc/{process}/statm")).unwrap_or_default();
        let mut pages = text.split_whitespace().skip(1).map(|n| n.parse::<u64>().unwrap_or(0) * 4096);
        (pages.next().unwrap_or(0), pages.next().unwrap_or(0))
    };
    let workers = header.workers.iter().map(|w| w.process.load(Relaxed)).filter(|p| *p != 0 && *p != child.id());
    let (resident, _) = of(child.id());
    let others = workers.map(of).map(|(resident, shared)| resident.saturating_sub(shared));
    resident + others.sum::<u64>()
}

/// How a process ended, in words.
pub fn words(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(9), _) => "is killed (signal 9)".into(),
        (Some(signal), _) => format!("ends by signal {signal}"),
        (None, Some(code)) => format!("ends with status {code}"),
        (None, None) => "ends".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabius_native_protocol::STATE_DONE;

    #[test]
    fn a_process_that_makes_no_step_is_not_waited_for() {
        let now = Instant::now();
        let before = |time: Duration| now.checked_sub(time).expect("the machine has run for longer");
        let asked =
            |at: Duration, moved: Duration| Asked { began: before(at), at: before(at), moved: before(moved), steps: 5 };
        let (soon, still) = (Duration::ZERO, 2 * PATIENCE_STILL);
        assert!(asked(still, still).is_late(STATE_RUNS));
        assert!(!asked(still, soon).is_late(STATE_RUNS), "it goes on");
        assert!(!asked(still, still).is_late(STATE_BEGAN), "it may still begin");
        let old = Asked { began: before(2 * PATIENCE), ..asked(soon, soon) };
        assert!(old.is_late(STATE_BEGAN), "it will not begin any more");
        assert!(!asked(still, still).is_late(STATE_DONE), "it has its answer");
        assert!(asked(2 * PATIENCE, soon).is_late(STATE_RUNS), "it never ends");
    }
}
