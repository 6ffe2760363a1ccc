//! Reads and writes recipes: what is unknown, or does nothing, is refused.

use super::{EmbedderName, Family, Kind, Length, Recipe, SourceKind};

use crate::error::{Error, Result};
use crate::fail;
use std::path::Path;

impl Recipe {
    /// Reads a recipe's text. `name` stands in errors, which point at the line.
    pub fn parse(name: &str, text: &str) -> Result<Recipe> {
        let fault = |e: toml::de::Error| {
            let text = e.to_string();
            Error::new(text.trim_end().to_owned()).at(format!("recipe {name}"))
        };
        let mut recipe: Recipe = toml::from_str(text).map_err(fault)?;
        let written: toml::Table = toml::from_str(text).map_err(fault)?;
        recipe.refuse_foreign(&written).map_err(|e| e.at(format!("recipe {name}")))?;
        recipe.fill_defaults(&written);
        Ok(recipe)
    }

    /// Defaults that depend on what the recipe reads.
    fn fill_defaults(&mut self, written: &toml::Table) {
        let has = |section: &str, key: &str| {
            written.get(section).and_then(|section| section.as_table()).is_some_and(|section| section.contains_key(key))
        };
        if self.family() == Family::Passage && !has("grid", "lengths") {
            self.grid.lengths = MLNEEDLE_LENGTHS.map(Length).to_vec();
        }
        // Texts from outside have a licence of their own, which nothing here knows.
        if self.reads_passages() && !has("release", "licence") {
            self.release.licence = "LicenseRef-unstated".to_owned();
        }
    }

    /// The family that the source belongs to.
    pub fn family(&self) -> Family {
        match self.source.kind {
            SourceKind::Simulate | SourceKind::Babi => Family::Reasoning,
            SourceKind::Squad => Family::Passage,
        }
    }

    /// A key of another family would silently do nothing: it is refused.
    fn refuse_foreign(&self, written: &toml::Table) -> Result<()> {
        let family = self.family();
        for (section, key, only) in KEYS {
            let there = match (written.get(*section), *key) {
                (Some(_), "") => true,
                (Some(toml::Value::Table(section)), key) => section.contains_key(key),
                _ => false,
            };
            if there && *only != family {
                let name = [*section, *key].join(".");
                return Err(Error::new(format!(
                    "{} does nothing in a recipe whose source.kind makes it one of the {} family",
                    name.trim_end_matches('.'),
                    family.name()
                ))
                .help("remove it"));
            }
        }
        if written.contains_key("haystack") && !self.reads_passages() {
            fail!(
                "[haystack] does nothing here: only distractors.kind = \"natural\" and MLNeedle's recipes read passages"
            );
        }
        if written.contains_key("embedding") && self.retrieval.embedder != EmbedderName::Onnx {
            fail!("[embedding] does nothing here: it describes the model of retrieval.embedder = \"onnx\"");
        }
        Ok(())
    }

    /// Are passages of `[haystack]` read?
    pub fn reads_passages(&self) -> bool {
        self.family() == Family::Passage || self.distractors.kind.list().contains(&Kind::Natural)
    }

    /// The recipe as TOML, without the keys of other families.
    pub fn to_toml(&self) -> String {
        let mut table = toml::Table::try_from(self).expect("a recipe is plain data");
        for (section, key, _) in KEYS.iter().filter(|(.., only)| *only != self.family()) {
            match (table.get_mut(*section), *key) {
                (_, "") => drop(table.remove(*section)),
                (Some(toml::Value::Table(section)), key) => drop(section.remove(key)),
                _ => {}
            }
        }
        if !self.reads_passages() {
            table.remove("haystack");
        }
        if self.retrieval.embedder != EmbedderName::Onnx {
            table.remove("embedding");
        }
        table.to_string()
    }

    /// Finds a recipe: a path, else a name under `recipes/`, else one built into the program.
    pub fn find(argument: &str) -> Result<(String, Recipe)> {
        let stem = argument.strip_suffix(".toml").unwrap_or(argument);
        let in_folder = format!("recipes/{stem}.toml");
        for path in [argument, in_folder.as_str()] {
            if Path::new(path).is_file() {
                let text = std::fs::read_to_string(path)
                    .map_err(|e| Error::io("cannot read the recipe", Path::new(path), e))?;
                return Ok((path.to_owned(), Recipe::parse(path, &text)?));
            }
        }
        if let Some((name, text)) = BUILT_IN.iter().find(|(name, _)| *name == stem) {
            return Ok((format!("{name} (built in)"), Recipe::parse(name, text)?));
        }
        let known: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
        Err(Error::new(format!("no recipe {argument:?}: no such file, none under recipes/, none built in"))
            .help(format!("built in are {}", known.join(", "))))
    }
}

/// The lengths of the MLNeedle paper.
const MLNEEDLE_LENGTHS: [u32; 5] = [0, 4, 8, 16, 32];

/// Keys that only one family has; an empty key is the whole section.
const KEYS: &[(&str, &str, Family)] = &[
    ("stories", "", Family::Reasoning),
    ("distractors", "", Family::Reasoning),
    ("retrieval", "query", Family::Reasoning),
    ("prompt", "strategies", Family::Reasoning),
    ("prompt", "instruction_language", Family::Reasoning),
    ("prompt", "order", Family::Reasoning),
    ("source", "dataset", Family::Passage),
    ("source", "files", Family::Passage),
    ("grid", "needle", Family::Passage),
    ("grid", "haystack", Family::Passage),
    ("grid", "pairs", Family::Passage),
    ("grid", "question", Family::Passage),
    ("grid", "positions", Family::Passage),
    ("grid", "samples", Family::Passage),
    ("grid", "choice", Family::Passage),
    ("grid", "prompts", Family::Passage),
    ("budget", "counts", Family::Passage),
    ("prompt", "first_label", Family::Passage),
    ("prompt", "middle", Family::Passage),
    ("prompt", "last", Family::Passage),
];

/// The recipes built into the program, by name.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("mlrbench", include_str!("../../recipes/mlrbench.toml")),
    ("mlrbench-babi", include_str!("../../recipes/mlrbench-babi.toml")),
    ("mlneedle", include_str!("../../recipes/mlneedle.toml")),
    ("mlneedle-existence", include_str!("../../recipes/mlneedle-existence.toml")),
    ("mlneedle-paper", include_str!("../../recipes/mlneedle-paper.toml")),
    ("golden", include_str!("../../recipes/golden.toml")),
];
