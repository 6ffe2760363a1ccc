//! A language's file of stories against the English one.

use super::Voice;
use super::questions::{Verdict, Wordings};
use crate::audit::{Audit, Check, Finding, cut, quoted};
use crate::error::Result;
use crate::language::{ACTORS, Message, PATTERNS, STORY_ACTORS, Slot};
use crate::source::clean;
use crate::source::released::{Compared, Fault, ReleasedItem, Row, asked, compare, labels, printed};
use crate::story::{Fact, Solution, Story};
use std::collections::BTreeMap;

/// How the faults that the reader counts are called here.
const FAULTS: [(Fault, Check); 10] = [
    (Fault::AbsentPerson, Check::AskedAbsent),
    (Fault::UnknownName, Check::UnknownName),
    (Fault::SeveralNames, Check::SeveralNames),
    (Fault::AbsentTarget, Check::AnswerAbsent),
    (Fault::BlankTarget, Check::BlankAnswer),
    (Fault::DoubleMark, Check::DoubledMark),
    (Fault::Invisible, Check::Invisible),
    (Fault::Misaligned, Check::Misaligned),
    (Fault::Absent, Check::MissingRow),
    (Fault::Surplus, Check::SurplusRow),
];

struct File<'a> {
    name: &'a str,
    voice: &'a Voice,
}

impl File<'_> {
    fn finding(&self, row: &Row, check: Check, what: String) -> Finding {
        Finding {
            file: self.name.to_owned(),
            row: Some(row.number as u64),
            id: Some(row.index.clone()),
            check,
            group: self.voice.code.clone(),
            what,
        }
    }
}

pub(super) fn audit(audit: &mut Audit, name: &str, voice: &Voice, rows: &[Row], items: &[ReleasedItem]) -> Result<()> {
    let file = File { name, voice };
    let compared = compare(rows, items, &voice.pack, &voice.names);
    counted(audit, &file, rows, items, &compared);
    let group = &voice.code;
    if group == "en" {
        audit.looked(Check::LabelWrong, group, items.len() as u64);
        audit.looked(Check::LabelAmbiguous, group, items.len() as u64);
        for fault in labels(items) {
            let row = &rows[fault.row - 1];
            let gives = |item: &ReleasedItem| matches!(item.story.solve(), Solution::Unique { .. });
            let check = match items.get(fault.row - 1).is_some_and(gives) {
                true => Check::LabelWrong,
                false => Check::LabelAmbiguous,
            };
            audit.add(file.finding(row, check, format!("{}: {}", fault.reason, quoted(&fault.label, 60))));
        }
    }
    // Only rows that stand where they should can be held against their story.
    let misaligned = compared.faults.get(&Fault::Misaligned);
    let pairs: Vec<(&Row, &ReleasedItem)> = rows
        .iter()
        .zip(items)
        .filter(|(row, _)| misaligned.is_none_or(|all| all.binary_search(&row.number).is_err()))
        .collect();
    questions(audit, &file, &pairs)?;
    targets(audit, &file, &pairs);
    facts(audit, &file, &pairs);
    Ok(())
}

/// What the reader's own comparison counts.
fn counted(audit: &mut Audit, file: &File<'_>, rows: &[Row], items: &[ReleasedItem], compared: &Compared) {
    for (fault, check) in FAULTS {
        let of = match fault {
            Fault::AbsentPerson | Fault::UnknownName => compared.ask_for_person,
            Fault::AbsentTarget => compared.answer_named,
            Fault::Surplus => rows.len(),
            _ => items.len(),
        };
        audit.looked(check, &file.voice.code, of as u64);
        for n in compared.faults.get(&fault).into_iter().flatten() {
            let finding = match rows.get(n - 1) {
                Some(row) => file.finding(row, check, words(fault, row, items.get(n - 1), &file.voice.names)),
                None => Finding {
                    file: file.name.to_owned(),
                    row: Some(*n as u64),
                    id: None,
                    check,
                    group: file.voice.code.clone(),
                    what: format!("English row {n} (index {}) has no row here", items[n - 1].index),
                },
            };
            audit.add(finding);
        }
    }
}

