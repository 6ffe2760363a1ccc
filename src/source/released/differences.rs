//! What the released translations say, row by row, against what the packs write for the same story; and the faults of
//! their text that can be told without reading it.

use super::{ReleasedItem, Row, rows};
use crate::error::{Error, Result};
use crate::family::reasoning::answers;
use crate::language::{Kind, Language, PATTERNS, Pack, STORY_ACTORS, Slot};
use crate::source::clean;
use crate::stage::select::judge;
use crate::story::{Answer, SourceTask};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// What can be wrong with a row of a translation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// A person whom the question names, by the name it prints, is not in the passage.
    AbsentPerson,
    /// The question asks for a person by none of the names that are known of its language.
    UnknownName,
    /// A role of the story has several names in the passage.
    SeveralNames,
    /// The answer is an entity or a list of objects, and not all of it stands in the passage, whatever its case.
    AbsentTarget,
    /// The target is blank.
    BlankTarget,
    /// A question mark of the language is followed by an ASCII one.
    DoubleMark,
    /// Characters that nobody sees, in passage, question or target.
    Invisible,
    /// Its index, task or language is not that of the English row in its place: it is not looked at further.
    Misaligned,
    /// An English row without a row in its place.
    Absent,
    /// A row without an English one in its place.
    Surplus,
}

/// Every fault, in the order of the report, with its words there.
pub const FAULTS: [(Fault, &str); 10] = [
    (Fault::AbsentPerson, "asked person not in the passage"),
    (Fault::UnknownName, "asked person under no known name"),
    (Fault::SeveralNames, "one person under several names"),
    (Fault::AbsentTarget, "target not in the passage"),
    (Fault::BlankTarget, "blank target"),
    (Fault::DoubleMark, "two question marks"),
    (Fault::Invisible, "invisible characters"),
    (Fault::Misaligned, "misaligned row"),
    (Fault::Absent, "missing row"),
    (Fault::Surplus, "surplus row"),
];

/// A language's file against the English one.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Compared {
    /// Rows of the file.
    pub rows: usize,
    /// Rows whose passage is what our pack writes, sentences joined as the language joins them.
    pub equal_passages: usize,
    /// Rows whose question is what our pack writes.
    pub equal_questions: usize,
    /// Rows whose target is our gold answer for the English label.
    pub equal_targets: usize,
    /// Rows whose question names a person: those that can lack one.
    pub ask_for_person: usize,
    /// Rows whose answer is an entity or a list of objects: those that can lack their target.
    pub answer_named: usize,
    /// Rows with a fault, from 1, ascending.
    pub faults: BTreeMap<Fault, Vec<usize>>,
}

impl Compared {
    /// How many rows have a fault.
    pub fn count(&self, fault: Fault) -> usize {
        self.faults.get(&fault).map_or(0, Vec::len)
    }

    fn add(&mut self, fault: Fault, row: usize) {
        self.faults.entry(fault).or_default().push(row);
    }
}

/// A language without a data file.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Missing {
    /// Rows of its file of ready prompts without distractors; none where that is missing too.
    pub prompts: Option<usize>,
}

/// An English row whose label our solver does not give.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LabelFault {
    /// From 1.
    pub row: usize,
    /// The file's own index.
    pub index: String,
    /// Its task.
    pub task: SourceTask,
    /// The label as printed.
    pub label: String,
    /// Why, in words.
    pub reason: String,
}

/// The whole report.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Differences {
    /// English rows.
    pub rows: usize,
    /// English rows that no instance can be made of.
    pub labels: Vec<LabelFault>,
    /// The files that are there.
    pub languages: BTreeMap<Language, Compared>,
    /// The files that are not.
    pub missing: BTreeMap<Language, Missing>,
}

/// Compares the repository's other languages with the packs given, English aside. Reads only; nothing is kept of the texts.
pub fn differences(folder: &Path, items: &[ReleasedItem], packs: &[(Language, Pack)]) -> Result<Differences> {
    let mut report = Differences { rows: items.len(), labels: labels(items), ..Differences::default() };
    for (language, pack) in packs.iter().filter(|(language, _)| language.code() != "en") {
        let path = folder.join(format!("data/{language}.csv"));
        match std::fs::read(&path) {
            Ok(bytes) => {
                let rows = rows(&path.display().to_string(), &bytes)?;
                report.languages.insert(*language, compare(&rows, items, pack, &names_of(pack)?));
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                let prompts = folder.join(format!("rag_prompts/vanilla_topk/prompts_0k/{language}.csv"));
                report.missing.insert(*language, Missing { prompts: count_prompts(&prompts)? });
            }
            Err(e) => return Err(Error::io("cannot read", &path, e)),
        }
    }
    Ok(report)
}

