//! Reads and writes recipes: what is unknown, or does nothing, is refused.

use super::origin::Origin;
use super::{CollectionKind, EmbedderName, Family, Kind, Length, OneOrMany, Recipe, SourceKind};
use crate::error::{Error, Result};
use crate::fail;
use crate::language::Language;
use std::path::Path;

impl Recipe {
    /// Reads a recipe's text. `name` stands in errors, which point at the line.
    pub fn parse(name: &str, text: &str) -> Result<Recipe> {
        let origin = Origin::new(name, text);
        let fault = |e: toml::de::Error| origin.fault(&e);
        // Languages that the recipe itself brings must be known before the rest is read.
        if let Ok(table) = toml::from_str::<toml::Table>(text) {
            let guests = table.get("translation").and_then(|section| section.get("languages"));
            for code in guests.and_then(|all| all.as_table()).into_iter().flat_map(|all| all.keys()) {
                let named = format!("translation.languages.{code}");
                Language::guest(code).map_err(|e| origin.point(e.at("translation.languages").on_key(named)))?;
            }
        }
        let mut recipe: Recipe = toml::from_str(text).map_err(fault)?;
        let written: toml::Table = toml::from_str(text).map_err(fault)?;
        recipe.refuse_foreign(&written).map_err(|e| origin.point(e))?;
        recipe.fill_defaults(&written);
        recipe.origin = origin;
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
        if self.family() == Family::Factoid {
            let haystack = &mut self.haystack;
            if !has("haystack", "kind") {
                haystack.kind = match has("haystack", "files") {
                    true => CollectionKind::Text,
                    false => CollectionKind::Essays,
                };
            }
            if !has("haystack", "files") {
                haystack.files = OneOrMany::Many(Vec::new());
            }
            if !has("grid", "languages") {
                self.grid.languages.retain(|language| language.code() == "en");
            }
            self.grid.lengths = vec![Length(0)];
            self.budget.unit = 1;
        }
        // Texts from outside have a licence of their own, which nothing here knows.
        if self.reads_passages() && !has("release", "licence") {
            self.release.licence = crate::licence::UNSTATED.to_owned();
        }
    }

    /// The family that the source belongs to.
    pub fn family(&self) -> Family {
        match self.source.kind {
            SourceKind::Simulate | SourceKind::Babi | SourceKind::Released => Family::Reasoning,
            SourceKind::Squad => Family::Passage,
            SourceKind::Text => Family::Factoid,
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
            if there && !only.contains(&family) {
                let name = [*section, *key].join(".");
                return Err(Error::new(format!(
                    "{} does nothing in a recipe whose source.kind makes it one of the {} family",
                    name.trim_end_matches('.'),
                    family.name()
                ))
                .on_key(name.trim_end_matches('.'))
                .help(format!("remove it; it is for source.kind = {}", kinds_of(only).join(" or "))));
            }
        }
        if written.contains_key("haystack") && family == Family::Reasoning && !self.reads_passages() {
            fail!(key "haystack";
                "[haystack] does nothing here: only distractors.kind = \"natural\" and MLNeedle's recipes read passages"
            );
        }
        if written.contains_key("embedding") && self.retrieval.embedder != EmbedderName::Onnx {
            fail!(key "embedding"; "[embedding] does nothing here: it describes the model of retrieval.embedder = \"onnx\"");
        }
        Ok(())
    }

    /// Are passages of `[haystack]` read?
    pub fn reads_passages(&self) -> bool {
        match self.family() {
            Family::Passage => true,
            Family::Factoid => self.haystack.kind == CollectionKind::Text,
            Family::Reasoning => self.distractors.kind.list().contains(&Kind::Natural),
        }
    }

