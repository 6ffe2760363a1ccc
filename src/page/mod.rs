//! A release as one page of HTML, with scores of models where there are some; its plots as files, too.
//!
//! The page loads nothing: style, script and drawings stand in it, and its content security policy lets nothing else
//! in. What it is made of:
//!
//! - [`gather`](mod@gather): one pass over the columns without prompts. [`sample`]: which rows are looked at closer, by lot.
//! - [`scores`]: what models scored, met with the rows in the same pass.
//! - [`similar`](mod@similar): similarities of distractors. [`prompt`]: prompts with needles and distractors marked.
//! - [`svg`], [`plots`]: drawings. `png`: the same as pictures.
//! - `facts`, `results`, `shown`: the sections. `html`: the page around them.
//!
//! Memory grows with the number of scores alone; prompts are read for samples only.

mod facts;
pub mod gather;
mod html;
pub mod plots;
#[cfg(feature = "png")]
pub mod png;
pub mod prompt;
mod results;
pub mod sample;
pub mod scores;
mod shown;
pub mod similar;
pub mod svg;

use self::gather::{Gathered, gather};
pub use self::html::{SCRIPT, STYLE};
pub use self::plots::Plot;
use self::scores::{Ids, Scores};
use self::similar::Similar;
use crate::error::{Error, Result};
use crate::language::Pack;
use crate::manifest::Manifest;
use crate::recipe::Recipe;
use crate::release::Release;
use crate::store::write_aside;
use crate::verify::{read_packs, read_recipe};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A page and its plots.
pub struct Page {
    /// The page.
    pub html: String,
    /// Its plots, in order. Their names differ.
    pub plots: Vec<Plot>,
    /// Rows of the release.
    pub rows: u64,
    /// What was scored, by file of scores.
    pub models: Vec<Model>,
}

/// What came of a file of scores.
#[derive(Clone, Debug, Serialize)]
pub struct Model {
    /// Its name.
    pub name: String,
    /// Rows that have a score.
    pub scored: u64,
    /// Rows that have none.
    pub missing: Ids,
    /// Ids that stand in it more than once.
    pub double: Ids,
    /// Ids that the release does not have.
    pub unknown: Ids,
    /// Mean of each metric, in millionths.
    pub means: BTreeMap<&'static str, u64>,
}

/// What the sections are written from.
struct Material<'a> {
    manifest: &'a Manifest,
    recipe: &'a Recipe,
    packs: BTreeMap<String, Pack>,
    compact: bool,
    all: Gathered,
    lengths: Vec<String>,
    similar: Similar,
    scores: Vec<Scores>,
}

impl Material<'_> {
    /// A language as people know it, such as `Arabic (ar)`.
    fn language(&self, code: &str) -> String {
        match self.packs.get(code) {
            Some(pack) => format!("{} ({code})", pack.english_name()),
            None => code.to_owned(),
        }
    }

    /// Languages in the order in which the recipe names them, then any others.
    fn languages(&self) -> Vec<String> {
        let mut all: Vec<String> = self.recipe.grid.languages.iter().map(|l| l.code().to_owned()).collect();
        let known: Vec<&String> = self.all.languages.keys().map(|(language, _)| language).collect();
        all.retain(|language| known.contains(&language));
        for language in known {
            if !all.contains(language) {
                all.push(language.clone());
            }
        }
        all
    }
}

/// Reads scores: each a name and a file.
///
/// Fails as [`Scores::read`] does, or where two have one name.
pub fn read_scores(files: &[(String, PathBuf)]) -> Result<Vec<Scores>> {
    for (n, (name, _)) in files.iter().enumerate() {
        if files[..n].iter().any(|(other, _)| other == name) {
            return Err(
                Error::new(format!("two files of scores are named {name:?}")).help("name them: --scores NAME=FILE")
            );
        }
    }
    files.iter().map(|(name, path)| Scores::read(name, path)).collect()
}

/// The page of a release. Its bytes depend on the release and the scores alone.
///
/// Fails where the release or a file of scores cannot be read, or no row of the release has a score of a file.
pub fn page(folder: &Path, scores: &[(String, PathBuf)]) -> Result<Page> {
    let release = Release::open(folder)?;
    let recipe = read_recipe(folder)?;
    let mut scores = read_scores(scores)?;
    let mut all = Gathered::default();
    all.candidates.seed = release.manifest.rows_digest.to_string();
    gather(&release, &mut all, &mut scores)?;
    for (n, scores) in scores.iter_mut().enumerate() {
        scores.close();
        if scores.scored == 0 {
            let first = scores.unknown.first.first().cloned().unwrap_or_default();
            return Err(Error::new(format!(
                "none of the ids in file {} of scores ({}) is in this release",
                n + 1,
                scores.name
            ))
            .help(format!("its first id is {first:?}; give the scores of this very release")));
        }
    }
    let similar = similar::similar(&release, &recipe, &all.candidates)?;
    let material = Material {
        manifest: &release.manifest,
        recipe: &recipe,
        packs: read_packs(folder).unwrap_or_default(),
        compact: release.is_compact(),
        lengths: all.lengths(),
        all,
        similar,
        scores,
    };
    let mut sections = results::sections(&material);
    sections.extend(facts::sections(&material));
    sections.push(shown::section(&material, &release)?);
    let mut plots: Vec<Plot> = Vec::new();
    for plot in sections.iter_mut().flat_map(|section| section.parts.iter_mut()) {
        if let html::Part::Plot(plot) = plot {
            html::name_apart(plot, &plots);
            plots.push(plot.clone());
        }
    }
    let html = html::page(&material, &sections);
    let models = material.scores.iter().map(model).collect();
    Ok(Page { html, plots, rows: material.all.rows, models })
}

fn model(scores: &Scores) -> Model {
    Model {
        name: scores.name.clone(),
        scored: scores.scored,
        missing: scores.missing.clone(),
        double: scores.double.clone(),
        unknown: scores.unknown.clone(),
        means: scores.tables.iter().map(|(metric, tables)| (metric.key(), tables.all.mean())).collect(),
    }
}

/// What a plot is written as.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Format {
    /// A drawing
    Svg,
    /// A picture of two pixels a pixel, on white
    Png,
}

/// Writes plots into a folder, `<number>-<name>.svg` and `.png`; gives the files' names.
pub fn write_plots(plots: &[Plot], folder: &Path, formats: &[Format]) -> Result<Vec<String>> {
    if formats.contains(&Format::Png) && !cfg!(feature = "png") {
        return Err(Error::new("this program was built without pictures")
            .help("give --format svg, or build it with the feature png"));
    }
    let mut names = Vec::new();
    for (n, plot) in plots.iter().enumerate() {
        for format in formats {
            let (extension, bytes) = match format {
                Format::Svg => ("svg", svg::alone(&plot.svg).into_bytes()),
                Format::Png => ("png", picture(plot)?),
            };
            let name = format!("{:02}-{}.{extension}", n + 1, plot.name);
            write_aside(&folder.join(&name), |out| out.write_all(&bytes))?;
            names.push(name);
        }
    }
    Ok(names)
}

#[cfg(feature = "png")]
fn picture(plot: &Plot) -> Result<Vec<u8>> {
    png::picture(&svg::alone(&plot.svg)).map_err(|e| e.at(&plot.name))
}

#[cfg(not(feature = "png"))]
fn picture(_: &Plot) -> Result<Vec<u8>> {
    unreachable!("refused before")
}
