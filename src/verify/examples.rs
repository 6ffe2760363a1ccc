//! The worked examples of few-shot prompts, drawn and chosen again.

use crate::embedder::dot;
use crate::error::{Error, Result};
use crate::family::reasoning::Example;
use crate::language::Pack;
use crate::manifest::Manifest;
use crate::recipe::{EmbedderName, Recipe};
use crate::seed::Seed;
use crate::stage::embed::{Vectors, grams};
use crate::stage::examples::{Pool, choose, id, key, pool, text};
use crate::story::{SourceTask, Story};
use std::collections::BTreeMap;

/// What examples are made of; nothing where they cannot be made again.
pub(super) struct Examples {
    seed: Option<Seed>,
    pool: Pool,
    /// By task, where the embedder is the program's own: other vectors are a model's.
    vectors: BTreeMap<SourceTask, Vectors>,
}

impl Examples {
    pub(super) fn new(
        recipe: &Recipe,
        seed: Option<&Seed>,
        manifest: &Manifest,
        packs: &BTreeMap<String, Pack>,
    ) -> Examples {
        let same = |seed: &&Seed| manifest.stages.get("examples") == Some(&key(recipe, seed.digest()).digest());
        let Some(seed) = seed.filter(same) else {
            return Examples { seed: None, pool: Pool::new(), vectors: BTreeMap::new() };
        };
        let languages = &recipe.grid.languages;
        let told = languages.iter().filter_map(|l| packs.get(l.code()));
        let pool = pool(recipe, seed, told);
        let mut vectors = BTreeMap::new();
        if let (EmbedderName::Ngram, Some(english)) = (recipe.retrieval.embedder, packs.get("en")) {
            for (task, all) in &pool {
                let texts: Vec<String> = all.iter().map(|(story, _)| text(english, story)).collect();
                vectors.insert(*task, grams(&texts.iter().map(String::as_str).collect::<Vec<_>>()));
            }
        }
        Examples { seed: Some(seed.clone()), pool, vectors }
    }

    /// Can examples be made again?
    pub(super) fn is_known(&self) -> bool {
        self.seed.is_some()
    }

    /// The examples of an instance. Where a model chose, the recorded ones are taken for its choice: they must be of the
    /// drawn labels all the same.
    pub(super) fn of(
        &self,
        recipe: &Recipe,
        instance: &str,
        story: &Story,
        recorded: &[String],
        english: &Pack,
    ) -> Result<Vec<Example>> {
        let (Some(seed), Some(pool)) = (&self.seed, self.pool.get(&story.task)) else {
            return Err(Error::new("no example of its task is known"));
        };
        let wanted = recipe.prompt.worked();
        Ok(match self.vectors.get(&story.task) {
            Some(vectors) => {
                let asked = grams(&[&text(english, story)]);
                choose(seed, instance, pool, wanted, |n| dot(vectors.of(n), asked.of(0)))
            }
            None => {
                let rank = |n: usize| recorded.iter().position(|r| *r == id(story.task, n));
                choose(seed, instance, pool, wanted, |n| rank(n).map_or(i32::MIN, |rank| -(rank as i32)))
            }
        })
    }
}