    /// The recipe as TOML, without the keys of other families.
    pub fn to_toml(&self) -> String {
        let mut table = toml::Table::try_from(self).expect("a recipe is plain data");
        for (section, key, _) in KEYS.iter().filter(|(.., only)| !only.contains(&self.family())) {
            match (table.get_mut(*section), *key) {
                (_, "") => drop(table.remove(*section)),
                (Some(toml::Value::Table(section)), key) => drop(section.remove(key)),
                _ => {}
            }
        }
        if !self.reads_passages() && self.family() != Family::Factoid {
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
            let name = format!("{name} (built in)");
            let recipe = Recipe::parse(&name, text)?;
            return Ok((name, recipe));
        }
        let known: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
        let near = super::near::nearest(stem, &known).map_or(String::new(), |name| format!("did you mean {name}? "));
        Err(Error::new(format!("no recipe {argument:?}: no such file, none under recipes/, none built in"))
            .help(format!("{near}built in are {}", known.join(", "))))
    }
}

/// The values of `source.kind` that make a recipe one of these families.
fn kinds_of(families: &[Family]) -> Vec<&'static str> {
    let kinds = |family: &Family| match family {
        Family::Reasoning => vec!["\"simulate\"", "\"babi\"", "\"released\""],
        Family::Passage => vec!["\"squad\""],
        Family::Factoid => vec!["\"text\""],
    };
    families.iter().flat_map(kinds).collect()
}

/// The lengths of the MLNeedle paper.
const MLNEEDLE_LENGTHS: [u32; 5] = [0, 4, 8, 16, 32];

const STORIES: &[Family] = &[Family::Reasoning];
const PASSAGES: &[Family] = &[Family::Passage];
const FACTOIDS: &[Family] = &[Family::Factoid];
const RANKED: &[Family] = &[Family::Reasoning, Family::Passage];

/// Keys that only some families have; an empty key is the whole section.
pub(super) const KEYS: &[(&str, &str, &[Family])] = &[
    ("stories", "", STORIES),
    ("distractors", "", STORIES),
    ("retrieval", "query", STORIES),
    ("rag", "", STORIES),
    ("written", "", STORIES),
    ("translation", "", STORIES),
    ("prompt", "strategies", STORIES),
    ("prompt", "templates", STORIES),
    ("prompt", "examples", STORIES),
    ("prompt", "instruction_language", STORIES),
    ("prompt", "order", STORIES),
    ("source", "dataset", PASSAGES),
    ("source", "files", PASSAGES),
    ("grid", "needle", PASSAGES),
    ("grid", "story", STORIES),
    ("grid", "haystack", RANKED),
    ("grid", "pairs", RANKED),
    ("grid", "question", RANKED),
    ("grid", "positions", PASSAGES),
    ("grid", "samples", PASSAGES),
    ("grid", "choice", PASSAGES),
    ("grid", "prompts", PASSAGES),
    ("budget", "counts", PASSAGES),
    ("prompt", "first_label", PASSAGES),
    ("prompt", "middle", PASSAGES),
    ("prompt", "last", PASSAGES),
    ("retrieval", "", RANKED),
    ("embedding", "", RANKED),
    ("source", "archive", RANKED),
    ("source", "splits", RANKED),
    ("haystack", "split", RANKED),
    ("haystack", "sample", RANKED),
    ("grid", "lengths", RANKED),
    ("budget", "unit", RANKED),
    ("budget", "by", RANKED),
    ("slots", "", FACTOIDS),
    ("needles", "", FACTOIDS),
    ("prompt", "layout", FACTOIDS),
    ("prompt", "system", FACTOIDS),
    ("haystack", "lines", FACTOIDS),
    ("haystack", "repeat", FACTOIDS),
];

/// The recipes built into the program, by name.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("mlrbench", include_str!("../../recipes/mlrbench.toml")),
    ("mlrbench-babi", include_str!("../../recipes/mlrbench-babi.toml")),
    ("mlneedle", include_str!("../../recipes/mlneedle.toml")),
    ("mlneedle-existence", include_str!("../../recipes/mlneedle-existence.toml")),
    ("mlneedle-paper", include_str!("../../recipes/mlneedle-paper.toml")),
    ("recall", include_str!("../../recipes/recall.toml")),
    ("recall-paper", include_str!("../../recipes/recall-paper.toml")),
    ("mlrbench-paper", include_str!("../../recipes/mlrbench-paper.toml")),
    ("golden", include_str!("../../recipes/golden.toml")),
];
