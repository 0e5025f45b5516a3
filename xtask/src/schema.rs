//! Writes the schemas of all documents into `docs/schema/`, as `fabius schema` prints them.

use std::process::{Command, ExitCode};

/// The documents, as `fabius schema` names them.
const DOCUMENTS: [&str; 5] = ["answer", "several", "messages", "trace", "comparison"];

/// Writes the files, below the current directory.
pub fn run() -> ExitCode {
    for name in DOCUMENTS {
        if let Err(error) = write(name) {
            eprintln!("schema: {name}: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn write(name: &str) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let arguments = ["run", "--quiet", "--locked", "-p", "fabius-cli", "--", "schema", name];
    let output = Command::new(cargo).args(arguments).output().map_err(|e| e.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    std::fs::create_dir_all("docs/schema").map_err(|e| e.to_string())?;
    std::fs::write(format!("docs/schema/{name}.json"), output.stdout).map_err(|e| e.to_string())
}
