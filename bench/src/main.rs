//! Benchmarks against peers. Every figure is a ratio of medians of CPU time measured in turn in the same run.
//!
//! `cargo run --release --manifest-path bench/Cargo.toml -- spin [--runs N] [NAME..]`
//! `cargo run --release --manifest-path bench/Cargo.toml -- reductions [--binary FILE]`
//! `cargo run --release --manifest-path bench/Cargo.toml -- figures`
//! `cargo run --release --manifest-path bench/Cargo.toml -- drivers`
//! `cargo run --release --manifest-path bench/Cargo.toml -- solvers [--binary FILE] [--solver NAME]`
//! `cargo run --release --manifest-path bench/Cargo.toml -- any-threads [--plot FILE.svg]`
//! `cargo run --release --manifest-path bench/Cargo.toml -- c [--cbmc COMMAND] [--binary FILE] [NAME..]`
//! `cargo run --release --manifest-path bench/Cargo.toml -- portfolio [--all] [--binary FILE] [NAME..]`
//! `cargo run --release --manifest-path bench/Cargo.toml -- messages [--plot FILE.svg] [FAMILY..]`

mod any_threads;
mod c;
mod drivers;
mod figures;
mod messages;
mod portfolio;
mod process;
mod reductions;
mod solvers;
mod spin;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let result = match arguments.next().as_deref() {
        Some("spin") => spin::run(arguments.collect()),
        Some("reductions") => reductions::run(&arguments.collect::<Vec<_>>()),
        Some("figures") => figures::run(),
        Some("drivers") => drivers::run(),
        Some("solvers") => solvers::run(&arguments.collect::<Vec<_>>()),
        Some("any-threads") => any_threads::run(&arguments.collect::<Vec<_>>()),
        Some("c") => c::run(&arguments.collect::<Vec<_>>()),
        Some("portfolio") => portfolio::run(&arguments.collect::<Vec<_>>()),
        Some("messages") => messages::run(arguments.collect()),
        _ => Err(
            "usage: fabius-bench spin [--runs N] [NAME..] | reductions [--binary FILE] | figures | drivers | solvers [--binary FILE] [--solver NAME] | any-threads [--plot FILE.svg] | c [--cbmc COMMAND] [--binary FILE] [NAME..] | portfolio [--all] [--binary FILE] [NAME..] | messages [--plot FILE.svg] [FAMILY..]"
                .into(),
        ),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
