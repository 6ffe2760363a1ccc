//! The reasoning family: instruction, context of facts among distractors, question.

use crate::error::{Error, Result};
use crate::fail;
use crate::language::{Kind, Pack};
use crate::recipe::Strategy;
use crate::story::{Answer, Direction, Question, SourceTask, Story, Way};
use serde::{Deserialize, Serialize};

/// Where the context begins in a prompt.
pub const CONTEXT: &str = "<context>\n";

/// Where it ends.
pub const CONTEXT_END: &str = "</context>";

/// A strategy's template, in the structure of the paper's figures 17-19: instruction, context, examples, question, answer
/// as JSON. The words are the language packs'.
///
/// `{instruction}`, `{context}`, `{question}`, `{json}` and `{json_reasoning}` (what the answer looks like), `{think}`,
/// `{translate}` and `{examples}` are filled in; a line that a placeholder leaves empty is dropped.
pub fn template(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::ZeroShot => "{instruction}\n\n<context>\n{context}</context>\n\n{question}\n{json}",
        Strategy::Translation => "{instruction}\n\n<context>\n{context}</context>\n\n{question}\n{translate}\n{json}",
        Strategy::ChainOfThought => {
            "{instruction}\n\n<context>\n{context}</context>\n\n{question}\n{think}\n{json_reasoning}"
        }
        Strategy::FewShot => "{instruction}\n\n<context>\n{context}</context>\n\n{examples}\n\n{question}\n{json}",
    }
}

const PLACEHOLDERS: [&str; 8] =
    ["instruction", "context", "question", "json", "json_reasoning", "think", "translate", "examples"];

/// Checks a template of a recipe: the context stands between its tags, the question on a line of its own behind it.
pub fn check_template(strategy: Strategy, template: &str) -> Result<()> {
    let mut names: Vec<&str> = Vec::new();
    for part in pieces(template) {
        if let Piece::Placeholder(name) = part {
            if !PLACEHOLDERS.contains(&name) {
                return Err(Error::new(format!("unknown placeholder {{{name}}}"))
                    .help(format!("known are {{{}}}", PLACEHOLDERS.join("}, {"))));
            }
            if names.contains(&name) {
                fail!("{{{name}}} stands there twice");
            }
            names.push(name);
        }
    }
    let Some((head, tail)) = template.split_once("<context>\n{context}</context>\n") else {
        fail!("the context must stand as \"<context>\\n{{context}}</context>\\n\"");
    };
    if head.contains("context>") || tail.contains("context>") {
        fail!("the tags of the context stand there twice");
    }
    let Some(line) = tail.lines().position(|line| line == "{question}") else {
        fail!("{{question}} must stand behind the context, on a line of its own");
    };
    let examples = tail.lines().position(|line| line == "{examples}");
    match (strategy == Strategy::FewShot, names.contains(&"examples")) {
        (true, _) if examples.is_none_or(|examples| examples > line) => {
            fail!("{{examples}} must stand between context and question, on a line of its own")
        }
        (false, true) => fail!("{{examples}} belongs to few_shot alone"),
        _ => Ok(()),
    }
}

/// A part of a template.
enum Piece<'a> {
    Text(&'a str),
    Placeholder(&'a str),
}

/// A brace that opens no lower-case word is text: JSON has braces too.
fn pieces(template: &str) -> Vec<Piece<'_>> {
    let mut all = Vec::new();
    let (mut from, mut at) = (0, 0);
    while let Some(open) = template[at..].find('{').map(|n| n + at) {
        let name = template[open + 1..].split_once('}').map(|(name, _)| name);
        match name.filter(|name| !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')) {
            Some(name) => {
                all.push(Piece::Text(&template[from..open]));
                all.push(Piece::Placeholder(name));
                at = open + name.len() + 2;
                from = at;
            }
            None => at = open + 1,
        }
    }
    all.push(Piece::Text(&template[from..]));
    all
}

/// Who speaks in a prompt, and how.
#[derive(Clone, Copy)]
pub struct Voices<'a> {
    /// Tells the story.
    pub story: &'a Pack,
    /// Asks; it has the story's persons.
    pub question: &'a Pack,
    /// Instructs.
    pub guide: &'a Pack,
    /// English, into which the context is to be translated.
    pub english: &'a Pack,
    /// The strategy.
    pub strategy: Strategy,
    /// Its template.
    pub template: &'a str,
}

