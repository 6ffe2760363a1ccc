//! How similar distractors are to what they were chosen for, by rank, on rows drawn by lot.

use super::gather::length_order;
use super::sample::{Candidate, Candidates};
use crate::embedder::{dot, ngram, pinned};
use crate::error::Result;
use crate::family::reasoning::{CONTEXT, CONTEXT_END};
use crate::manifest::Manifest;
use crate::pipeline::reasoning::pool_key;
use crate::recipe::{EmbedderName, Query, Recipe, SeedSource};
use crate::release::Release;
use crate::seed::Seed;
use crate::stage::distractors::synthetic;
use crate::table::{read_spans, text, texts};
use crate::verify::is_inside;
use arrow_array::RecordBatch;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Ranks that are looked at.
const RANKS: usize = 512;

/// Rows of a language that are looked at.
const ROWS: usize = 40;

/// Tokens of the longest prompts that are read for this.
const LONGEST: u64 = 17_000;

/// What was found.
#[derive(Default)]
pub struct Similar {
    /// By language of the haystack: of each rank, the sum of similarities in millionths, and rows.
    pub ranks: BTreeMap<String, Vec<(i64, u64)>>,
    /// Rows that were looked at.
    pub rows: u64,
    /// Their length.
    pub length: String,
    /// What the similarity is.
    pub by: &'static str,
    /// Why there is nothing.
    pub nothing: Option<String>,
}

impl Similar {
    fn nothing(why: &str) -> Similar {
        Similar { nothing: Some(why.to_owned()), ..Similar::default() }
    }

    fn add(&mut self, language: &str, mut found: Vec<i64>) {
        if found.is_empty() {
            return;
        }
        found.sort_unstable_by_key(|similarity| std::cmp::Reverse(*similarity));
        found.truncate(RANKS);
        let sums = self.ranks.entry(language.to_owned()).or_default();
        sums.resize(sums.len().max(found.len()), (0, 0));
        sums.iter_mut().zip(found).for_each(|(sum, one)| *sum = (sum.0 + one, sum.1 + 1));
        self.rows += 1;
    }
}

/// The cosine of two vectors, in millionths.
fn cosine(a: &[i8], b: &[i8]) -> i64 {
    let square = |v: &[i8]| i128::from(dot(v, v));
    // Rooted together, in thousandths, so that little is rounded.
    let both = (square(a) * square(b) * 1_000_000).isqrt().max(1);
    (i128::from(dot(a, b)) * 1_000_000_000 / both) as i64
}

fn gram(text: &str) -> Vec<i8> {
    let mut vector = vec![0; ngram::DIMENSIONS];
    ngram::embed(text, &mut vector);
    vector
}

/// The rows to look at: at the longest length that is not too long, some of each language.
fn chosen(candidates: &Candidates) -> Vec<&Candidate> {
    let instances = candidates.instances();
    let all = || {
        let rows = instances.values().flatten().flat_map(|(_, rows)| rows.iter());
        rows.filter(|row| row.distractors > 0 && row.tokens <= LONGEST && !row.kind.rest.contains("noise"))
    };
    let Some(length) = all().map(|row| length_order(&row.kind.length)).max() else { return Vec::new() };
    let mut by_language: BTreeMap<&str, usize> = BTreeMap::new();
    let mut out: Vec<&Candidate> = Vec::new();
    for row in all().filter(|row| row.kind.length == length.1) {
        let n = by_language.entry(row.kind.languages.haystack.as_str()).or_default();
        if *n < ROWS {
            *n += 1;
            out.push(row);
        }
    }
    out.sort_by_key(|row| row.place);
    out
}

/// Looks at some rows of a release.
pub fn similar(release: &Release, recipe: &Recipe, candidates: &Candidates) -> Result<Similar> {
    let rows = chosen(candidates);
    let Some(first) = rows.first() else {
        return Ok(Similar::nothing("No row that is short enough to read has distractors that were ranked."));
    };
    let length = first.kind.length.clone();
    let mut found = match recipe.retrieval.embedder {
        EmbedderName::Ngram => by_grams(release, recipe, &rows)?,
        EmbedderName::Onnx if release.manifest.pins.is_empty() => Similar::nothing(
            "Distractors were ranked by a neural model whose vectors are not published with this release, so their \
             similarities are not shown.",
        ),
        EmbedderName::Onnx => by_pins(release, &rows)?,
    };
    found.length = length;
    if found.rows == 0 && found.nothing.is_none() {
        found.nothing = Some(
            "The similarities cannot be computed again from the rows that were drawn: their question and haystack are \
             in different languages, or the passages are not those of this program."
                .to_owned(),
        );
    }
    Ok(found)
}

const READ: [&str; 9] = [
    "family",
    "instance_id",
    "language",
    "haystack_language",
    "question_language",
    "prompt",
    "question",
    "needle_spans",
    "distractor_ids",
];

/// Reads rows, file by file.
fn each(release: &Release, rows: &[&Candidate], read: &mut dyn FnMut(&RecordBatch, usize) -> Result<()>) -> Result<()> {
    for rows in rows.chunk_by(|a, b| a.place.file == b.place.file) {
        let numbers: Vec<u32> = rows.iter().map(|row| row.place.row).collect();
        let mut picked = release.rows(rows[0].place.file, &READ, &numbers)?;
        for _ in rows {
            let (batch, at) = picked.take()?;
            read(&batch, at)?;
        }
    }
    Ok(())
}