fn count_prompts(path: &Path) -> Result<Option<usize>> {
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Error::io("cannot read", path, e)),
    };
    let mut count = 0;
    for record in csv::Reader::from_reader(file).into_byte_records() {
        record.map_err(|e| super::malformed(&path.display().to_string(), &e))?;
        count += 1;
    }
    Ok(Some(count))
}

/// The English rows that no instance can be made of.
pub(crate) fn labels(items: &[ReleasedItem]) -> Vec<LabelFault> {
    let fault = |item: &ReleasedItem| {
        let reason = judge(&item.story, item.label)?;
        Some(LabelFault {
            row: item.row,
            index: item.index.clone(),
            task: item.story.task,
            label: item.label_text.clone(),
            reason: reason.to_owned(),
        })
    };
    items.iter().filter_map(fault).collect()
}

/// By language: the names of each story role.
type Names = BTreeMap<String, Vec<Vec<String>>>;

fn names() -> Result<Names> {
    toml::from_str(include_str!("names.toml")).map_err(|e| Error::new(e.to_string()).at("embedded released/names.toml"))
}

/// The names that the files print for each story role in a pack's language; of English the pack's own.
pub(crate) fn names_of(pack: &Pack) -> Result<Vec<Vec<String>>> {
    if pack.code() == "en" {
        let name = |role: u8| vec![pack.citation(Kind::Actor, role).to_owned()];
        return Ok((0..STORY_ACTORS as u8).map(name).collect());
    }
    Ok(names()?.remove(pack.code()).unwrap_or_default())
}

/// Compares the rows of a language's file with the English stories.
pub(crate) fn compare(rows: &[Row], items: &[ReleasedItem], pack: &Pack, names: &[Vec<String>]) -> Compared {
    let mut compared = Compared { rows: rows.len(), ..Compared::default() };
    for row in rows.iter().skip(items.len()) {
        compared.add(Fault::Surplus, row.number);
    }
    for (n, item) in items.iter().enumerate() {
        match rows.get(n) {
            None => compared.add(Fault::Absent, item.row),
            Some(row) if !aligned(row, item, (&rows[0], &items[0]), pack) => compared.add(Fault::Misaligned, item.row),
            Some(row) => compare_row(row, item, pack, names, &mut compared),
        }
    }
    compared
}

/// The files count their rows from different numbers, so an index says only how far its row is from the first.
fn aligned(row: &Row, item: &ReleasedItem, first: (&Row, &ReleasedItem), pack: &Pack) -> bool {
    let from = |index: &str, first: &str| index.parse::<i64>().ok()?.checked_sub(first.parse().ok()?);
    row.question_type == item.story.task.to_string()
        && row.input_lang == pack.code()
        && from(&row.index, &first.0.index) == from(&item.index, &first.1.index)
}

fn compare_row(row: &Row, item: &ReleasedItem, pack: &Pack, names: &[Vec<String>], compared: &mut Compared) {
    let story = &item.story;
    let sentences: Vec<String> = story.facts.iter().map(|fact| pack.sentence(fact.message())).collect();
    compared.equal_passages += usize::from(sentences.join(&pack.instructions().join) == row.passage);
    compared.equal_questions += usize::from(pack.sentence(story.question.message()) == row.question);
    let gold = item.label.map(|label| answers(label, pack).0);
    compared.equal_targets += usize::from(gold.is_some_and(|gold| gold.contains(&row.target)));

    let asked: Vec<u8> = asked(item).collect();
    compared.ask_for_person += usize::from(!asked.is_empty());
    let all: Vec<Option<&String>> = asked.into_iter().map(|role| printed(&row.question, role, names)).collect();
    let absent = |name: &&String| !row.passage.contains(name.as_str());
    let several = |role: &Vec<String>| role.iter().filter(|name| row.passage.contains(name.as_str())).count() > 1;
    let named = names_its_answer(item);
    compared.answer_named += usize::from(named);
    let texts = [&row.passage, &row.question, &row.target];
    for (fault, found) in [
        (Fault::AbsentPerson, all.iter().flatten().any(absent)),
        (Fault::UnknownName, all.contains(&None)),
        (Fault::SeveralNames, names.iter().any(several)),
        (Fault::AbsentTarget, named && !stands_in(&row.target, &row.passage, pack)),
        (Fault::BlankTarget, row.target.chars().all(clean::is_blank)),
        (Fault::DoubleMark, ["\u{ff1f}?", "\u{61f}?", "??"].iter().any(|marks| row.question.contains(marks))),
        (Fault::Invisible, texts.iter().any(|text| text.contains(invisible))),
    ] {
        if found {
            compared.add(fault, row.number);
        }
    }
}

