//! Turns an outcome into an exit code: 0 all is well, 1 the result is not as it should be, 2 a failure.

use clap::Parser;
use nihbuild::cli::{Cli, run};
use std::process::ExitCode;

/// The system's allocator keeps what the writers' large buffers leave behind, so that memory grows with
/// the length of a build; this one does not, and is faster besides.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
