//! What is translated for a language without a pack: every sentence that stories and distractors of a recipe may say, the
//! words of their answers, and what stands around a context.
//!
//! Persons are tokens, one for a woman and one for a man, so each distinct sentence is translated once, whoever its
//! persons are.

use crate::language::{Kind, Message, PATTERNS, Pack, STORY_OBJECTS, STORY_PLACES, Slot, pattern};
use crate::record::Passage;
use crate::story::SourceTask;
use crate::translator::placeholder::{Gender, Name, swap};
use std::collections::BTreeSet;

/// What a unit is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum What {
    /// A sentence: the message, with 1 for women and 0 for men.
    Sentence(Message),
    /// An entity's citation form.
    Word(Kind, u8),
    /// A label, by its key in the packs: `yes`, `count.3`, `direction.0`.
    Label(String),
    /// A text around the context, by its key.
    Phrase(String),
}

impl What {
    /// Its name in reports and sheets.
    pub fn name(&self) -> String {
        match self {
            What::Sentence(message) => {
                let slots: Vec<String> = message.slots.iter().map(u8::to_string).collect();
                format!("{} {}", PATTERNS[message.pattern as usize].path(), slots.join("."))
            }
            What::Word(kind, n) => format!("{}.{}", kind.section(), kind.ids()[*n as usize]),
            What::Label(key) => format!("answers.{key}"),
            What::Phrase(key) => key.clone(),
        }
    }

    /// Of the paper's Table 7: passages, questions or answers.
    pub fn part(&self) -> &'static str {
        match self {
            What::Sentence(m) if PATTERNS[m.pattern as usize].section == "questions" => "questions",
            What::Sentence(_) => "passages",
            What::Word(..) | What::Label(_) => "answers",
            What::Phrase(_) => "instructions",
        }
    }
}

/// A unit and its English text, with tokens in place of persons and quoted labels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unit {
    /// What it is.
    pub what: What,
    /// Its text.
    pub source: String,
}

/// The patterns that stories of a task say and ask with.
fn patterns(task: SourceTask) -> (&'static [&'static str], &'static [&'static str]) {
    match task.number() {
        1 => (&["move"], &["where_actor"]),
        2 => (&["move", "take", "take_there", "drop", "drop_there"], &["where_object"]),
        3 => (&["move", "take", "take_there", "drop", "drop_there"], &["where_before"]),
        4 => (&["relation"], &["what_is", "what_is_of"]),
        5 => (
            &["move", "take", "take_there", "drop", "drop_there", "give"],
            &["what_gave", "who_gave", "whom_gave", "who_received", "who_gave_to"],
        ),
        6 => (&["move", "take", "take_there", "drop", "drop_there"], &["is_in"]),
        7 => (&["move", "take", "take_there", "drop", "drop_there", "give"], &["how_many"]),
        8 => (&["move", "take", "take_there", "drop", "drop_there"], &["carrying"]),
        9 => (&["move", "is_in", "not_in", "no_longer"], &["is_in"]),
        10 => (&["move", "is_in", "either"], &["is_in"]),
        11 => (&["move", "then"], &["where_actor"]),
        12 => (&["pair"], &["where_actor"]),
        13 => (&["pair", "then"], &["where_actor"]),
        14 => (&["at_time", "time_first"], &["where_actor_before"]),
        15 => (&["afraid", "is_a"], &["afraid_of"]),
        16 => (&["is_a", "has_colour"], &["what_colour"]),
        17 => (&["beside"], &["is_beside"]),
        18 => (&["bigger", "fits"], &["fits_in", "is_bigger"]),
        19 => (&["relation"], &["path"]),
        _ => (&["feels", "move", "take", "take_there"], &["where_will", "why_go", "why_get"]),
    }
}

/// Entities that stories name.
fn entities(kind: Kind, late: bool) -> Vec<u8> {
    let all = |n: usize| (0..n as u8).collect();
    match kind {
        // A man and a woman.
        Kind::Actor => vec![0, 1],
        Kind::Place => all(STORY_PLACES),
        Kind::Object => {
            let mut own: Vec<u8> = all(STORY_OBJECTS);
            own.extend((crate::language::LAST_OBJECTS as u8..Kind::Object.count() as u8).filter(|_| late));
            own
        }
        other => all(other.count()),
    }
}

