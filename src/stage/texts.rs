//! Reads the running text of each language, tells it again where the recipe allows that, and finds its sentence breaks.

use super::ingest::SourceFile;
use super::slots::begins_with_heading;
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::language::breaks::{Break, breaks, points_back};
use crate::language::essays::{self, essays_or_all};
use crate::language::{Language, Pack};
use crate::manifest::TextFacts;
use crate::plan::Plan;
use crate::recipe::{CollectionKind, Lines};
use crate::source::locate::{self, Locator};
use crate::source::running::{self, Repairs};
use crate::tokenizer::Unit;
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Tokens beyond the longest length that a text is read for: the sentence after it must be seen to be left out.
const BEYOND: u64 = 2_000;

/// The texts of a build.
pub struct Texts {
    /// By language.
    pub by_language: BTreeMap<Language, Arc<Running>>,
    /// The files they come from.
    pub files: Vec<SourceFile>,
    /// Digest of all of it.
    pub digest: Digest,
}

/// A text, as far as it is needed, tokenised once under each tokenizer of the recipe.
pub struct Running {
    /// One a tokenizer, the primary one first; all of the same text.
    pub units: Vec<Unit>,
    /// Its sentence breaks.
    pub breaks: Vec<Break>,
    /// Does the text open by pointing back?
    pub guarded: bool,
    /// Does it begin with a heading?
    pub heading: bool,
    /// Bytes of the text told once, with what parts it from its next telling.
    pub once: usize,
    /// What the manifest says of it.
    pub facts: TextFacts,
}

impl Running {
    /// The text.
    pub fn text(&self) -> &str {
        self.units[0].text()
    }

    /// How many times the text begins in its first so many bytes.
    pub fn repeats(&self, bytes: usize) -> u64 {
        bytes.div_ceil(self.once).max(1) as u64
    }
}

/// Reads the texts of a plan.
pub fn read(plan: &Plan) -> Result<Texts> {
    let mut files = Vec::new();
    let mut sources = Vec::new();
    for (language, pack) in &plan.packs {
        let source = match plan.recipe.haystack.kind {
            CollectionKind::Text => from_files(plan, *language, pack, &mut files)?,
            _ => Source::Essays,
        };
        sources.push((*language, pack, source));
    }
    let made = sources.par_iter().map(|(language, pack, source)| {
        let running = running(plan, *language, pack, source).map_err(|e| e.at(format!("the text in {language}")))?;
        Ok((*language, Arc::new(running)))
    });
    let by_language: BTreeMap<Language, Arc<Running>> = made.collect::<Result<_>>()?;
    let digest = Digest::of_parts(by_language.values().map(|running| running.text().as_bytes()));
    Ok(Texts { by_language, files, digest })
}

/// Where a text comes from.
enum Source {
    Essays,
    Files { text: String, repairs: Repairs },
}

fn from_files(plan: &Plan, language: Language, pack: &Pack, files: &mut Vec<SourceFile>) -> Result<Source> {
    let haystack = &plan.recipe.haystack;
    let lines = haystack.lines.unwrap_or(Lines::Wrapped);
    let fill = |name: &String| locate::fill(name, language, pack, haystack.split);
    let names: Vec<String> = haystack.files.list().iter().map(fill).collect();
    let archive = haystack.archives.get(&language).or(haystack.archive.as_ref()).map(fill);
    let documents = match (archive, &plan.options.data) {
        (Some(id), None) => {
            let locator = Locator::new(plan)?;
            let path = locator.fetcher.file(locator.pins.find(&id)?)?;
            running::read(Path::new("."), &[path.display().to_string()], lines)?
        }
        (_, data) => running::read(data.as_deref().unwrap_or(Path::new(".")), &names, lines)?,
    };
    let mut repairs = Repairs::default();
    let mut texts = Vec::new();
    for document in documents {
        repairs.add(document.repairs);
        let (bytes, sha256) = (document.raw.len() as u64, Digest::of(&document.raw));
        files.push(SourceFile { name: document.name, bytes, sha256 });
        texts.push(document.text);
    }
    Ok(Source::Files { text: texts.join(PARTED), repairs })
}