fn words(fault: Fault, row: &Row, item: Option<&ReleasedItem>, names: &[Vec<String>]) -> String {
    let question = quoted(&row.question, 120);
    match fault {
        Fault::AbsentPerson => {
            let all = item.into_iter().flat_map(asked).filter_map(|role| printed(&row.question, role, names));
            let absent = all.filter(|name| !row.passage.contains(name.as_str())).cloned().collect::<Vec<_>>();
            format!("not in the passage: {}; asked: {question}", absent.join(", "))
        }
        Fault::UnknownName => format!("names nobody known: {question}"),
        Fault::SeveralNames => {
            let of = |role: &Vec<String>| {
                let all: Vec<&str> =
                    role.iter().filter(|name| row.passage.contains(name.as_str())).map(String::as_str).collect();
                (all.len() > 1).then(|| all.join(" = "))
            };
            names.iter().filter_map(of).collect::<Vec<_>>().join("; ")
        }
        Fault::AbsentTarget => format!("not in the passage: {}; asked: {question}", quoted(&row.target, 60)),
        Fault::BlankTarget => format!("the target is blank: {question}"),
        Fault::DoubleMark => cut(&row.question, 120),
        Fault::Invisible => {
            let hidden = |c: &char| !c.is_whitespace() && clean::is_blank(*c);
            let texts = [("passage", &row.passage), ("question", &row.question), ("target", &row.target)];
            let of = |(name, text): (&str, &String)| {
                let c = text.chars().find(hidden)?;
                Some(format!("U+{:04X} in the {name}", u32::from(c)))
            };
            texts.into_iter().filter_map(of).collect::<Vec<_>>().join(", ")
        }
        Fault::Misaligned => "its index, task or language is not that of the English row in its place".to_owned(),
        Fault::Surplus => "no English row stands in its place".to_owned(),
        Fault::Absent => unreachable!("an absent row is none"),
    }
}

/// Questions that ask something else.
fn questions(audit: &mut Audit, file: &File<'_>, pairs: &[(&Row, &ReleasedItem)]) -> Result<()> {
    let wordings = Wordings::read()?;
    for (row, item) in pairs.iter().filter(|(_, item)| Wordings::judges(item.story.question)) {
        let code = &file.voice.code;
        audit.looked(Check::QuestionChanged, code, 1);
        audit.looked(Check::QuestionAmbiguous, code, 1);
        let check = match wordings.verdict(code, item.story.question, &row.question) {
            Some(Verdict::Changed) => Check::QuestionChanged,
            Some(Verdict::Ambiguous) => Check::QuestionAmbiguous,
            None => continue,
        };
        let what = format!("for {} it has {}", quoted(&item.question_text, 120), quoted(&row.question, 120));
        audit.add(file.finding(row, check, what));
    }
    Ok(())
}

/// Targets against those of the rows with the same English answer.
fn targets(audit: &mut Audit, file: &File<'_>, pairs: &[(&Row, &ReleasedItem)]) {
    // By English answer: the printed forms, and how many rows have each.
    let mut forms: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for (row, item) in pairs {
        *forms.entry(&item.label_text).or_default().entry(&row.target).or_default() += 1;
    }
    let usual =
        |forms: &BTreeMap<&str, usize>| forms.iter().max_by_key(|(_, n)| **n).map(|(form, _)| form.to_lowercase());
    let usual: BTreeMap<&str, String> = forms.iter().filter_map(|(label, f)| Some((*label, usual(f)?))).collect();
    let loud = |text: &str| {
        let letters = || text.chars().filter(|c| c.is_uppercase() || c.is_lowercase());
        letters().count() > 1 && letters().all(char::is_uppercase)
    };
    let shouted = pairs.iter().filter(|(row, _)| loud(&row.target)).count();
    for (row, item) in pairs {
        let code = &file.voice.code;
        audit.looked(Check::OtherAnswer, code, 1);
        audit.looked(Check::CaseNoise, code, 1);
        let own = row.target.to_lowercase();
        let label = item.label_text.as_str();
        // Twice at least: one row alone says nothing of what is usual.
        let settled = forms[label].values().any(|n| *n > 1);
        if settled
            && own != usual[label]
            && !row.target.chars().all(clean::is_blank)
            && let Some((other, _)) = usual.iter().find(|(other, form)| **other != label && **form == own)
        {
            let (own, other, label) = (quoted(&row.target, 60), quoted(other, 60), quoted(label, 60));
            let what = format!("should be {label}; {own} stands for {other} elsewhere");
            audit.add(file.finding(row, Check::OtherAnswer, what));
        }
        let most = forms[label].iter().max_by_key(|(_, n)| **n).map_or("", |(form, _)| *form);
        if loud(&row.target) && 2 * shouted < pairs.len() {
            audit.add(file.finding(row, Check::CaseNoise, format!("in capitals: {}", quoted(&row.target, 60))));
        } else if own == most.to_lowercase() && row.target != most {
            let what = format!("mostly {}, here {}", quoted(most, 60), quoted(&row.target, 60));
            audit.add(file.finding(row, Check::CaseNoise, what));
        }
    }
}

