//! Project tasks: `cargo xtask tidy` checks the rules of the house that no compiler checks; `cargo xtask schema` writes
//! `docs/schema/`; `cargo xtask papers` measures again what the papers report.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map_or("", String::as_str) {
        "papers" => xtask::papers::run(&arguments[1..]),
        "schema" => xtask::schema::run(),
        "tidy" => xtask::tidy::run(),
        other => {
            eprintln!("unknown task `{other}`; there are: papers, schema, tidy");
            ExitCode::from(2)
        }
    }
}