/// The name that a text prints for a role: the longest, since one name may be part of another.
pub(crate) fn printed<'a>(text: &str, role: u8, names: &'a [Vec<String>]) -> Option<&'a String> {
    let all = names.get(role as usize).into_iter().flatten();
    all.filter(|name| text.contains(name.as_str())).max_by_key(|name| name.len())
}

/// The roles that a question names.
pub(crate) fn asked(item: &ReleasedItem) -> impl Iterator<Item = u8> {
    let message = item.story.question.message();
    let name = &PATTERNS[message.pattern as usize];
    [Slot::A, Slot::B].into_iter().filter(|slot| name.has(*slot)).map(move |slot| message.slots[slot.index()])
}

/// Is the answer an entity, or a list of objects that is not empty, so that the passage holds it?
pub(crate) fn names_its_answer(item: &ReleasedItem) -> bool {
    item.story.question.answered_by().is_some() || matches!(item.label, Some(Answer::Objects(objects)) if objects != 0)
}

/// Does each item of a target stand in the passage? A list is parted at commas of any script and at the language's "and".
pub(crate) fn stands_in(target: &str, passage: &str, pack: &Pack) -> bool {
    let passage = passage.to_lowercase();
    let and = pack.answers().list_and.as_str();
    let comma = |c: char| matches!(c, ',' | '\u{60c}' | '\u{3001}' | '\u{ff0c}');
    let mut items = target.split(comma).flat_map(|part| part.split(and));
    items.all(|item| passage.contains(&item.trim_matches(clean::is_blank).to_lowercase()))
}

fn invisible(c: char) -> bool {
    !c.is_whitespace() && clean::is_blank(c)
}

/// The report as a Markdown table, a language a column, and the rows that need a word below it.
pub fn markdown(report: &Differences) -> String {
    let mut out = String::from("| |");
    let languages: Vec<&Compared> = report.languages.values().collect();
    for language in report.languages.keys() {
        write!(out, " {language} |").expect("strings take all");
    }
    out.push_str("\n|---|");
    out.push_str(&"---|".repeat(languages.len()));
    out.push('\n');
    let mut line = |what: &str, cell: &dyn Fn(&Compared) -> String| {
        let cells: Vec<String> = languages.iter().map(|compared| cell(compared)).collect();
        writeln!(out, "| {what} | {} |", cells.join(" | ")).expect("strings take all");
    };
    line("rows", &|c| c.rows.to_string());
    line("passage as our pack writes it", &|c| c.equal_passages.to_string());
    line("question as our pack writes it", &|c| c.equal_questions.to_string());
    line("target as our pack writes it", &|c| c.equal_targets.to_string());
    for (fault, words) in FAULTS {
        line(words, &|c| match (fault, c.count(fault)) {
            (Fault::AbsentPerson | Fault::UnknownName, n) => format!("{n} of {}", c.ask_for_person),
            (Fault::AbsentTarget, n) => format!("{n} of {}", c.answer_named),
            (_, n) => n.to_string(),
        });
    }
    for (language, missing) in &report.missing {
        let prompts =
            missing.prompts.map_or(String::new(), |n| format!("; {n} ready prompts without distractors are there"));
        write!(out, "\n{language}: no data file{prompts}.\n").expect("strings take all");
    }
    if !report.labels.is_empty() {
        write!(out, "\nEnglish rows that no instance is made of: {} of {}.\n\n", report.labels.len(), report.rows)
            .expect("strings take all");
    }
    for fault in &report.labels {
        let LabelFault { row, index, task, label, reason } = fault;
        writeln!(out, "- row {row} (index {index}, {task}, label {label:?}): {reason}").expect("strings take all");
    }
    out
}