impl Voices<'_> {
    /// The sentence of the instruction that says in which order the statements stand, and what joins it to the next.
    pub fn order_sentence(&self) -> String {
        let words = self.guide.instructions();
        format!("{}{}", words.order, words.join)
    }

    /// The pack whose words the answer is given in.
    fn answers(&self) -> &Pack {
        if self.strategy == Strategy::Translation { self.english } else { self.question }
    }

    /// The gold as printed, in a list of one, and everything else that is accepted. Persons are called what the story
    /// calls them; under [`Strategy::Translation`] in Latin letters.
    pub fn gold(&self, answer: Answer) -> (Vec<String>, Vec<String>) {
        let (gold, mut variants) = match (answer, self.strategy) {
            (Answer::Actor(n), Strategy::Translation) => {
                let name = self.story.citation(Kind::Actor, n).to_owned();
                match self.story.latin(n).split_first() {
                    Some((first, others)) => (first.clone(), [others, &[name]].concat()),
                    None => (name, Vec::new()),
                }
            }
            _ => {
                let (gold, variants) = answers(answer, self.answers());
                (gold.into_iter().next().unwrap_or_default(), variants)
            }
        };
        if self.strategy != Strategy::Translation && self.story.code() != self.question.code() {
            // What the story itself prints is no wrong answer.
            let (own, others) = answers(answer, self.story);
            variants.extend(own.into_iter().chain(others));
        }
        variants.sort();
        variants.dedup();
        variants.retain(|v| *v != gold);
        (vec![gold], variants)
    }

    /// The gold in a language of the recipe; in prompts of several languages persons keep the story's names.
    pub fn gold_in(&self, answer: Answer, pack: &Pack, monolingual: bool) -> Vec<String> {
        match answer {
            Answer::Actor(n) if !monolingual => vec![self.story.citation(Kind::Actor, n).to_owned()],
            _ => answers(answer, pack).0,
        }
    }
}

/// A story with its answer, as a few-shot prompt shows it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Example {
    /// `qa3-e00017`: the task, and its number in the pool of examples.
    pub id: String,
    /// The story, told of persons whom neither the prompt's story nor any distractor names.
    pub story: Story,
    /// Its answer.
    pub answer: Answer,
}

/// A story in its languages: the parts of a prompt around and inside the haystack.
pub struct LocalStory {
    /// From the instruction to the start of the context, ended by a line feed.
    pub head: String,
    /// The facts' sentences, each ended by a line feed.
    pub facts: Vec<String>,
    /// From the end of the context on.
    pub tail: String,
    /// The question's sentence.
    pub question: String,
}

impl LocalStory {
    /// Writes a story.
    pub fn new(story: &Story, voices: &Voices<'_>, examples: &[Example]) -> LocalStory {
        let question = voices.question.sentence(story.question.message());
        let guide = voices.guide.prompt();
        let worked = worked(voices, examples);
        let fill = |name: &str| match name {
            "instruction" => instruct(story.task, voices.guide, voices.answers()),
            "question" => voices.question.prompt().question.replace("{question}", &question),
            "json" => guide.json.clone(),
            "json_reasoning" => guide.json_reasoning.clone(),
            "think" => guide.chain_of_thought.clone(),
            // English needs no translation into English.
            "translate" if voices.story.code() == "en" && voices.question.code() == "en" => String::new(),
            "translate" => guide.translate.clone(),
            "examples" => worked.clone(),
            _ => String::new(),
        };
        let (head, tail) = voices.template.split_once("{context}").unwrap_or((voices.template, ""));
        LocalStory {
            head: filled(head, &fill),
            facts: story.facts.iter().map(|fact| voices.story.sentence(fact.message()) + "\n").collect(),
            tail: filled(tail, &fill),
            question,
        }
    }
}

/// A template with its placeholders filled in.
fn filled(template: &str, fill: &dyn Fn(&str) -> String) -> String {
    let mut text = String::new();
    for line in template.split_inclusive('\n') {
        let mut made = String::new();
        let mut held = false;
        for piece in pieces(line) {
            match piece {
                Piece::Text(text) => made.push_str(text),
                Piece::Placeholder(name) => {
                    held = true;
                    made.push_str(&fill(name));
                }
            }
        }
        if !(held && made.trim().is_empty()) {
            text.push_str(&made);
        }
    }
    text
}

