//! Reads questions on passages in SQuAD's format, and joins those of several languages by their ids.
//!
//! Two layouts are read, told apart by their content: nested (`data[].paragraphs[].qas[]`, answers a list of
//! `{answer_start, text}`) and flattened (`data[]` a question each, answers `{answer_start: [], text: []}`).
//! Offsets of answers count characters. Keys that are not named here are passed over.

use crate::error::{Error, Result};
use crate::fail;
use crate::source::clean::{clean, clean_with_span, suspicious};
use serde::de::{MapAccess, SeqAccess, Visitor, value};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

/// A question with its passage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Its id, the same in every language.
    pub id: String,
    /// The question, cleaned; never blank.
    pub question: String,
    /// The passage, cleaned; never blank.
    pub context: String,
    /// The answers, cleaned, and where each stands in `context`, in bytes. At least one, no two the same in both,
    /// in the file's order.
    pub answers: Vec<(String, Range<usize>)>,
    /// Title of the article; empty where there is none.
    pub title: String,
    /// Which of the file's [`paragraphs`] the passage is, from 0.
    pub paragraph: u32,
}

/// The reason of a question that says again what an earlier one said: it was not refused for a fault.
pub const REPEATED: &str = "repeated";

/// A question that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// Why, in words that are the same for all that are refused alike.
    pub reason: String,
    /// Its id.
    pub id: String,
    /// What exactly was found.
    pub detail: String,
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// Its name, for errors.
    pub name: String,
    /// The sound questions, in the file's order.
    pub items: Vec<Item>,
    /// The refused ones, in the file's order.
    pub dropped: Vec<Dropped>,
    /// Ids of questions that were kept though their text looks damaged, and how it does.
    pub suspicious: Vec<(String, String)>,
    /// Distinct passages in the file's order.
    passages: Vec<Passage>,
}

/// A passage of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Passage {
    /// Cleaned.
    text: String,
    /// Ids of its questions in the file's order, refused ones too.
    ids: Vec<String>,
}

impl File {
    /// How many questions were refused, by reason.
    pub fn dropped_by_reason(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for dropped in &self.dropped {
            *counts.entry(dropped.reason.as_str()).or_default() += 1;
        }
        counts
    }
}

// As written in the file.

#[derive(Deserialize)]
struct Root {
    data: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(try_from = "AnyEntry")]
enum Entry {
    Article { title: String, paragraphs: Vec<Paragraph> },
    Row { title: String, context: String, row: Row },
}

/// The keys of both layouts.
#[derive(Deserialize)]
struct AnyEntry {
    title: Option<String>,
    paragraphs: Option<Vec<Paragraph>>,
    context: Option<String>,
    id: Option<String>,
    question: Option<String>,
    answers: Option<Answers>,
    is_impossible: Option<bool>,
}

impl TryFrom<AnyEntry> for Entry {
    type Error = String;

    fn try_from(entry: AnyEntry) -> std::result::Result<Entry, String> {
        let title = entry.title.unwrap_or_default();
        let Some(context) = entry.context else {
            let paragraphs = entry.paragraphs.ok_or("an element of `data` has neither `paragraphs` nor `context`")?;
            return Ok(Entry::Article { title, paragraphs });
        };
        if entry.paragraphs.is_some() {
            return Err("an element of `data` has both `paragraphs` and `context`".to_owned());
        }
        let row = Row {
            id: entry.id.ok_or("an element of `data` has no `id`")?,
            question: entry.question.ok_or("an element of `data` has no `question`")?,
            answers: entry.answers.unwrap_or_default(),
            is_impossible: entry.is_impossible.unwrap_or(false),
        };
        Ok(Entry::Row { title, context, row })
    }
}

#[derive(Deserialize)]
struct Paragraph {
    context: String,
    qas: Vec<Row>,
}

#[derive(PartialEq, Deserialize)]
struct Row {
    id: String,
    question: String,
    #[serde(default)]
    answers: Answers,
    #[serde(default)]
    is_impossible: bool,
}

