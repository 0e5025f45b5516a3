//! Runs `fabius` and reads what it says.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Seconds after which a run is given up.
pub const PATIENCE: u32 = 60;

/// Where things are.
pub struct Lab {
    /// The project.
    pub root: PathBuf,
    fabius: PathBuf,
}

/// What a run said and took.
pub struct Answer {
    /// The whole document.
    pub json: Value,
    /// Seconds from start to end.
    pub seconds: f64,
}

impl Answer {
    /// The verdict.
    pub fn verdict(&self) -> &str {
        self.json["verdict"].as_str().unwrap_or_default()
    }

    /// The numbers of one column of the levels.
    pub fn levels(&self, column: &str) -> Vec<u64> {
        self.json["levels"].as_array().into_iter().flatten().filter_map(|l| l[column].as_u64()).collect()
    }

    /// The verdict must be this.
    pub fn must_be(self, verdict: &str) -> Result<Answer, String> {
        if self.verdict() == verdict {
            return Ok(self);
        }
        Err(format!("{} is {} instead of {verdict}", self.json["program"]["file"], self.json["verdict"]))
    }
}

impl Lab {
    /// The project and a binary of its command line.
    pub fn new(root: PathBuf, fabius: PathBuf) -> Lab {
        Lab { root, fabius }
    }

    /// Runs a command that answers with a document, for at most a minute.
    pub fn run(&self, command: &str) -> Result<Answer, String> {
        self.run_for(command, PATIENCE)
    }

    /// Runs a command that answers with a document.
    pub fn run_for(&self, command: &str, patience: u32) -> Result<Answer, String> {
        let began = Instant::now();
        let output = self.command(command).args(["--json", "--time", &format!("{patience}s")]).output();
        let output = output.map_err(|e| format!("cannot run {}: {e}", self.fabius.display()))?;
        let seconds = began.elapsed().as_secs_f64();
        let json: Value = serde_json::from_slice(&output.stdout)
            .map_err(|_| format!("fabius {command}: {}", String::from_utf8_lossy(&output.stderr)))?;
        match json["error"].as_str() {
            Some(error) => Err(format!("fabius {command}: {error}")),
            None => Ok(Answer { json, seconds }),
        }
    }

    /// What a command prints.
    pub fn text(&self, command: &str) -> Result<String, String> {
        let output =
            self.command(command).output().map_err(|e| format!("cannot run {}: {e}", self.fabius.display()))?;
        if !output.status.success() {
            return Err(format!("fabius {command}: {}", String::from_utf8_lossy(&output.stderr)));
        }
        String::from_utf8(output.stdout).map_err(|e| format!("fabius {command}: {e}"))
    }

    /// Runs `work` with a file that is there only meanwhile.
    pub fn with_file<T>(&self, name: &str, text: &str, work: impl FnOnce(&Path) -> T) -> Result<T, String> {
        let path = std::env::temp_dir().join(format!("fabius-papers-{}-{name}", std::process::id()));
        super::write_file(&path, text)?;
        let result = work(&path);
        // A temporary file that stays does no harm.
        let _ = std::fs::remove_file(&path);
        Ok(result)
    }

    fn command(&self, command: &str) -> Command {
        let mut process = Command::new(&self.fabius);
        process.args(command.split_whitespace()).current_dir(&self.root);
        process
    }
}
