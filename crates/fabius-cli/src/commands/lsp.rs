//! `fabius lsp`.

use crate::failure::{self, Failure};

/// Serves the editor at the other end of standard input and output; returns the exit code.
pub fn run() -> Result<u8, Failure> {
    let fabius = std::env::current_exe().map_err(|error| failure::input(format!("where this command is: {error}")))?;
    let (connection, threads) = lsp_server::Connection::stdio();
    fabius_lsp::serve(&connection, fabius).map_err(|error| failure::input(error.to_string()))?;
    drop(connection);
    threads.join().map_err(|error| failure::input(error.to_string()))?;
    Ok(0)
}
