//! The verb `audit`: data of others, and releases of our own.

use super::{print, print_json, threads};
use crate::audit::set::columns::Map;
use crate::audit::set::lengths::Nominal;
use crate::audit::{Audit, files, html, mlrbench, set, text};
use crate::error::{Error, Result};
use crate::plan::Options;
use crate::rebuild::{self, Settings, Verdict};
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
    #[command(flatten)]
    own: OwnArgs,
}

/// What only an audit of a release of our own has, which is built again.
#[derive(Args)]
#[command(next_help_heading = "A release of nihbuild's own, which is built again")]
struct OwnArgs {
    /// Build N rows again, drawn by lot, not all
    #[arg(long, value_name = "N")]
    sample: Option<u64>,
    /// Draw other rows for --sample
    #[arg(long, value_name = "N", requires = "sample", default_value_t = 0)]
    lot: u64,
    /// Compute pinned vectors again as well, and say what that changes in ranks and prompts
    #[arg(long, conflicts_with = "sample")]
    rederive: bool,
    /// The file of the seed, where the release holds it out
    #[arg(long, value_name = "FILE")]
    seed_file: Option<PathBuf>,
    /// Keep the rebuilt release in DIR
    #[arg(long, value_name = "DIR", conflicts_with = "sample")]
    keep: Option<PathBuf>,
    /// Folder that holds the build while it runs
    #[arg(long, value_name = "DIR", default_value = "build")]
    out: PathBuf,
    /// Folder of source files
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// A file of further pins of sources
    #[arg(long, value_name = "FILE")]
    sources: Option<PathBuf>,
    /// The ONNX Runtime's library (libonnxruntime.so) [default: what ORT_DYLIB_PATH names]
    #[arg(long, value_name = "FILE")]
    runtime: Option<PathBuf>,
    /// Never open a socket; what would be downloaded must be there
    #[arg(long)]
    offline: bool,
}

impl OwnArgs {
    /// A flag that was given though nothing is built again.
    fn idle(&self) -> Option<&'static str> {
        let given = [
            ("--sample", self.sample.is_some()),
            ("--rederive", self.rederive),
            ("--seed-file", self.seed_file.is_some()),
            ("--keep", self.keep.is_some()),
            ("--data", self.data.is_some()),
            ("--sources", self.sources.is_some()),
            ("--runtime", self.runtime.is_some()),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(flag, _)| flag)
    }
}

/// Builds a release again. What could not run is an error after the report.
fn own(args: &AuditArgs) -> Result<bool> {
    let own = &args.own;
    for (flag, given) in [
        ("--nominal", args.nominal.is_some()),
        ("--html", args.html.is_some()),
        ("--findings", args.findings.is_some()),
    ] {
        if given {
            return Err(Error::new(format!("{flag} does nothing where a release is built again"))
                .help("leave it out; --profile generic looks at the release's rows as at any others"));
        }
    }
    let named = if args.tokenizer.contains('=') { std::slice::from_ref(&args.tokenizer) } else { &[] };
    let settings = Settings {
        sample: own.sample,
        lot: own.lot,
        rederive: own.rederive,
        seed: own.seed_file.clone(),
        keep: own.keep.clone(),
        options: Options {
            out: own.out.clone(),
            data: own.data.clone(),
            jobs: threads(args.jobs)?,
            offline: own.offline,
            models: args.models.clone(),
            runtime: own.runtime.clone(),
            sources: own.sources.clone(),
            tokenizers: tokenizers::parse_flags(named)?,
            ..Options::default()
        },
    };
    let audit = rebuild::audit(&args.path, &settings)?;
    match args.json {
        true => print_json(&audit)?,
        false => print(&audit.text())?,
    }
    match audit.verdict {
        Verdict::Reproduced => Ok(true),
        Verdict::Differs => Ok(false),
        Verdict::CouldNotRun => {
            let step =
                audit.steps.iter().rev().find(|step| step.verdict == Verdict::CouldNotRun && step.what.is_some());
            let what = step.map_or(String::new(), |step| format!(": {}", step.what.clone().unwrap_or_default()));
            Err(Error::new(format!("the audit could not run to its end{what}")))
        }
    }
}

pub(super) fn audit(args: AuditArgs) -> Result<bool> {
    if args.profile.is_none() && args.map.is_none() && args.path.join("manifest.json").is_file() {
        return own(&args);
    }
    if let Some(flag) = args.own.idle() {
        return Err(Error::new(format!("{flag} does nothing here: no release is built again"))
            .help("it is for a release of nihbuild's own, without --profile and --map"));
    }
    args.findings.as_deref().map(files::check).transpose()?;
    let pool = crate::parallel::pool(threads(args.jobs)?)?;
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
            // Of a release, its rows.
            let data = args.path.join("data");
            let is_release = args.path.join("manifest.json").is_file() && data.is_dir();
            let path = if is_release { &data } else { &args.path };
            set::audit(path, &map, &tokenizer, nominal.transpose()?)
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
