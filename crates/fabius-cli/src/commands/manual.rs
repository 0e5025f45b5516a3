//! `fabius completions` and `fabius man`: what shells and `man` read, made from the table of options.

use crate::args::Cli;
use crate::failure::Failure;
use crate::files;
use clap::CommandFactory;
use clap_complete::Shell;
use std::path::Path;

/// Prints the completions of a shell; returns the exit code.
pub fn completions(shell: Shell) -> Result<u8, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "fabius", &mut text);
    files::print_source(&String::from_utf8_lossy(&text))?;
    Ok(0)
}

/// Prints the page of `fabius`, or writes that and one for each command; returns the exit code.
pub fn pages(folder: Option<&Path>) -> Result<u8, Failure> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let Some(folder) = folder else {
        files::print_source(&page(command))?;
        return Ok(0);
    };
    let commands: Vec<clap::Command> = command.get_subcommands().cloned().collect();
    for command in std::iter::once(command).chain(commands) {
        let name = format!("{}.1", command.get_display_name().unwrap_or_else(|| command.get_name()));
        files::write(&folder.join(name), &page(command))?;
    }
    Ok(0)
}

/// A page in roff.
fn page(command: clap::Command) -> String {
    let mut text = Vec::new();
    let source = concat!("fabius ", env!("CARGO_PKG_VERSION"));
    clap_mangen::Man::new(command).source(source).render(&mut text).expect("a vector can be written to");
    // There is no date, so that a page depends on the version alone; it has to be said, or what follows is taken for it.
    String::from_utf8_lossy(&text).replacen(&format!(" 1  \"{source}\""), &format!(" 1 \"\" \"{source}\""), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every option is on its command's page and known to the shells.
    #[test]
    fn no_option_is_left_out() {
        let mut command = Cli::command();
        command.build();
        let mut bash = Vec::new();
        clap_complete::generate(Shell::Bash, &mut Cli::command(), "fabius", &mut bash);
        let bash = String::from_utf8_lossy(&bash);
        for command in command.get_subcommands().filter(|c| c.get_name() != "help") {
            let text = page(command.clone());
            for option in command.get_arguments().filter(|a| !a.is_hide_set()).filter_map(|a| a.get_long()) {
                let in_roff = format!("\\-\\-{}", option.replace('-', "\\-"));
                assert!(text.contains(&in_roff), "{} --{option}\n{text}", command.get_name());
                assert!(bash.contains(&format!("--{option}")), "--{option}");
            }
        }
    }
}