/// Every message of a pattern over what stories name.
fn messages(number: u8, late: bool) -> Vec<Message> {
    let name = &PATTERNS[number as usize];
    let mut all = vec![[0u8; 5]];
    for slot in name.used() {
        let value = |n: u8| if slot == Slot::G { 1 << n } else { n };
        let values: Vec<u8> = entities(slot.kind(), late).into_iter().map(value).collect();
        let with = |slots: [u8; 5]| {
            values.iter().map(move |value| {
                let mut slots = slots;
                slots[slot.index()] = *value;
                slots
            })
        };
        all = all.into_iter().flat_map(with).collect();
    }
    let twice = |s: &[u8; 5]| {
        let (p, q) = (name.slots[3], name.slots[4]);
        p.zip(q).is_some_and(|(p, q)| p.kind() == q.kind() && s[3] == s[4])
    };
    all.retain(|slots| !twice(slots));
    all.into_iter().map(|slots| Message { pattern: number, slots }).collect()
}

/// A message with the sexes of its persons in their place, in every way.
fn of_each_sex(message: Message) -> Vec<Message> {
    let name = &PATTERNS[message.pattern as usize];
    let sexes = |slot: Slot| if name.has(slot) { vec![0, 1] } else { vec![message.slots[slot.index()]] };
    let mut all = Vec::new();
    for a in sexes(Slot::A) {
        for b in sexes(Slot::B) {
            let mut slots = message.slots;
            (slots[Slot::A.index()], slots[Slot::B.index()]) = (a, b);
            all.push(Message { slots, ..message });
        }
    }
    all
}

/// Persons that stand for all: by slot and sex, as English roles.
const PERSONS: [[u8; 2]; 2] = [[1, 0], [3, 2]];

/// The names that tokens stand for: those of the persons of a message, with other texts if given.
pub fn names(message: Message, english: &Pack, texts: Option<[&str; 2]>) -> Vec<Name> {
    let name = &PATTERNS[message.pattern as usize];
    let mut names = Vec::new();
    for (n, slot) in [Slot::A, Slot::B].into_iter().enumerate().filter(|(_, slot)| name.has(*slot)) {
        let sex = message.slots[slot.index()];
        let role = PERSONS[n][sex as usize];
        let text = texts.map_or_else(|| english.citation(Kind::Actor, role), |texts| texts[n]);
        let gender = if sex == 1 { Gender::Woman } else { Gender::Man };
        names.push(Name { text: text.to_owned(), gender });
    }
    names
}

/// A message of the persons that stand for all.
pub fn told(message: Message) -> Message {
    let name = &PATTERNS[message.pattern as usize];
    let mut slots = message.slots;
    for (n, slot) in [Slot::A, Slot::B].into_iter().enumerate().filter(|(_, slot)| name.has(*slot)) {
        slots[slot.index()] = PERSONS[n][message.slots[slot.index()] as usize];
    }
    Message { slots, ..message }
}

/// Quoted labels of an English instruction.
pub fn labels(english: &Pack) -> Vec<(String, String)> {
    let answers = english.answers();
    let mut all: Vec<(String, String)> = [
        ("yes", &answers.yes),
        ("no", &answers.no),
        ("maybe", &answers.maybe),
        ("nothing", &answers.nothing),
        ("count.0", &answers.count[0]),
    ]
    .map(|(key, words)| (key.to_owned(), words[0].clone()))
    .to_vec();
    all.extend((0..4).map(|n| (format!("direction.{n}"), answers.directions[n][0].clone())));
    all
}

/// A text with each quoted label as a token; and which labels they are, in the tokens' order.
fn quoted(text: &str, english: &Pack) -> (String, Vec<What>) {
    let mut known: Vec<(What, String)> =
        labels(english).into_iter().map(|(key, word)| (What::Label(key), word)).collect();
    let motives = 0..Kind::Motive.count() as u8;
    known.extend(motives.map(|n| (What::Word(Kind::Motive, n), english.citation(Kind::Motive, n).to_owned())));
    let mut used = Vec::new();
    let mut made = String::new();
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once('\u{201c}') {
        made.push_str(before);
        made.push('\u{201c}');
        let label = inside.split('\u{201d}').next().unwrap_or_default();
        rest = inside;
        if let Some((what, word)) = known.iter().find(|(_, word)| word == label) {
            let place = used.iter().position(|known| known == what).unwrap_or_else(|| {
                used.push(what.clone());
                used.len() - 1
            });
            made.push_str(&format!("[[M{}]]", place + 1));
            rest = &inside[word.len()..];
        }
    }
    (made + rest, used)
}