/// The worked examples of a few-shot prompt.
fn worked(voices: &Voices<'_>, examples: &[Example]) -> String {
    let mut text = voices.guide.prompt().examples.clone();
    for Example { story, answer, .. } in examples {
        text.push_str("\n<example>\n");
        for fact in &story.facts {
            voices.story.write(fact.message(), &mut text);
            text.push('\n');
        }
        let question = voices.question.sentence(story.question.message());
        text.push_str(&voices.question.prompt().question.replace("{question}", &question));
        let answer = voices.gold(*answer).0.remove(0);
        text.push_str(&format!("\n{{\"answer\": {}}}\n</example>", serde_json::Value::String(answer)));
    }
    text
}

/// The task's instruction in the guide's language, with the labels of the answer's language.
fn instruct(task: SourceTask, guide: &Pack, pack: &Pack) -> String {
    let words = guide.instructions();
    let body = match task.number() {
        1 => &words.place,
        2 | 3 => &words.chain,
        4 => &words.relations,
        5 => &words.giving,
        6 | 9 => &words.yes_no,
        7 => &words.count,
        8 => &words.list,
        10 => &words.maybe,
        11..=13 => &words.place,
        14 => &words.time,
        15 => &words.deduction,
        16 => &words.induction,
        17 => &words.position,
        18 => &words.size,
        19 => &words.path,
        _ => &words.motive,
    };
    // Of animals, shapes and things that fit into one another the usual opening does not speak.
    let opening = if matches!(task.number(), 15..=18) { &words.opening_other } else { &words.opening };
    let mut parts = vec![opening.as_str()];
    if !matches!(task.number(), 4 | 14..=19) {
        // Relations, kinds and sizes have no order in time, and under qa14 words tell it.
        parts.push(&words.order);
    }
    if matches!(task.number(), 11 | 13) {
        parts.push(&words.coreference);
    }
    parts.push(body);
    let mut text = parts.join(&words.join);
    if guide.code() != pack.code() {
        text = exchange(&text, &labels(task, guide).into_iter().zip(labels(task, pack)).collect::<Vec<_>>());
    }
    text
}

/// Quotation marks of the languages.
const QUOTES: [(char, char); 3] = [('\u{201c}', '\u{201d}'), ('\u{201e}', '\u{201c}'), ('\u{ab}', '\u{bb}')];

/// The labels that the instruction of a task may quote, in a pack's words: as many in every pack.
fn labels(task: SourceTask, pack: &Pack) -> Vec<&str> {
    let words = pack.answers();
    match task.number() {
        6 | 9 | 17 | 18 => vec![first(&words.yes), first(&words.no)],
        7 => words.count.iter().map(|words| first(words)).collect(),
        8 => vec![first(&words.nothing)],
        10 => vec![first(&words.yes), first(&words.no), first(&words.maybe)],
        19 => (0..4).map(|n| words.directions.get(n).map_or("", |words| first(words))).collect(),
        20 => (0..Kind::Motive.count() as u8).map(|n| pack.citation(Kind::Motive, n)).collect(),
        _ => Vec::new(),
    }
}

fn first(words: &[String]) -> &str {
    &words[0]
}

/// A text with the last quotation of each label exchanged for another word, in one pass: a new label is never taken for an
/// old one. (What is quoted before may be a word of the context that looks like the label, such as a negation.)
fn exchange(text: &str, labels: &[(&str, &str)]) -> String {
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    let quotes =
        |text: &str, label: &str| QUOTES.iter().any(|(open, close)| text.contains(&format!("{open}{label}{close}")));
    while let Some(at) = rest.find(|c| QUOTES.iter().any(|(open, _)| *open == c)) {
        let open = rest[at..].chars().next().expect("it was found");
        made.push_str(&rest[..at]);
        rest = &rest[at..];
        let quoted = QUOTES.iter().filter(|(o, _)| *o == open).find_map(|(_, close)| {
            let inside = &rest[open.len_utf8()..];
            let last = |old: &str| inside.strip_prefix(old).is_some_and(|s| s.starts_with(*close) && !quotes(s, old));
            let (old, new) = labels.iter().find(|(old, _)| last(old))?;
            Some((format!("{open}{new}{close}"), open.len_utf8() + old.len() + close.len_utf8()))
        });
        match quoted {
            Some((new, length)) => {
                made.push_str(&new);
                rest = &rest[length..];
            }
            None => {
                made.push(open);
                rest = &rest[open.len_utf8()..];
            }
        }
    }
    made + rest
}

