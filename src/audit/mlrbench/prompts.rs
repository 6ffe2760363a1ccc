//! Ready prompts: where the facts stand, what the distractors say, how long they are.

use super::Voice;
use super::stories::sentences;
use crate::audit::set::answers::Looked;
use crate::audit::set::lengths::{Lengths, Nominal};
use crate::audit::{Audit, Check, Finding, quoted};
use crate::error::{Error, Result};
use crate::language::STORY_ACTORS;
use crate::source::released::{ReleasedItem, asked, names_its_answer, stands_in};
use crate::store::sorted_dir;
use crate::story::Fact;
use crate::tokenizer::Tokenizer;
use memchr::memmem;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const OPEN: &str = "<context>";
const CLOSE: &str = "</context>";

/// A ready prompt as printed.
struct Prompt {
    /// From 1.
    number: u64,
    id: String,
    language: String,
    prompt: String,
    target: String,
}

impl Prompt {
    fn context(&self) -> Option<&str> {
        let start = self.prompt.find(OPEN)? + OPEN.len();
        Some(&self.prompt[start..self.prompt.rfind(CLOSE).filter(|end| *end >= start)?])
    }

    /// What stands around the context.
    fn frame(&self) -> (&str, &str) {
        let (before, rest) = self.prompt.split_once(OPEN).unwrap_or((&self.prompt, ""));
        (before, rest.rsplit_once(CLOSE).map_or("", |(_, after)| after))
    }

    /// The number of its story, from 0.
    fn story(&self) -> Option<usize> {
        self.id.rsplit_once('_')?.0.parse().ok()
    }
}

/// The prompts of all sets and lengths.
pub(super) fn audit(
    audit: &mut Audit,
    folder: &Path,
    voices: &BTreeMap<&str, Voice>,
    items: &[ReleasedItem],
    tokenizer: &Tokenizer,
) -> Result<()> {
    let root = folder.join("rag_prompts");
    if !root.is_dir() {
        audit.notes.push("there are no ready prompts (rag_prompts/)".to_owned());
        return Ok(());
    }
    for set in sorted_dir(&root)?.into_iter().filter(|path| path.is_dir()) {
        let mut lengths: Vec<(u64, PathBuf)> = Vec::new();
        for path in sorted_dir(&set)? {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if let Some(Ok(length)) = name.strip_prefix("prompts_").and_then(|l| l.strip_suffix('k')).map(str::parse) {
                lengths.push((length, path));
            }
        }
        // The bare stories come first: the others are held against them.
        lengths.sort();
        let mut bare: BTreeMap<&str, Vec<Prompt>> = BTreeMap::new();
        for (length, path) in &lengths {
            let mut order: Option<(String, Vec<String>)> = None;
            for voice in voices.values() {
                let file = path.join(format!("{}.csv", voice.code));
                if !file.is_file() {
                    audit.looked(Check::MissingLanguage, &voice.code, 1);
                    let what = format!("{}: there are no prompts of {length}k", voice.pack.english_name());
                    audit.add(finding(&inside(folder, &file), &voice.code, None, Check::MissingLanguage, what));
                    continue;
                }
                audit.looked(Check::MissingLanguage, &voice.code, 1);
                let prompts = read(&file)?;
                audit.files += 1;
                audit.rows += prompts.len() as u64;
                let one =
                    File { name: inside(folder, &file), voice, items, tokenizer, nominal: Nominal::kilo(*length) };
                one.order(audit, &prompts, &mut order);
                one.lengths(audit, &prompts);
                if *length > 0 {
                    one.placed(audit, &prompts, bare.get(voice.code.as_str()).map_or(&[], Vec::as_slice));
                } else {
                    // Where there is a file of stories, its rows were looked at already.
                    if !audit.summary.get(&Check::AnswerAbsent).is_some_and(|all| all.contains_key(&voice.code)) {
                        one.answered(audit, &prompts);
                    }
                    bare.insert(&voice.code, prompts);
                }
            }
        }
    }
    Ok(())
}

fn inside(folder: &Path, file: &Path) -> String {
    file.strip_prefix(folder).unwrap_or(file).to_string_lossy().into_owned()
}

fn finding(file: &str, group: &str, prompt: Option<&Prompt>, check: Check, what: String) -> Finding {
    let (row, id) = (prompt.map(|p| p.number), prompt.map(|p| p.id.clone()));
    Finding { file: file.to_owned(), row, id, check, group: group.to_owned(), what }
}

