//! Turns an outcome into an exit code: 0 all is well, 1 the result is not as it should be, 2 a failure.

use clap::Parser;
use nihbuild::cli::{Cli, run};
use std::process::ExitCode;

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