#[derive(PartialEq, Deserialize)]
struct Spot {
    answer_start: i64,
    text: String,
}

/// Answers, as a list of spots or as an object of two lists.
#[derive(Default, PartialEq)]
struct Answers(Vec<Spot>);

impl<'de> Deserialize<'de> for Answers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Lists {
            answer_start: Vec<i64>,
            text: Vec<String>,
        }
        struct Both;
        impl<'de> Visitor<'de> for Both {
            type Value = Answers;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("answers: a list of {answer_start, text}, or {answer_start: [..], text: [..]}")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> std::result::Result<Answers, A::Error> {
                Vec::deserialize(value::SeqAccessDeserializer::new(list)).map(Answers)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> std::result::Result<Answers, A::Error> {
                let lists = Lists::deserialize(value::MapAccessDeserializer::new(map))?;
                if lists.answer_start.len() != lists.text.len() {
                    return Err(serde::de::Error::custom(format!(
                        "answers have {} `answer_start` and {} `text`",
                        lists.answer_start.len(),
                        lists.text.len()
                    )));
                }
                let spots = lists.answer_start.into_iter().zip(lists.text);
                Ok(Answers(spots.map(|(answer_start, text)| Spot { answer_start, text }).collect()))
            }
        }
        deserializer.deserialize_any(Both)
    }
}

/// Reads a file of either layout. `name` stands in errors. A question whose answer is not where its offset says is
/// refused, never repaired. Errors: no such JSON, or not one sound question.
pub fn read(name: &str, bytes: &[u8]) -> Result<File> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let root: Root = serde_json::from_slice(bytes).map_err(|e| json_error(name, &e))?;
    let mut reading = Reading::default();
    for entry in root.data {
        match entry {
            Entry::Article { title, paragraphs } => {
                for Paragraph { context, qas } in paragraphs {
                    reading.passage(&context, &title, qas);
                }
            }
            Entry::Row { title, context, row } => reading.passage(&context, &title, vec![row]),
        }
    }
    reading.finish(name)
}

/// What is wrong with the JSON, and where.
fn json_error(name: &str, e: &serde_json::Error) -> Error {
    let text = e.to_string();
    let place = format!(" at line {} column {}", e.line(), e.column());
    let text = text.strip_suffix(&place).unwrap_or(&text);
    let place = format!("{name}, line {}, column {}", e.line(), e.column());
    if e.is_eof() {
        return Error::new(format!("the file is truncated: {text}")).at(place).help("download it again");
    }
    Error::new(format!("not a file in SQuAD's format: {text}")).at(place).help(
        "expected {\"data\": [..]} with elements {title, paragraphs: [{context, qas: [{id, question, answers}]}]}, \
         or {id, title, context, question, answers}",
    )
}

/// A file while it is read.
#[derive(Default)]
struct Reading {
    items: Vec<Item>,
    dropped: Vec<Dropped>,
    suspicious: Vec<(String, String)>,
    passages: Vec<Passage>,
    /// Number of each passage.
    numbers: BTreeMap<String, u32>,
    /// The first question of each id, with its passage, as written.
    seen: BTreeMap<String, (Rc<str>, Row)>,
    /// Ids that two different questions bear.
    clashing: BTreeSet<String>,
}