/// Passages, sentence by sentence, against the facts.
fn facts(audit: &mut Audit, file: &File<'_>, pairs: &[(&Row, &ReleasedItem)]) {
    let (code, names) = (&file.voice.code, &file.voice.names);
    for (row, item) in pairs {
        let sentences = sentences(&row.passage);
        audit.looked(Check::SentencesDiffer, code, 1);
        if sentences.len() != item.story.facts.len() {
            let what = format!("{} sentences, the story has {} facts", sentences.len(), item.story.facts.len());
            audit.add(file.finding(row, Check::SentencesDiffer, what));
            continue;
        }
        audit.looked(Check::OrderDiffers, code, 1);
        let differs = |n: usize| {
            let sentence = sentences[n];
            let message = item.story.facts[n].message();
            let missing = persons(message).find(|role| printed(sentence, *role, names).is_none());
            missing.map(|role| (n, role, sentence))
        };
        if let Some((n, role, sentence)) = (0..sentences.len()).find_map(differs) {
            let who = names.get(role as usize).map_or(String::new(), |all| all.join(" or "));
            let what = format!("fact {} is about {who}, here it is {}", n + 1, quoted(sentence, 120));
            audit.add(file.finding(row, Check::OrderDiffers, what));
            continue;
        }
        if let Some(label) = item.label {
            audit.looked(Check::NamesChangeAnswer, code, 1);
            let Some(story) = as_printed(row, item, &sentences, names) else { continue };
            match story.solve() {
                Solution::Unique { answer, .. } if answer == label => {}
                Solution::Unique { .. } => {
                    let what =
                        format!("to who takes each name for a person, this is wrong: {}", quoted(&row.target, 60));
                    audit.add(file.finding(row, Check::NamesChangeAnswer, what));
                }
                Solution::Faulty(fault) => {
                    let what = format!("to who takes each name for a person: {}", fault.name());
                    audit.add(file.finding(row, Check::NamesChangeAnswer, what));
                }
            }
        }
    }
}

/// The sentences of a passage, without their marks.
pub(super) fn sentences(passage: &str) -> Vec<&str> {
    let ends = |c: char| matches!(c, '.' | '\u{3002}' | '\u{964}' | '\u{6d4}');
    passage.split(ends).map(str::trim).filter(|sentence| !sentence.is_empty()).collect()
}

/// The story roles that a sentence names.
pub(super) fn persons(message: Message) -> impl Iterator<Item = u8> {
    let name = &PATTERNS[message.pattern as usize];
    [Slot::A, Slot::B].into_iter().filter(|slot| name.has(*slot)).map(move |slot| message.slots[slot.index()])
}

/// The story of who takes each printed name for a person of its own; none where no person has several.
fn as_printed(row: &Row, item: &ReleasedItem, sentences: &[&str], names: &[Vec<String>]) -> Option<Story> {
    let mut called: BTreeMap<(u8, String), u8> = BTreeMap::new();
    let mut next = STORY_ACTORS as u8;
    let mut known = [false; STORY_ACTORS];
    // The name asked for comes first and keeps the role's number.
    let texts = std::iter::once((item.story.question.message(), row.question.as_str()))
        .chain(item.story.facts.iter().map(|fact| fact.message()).zip(sentences.iter().copied()));
    let mut messages = Vec::new();
    for (message, text) in texts {
        let name = &PATTERNS[message.pattern as usize];
        let mut slots = message.slots;
        for slot in [Slot::A, Slot::B].into_iter().filter(|slot| name.has(*slot)) {
            let role = slots[slot.index()];
            let as_called = printed(text, role, names).cloned().unwrap_or_default();
            slots[slot.index()] = *called.entry((role, as_called)).or_insert_with(|| {
                let first = !std::mem::replace(&mut known[role as usize], true);
                if first {
                    return role;
                }
                next += 1;
                next - 1
            });
        }
        messages.push(Message { slots, ..message });
    }
    if next == STORY_ACTORS as u8 || next as usize > ACTORS {
        return None;
    }
    let facts = messages[1..].iter().map(|message| Fact::of(*message)).collect::<Option<Vec<Fact>>>()?;
    Some(Story { task: item.story.task, facts, question: crate::story::Question::of(messages[0])? })
}
