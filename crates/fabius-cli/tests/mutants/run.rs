//! Runs the command on what is too strange to be trusted with it.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Far beyond every limit that is given: whatever takes longer hangs.
const HANGS: Duration = Duration::from_secs(60);

/// Far beyond the memory that is given: bytes of the process at its largest.
const SWELLS: u64 = 1 << 30;

/// The file that standard input is read from, if it is there.
pub const STDIN: &str = "stdin";

/// Runs the command; whoever hangs or swells is ended, which shows as a signal.
pub fn run(args: &[&str], here: &Path) -> Output {
    run_until(args, here, None)
}

/// The same with SIGTERM after a while.
pub fn run_until(args: &[&str], here: &Path, mut until: Option<Duration>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fabius"));
    let out = |name: &str| std::fs::File::create(here.join(name)).expect("a file can be made");
    let stdin = std::fs::File::open(here.join(STDIN)).map_or_else(|_| Stdio::null(), Stdio::from);
    command.args(args).current_dir(here).stdin(stdin).stdout(out("stdout")).stderr(out("stderr"));
    let mut child = command.spawn().expect("the command starts");
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            break status;
        }
        if until.take_if(|until| began.elapsed() > *until).is_some() {
            // It may have ended just now.
            let _ = Command::new("kill").args(["-TERM", &child.id().to_string()]).stderr(Stdio::null()).status();
        }
        if began.elapsed() > HANGS || peak(child.id()) > SWELLS {
            child.kill().expect("it can be ended");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let read = |name: &str| std::fs::read(here.join(name)).expect("it is there");
    Output { status, stdout: read("stdout"), stderr: read("stderr") }
}

/// The most memory that a process has had, where the system tells.
fn peak(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|l| l.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) << 10
}