impl Source {
    /// At least so many bytes of the text, or all there is of it; and the bytes of one telling.
    fn text(&self, plan: &Plan, language: Language, pack: &Pack, bytes: usize) -> Result<(Cow<'_, str>, usize)> {
        let repeat = plan.recipe.haystack.repeat == Some(true);
        let text = match self {
            Source::Essays => match essays_or_all(language, pack, &plan.seed, bytes)? {
                (text, false) => return Ok((text.into(), usize::MAX)),
                (text, true) => Cow::Owned(text),
            },
            Source::Files { text, .. } => Cow::Borrowed(text.as_str()),
        };
        let once = text.len() + PARTED.len();
        if !repeat || bytes <= text.len() {
            return Ok((text, once));
        }
        let times = bytes.div_ceil(once);
        Ok((vec![text.as_ref(); times].join(PARTED).into(), once))
    }
}

/// What parts a text from its next telling.
pub const PARTED: &str = "\n\n";

/// Reads as much of a text as the longest length needs.
fn running(plan: &Plan, language: Language, pack: &Pack, source: &Source) -> Result<Running> {
    let longest = plan.recipe.slots.lengths.iter().flatten().copied().max().unwrap_or_default();
    let need = u64::from(longest) + BEYOND;
    let primary = plan.ledger.primary();
    // A sample says how many bytes a token has; the text is then tokenised once, or again where that was too little.
    let (sample, _) = source.text(plan, language, pack, 16_384)?;
    let sample = &sample[..sample.floor_char_boundary(16_384)];
    let per_token = sample.len() as u64 * 100 / primary.count(sample).max(1) as u64;
    let mut bytes = (need * per_token / 100 * 11 / 10 + 2_048) as usize;
    let (first, once) = loop {
        let (text, once) = source.text(plan, language, pack, bytes)?;
        let kept = text[..text.ceil_char_boundary(bytes)].trim_end();
        let unit = Unit::new(primary, kept);
        let whole = text.len() <= bytes && once != usize::MAX;
        if whole || unit.tokens().len() as u64 >= need {
            break (unit, once);
        }
        bytes += bytes / 4;
    };
    let text = first.text();
    let marks = pack.marks();
    let all = breaks(text, &marks);
    let guarded = points_back(text, &marks);
    let heading = begins_with_heading(text, all.first().map(|place| place.end));
    let also: Vec<Unit> = plan.ledger.also().iter().map(|tokenizer| Unit::new(tokenizer, text)).collect();
    let repairs = match source {
        Source::Essays => BTreeMap::new(),
        Source::Files { repairs, .. } => named(repairs),
    };
    let count = |of: &dyn Fn(&Break) -> bool| all.iter().filter(|b| of(b)).count() as u64;
    let facts = TextFacts {
        bytes: text.len() as u64,
        tokens: first.tokens().len() as u64,
        breaks: (all.len() as u64, count(&|b| b.guarded), count(&|b| b.soft)),
        repairs,
        patterns: matches!(source, Source::Essays).then(|| essays::digest(language)),
        ..TextFacts::default()
    };
    if all.is_empty() {
        return Err(Error::new("it has no sentence break where a needle could stand")
            .help("give running text of whole sentences; haystack.lines says what its lines are"));
    }
    let units = std::iter::once(first).chain(also).collect();
    Ok(Running { units, breaks: all, guarded, heading, once, facts })
}

fn named(repairs: &Repairs) -> BTreeMap<String, u64> {
    let all = [
        ("byte order marks removed", repairs.bom),
        ("line ends made line feeds", repairs.line_ends),
        ("stray Windows-1252 characters restored", repairs.c1),
        ("controls made spaces or breaks", repairs.controls),
        ("invisible characters removed", repairs.invisible),
    ];
    all.into_iter().filter(|(_, n)| *n > 0).map(|(what, n)| (what.to_owned(), n)).collect()
}