impl Reading {
    /// Takes in a passage with its questions.
    fn passage(&mut self, context: &str, title: &str, rows: Vec<Row>) {
        let cleaned = clean(context);
        let shared: Rc<str> = context.into();
        let number = (!cleaned.is_empty()).then(|| self.number(&cleaned));
        for row in rows {
            let mut refuse = |reason: &str, detail: String| {
                self.dropped.push(Dropped { reason: reason.to_owned(), id: row.id.clone(), detail });
            };
            if let Some((first_context, first)) = self.seen.get(&row.id) {
                if **first_context == *context && *first == row {
                    refuse(REPEATED, "the same question stands in the file before".to_owned());
                } else {
                    self.clashing.insert(row.id.clone());
                    refuse("duplicate id", format!("{:?} has the id of {:?}", row.question, first.question));
                }
                continue;
            }
            match number {
                None => refuse("blank context", format!("{} bytes of white space", context.len())),
                Some(number) => {
                    self.passages[number as usize].ids.push(row.id.clone());
                    match item(context, &cleaned, &row) {
                        Err((reason, detail)) => refuse(reason, detail),
                        Ok((question, answers)) => {
                            let sign = suspicious(context).or_else(|| suspicious(&row.question));
                            self.suspicious.extend(sign.map(|sign| (row.id.clone(), sign.to_owned())));
                            self.items.push(Item {
                                id: row.id.clone(),
                                question,
                                context: cleaned.clone(),
                                answers,
                                title: clean(title),
                                paragraph: number,
                            });
                        }
                    }
                }
            }
            self.seen.insert(row.id.clone(), (shared.clone(), row));
        }
    }

    /// Number of a cleaned passage.
    fn number(&mut self, cleaned: &str) -> u32 {
        if let Some(&number) = self.numbers.get(cleaned) {
            return number;
        }
        let number = self.passages.len() as u32;
        self.passages.push(Passage { text: cleaned.to_owned(), ids: Vec::new() });
        self.numbers.insert(cleaned.to_owned(), number);
        number
    }

    fn finish(self, name: &str) -> Result<File> {
        let Reading { items, mut dropped, mut suspicious, passages, clashing, .. } = self;
        // Which of two questions an id means cannot be told: neither is kept.
        let (clashed, items): (Vec<Item>, Vec<Item>) = items.into_iter().partition(|item| clashing.contains(&item.id));
        suspicious.retain(|(id, _)| !clashing.contains(id));
        dropped.extend(clashed.into_iter().map(|item| Dropped {
            reason: "duplicate id".to_owned(),
            detail: format!("{:?} shares its id with another question", item.question),
            id: item.id,
        }));
        if items.is_empty() {
            let first = dropped.first();
            let error = match first {
                None => Error::new(format!("{name} holds no question")),
                Some(Dropped { reason, id, detail }) => {
                    Error::new(format!("{name} holds no sound question: all {} were refused", dropped.len()))
                        .at(format!("question {id:?}: {reason}: {detail}"))
                }
            };
            return Err(error.help("look whether it is the right file"));
        }
        Ok(File { name: name.to_owned(), items, dropped, suspicious, passages })
    }
}

/// Cleaned answers, and where each stands in the cleaned passage, in bytes.
type Spans = Vec<(String, Range<usize>)>;

/// The cleaned question and its answers, or reason and detail of its refusal.
fn item(context: &str, cleaned: &str, row: &Row) -> std::result::Result<(String, Spans), (&'static str, String)> {
    if row.id.trim().is_empty() {
        return Err(("blank id", format!("question {:?}", row.question)));
    }
    let question = clean(&row.question);
    if question.is_empty() {
        return Err(("blank question", String::new()));
    }
    if row.is_impossible {
        return Err(("marked as not answerable", question));
    }
    let mut answers = Spans::new();
    for spot in &row.answers.0 {
        let answer = clean(&spot.text);
        if answer.is_empty() {
            return Err(("blank answer", format!("at {}", spot.answer_start)));
        }
        let Some(span) = locate(context, cleaned, spot, &answer) else {
            let found = usize::try_from(spot.answer_start)
                .map(|start| context.chars().skip(start).take(spot.text.chars().count()).collect::<String>());
            let found = found.unwrap_or_default();
            let detail = format!("{:?} at character {}, found {found:?}", spot.text, spot.answer_start);
            return Err(("answer not at its offset", detail));
        };
        let answer = (answer, span);
        if !answers.contains(&answer) {
            answers.push(answer);
        }
    }
    if answers.is_empty() {
        return Err(("no answer", question));
    }
    Ok((question, answers))
}

