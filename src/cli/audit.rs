//! The verb `audit`: data of others, and releases of our own.

use super::{print, print_json, threads};
use crate::audit::set::columns::Map;
use crate::audit::set::lengths::Nominal;
use crate::audit::{Audit, files, html, mlrbench, set, text};
use crate::error::{Error, Result};
use crate::plan::Options;
use crate::recipe::Name;
use crate::source::tokenizers;
use crate::tokenizer::Tokenizer;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Profile {
    /// Rows of JSON Lines, CSV or Parquet, of whatever columns
    Generic,
    /// The released files of MLRBench: the folder with data/ and rag_prompts/
    Mlrbench,
}

#[derive(Args)]
pub(super) struct AuditArgs {
    /// A file of rows (.jsonl, .csv, .tsv, .parquet), a folder of such, or a release
    path: PathBuf,
    /// By which rules [default: generic]
    #[arg(long, value_name = "NAME")]
    profile: Option<Profile>,
    /// Which columns hold what, such as prompt=input,answers=outputs,id=index; also context, question, length, gold_position,
    /// distractors, language, task
    #[arg(long, value_name = "ROLE=COLUMN,..")]
    map: Option<String>,
    /// The tokenizer that lengths are counted with: an embedded one, or NAME=FILE
    #[arg(long, value_name = "NAME", default_value = "o200k_base")]
    tokenizer: String,
    /// Folder that holds files of tokenizers (NAME/tokenizer.json)
    #[arg(long, value_name = "DIR")]
    models: Option<PathBuf>,
    /// The length that every prompt should have, such as 8k or 8192, in place of a column's
    #[arg(long, value_name = "TOKENS")]
    nominal: Option<String>,
    /// Findings that the text shows
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Write all findings to FILE (.jsonl or .csv)
    #[arg(long, value_name = "FILE")]
    findings: Option<PathBuf>,
    /// Write a page for a browser to FILE
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print all findings as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn audit(args: AuditArgs) -> Result<bool> {
    if args.profile.is_none() && args.map.is_none() && args.path.join("manifest.json").is_file() {
        return crate::audit::rebuild(&args.path);
    }
    args.findings.as_deref().map(files::check).transpose()?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads(args.jobs)?).build();
    let pool = pool.map_err(|e| Error::new(format!("cannot start threads: {e}")))?;
    let audit = pool.install(|| found(&args))?;
    if let Some(path) = &args.findings {
        files::write(&audit, path)?;
    }
    if let Some(path) = &args.html {
        html::write(&audit, path)?;
    }
    match args.json {
        true => print_json(&audit)?,
        false => print(&text::text(&audit, args.limit))?,
    }
    Ok(audit.findings.is_empty())
}

fn found(args: &AuditArgs) -> Result<Audit> {
    let tokenizer = tokenizer(args)?;
    match args.profile.unwrap_or(Profile::Generic) {
        Profile::Mlrbench => {
            let idle = [("--map", args.map.is_some()), ("--nominal", args.nominal.is_some())];
            if let Some((flag, _)) = idle.iter().find(|(_, given)| *given) {
                return Err(Error::new(format!("{flag} does nothing with --profile mlrbench")).help("leave it out"));
            }
            mlrbench::audit(&args.path, &tokenizer)
        }
        Profile::Generic => {
            let map = Map::parse(args.map.as_deref().unwrap_or_default())?;
            let nominal = args.nominal.as_deref().map(|text| {
                let parsed = Nominal::parse(text).flatten();
                parsed.ok_or_else(|| Error::new(format!("--nominal {text}: expected a length such as 8k or 8192")))
            });
            set::audit(&args.path, &map, &tokenizer, nominal.transpose()?)
        }
    }
}

fn tokenizer(args: &AuditArgs) -> Result<Tokenizer> {
    let (name, flags) = match args.tokenizer.split_once('=') {
        Some((name, _)) => (name, std::slice::from_ref(&args.tokenizer)),
        None => (args.tokenizer.as_str(), &[][..]),
    };
    let options = Options {
        models: args.models.clone(),
        tokenizers: tokenizers::parse_flags(flags)?,
        offline: true,
        ..Options::default()
    };
    tokenizers::open(&Name(name.to_owned()), None, &options)
}
