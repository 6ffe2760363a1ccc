//! Finds the files of a recipe's tokenizers: named on the command line, under `--models` or `--data`, or pinned.

use super::locate::Locator;
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::plan::Options;
use crate::recipe::{Name, Recipe, TokenizerFile};
use crate::tokenizer::{Ledger, Tokenizer};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What a tokenizer's file may be called inside a folder that bears its name.
const FILES: [&str; 2] = ["tokenizer.json", "tekken.json"];

/// Opens the tokenizers of a recipe. One error tells of all that are missing.
pub fn ledger(recipe: &Recipe, options: &Options) -> Result<Ledger> {
    refuse_idle(recipe, options)?;
    let mut all = Vec::new();
    let mut failed: Vec<String> = Vec::new();
    let mut key = None;
    for (n, name) in recipe.tokens.names().enumerate() {
        match open(name, recipe.tokens.files.get(name), options) {
            Ok(tokenizer) => all.push(tokenizer),
            Err(e) => {
                let stands = n.checked_sub(1).map_or("tokens.primary".to_owned(), |n| format!("tokens.also[{n}]"));
                key.get_or_insert(stands);
                failed.push(e.to_string());
            }
        }
    }
    match failed.len() {
        0 => Ok(Ledger::new(all, recipe.budget.fit, recipe.tokens.special)),
        _ => Err(Error::new(failed.join("\n")).on(key.unwrap_or_default())),
    }
}

/// The tokenizers of a recipe that are at hand, and what is said of those that are not. The primary one must be.
pub fn at_hand(recipe: &Recipe, options: &Options) -> Result<(Ledger, Vec<String>)> {
    refuse_idle(recipe, options)?;
    let mut all = vec![open(&recipe.tokens.primary, recipe.tokens.files.get(&recipe.tokens.primary), options)?];
    let mut missing = Vec::new();
    for name in &recipe.tokens.also {
        match open(name, recipe.tokens.files.get(name), options) {
            Ok(tokenizer) => all.push(tokenizer),
            Err(_) => missing
                .push(format!("counts under {name}: its file is not here (--tokenizer {name}=FILE, or --models DIR)")),
        }
    }
    Ok((Ledger::new(all, recipe.budget.fit, recipe.tokens.special), missing))
}

/// Opens a tokenizer: an embedded one, or from the file that the options or a recipe give it.
pub(crate) fn open(name: &Name, file: Option<&TokenizerFile>, options: &Options) -> Result<Tokenizer> {
    if let Some(tokenizer) = Tokenizer::embedded(&name.0) {
        return Ok(tokenizer);
    }
    let path = place(name, file, options)?;
    if let Some(wanted) = file.and_then(|file| file.sha256) {
        let (found, _) = Digest::of_file(&path)?;
        if found != wanted {
            return Err(Error::new(format!("{} has SHA-256 {found}, the recipe wants {wanted}", path.display()))
                .at(format!("tokens.files.{name}"))
                .help("give the file that the recipe was written for, or change sha256"));
        }
    }
    Tokenizer::open(&name.0, &path).map_err(|e| e.at(format!("the tokenizer {name}")))
}

/// A file or a flag for a tokenizer that is embedded, or that the recipe does not name, would do nothing.
fn refuse_idle(recipe: &Recipe, options: &Options) -> Result<()> {
    let flags = options.tokenizers.keys().map(|name| (name.as_str(), "--tokenizer"));
    let keys = recipe.tokens.files.keys().map(|name| (name.0.as_str(), "tokens.files"));
    for (name, place) in flags.chain(keys) {
        if Tokenizer::embedded(name).is_some() {
            return Err(Error::new(format!("{place} gives a file for {name}, which is embedded"))
                .on_key(format!("tokens.files.{name}"))
                .help("remove it"));
        }
        if !recipe.tokens.names().any(|known| known.0 == name) {
            let names: Vec<&str> = recipe.tokens.names().map(|known| known.0.as_str()).collect();
            let what = format!("{place} names {name}, which is no tokenizer of the recipe");
            return Err(Error::new(what)
                .on_key(format!("tokens.files.{name}"))
                .help(format!("it has {}", names.join(", "))));
        }
    }
    Ok(())
}

/// A file that the recipe names: under the folders given, or as it stands.
fn stated_place(name: &Name, stated: &str, options: &Options) -> Result<PathBuf> {
    let under = [&options.models, &options.data].into_iter().flatten().map(|root| root.join(stated));
    under.chain([PathBuf::from(stated)]).find(|path| path.is_file()).ok_or_else(|| {
        Error::new(format!("{stated}, the file of the tokenizer {name}, is not here"))
            .help(format!("give it with --tokenizer {name}=FILE, or the folder that holds it with --models DIR"))
    })
}

/// The file of a tokenizer; none of an embedded one.
pub(crate) fn file(name: &Name, stated: Option<&TokenizerFile>, options: &Options) -> Result<Option<PathBuf>> {
    match Tokenizer::EMBEDDED.contains(&name.0.as_str()) {
        true => Ok(None),
        false => place(name, stated, options).map(Some),
    }
}

/// Where a tokenizer's file is.
fn place(name: &Name, file: Option<&TokenizerFile>, options: &Options) -> Result<PathBuf> {
    if let Some(path) = options.tokenizers.get(&name.0) {
        return Ok(path.clone());
    }
    if let Some(stated) = file.and_then(|file| file.file.as_ref()) {
        return stated_place(name, stated, options);
    }
    if let Some(id) = file.and_then(|file| file.archive.as_ref()) {
        let locator = Locator::of(options)?;
        return locator.fetcher.file(locator.pins.find(id)?);
    }
    let roots: Vec<&Path> = [&options.models, &options.data].into_iter().flatten().map(PathBuf::as_path).collect();
    let mut names: Vec<PathBuf> = Vec::new();
    names.extend(FILES.map(|file| Path::new(&name.0).join(file)));
    names.push(PathBuf::from(format!("{name}.json")));
    let under = roots.iter().flat_map(|root| names.iter().map(|name| root.join(name)));
    let mut under = under;
    if let Some(found) = under.find(|path| path.is_file()) {
        return Ok(found);
    }
    let embedded = Tokenizer::EMBEDDED.join(" and ");
    let looked = names.iter().map(|name| name.display().to_string()).collect::<Vec<_>>().join(", ");
    Err(Error::new(format!("the file of the tokenizer {name} is not here (embedded are {embedded})"))
        .help(format!("give it with --tokenizer {name}=FILE, or put {looked} into the folder given with --models DIR")))
}

/// Reads `NAME=FILE`, as a command line gives it.
pub fn parse_flags(flags: &[String]) -> Result<BTreeMap<String, PathBuf>> {
    let mut all = BTreeMap::new();
    for flag in flags {
        let (name, file) =
            flag.split_once('=').filter(|(name, file)| !name.is_empty() && !file.is_empty()).ok_or_else(|| {
                Error::new(format!("--tokenizer {flag}: expected NAME=FILE")).help("such as llama3_1=tokenizer.json")
            })?;
        if all.insert(name.to_owned(), PathBuf::from(file)).is_some() {
            return Err(Error::new(format!("--tokenizer gives {name} twice")));
        }
    }
    Ok(all)
}