fn read(path: &Path) -> Result<Vec<Prompt>> {
    let place = path.display();
    let fault = |e: csv::Error| Error::new(format!("no sound CSV: {e}")).at(&place);
    let mut reader = csv::Reader::from_path(path).map_err(fault)?;
    let header = reader.headers().map_err(fault)?.clone();
    let column = |name: &str| {
        header.iter().position(|column| column == name).ok_or_else(|| {
            Error::new(format!("there is no column {name:?}, only {}", header.iter().collect::<Vec<_>>().join(", ")))
                .at(&place)
        })
    };
    let columns = [column("id")?, column("input_lang")?, column("prompt")?, column("target")?];
    let mut all = Vec::new();
    for (n, record) in reader.into_records().enumerate() {
        let record = record.map_err(|e| fault(e).at(format!("row {}", n + 1)))?;
        let [id, language, prompt, target] = columns.map(|n| record.get(n).unwrap_or_default().to_owned());
        all.push(Prompt { number: n as u64 + 1, id, language, prompt, target });
    }
    Ok(all)
}

struct File<'a> {
    name: String,
    voice: &'a Voice,
    items: &'a [ReleasedItem],
    tokenizer: &'a Tokenizer,
    nominal: Option<Nominal>,
}

impl File<'_> {
    fn add(&self, audit: &mut Audit, prompt: &Prompt, check: Check, what: String) {
        audit.add(finding(&self.name, &self.voice.code, Some(prompt), check, what));
    }

    /// The rows of all languages of a length are the same stories in the same order. `order` is that of the first file.
    fn order(&self, audit: &mut Audit, prompts: &[Prompt], order: &mut Option<(String, Vec<String>)>) {
        let bare = |id: &str| id.rsplit_once('_').map_or(id, |(story, _)| story).to_owned();
        audit.looked(Check::Misaligned, &self.voice.code, prompts.len() as u64);
        let (first, ids) =
            order.get_or_insert_with(|| (self.name.clone(), prompts.iter().map(|prompt| bare(&prompt.id)).collect()));
        for (n, prompt) in prompts.iter().enumerate() {
            let what = if prompt.language != self.voice.code || !prompt.id.ends_with(&format!("_{}", self.voice.code)) {
                format!("its language is {}", quoted(&prompt.language, 20))
            } else if ids.get(n) != Some(&bare(&prompt.id)) {
                format!("{first} has story {} in its place", ids.get(n).map_or("none", String::as_str))
            } else {
                continue;
            };
            self.add(audit, prompt, Check::Misaligned, what);
        }
    }

    fn lengths(&self, audit: &mut Audit, prompts: &[Prompt]) {
        let counts: Vec<usize> = prompts.par_iter().map(|prompt| self.tokenizer.count(&prompt.prompt)).collect();
        let mut lengths = Lengths::default();
        for (prompt, tokens) in prompts.iter().zip(counts) {
            lengths.add(tokens as u64);
            if let Some(nominal) = self.nominal {
                audit.looked(Check::OverLength, &self.voice.code, 1);
                audit.looked(Check::ShortLength, &self.voice.code, 1);
                if let Some((check, what)) = nominal.judge(tokens as u64, self.tokenizer.name()) {
                    self.add(audit, prompt, check, what);
                }
            }
        }
        audit.notes.push(lengths.note(&self.name, self.tokenizer.name(), self.nominal));
    }

    /// Prompts without distractors whose answer should stand in them.
    fn answered(&self, audit: &mut Audit, prompts: &[Prompt]) {
        let named = |prompt: &&Prompt| prompt.story().and_then(|n| self.items.get(n)).is_some_and(names_its_answer);
        for prompt in prompts.iter().filter(named) {
            audit.looked(Check::AnswerAbsent, &self.voice.code, 1);
            let context = prompt.context().unwrap_or_default();
            if !stands_in(&prompt.target, context, &self.voice.pack) {
                self.add(
                    audit,
                    prompt,
                    Check::AnswerAbsent,
                    format!("not in the context: {}", quoted(&prompt.target, 60)),
                );
            }
        }
    }

    /// What distractors do to a story. `bare` are the prompts without them.
    fn placed(&self, audit: &mut Audit, prompts: &[Prompt], bare: &[Prompt]) {
        let code = &self.voice.code;
        let by_id: BTreeMap<&str, &Prompt> = bare.iter().map(|prompt| (prompt.id.as_str(), prompt)).collect();
        for prompt in prompts {
            let Some(plain) = by_id.get(prompt.id.as_str()) else {
                audit.looked(Check::FactMissing, code, 1);
                self.add(audit, prompt, Check::FactMissing, "there is no prompt of 0k with this id".to_owned());
                continue;
            };
            audit.looked(Check::Misaligned, code, 1);
            if plain.target != prompt.target || plain.frame() != prompt.frame() {
                let what = "question, instruction or target differ from those at 0k".to_owned();
                self.add(audit, prompt, Check::Misaligned, what);
            }
            audit.looked(Check::FactMissing, code, 1);
            let (Some(story), Some(context)) = (plain.context(), prompt.context()) else {
                self.add(audit, prompt, Check::FactMissing, format!("it has no {OPEN} and {CLOSE}"));
                continue;
            };
            match Placed::of(story, context) {
                Ok(placed) => self.beside(audit, prompt, &placed),
                Err(sentence) => {
                    self.add(
                        audit,
                        prompt,
                        Check::FactMissing,
                        format!("not found in order: {}", quoted(sentence, 120)),
                    );
                }
            }
        }
    }

    fn beside(&self, audit: &mut Audit, prompt: &Prompt, placed: &Placed) {
        let code = &self.voice.code;
        if placed.facts > 1 {
            audit.looked(Check::OneBlock, code, 1);
            if placed.blocks == 1 {
                let what = format!("{} facts stand together", placed.facts);
                self.add(audit, prompt, Check::OneBlock, what);
            }
        }
        let Some(item) = prompt.story().and_then(|n| self.items.get(n)) else { return };
        let named = |roles: &BTreeSet<u8>| -> Vec<String> {
            let names = roles.iter().filter_map(|role| self.voice.names.get(*role as usize)).flatten();
            names.filter(|name| names_person(&placed.distractors, name)).cloned().collect()
        };
        audit.looked(Check::DistractorCast, code, 1);
        let found = named(&(0..STORY_ACTORS as u8).collect());
        if !found.is_empty() {
            self.add(audit, prompt, Check::DistractorCast, found.join(", "));
        }
        audit.looked(Check::DistractorNames, code, 1);
        let found = named(&item.story.facts.iter().flat_map(roles).collect());
        if !found.is_empty() {
            self.add(audit, prompt, Check::DistractorNames, found.join(", "));
        }
        let roles: BTreeSet<u8> = asked(item).collect();
        if !roles.is_empty() {
            audit.looked(Check::DistractorAsked, code, 1);
            let found = named(&roles);
            if !found.is_empty() {
                self.add(audit, prompt, Check::DistractorAsked, found.join(", "));
            }
        }
        if names_its_answer(item) && !prompt.target.trim().is_empty() {
            audit.looked(Check::DistractorAnswer, code, 1);
            if Looked::for_in(&[prompt.target.as_str()], &placed.distractors, self.voice.pack.matching()).is_whole() {
                self.add(audit, prompt, Check::DistractorAnswer, quoted(&prompt.target, 60));
            }
        }
    }
}

