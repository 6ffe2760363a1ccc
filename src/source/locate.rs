//! Finds the files that a recipe reads: under `--data`, in the cache, or by downloading what is pinned.

use super::fetch::{FetchOptions, Fetcher};
use super::pins::{Pin, Pins};
use crate::error::{Error, Result};
use crate::language::{Language, Pack};
use crate::plan::{Options, Plan};
use crate::recipe::Split;
use crate::store::sorted_dir;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where a source is.
pub enum Place {
    /// A local file of one of the names asked for.
    Loose(PathBuf),
    /// A local file that is the pinned one whole, perhaps an archive.
    Whole(PathBuf),
    /// Nowhere here: it must be downloaded.
    Remote,
}

/// What finds files for a plan.
pub struct Locator<'a> {
    options: &'a Options,
    /// The pins.
    pub pins: Pins,
    /// What downloads.
    pub fetcher: Fetcher,
}

impl<'a> Locator<'a> {
    /// A locator; opens no socket yet.
    pub fn new(plan: &'a Plan) -> Result<Locator<'a>> {
        Locator::of(&plan.options)
    }

    /// The same, from what a command line asks for.
    pub fn of(options: &'a Options) -> Result<Locator<'a>> {
        let pins = Pins::load(options.sources.as_deref())?;
        let fetcher = Fetcher::new(FetchOptions {
            cache: options.out.join("cache"),
            offline: options.offline,
            stall: Duration::from_secs(60),
            retries: 8,
            back_off: Duration::from_secs(1),
            parallel: 4,
        });
        Ok(Locator { options, pins, fetcher })
    }

    /// Where a source is. `names` are what its files may be called.
    pub fn place(&self, pin: Option<&Pin>, names: &[String]) -> Result<Place> {
        if let Some(data) = self.options.data.as_deref() {
            if let Some(pin) = pin
                && let Some(path) = find(data, &[file_name(pin)])?
            {
                return Ok(Place::Whole(path));
            }
            if let Some(path) = find(data, names)? {
                return Ok(Place::Loose(path));
            }
        }
        match (pin, self.options.data.as_deref()) {
            (Some(_), _) => Ok(Place::Remote),
            (None, Some(data)) => Err(Error::new(format!("the folder {:?} holds no {}", data, names.join(" or ")))
                .help("give the folder that holds it, or one above, with --data DIR; a language without files must not stand in grid.languages")),
            (None, None) => Err(Error::new(format!("the recipe reads {}, which nothing pins", names.join(" or ")))
                .help("give the folder that holds it with --data DIR, or pin it with `archive`")),
        }
    }
}

/// Name of the file that a pin's first URL gives, as the cache has it.
pub fn file_name(pin: &Pin) -> String {
    super::fetch::file_name(pin.urls.first().map_or("", String::as_str))
}

/// A file's name as a recipe writes it, for one language and split.
pub fn fill(name: &str, language: Language, pack: &Pack, split: Split) -> String {
    name.replace("{language}", language.code())
        .replace("{name}", &pack.english_name().to_lowercase())
        .replace("{split}", split.name())
}

/// Looks for a file in a folder and in the folders directly below it, under its whole name or the last part of it.
fn find(data: &Path, names: &[String]) -> Result<Option<PathBuf>> {
    if !data.exists() {
        return Err(
            Error::new(format!("{} does not exist", data.display())).help("give another folder with --data DIR")
        );
    }
    if data.is_file() {
        let own = data.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        return Ok(names.iter().any(|name| last(name) == own).then(|| data.to_owned()));
    }
    let mut folders = vec![data.to_owned()];
    folders.extend(sorted_dir(data)?.into_iter().filter(|path| path.is_dir()));
    for name in names {
        let mut hits: Vec<PathBuf> = Vec::new();
        for folder in &folders {
            let whole = folder.join(name);
            let short = folder.join(last(name));
            hits.extend([whole, short].into_iter().find(|path| path.is_file()));
        }
        if hits.len() > 1 {
            let all: Vec<String> = hits.iter().map(|path| path.display().to_string()).collect();
            return Err(Error::new(format!("{name} is there more than once: {}", all.join(", ")))
                .help("give the folder of the right one with --data DIR"));
        }
        if let Some(hit) = hits.pop() {
            return Ok(Some(hit));
        }
    }
    Ok(None)
}

fn last(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// The files of a model's folder that an embedder reads.
pub const MODEL_FILES: [&str; 5] =
    ["model.onnx", "tokenizer.json", "config.json", "special_tokens_map.json", "tokenizer_config.json"];

/// The folder of the recipe's embedding model, if it is there: under `--models`, or under `--data`.
pub fn local_model(plan: &Plan) -> Option<PathBuf> {
    let name = &plan.recipe.embedding.model;
    let given = plan.options.models.iter().chain(plan.options.data.iter());
    let mut roots = given.flat_map(|root| [root.join(name), root.join("models").join(name)]);
    roots.find(|folder| folder.is_dir())
}

/// The folder of the recipe's embedding model: a local one, else downloaded by its pins.
pub fn model(plan: &Plan) -> Result<PathBuf> {
    let name = &plan.recipe.embedding.model;
    if let Some(folder) = local_model(plan) {
        return Ok(folder);
    }
    if let Some(models) = &plan.options.models {
        return Err(Error::new(format!("--models: {} holds no folder {name}", models.display()))
            .help("give the folder that holds the model's folder, or change embedding.model"));
    }
    let locator = Locator::new(plan)?;
    let missing = |e: Error| {
        e.at(format!("the embedding model {name:?}"))
            .help("give the folder that holds the model's folder with --models DIR, or pinned vectors with --pins DIR")
    };
    let ids = MODEL_FILES.map(|file| format!("{name}/{file}"));
    let pins = ids.iter().map(|id| locator.pins.find(id)).collect::<Result<Vec<&Pin>>>().map_err(missing)?;
    let files = locator.fetcher.files(&pins).map_err(missing)?;
    // Cached files lie apart, each under its digest: one folder of links holds them under their names.
    let key = crate::hash::Digest::of(files.iter().map(|f| f.to_string_lossy()).collect::<Vec<_>>().join("\n"));
    let folder = plan.options.out.join("cache").join("models").join(key.short()).join(name);
    crate::store::make_dir(&folder)?;
    for (file, name) in files.iter().zip(MODEL_FILES) {
        let place = folder.join(name);
        if !place.exists() {
            std::fs::hard_link(file, &place).map_err(|e| Error::io("cannot link", &place, e))?;
        }
    }
    Ok(folder)
}
