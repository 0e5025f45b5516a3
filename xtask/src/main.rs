//! Project tasks: `cargo xtask tidy` checks the rules of the house that no compiler checks; `cargo xtask schema` writes `docs/schema/`.

mod schema;
mod tidy;

use std::process::ExitCode;

fn main() -> ExitCode {
    let task = std::env::args().nth(1).unwrap_or_default();
    match task.as_str() {
        "schema" => schema::run(),
        "tidy" => tidy::run(),
        other => {
            eprintln!("unknown task `{other}`; there are: schema, tidy");
            ExitCode::from(2)
        }
    }
}
