//! `fabius lsp`.

use crate::failure::{self, Failure, UNKNOWN};
use crate::stop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Serves the editor at the other end of standard input and output; returns the exit code.
pub fn run() -> Result<u8, Failure> {
    let fabius = std::env::current_exe().map_err(|error| failure::input(format!("where this command is: {error}")))?;
    let (connection, threads) = lsp_server::Connection::stdio();
    let mut stop: Arc<AtomicBool> = Arc::default();
    let listen = || {
        stop = stop::on_interrupt();
        Arc::clone(&stop)
    };
    fabius_lsp::serve(&connection, fabius, listen).map_err(|error| failure::input(error.to_string()))?;
    if stop.load(Ordering::Relaxed) {
        // Who reads would wait for the editor.
        return Ok(UNKNOWN);
    }
    drop(connection);
    threads.join().map_err(|error| failure::input(error.to_string()))?;
    Ok(0)
}
