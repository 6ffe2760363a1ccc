//! The verb `verify`.

use super::{print, print_json, threads};
use crate::error::Result;
use crate::plan::Options;
use crate::source::tokenizers::parse_flags;
use crate::verify::{Depth, verify_with};
use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
pub(super) struct VerifyArgs {
    /// Folder of the release
    release: PathBuf,
    /// Check bytes and digests alone: in seconds, without reading a prompt
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Count the tokens of every prompt whole, not only of a seeded 1%
    #[arg(long)]
    full: bool,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// The file of a tokenizer that the release was counted with
    #[arg(long = "tokenizer", value_name = "NAME=FILE")]
    tokenizers: Vec<String>,
    /// Folder that holds files of tokenizers (NAME/tokenizer.json)
    #[arg(long, value_name = "DIR")]
    models: Option<PathBuf>,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

/// Verifies a release. True: there is no finding.
pub(super) fn verify_release(args: VerifyArgs) -> Result<bool> {
    let depth = match (args.quick, args.full) {
        (true, _) => Depth::Quick,
        (_, true) => Depth::Full,
        _ => Depth::Sampled,
    };
    let options = Options {
        models: args.models,
        tokenizers: parse_flags(&args.tokenizers)?,
        offline: true,
        out: PathBuf::from("build"),
        ..Options::default()
    };
    let report = verify_with(&args.release, depth, threads(args.jobs)?, &options)?;
    let well = report.n_findings == 0;
    if args.json {
        print_json(&report)?;
        return Ok(well);
    }
    let mut out = String::new();
    for finding in &report.findings {
        let row = finding.row.as_ref().map_or(String::new(), |row| format!(", row {row}"));
        let column = finding.column.as_ref().map_or(String::new(), |column| format!(", column {column}"));
        out += &format!("{}{row}{column}: {}\n", finding.file, finding.what);
    }
    for what in &report.unchecked {
        out += &format!("not checked: {what}\n");
    }
    if report.n_findings > report.findings.len() as u64 {
        out += &format!("... and {} more\n", report.n_findings - report.findings.len() as u64);
    }
    let verdict = match report.n_findings {
        0 => "verified".to_owned(),
        1 => "1 finding".to_owned(),
        n => format!("{n} findings"),
    };
    out += &format!(
        "{}{}: {verdict}; {} files, {} rows, {} proven, {}{} lines read, {} prompts counted whole\n",
        report.release,
        if report.compact { " (compact)" } else { "" },
        report.files,
        report.rows,
        report.proven,
        if report.rederived > 0 { format!("{} made again from the seed, ", report.rederived) } else { String::new() },
        report.lines,
        report.counted_whole
    );
    if let Some(digest) = report.rows_digest {
        out += &format!("rows digest {digest}\n");
    }
    print(&out)?;
    Ok(well)
}
