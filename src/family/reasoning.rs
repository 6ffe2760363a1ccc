//! The reasoning family: instruction, context of facts among distractors, question.

use crate::language::{Kind, Pack};
use crate::recipe::InstructionLanguage;
use crate::story::{Answer, Direction, Question, SourceTask, Story, Way};

/// Where the context begins in a prompt.
pub const CONTEXT: &str = "<context>\n";

/// Where it ends.
pub const CONTEXT_END: &str = "</context>";

/// A story in one language: the parts of a prompt around and inside the haystack.
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
    /// Writes a story in a pack's language. `english` is the English pack, for English instructions.
    pub fn new(story: &Story, pack: &Pack, english: &Pack, instruction: InstructionLanguage) -> LocalStory {
        let guide = match instruction {
            InstructionLanguage::Story => pack,
            InstructionLanguage::En => english,
        };
        let question = pack.sentence(story.question.message());
        let asked = pack.prompt().question.replace("{question}", &question);
        LocalStory {
            head: format!("{}\n\n{CONTEXT}", instruct(story.task, guide, pack)),
            facts: story.facts.iter().map(|fact| pack.sentence(fact.message()) + "\n").collect(),
            tail: format!("{CONTEXT_END}\n\n{asked}\n{}", guide.prompt().json),
            question,
        }
    }
}

/// The task's instruction in the guide's language, with the labels of the context's language.
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
        let (ours, theirs) = (guide.answers(), pack.answers());
        for (from, to) in [
            (&ours.yes[0], &theirs.yes[0]),
            (&ours.no[0], &theirs.no[0]),
            (&ours.maybe[0], &theirs.maybe[0]),
            (&ours.nothing[0], &theirs.nothing[0]),
            (&ours.count[0][0], &theirs.count[0][0]),
        ] {
            text = text.replace(&format!("\u{201c}{from}\u{201d}"), &format!("\u{201c}{to}\u{201d}"));
        }
    }
    text
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
    let mut joiners = vec![words.list_separator.as_str(), ", ", ",", " ", words.list_and.as_str()];
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

/// The question that a final prompt asks, read from its text: the sentence after the context.
pub fn question_of(prompt_tail: &str, pack: &Pack) -> Option<Question> {
    let template = &pack.prompt().question;
    let (before, after) = template.split_once("{question}")?;
    let line = prompt_tail.strip_prefix(CONTEXT_END)?.strip_prefix("\n\n")?.lines().next()?;
    let sentence = line.strip_prefix(before)?.strip_suffix(after)?;
    Question::of(pack.read(sentence).ok()?)
}