fn by_grams(release: &Release, recipe: &Recipe, rows: &[&Candidate]) -> Result<Similar> {
    let mut found = Similar { by: "hashed character n-grams, the recipe's embedder", ..Similar::default() };
    let sizes = sizes(recipe, &release.manifest);
    each(release, rows, &mut |batch, row| {
        let haystack = text(batch, "haystack_language", row);
        // N-grams say nothing across languages.
        if haystack != text(batch, "question_language", row) {
            return Ok(());
        }
        let prompt = text(batch, "prompt", row);
        let (query, passages) = match text(batch, "family", row) {
            "passage" => (text(batch, "question", row).to_owned(), documents(prompt, batch, row)),
            _ if text(batch, "language", row) == haystack => story(prompt, recipe, &sizes, batch, row),
            _ => return Ok(()),
        };
        let query = gram(&query);
        found.add(haystack, passages.iter().map(|passage| cosine(&query, &gram(passage))).collect());
        Ok(())
    })?;
    Ok(found)
}

/// Sentences of each passage of the synthetic pool, where it can be made again.
fn sizes(recipe: &Recipe, manifest: &Manifest) -> FxHashMap<String, usize> {
    let SeedSource::Number(seed) = recipe.release.seed else { return FxHashMap::default() };
    let seed = Seed::new(&seed.to_string());
    if manifest.other_seed || manifest.stages.get("distractors") != Some(&pool_key(recipe, seed.digest()).digest()) {
        return FxHashMap::default();
    }
    let pool = synthetic(&seed, recipe.distractors.variant, recipe.distractors.pool);
    pool.iter().enumerate().map(|(n, passage)| (format!("s{n:05}"), passage.sentences.len())).collect()
}

/// What a story was compared by, and its distractors. None where they cannot be told apart.
fn story(
    prompt: &str,
    recipe: &Recipe,
    sizes: &FxHashMap<String, usize>,
    batch: &RecordBatch,
    row: usize,
) -> (String, Vec<String>) {
    let spans = read_spans(batch, row);
    let mut query: String = spans
        .iter()
        .filter_map(|s| prompt.get(s.start as usize..s.end as usize))
        .map(|fact| fact.to_owned() + "\n")
        .collect();
    if recipe.retrieval.query == Query::StoryAndQuestion {
        query += text(batch, "question", row);
    }
    let (Some(start), Some(end)) = (prompt.find(CONTEXT), prompt.rfind(CONTEXT_END)) else {
        return (query, Vec::new());
    };
    let mut at = start + CONTEXT.len();
    let mut lines = Vec::new();
    for line in prompt.get(at..end).unwrap_or_default().split_inclusive('\n') {
        if !spans.iter().any(|s| s.start as usize == at) {
            lines.push(line);
        }
        at += line.len();
    }
    let ids = texts(batch, "distractor_ids", row);
    // Passages from outside are a line each.
    let size = |id: &String| if lines.len() == ids.len() { Some(1) } else { sizes.get(id).copied() };
    let counts: Option<Vec<usize>> = ids.iter().map(size).collect();
    let counts = counts.filter(|counts| counts.iter().sum::<usize>() == lines.len()).unwrap_or_default();
    let mut rest = lines.as_slice();
    let passages = counts.iter().map(|n| {
        let (passage, more) = rest.split_at(*n);
        rest = more;
        passage.concat()
    });
    let passages = passages.collect();
    (query, passages)
}

/// The numbered passages of a prompt, without the needle.
fn documents(prompt: &str, batch: &RecordBatch, row: usize) -> Vec<String> {
    let spans = read_spans(batch, row);
    let mut at = 0;
    let mut out = Vec::new();
    for line in prompt.split_inclusive('\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        let Some((number, passage)) = line.strip_prefix('[').and_then(|rest| rest.split_once("] ")) else { continue };
        let needle = spans.iter().any(|s| (start..end).contains(&(s.start as usize)));
        if !needle && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) {
            out.push(passage.trim_end_matches('\n').to_owned());
        }
    }
    out
}

/// An instance, and the ids of its distractors.
type Ranked = (String, Vec<String>);

/// Pinned vectors, one language of question and haystack at a time.
fn by_pins(release: &Release, rows: &[&Candidate]) -> Result<Similar> {
    let mut found = Similar { by: "the published vectors of the recipe's model", ..Similar::default() };
    let mut by_languages: BTreeMap<(String, String), Vec<Ranked>> = BTreeMap::new();
    each(release, rows, &mut |batch, row| {
        let languages = (text(batch, "question_language", row), text(batch, "haystack_language", row));
        let languages = (languages.0.to_owned(), languages.1.to_owned());
        let ids = texts(batch, "distractor_ids", row);
        by_languages.entry(languages).or_default().push((text(batch, "instance_id", row).to_owned(), ids));
        Ok(())
    })?;
    for ((question, haystack), rows) in by_languages {
        let asked = [format!("questions {question}"), format!("queries {question}")];
        let (Some(asked), Some(there)) =
            (vectors(release, &asked)?, vectors(release, &[format!("passages {haystack}")])?)
        else {
            continue;
        };
        for (instance, ids) in rows {
            let Some(query) = asked.get(&instance) else { continue };
            let all: Option<Vec<i64>> = ids.iter().map(|id| Some(cosine(query, there.get(id)?))).collect();
            found.add(&haystack, all.unwrap_or_default());
        }
    }
    Ok(found)
}

/// Vectors of a pin by id; none where the release has no such pin.
fn vectors(release: &Release, what: &[String]) -> Result<Option<FxHashMap<String, Vec<i8>>>> {
    let Some(pin) = release.manifest.pins.iter().find(|pin| what.contains(&pin.what) && is_inside(&pin.path)) else {
        return Ok(None);
    };
    let (ids, _, read) = pinned::read(&release.folder.join(&pin.path))?;
    Ok(Some(ids.into_iter().zip(read.vectors.chunks(read.dimensions.max(1)).map(<[i8]>::to_vec)).collect()))
}
