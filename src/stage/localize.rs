//! Writes the pool in one language and counts its tokens; reads every sentence back.

use crate::error::{Error, Result};
use crate::language::Pack;
use crate::record::{LocalPool, Passage};
use crate::story::Fact;
use crate::tokenizer::Tokenizer;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// Raised when this stage writes other text of the same passages.
pub const VERSION: u32 = 1;

/// The synthetic pool in one language.
pub fn localize(passages: &[Passage], pack: &Pack, tokenizer: &Tokenizer) -> LocalPool {
    let texts = passages.par_iter().map(|passage| {
        let mut text = String::new();
        if !passage.sentences.iter().all(|sentence| pack.can_write(*sentence)) {
            // A sentence of it was not translated: it stands in no haystack.
            return text;
        }
        for sentence in &passage.sentences {
            pack.write(*sentence, &mut text);
            text.push('\n');
        }
        text
    });
    pool(texts.collect(), tokenizer)
}

/// A pool of ready texts, each ended by a line feed.
pub fn pool(texts: Vec<String>, tokenizer: &Tokenizer) -> LocalPool {
    let tokens = counts(texts.par_iter().map(String::as_str), tokenizer);
    let mut pool = LocalPool::default();
    for (text, tokens) in texts.iter().zip(tokens) {
        pool.push(text, tokens);
    }
    pool
}

/// Tokens of each text, which stands behind a line feed.
pub fn counts<'a>(texts: impl IndexedParallelIterator<Item = &'a str>, tokenizer: &Tokenizer) -> Vec<u32> {
    texts.map(|text| tokenizer.count_line(text) as u32).collect()
}

/// What a line of a haystack says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Line {
    /// A sentence with this meaning.
    Says(Fact),
    /// Noise that names nobody and nothing.
    Clean,
}

/// The meaning of every distinct line of a pool in one language, as its own reader reads the text, and
/// the line's number.
pub type Lines<'a> = FxHashMap<&'a str, (Line, u32)>;

/// Reads every distinct line of a synthetic pool back. A line without a single meaning is a bug.
pub fn read_back<'a>(pool: &'a LocalPool, pack: &Pack) -> Result<Lines<'a>> {
    let distinct = distinct(pool);
    let read = |(n, line): (usize, &&'a str)| -> Result<(&'a str, (Line, u32))> {
        let message =
            pack.read(line).map_err(|e| Error::new(e.to_string()).at(format!("{}: {line:?}", pack.code())))?;
        let fact = Fact::of(message)
            .ok_or_else(|| Error::new(format!("{}: a question among the distractors: {line:?}", pack.code())))?;
        Ok((*line, (Line::Says(fact), n as u32)))
    };
    distinct.par_iter().enumerate().map(read).collect::<Result<Vec<_>>>().map(|lines| lines.into_iter().collect())
}

/// Checks every distinct line of a pool that is no sentences of ours for names.
pub fn check_clean<'a>(pool: &'a LocalPool, pack: &Pack, late: bool) -> Result<Lines<'a>> {
    let banned = super::distractors::banned(pack, late);
    let distinct = distinct(pool);
    let check = |(n, line): (usize, &&'a str)| match super::distractors::holds(line, &banned) {
        true => Err(Error::new(format!("{}: a distractor names an actor or candidate answer: {line:?}", pack.code()))),
        false => Ok((*line, (Line::Clean, n as u32))),
    };
    distinct.par_iter().enumerate().map(check).collect::<Result<Vec<_>>>().map(|lines| lines.into_iter().collect())
}

fn distinct(pool: &LocalPool) -> Vec<&str> {
    let mut lines: Vec<&str> = pool.text.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}