/// The gold as printed, in a list of one, and everything else that is accepted.
pub fn answers(answer: Answer, pack: &Pack) -> (Vec<String>, Vec<String>) {
    let entity = |kind: Kind, n: u8| (pack.citation(kind, n).to_owned(), pack.variants(kind, n));
    let words = |list: &[String]| (list[0].clone(), list[1..].to_vec());
    let all = pack.answers();
    let (gold, mut variants) = match answer {
        Answer::Place(n) => entity(Kind::Place, n),
        Answer::Actor(n) => entity(Kind::Actor, n),
        Answer::Object(n) => entity(Kind::Object, n),
        Answer::Animal(n) => entity(Kind::Animal, n),
        Answer::Colour(n) => entity(Kind::Colour, n),
        Answer::Motive(n) => entity(Kind::Motive, n),
        Answer::Path(way) => ways(way, pack),
        Answer::Yes => words(&all.yes),
        Answer::No => words(&all.no),
        Answer::Maybe => words(&all.maybe),
        Answer::Count(n) => words(&all.count[n as usize]),
        Answer::Objects(0) => words(&all.nothing),
        Answer::Objects(set) if set.count_ones() == 1 => entity(Kind::Object, set.trailing_zeros() as u8),
        Answer::Objects(set) => lists(set, pack),
    };
    variants.sort();
    variants.dedup();
    variants.retain(|v| *v != gold);
    (vec![gold], variants)
}

/// A list of objects: the gold in the order of their numbers, the variants in any order, with any
/// usual joiner, all in the same form.
fn lists(set: u64, pack: &Pack) -> (String, Vec<String>) {
    let objects: Vec<u8> = Answer::listed(set).collect();
    let words = pack.answers();
    let separators = || {
        [words.list_separator.as_str(), ", ", ","]
            .into_iter()
            .chain(words.list_separator_also.iter().map(String::as_str))
    };
    let ands = || std::iter::once(words.list_and.as_str()).chain(words.list_and_also.iter().map(String::as_str));
    let mut variants = Vec::new();
    for names in pack.parallel_forms(Kind::Object, &objects) {
        for order in orders(names.len()) {
            let names: Vec<&str> = order.iter().map(|&i| names[i].as_str()).collect();
            let (last, rest) = names.split_last().expect("a list has items");
            for separator in separators() {
                variants.push(names.join(separator));
                variants.extend(ands().map(|and| format!("{}{and}{last}", rest.join(separator))));
            }
            variants.extend(ands().map(|and| names.join(and)));
        }
    }
    let citation: Vec<&str> = objects.iter().map(|o| pack.citation(Kind::Object, *o)).collect();
    (citation.join(&words.list_separator), variants)
}

/// The directions of a way: the gold joined as a list is, the variants with any usual joiner, in one form. Their order
/// is part of the answer.
fn ways(way: Way, pack: &Pack) -> (String, Vec<String>) {
    let words = pack.answers();
    let form = |n: usize| -> Vec<&str> {
        let of = |direction: Direction| &words.directions[direction as usize];
        way.steps().map(|d| of(d).get(n).unwrap_or(&of(d)[0]).as_str()).collect()
    };
    let most = words.directions.iter().map(Vec::len).max().unwrap_or(1);
    // Never a bare space: two directions in a row may be the name of a third.
    let mut joiners = vec![words.list_separator.as_str(), ", ", ",", words.list_and.as_str()];
    joiners.extend(words.way_also.iter().map(String::as_str));
    joiners.extend(words.list_separator_also.iter().map(String::as_str));
    joiners.extend(words.list_and_also.iter().map(String::as_str));
    let variants = (0..most).flat_map(|n| joiners.iter().map(move |joiner| (n, joiner)));
    let variants = variants.map(|(n, joiner)| form(n).join(joiner)).collect();
    (form(0).join(&words.list_separator), variants)
}

/// Every order of `n` things.
fn orders(n: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in 0..n {
        all = all
            .into_iter()
            .flat_map(|order: Vec<usize>| {
                (0..n).filter(|i| !order.contains(i)).map(|i| [order.clone(), vec![i]].concat()).collect::<Vec<_>>()
            })
            .collect();
    }
    all
}

/// The question that a final prompt asks, read from its text: the last line behind the context that asks one. (Worked
/// examples stand before it.)
pub fn question_of(prompt_tail: &str, pack: &Pack) -> Option<Question> {
    let template = &pack.prompt().question;
    let (before, after) = template.split_once("{question}")?;
    let behind = prompt_tail.strip_prefix(CONTEXT_END)?;
    let line = behind.lines().rev().find_map(|line| line.strip_prefix(before)?.strip_suffix(after))?;
    Question::of(pack.read(line).ok()?)
}
