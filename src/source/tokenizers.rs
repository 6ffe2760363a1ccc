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
    let mut all = Vec::new();
    let mut failed: Vec<String> = Vec::new();
    for name in recipe.tokens.names() {
        match open(name, recipe.tokens.files.get(name), options) {
            Ok(tokenizer) => all.push(tokenizer),
            Err(e) => failed.push(e.to_string()),
        }
    }
    match failed.len() {
        0 => Ok(Ledger::new(all, recipe.budget.fit, recipe.tokens.special)),
        _ => Err(Error::new(failed.join("\n"))),
    }
}

/// The tokenizers of a recipe that are at hand, and what is said of those that are not. The primary one must be.
pub fn at_hand(recipe: &Recipe, options: &Options) -> Result<(Ledger, Vec<String>)> {
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

fn open(name: &Name, file: Option<&TokenizerFile>, options: &Options) -> Result<Tokenizer> {
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

/// Where a tokenizer's file is.
fn place(name: &Name, file: Option<&TokenizerFile>, options: &Options) -> Result<PathBuf> {
    if let Some(path) = options.tokenizers.get(&name.0) {
        return Ok(path.clone());
    }
    let roots: Vec<&Path> = [&options.models, &options.data].into_iter().flatten().map(PathBuf::as_path).collect();
    let mut names: Vec<PathBuf> = file.and_then(|file| file.file.as_ref()).map(PathBuf::from).into_iter().collect();
    let stated = names.clone();
    names.extend(FILES.map(|file| Path::new(&name.0).join(file)));
    names.push(PathBuf::from(format!("{name}.json")));
    let under = roots.iter().flat_map(|root| names.iter().map(|name| root.join(name)));
    if let Some(found) = under.chain(stated).find(|path| path.is_file()) {
        return Ok(found);
    }
    if let Some(id) = file.and_then(|file| file.archive.as_ref()) {
        let locator = Locator::of(options)?;
        return locator.fetcher.file(locator.pins.find(id)?);
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
