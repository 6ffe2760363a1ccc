//! The verb `report`: a release as a page, its plots as files.

use super::{print, print_json};
use crate::error::{Error, Result};
use crate::page::{Format, Model, page, write_plots};
use crate::store::{keep_apart, write_named};
use clap::Args;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(super) struct ReportArgs {
    /// Folder of the release, full or compact
    release: PathBuf,
    /// Scores of a model, as `score --rows` writes them; may be given several times. The name is the file's, unless given
    #[arg(long, value_name = "[NAME=]FILE")]
    scores: Vec<String>,
    /// The page
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    out: PathBuf,
    /// Write each plot into this folder as well
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
    /// What plots are written as
    #[arg(long, value_name = "FORMATS", value_delimiter = ',', default_value = "svg", requires = "plots")]
    format: Vec<Format>,
    /// Print what was written as JSON
    #[arg(long)]
    json: bool,
}

/// Name and file of an argument of `--scores`. A file that is there needs no name, and either may hold an equals sign.
fn named(argument: &str) -> Result<(String, PathBuf)> {
    let whole = Path::new(argument);
    let splits = || argument.match_indices('=').map(|(at, _)| (&argument[..at], Path::new(&argument[at + 1..])));
    let stem = || whole.file_stem().map_or(String::new(), |stem| stem.to_string_lossy().into_owned());
    let (name, path) = match splits().find(|(_, path)| path.is_file()).or_else(|| splits().next()) {
        Some((name, path)) if !whole.is_file() => (name.to_owned(), path.to_owned()),
        _ => (stem(), whole.to_owned()),
    };
    if name.trim().is_empty() {
        return Err(Error::new(format!("--scores {argument}: the model has no name")).help("write --scores NAME=FILE"));
    }
    Ok((name, path))
}

/// Writes the page. True: every score belongs to a row, and no row is scored twice.
pub(super) fn report(args: ReportArgs) -> Result<bool> {
    let scores: Vec<(String, PathBuf)> = args.scores.iter().map(|argument| named(argument)).collect::<Result<_>>()?;
    let read: Vec<PathBuf> = scores.iter().map(|(_, path)| path.clone()).collect();
    for out in std::iter::once(&args.out).chain(&args.plots) {
        keep_apart(out, &args.release, &read)?;
    }
    let page = page(&args.release, &scores)?;
    let mut formats = args.format.clone();
    formats.dedup();
    let plots = match &args.plots {
        Some(folder) => write_plots(&page.plots, folder, &formats)?,
        None => Vec::new(),
    };
    write_named(&args.out, |file| file.write_all(page.html.as_bytes()))?;
    let well = page.models.iter().all(|model| model.unknown.n == 0 && model.double.n == 0);
    if args.json {
        print_json(&serde_json::json!({
            "page": args.out, "bytes": page.html.len(), "rows": page.rows, "plots": page.plots.len(), "files": plots,
            "models": page.models,
        }))?;
        return Ok(well);
    }
    let mut text = format!(
        "{}\n  {} rows, {} plots, {} KB\n",
        args.out.display(),
        page.rows,
        page.plots.len(),
        page.html.len().div_ceil(1000)
    );
    page.models.iter().for_each(|model| text += &said(model));
    if let Some(folder) = &args.plots {
        text += &format!("{}\n  {} files\n", folder.display(), plots.len());
    }
    print(&text)?;
    Ok(well)
}

fn said(model: &Model) -> String {
    let means: Vec<String> =
        model.means.iter().map(|(metric, mean)| format!("{metric} {}", crate::page::plots::percent(*mean))).collect();
    let mut text = format!("{}: {} rows scored, {}\n", model.name, model.scored, means.join(", "));
    for (what, ids) in [
        ("rows without a score", &model.missing),
        ("ids more than once", &model.double),
        ("ids not in the release", &model.unknown),
    ] {
        if ids.n > 0 {
            text += &format!("  {} {what}, such as {}\n", ids.n, ids.first[0]);
        }
    }
    text
}