fn roles(fact: &Fact) -> Vec<u8> {
    super::stories::persons(fact.message()).collect()
}

/// Does a text name this person: the name as written, as a word? Names of one Chinese character are also parts of words there,
/// and are not looked for.
fn names_person(text: &str, name: &str) -> bool {
    let han = |c: char| matches!(c, '\u{4e00}'..='\u{9fff}');
    if name.starts_with(han) {
        return name.chars().count() > 1 && text.contains(name);
    }
    // A vowel sign of Hindi goes on with the word.
    let letter = |c: char| c.is_alphanumeric() || matches!(c, '\u{900}'..='\u{963}');
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (text[..at].chars().next_back(), text[at + name.len()..].chars().next());
        !before.is_some_and(letter) && !after.is_some_and(letter)
    })
}

/// A story's facts inside a context.
struct Placed {
    facts: usize,
    /// Runs of facts with nothing between them.
    blocks: usize,
    /// The context without the facts.
    distractors: String,
}

impl Placed {
    /// Finds each sentence of the story in its order, whatever the spaces and marks between them. Fails with the sentence that is
    /// not there.
    fn of<'a>(story: &'a str, context: &str) -> std::result::Result<Placed, &'a str> {
        let (text, places) = squeeze(context);
        let sentences = sentences(story);
        let (mut at, mut blocks) = (0, 0);
        let mut distractors = String::new();
        let mut end = 0;
        for sentence in &sentences {
            let (bare, _) = squeeze(sentence);
            let found = memmem::find(&text.as_bytes()[at..], bare.as_bytes()).ok_or(*sentence)? + at;
            blocks += usize::from(found > at || blocks == 0);
            at = found + bare.len();
            let Some(last) = places.get(at.wrapping_sub(1)) else { continue };
            distractors += &context[end..places[found]];
            distractors.push(' ');
            end = *last + context[*last..].chars().next().map_or(0, char::len_utf8);
        }
        distractors += &context[end..];
        Ok(Placed { facts: sentences.len(), blocks, distractors })
    }
}

/// A text without spaces and sentence marks, and for each of its bytes where its character stands in the text.
fn squeeze(text: &str) -> (String, Vec<usize>) {
    let (mut out, mut places) = (String::with_capacity(text.len()), Vec::with_capacity(text.len()));
    for (at, c) in text.char_indices() {
        if !c.is_whitespace() && !matches!(c, '.' | '\u{3002}' | '\u{964}' | '\u{6d4}') {
            out.push(c);
            places.resize(out.len(), at);
        }
    }
    (out, places)
}
