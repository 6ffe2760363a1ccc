//! Checks over all rows of the passage family: each instance's one ranking, its order by the pinned vectors, and
//! that prompts are filled.

use super::layout::{is_inside, list};
use super::{Checker, Finding};
use crate::embedder::pinned;
use crate::hash::Digest;
use crate::language::Language;
use crate::manifest::Manifest;
use crate::recipe::{EmbedderName, Ranking};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::path::Path;

/// What a row leaves of its budget.
pub(super) struct Room {
    pub(super) ranking: String,
    /// Passages that it takes of its ranking.
    pub(super) taken: usize,
    pub(super) language: Language,
    /// Tokens that are left for the next passage's line, its label and blank line apart.
    pub(super) room: i64,
    /// What a blank line behind the needle adds.
    pub(super) closing: i64,
    pub(super) id: String,
}

/// Pinned vectors, summed over the languages, and the texts that they are of.
#[derive(Default)]
pub(super) struct Pinned {
    passages: BTreeMap<String, Vec<i32>>,
    questions: BTreeMap<String, Vec<i32>>,
    /// By what was embedded, such as `passages de`: digest of each text, by id.
    pub(super) texts: BTreeMap<String, FxHashMap<String, Digest>>,
}

impl Pinned {
    /// Reads a release's pins; what cannot be read is a finding, returned beside.
    pub(super) fn read(folder: &Path, manifest: &Manifest) -> (Option<Pinned>, Vec<Finding>) {
        let mut findings = Vec::new();
        let mut find = |file: &str, what: String| findings.push(Finding::of(file, None, what));
        let mut all = Pinned::default();
        let mut whole = !manifest.pins.is_empty();
        for pin in &manifest.pins {
            let path = folder.join(&pin.path);
            let sound = is_inside(&pin.path) && pin.path.starts_with("pins/");
            match sound.then(|| Digest::of_file(&path)) {
                Some(Ok((digest, bytes))) if (digest, bytes) == (pin.sha256, pin.bytes) => {}
                _ => {
                    find(&pin.path, "is missing, or not the file that the manifest names".to_owned());
                    whole = false;
                    continue;
                }
            }
            if !pin.path.starts_with("pins/embed/") {
                // No vectors: its bytes are what can be compared.
                continue;
            }
            let (ids, texts, vectors) = match pinned::read(&path) {
                Ok(read) => read,
                Err(e) => {
                    find(&pin.path, e.to_string());
                    whole = false;
                    continue;
                }
            };
            let side = match pin.what.split(' ').next() {
                Some("passages") => &mut all.passages,
                Some("questions") => &mut all.questions,
                _ => continue,
            };
            for (id, vector) in ids.iter().zip(vectors.vectors.chunks(vectors.dimensions.max(1))) {
                let sum = side.entry(id.clone()).or_insert_with(|| vec![0; vectors.dimensions]);
                sum.iter_mut().zip(vector).for_each(|(sum, c)| *sum += i32::from(*c));
            }
            all.texts.insert(pin.what.clone(), ids.into_iter().zip(texts).collect());
        }
        let mut there = Vec::new();
        list(&folder.join("pins"), "pins/", &mut there);
        for name in there.iter().filter(|name| !manifest.pins.iter().any(|pin| pin.path == **name)) {
            find(name, "is no pin of the manifest".to_owned());
        }
        (whole.then_some(all), findings)
    }

    fn score(&self, instance: &str, passage: &str) -> Option<i64> {
        let (a, b) = (self.questions.get(instance)?, self.passages.get(passage)?);
        Some(a.iter().zip(b).map(|(x, y)| i64::from(*x) * i64::from(*y)).sum())
    }
}

impl Checker<'_> {
    /// Every ranking that rows show is one, fills its rows, and is in the order of the pinned vectors' scores.
    pub(super) fn ranked(&self) {
        let (orders, twins, rooms, counts) = {
            let mut shared = self.shared.lock().expect("no thread panics");
            let shared = &mut *shared;
            (
                std::mem::take(&mut shared.orders),
                std::mem::take(&mut shared.twins),
                std::mem::take(&mut shared.rooms),
                std::mem::take(&mut shared.counts),
            )
        };
        let none = Vec::new();
        for (ranking, list, id) in twins {
            // One of its passages stands in the needle's place; the others are the ranking's, without that one.
            let order = orders.get(&ranking).unwrap_or(&none);
            let bare = |id: &str| id.split('-').next().map(str::to_owned);
            let fine = (0..list.len()).any(|odd| {
                let same = (0..order.len()).filter(|rank| bare(&order[*rank]) == bare(&list[odd])).map(Some);
                same.chain([None]).any(|skipped| {
                    let rest = list.iter().enumerate().filter(|(n, _)| *n != odd).map(|(_, id)| id);
                    let order = order.iter().enumerate().filter(|(rank, _)| Some(*rank) != skipped);
                    order.zip(rest).all(|((_, a), b)| a == b)
                })
            });
            if !fine {
                self.find("data", Some(&id), "its distractors are not in the order of the instance's one ranking");
            }
        }
        for Room { ranking, taken, language, room, closing, id } in rooms {
            // Longer rows tell which passage is next, and other rows how long it is.
            let next = orders.get(&ranking).and_then(|order| order.get(taken));
            let count = next.and_then(|next| counts.get(&(next.clone(), language)));
            if let Some((line, own)) = count
                && i64::from(*line) + i64::from(*own).max(closing) <= room
            {
                let what = format!("the next passage of its ranking would have fitted: {room} tokens are left");
                self.find("data", Some(&id), what);
            }
        }
        let (Some(pins), EmbedderName::Onnx, Ranking::Pivot) =
            (&self.pinned, self.recipe.retrieval.embedder, self.recipe.retrieval.ranking)
        else {
            return;
        };
        for (instance, order) in orders {
            let scores: Vec<Option<i64>> = order.iter().map(|id| pins.score(&instance, id)).collect();
            let sorted = scores.windows(2).zip(order.windows(2)).all(|(score, ids)| match (score[0], score[1]) {
                // Ties go by passage number.
                (Some(a), Some(b)) => a > b || a == b && number(&ids[0]) < number(&ids[1]),
                _ => false,
            });
            if !sorted {
                self.find("data", None, format!("the distractors of {instance} are not in the order of their scores"));
            }
        }
    }
}

fn number(id: &str) -> Option<u64> {
    id.trim_start_matches('p').parse().ok()
}
