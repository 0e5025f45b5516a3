//! Project tasks: `cargo xtask tidy` checks the rules of the house that no compiler checks; `cargo xtask papers` measures
//! again what the papers report.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map_or("", String::as_str) {
        "tidy" => xtask::tidy::run(),
        "papers" => xtask::papers::run(&arguments[1..]),
        other => {
            eprintln!("unknown task `{other}`; there are: tidy, papers");
            ExitCode::from(2)
        }
    }
}