/// The labels that stand quoted in a phrase, in the order of its tokens.
pub fn quoted_labels(key: &str, english: &Pack) -> Vec<What> {
    phrases(english)
        .into_iter()
        .find(|(known, _)| known == key)
        .map_or_else(Vec::new, |(_, text)| quoted(&text, english).1)
}

/// Texts around the context, by key.
fn phrases(english: &Pack) -> Vec<(String, String)> {
    let (i, p) = (english.instructions(), english.prompt());
    let mut all: Vec<(String, String)> = [
        ("opening", &i.opening),
        ("order", &i.order),
        ("place", &i.place),
        ("giving", &i.giving),
        ("yes_no", &i.yes_no),
        ("chain", &i.chain),
        ("relations", &i.relations),
        ("count", &i.count),
        ("list", &i.list),
        ("maybe", &i.maybe),
    ]
    .map(|(key, text)| (format!("instructions.{key}"), text.clone()))
    .to_vec();
    all.extend(i.late().map(|(key, text)| (format!("instructions.{key}"), text.to_owned())));
    all.extend(
        [
            ("question", "Question:"),
            ("json", "Answer with JSON:"),
            ("chain_of_thought", &p.chain_of_thought),
            ("translate", &p.translate),
            ("passages", &p.passages),
            ("answer", &p.answer),
            ("example", &p.example),
            ("examples", &p.examples),
            ("and", "and"),
        ]
        .map(|(key, text)| (format!("prompt.{key}"), text.to_owned())),
    );
    all
}

/// Every fact that stories of these tasks may tell of their first man and woman.
pub fn facts(tasks: &[SourceTask]) -> Vec<Message> {
    let late = tasks.iter().any(|task| task.is_late());
    let mut said: BTreeSet<Message> = BTreeSet::new();
    for task in tasks {
        said.extend(variants("facts", patterns(*task).0, late).map(told));
    }
    said.into_iter().collect()
}

/// All messages of some patterns of a section, told in each of their ways.
fn variants<'a>(section: &'a str, keys: &'a [&'a str], late: bool) -> impl Iterator<Item = Message> + 'a {
    keys.iter().flat_map(move |key| {
        let first = pattern(section, key);
        let of = PATTERNS[first as usize].of.max(1);
        (first..first + of).flat_map(move |number| messages(number, late))
    })
}

/// All units of a recipe: words and phrases first, since sentences are checked against them.
pub fn units(english: &Pack, tasks: &[SourceTask], pool: &[Passage]) -> Vec<Unit> {
    let late = tasks.iter().any(|task| task.is_late());
    let mut all: Vec<Unit> = Vec::new();
    // Instructions quote the motives, and a pack has them all.
    let mut kinds = vec![Kind::Place, Kind::Object, Kind::Motive];
    if late {
        kinds.extend([Kind::Animal, Kind::Colour]);
    }
    for kind in kinds {
        let word = |n: u8| Unit { what: What::Word(kind, n), source: english.citation(kind, n).to_owned() };
        all.extend(entities(kind, late).into_iter().map(word));
    }
    let mut words = labels(english);
    words.extend((1..=10).map(|n| (format!("count.{n}"), english.answers().count[n][0].clone())));
    all.extend(words.into_iter().map(|(key, source)| Unit { what: What::Label(key), source }));
    for (key, text) in phrases(english) {
        if !text.is_empty() {
            all.push(Unit { what: What::Phrase(key), source: quoted(&text, english).0 });
        }
    }
    let mut said: BTreeSet<Message> = BTreeSet::new();
    for task in tasks {
        let (facts, questions) = patterns(*task);
        said.extend(variants("facts", facts, late).chain(variants("questions", questions, late)));
    }
    said.extend(pool.iter().flat_map(|passage| &passage.sentences).flat_map(|message| of_each_sex(*message)));
    all.extend(said.into_iter().map(|message| {
        let text = english.sentence(told(message));
        Unit { what: What::Sentence(message), source: swap(&text, &names(message, english, None)) }
    }));
    all
}