/// Where an answer stands in the cleaned passage; none where the passage has other text at its offset. Both sides are
/// compared cleaned, so that an answer whose zero-width marks were removed before is still at its place.
fn locate(context: &str, cleaned: &str, spot: &Spot, answer: &str) -> Option<Range<usize>> {
    let start = usize::try_from(spot.answer_start).ok()?;
    let (_, span) = clean_with_span(context, start, spot.text.chars().count());
    if cleaned[span.clone()] == *answer {
        return Some(span);
    }
    let (_, at) = clean_with_span(context, start, 0);
    cleaned[at.start..].starts_with(answer).then(|| at.start..at.start + answer.len())
}

/// The distinct passages of a file, cleaned, in its order; [`Item::paragraph`] counts in it. Those whose questions
/// were refused are among them.
pub fn paragraphs(file: &File) -> Vec<String> {
    file.passages.iter().map(|passage| passage.text.clone()).collect()
}

/// A question in the languages that have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Its id.
    pub id: String,
    /// The question by code of its language.
    pub by_language: BTreeMap<String, Item>,
}

/// Questions of several languages, joined by their ids.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joined {
    /// The questions, sorted by id.
    pub ids: Vec<Question>,
    /// How many of them are in how many languages, by number of languages.
    pub counts: BTreeMap<usize, usize>,
}

/// Joins files of several languages, given with the languages' codes, by the ids of their questions. A language may
/// come in several files. Errors: one id twice in a language.
pub fn join(files: &[(String, File)]) -> Result<Joined> {
    let mut joined: BTreeMap<&str, BTreeMap<String, Item>> = BTreeMap::new();
    for (language, file) in files {
        for item in &file.items {
            let by_language = joined.entry(&item.id).or_default();
            if by_language.insert(language.clone(), item.clone()).is_some() {
                fail!("question {:?} is in two files of language {language}, the second is {}", item.id, file.name);
            }
        }
    }
    let ids: Vec<Question> =
        joined.into_iter().map(|(id, by_language)| Question { id: id.to_owned(), by_language }).collect();
    let mut counts = BTreeMap::new();
    for question in &ids {
        *counts.entry(question.by_language.len()).or_default() += 1;
    }
    Ok(Joined { ids, counts })
}

/// One passage in all of several languages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parallel {
    /// Id of its first question.
    pub id: String,
    /// The cleaned passage by code of its language.
    pub by_language: BTreeMap<String, String>,
}

/// The passages that are parallel in all languages of `files`, in the order of the first language: those about which
/// every language asks the same questions, of the questions that every language has. Refused questions join too:
/// what is wrong with them leaves their passages parallel.
pub fn parallel_paragraphs(files: &[(String, File)]) -> Vec<Parallel> {
    let mut languages: BTreeMap<&str, Vec<&Passage>> = BTreeMap::new();
    for (language, file) in files {
        languages.entry(language).or_default().extend(&file.passages);
    }
    let ids = |passages: &Vec<&Passage>| -> BTreeSet<String> {
        passages.iter().flat_map(|passage| passage.ids.iter().cloned()).collect()
    };
    let Some(shared) = languages.values().map(ids).reduce(|a, b| &a & &b) else { return Vec::new() };
    let shared_of = |passage: &Passage| passage.ids.iter().filter(|id| shared.contains(*id)).cloned().collect();
    // In each language, the passages by the set of their shared questions.
    let by_questions: BTreeMap<&str, BTreeMap<BTreeSet<String>, &str>> = languages
        .iter()
        .map(|(&language, passages)| (language, passages.iter().map(|p| (shared_of(p), p.text.as_str())).collect()))
        .collect();
    let mut parallel = Vec::new();
    for passage in &languages[files[0].0.as_str()] {
        let Some(first) = passage.ids.iter().find(|id| shared.contains(*id)) else { continue };
        let set = shared_of(passage);
        let by_language: BTreeMap<String, String> = by_questions
            .iter()
            .filter_map(|(&language, passages)| Some((language.to_owned(), (*passages.get(&set)?).to_owned())))
            .collect();
        if by_language.len() == languages.len() {
            parallel.push(Parallel { id: first.clone(), by_language });
        }
    }
    parallel
}
