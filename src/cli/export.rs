//! The verb `export`.

use super::{print, print_json};
use crate::error::Result;
use crate::export::{self, Decoding, Options, To};
use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
pub(super) struct ExportArgs {
    /// Folder of the release, full or compact
    release: PathBuf,
    /// The evaluator
    #[arg(long, value_name = "EVALUATOR")]
    to: To,
    /// The folder that is written; an export that is there is replaced, nothing else is
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Only these configs, such as zh_8k,en_8k
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    configs: Option<Vec<String>>,
    /// Only these languages: all that a row has are among them (a multilingual haystack stays)
    #[arg(long, value_name = "CODES", value_delimiter = ',')]
    languages: Option<Vec<String>>,
    /// Only these lengths, such as 0k,8k; of the recall test in tokens
    #[arg(long, value_name = "LENGTHS", value_delimiter = ',')]
    lengths: Option<Vec<String>>,
    /// Only the first N instances of the release's fixed order, as for `recipe`: balanced over the tasks, 10 within 100
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// How models decode
    #[arg(long, value_name = "SETTINGS", default_value = "greedy")]
    decoding: Decoding,
    /// Where a model stops, in place of the family's own; may be given several times
    #[arg(long, value_name = "TEXT")]
    stop: Option<Vec<String>>,
    /// Tokens of an answer [default: what the recipe leaves for it]
    #[arg(long, value_name = "N")]
    max_tokens: Option<u32>,
    /// Link to the Parquet files of the release in place of copying them (lm-eval, lighteval)
    #[arg(long)]
    link: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Writes a release for an evaluator.
pub(super) fn export(args: ExportArgs) -> Result<bool> {
    let options = Options {
        to: args.to,
        out: args.out,
        configs: args.configs,
        languages: args.languages,
        lengths: args.lengths,
        limit: args.limit,
        decoding: args.decoding,
        stop: args.stop,
        max_tokens: args.max_tokens,
        link: args.link,
    };
    let outcome = export::export(&args.release, &options)?;
    if args.json {
        return print_json(&outcome).map(|()| true);
    }
    let said = if outcome.was_there { "was there before" } else { "see its README.md for the commands" };
    let (rows, configs, bytes) = (outcome.rows, outcome.configs, outcome.bytes);
    print(&format!(
        "{}\n  {rows} rows in {configs} configs for {}, {:.1} MB: {said}\n",
        outcome.folder.display(),
        outcome.to,
        bytes as f64 / 1e6
    ))?;
    Ok(true)
}
