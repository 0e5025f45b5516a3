//! Runs a command to its end and says what it cost.

use std::io::Read;
use std::process::{Command, Stdio};

/// What a finished process cost and said.
pub struct Run {
    /// User plus system time, in seconds.
    pub cpu: f64,
    /// Peak resident memory, in bytes.
    pub memory: u64,
    /// Standard output.
    pub output: String,
}

/// Runs `command` and waits for it. Its exit code is not judged: checkers use it for their verdict.
pub fn run(command: &mut Command) -> Result<Run, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| format!("cannot run {name}: {e}"))?;
    let mut output = String::new();
    if let Some(mut pipe) = child.stdout.take() {
        pipe.read_to_string(&mut output).map_err(|e| format!("cannot read what {name} says: {e}"))?;
    }
    let mut status = 0;
    // SAFETY: `usage` is a plain C struct for which all zeroes is a value, and `wait4` gets valid pointers to it and to
    // `status`; the child has not been waited for before, since `child` is only dropped after this.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        if libc::wait4(child.id() as libc::pid_t, &mut status, 0, &mut usage) < 0 {
            return Err(format!("cannot wait for {name}"));
        }
        usage
    };
    if libc::WIFSIGNALED(status) {
        return Err(format!("{name} was killed by signal {}", libc::WTERMSIG(status)));
    }
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 * 1e-6;
    Ok(Run { cpu: seconds(usage.ru_utime) + seconds(usage.ru_stime), memory: usage.ru_maxrss as u64 * 1024, output })
}
