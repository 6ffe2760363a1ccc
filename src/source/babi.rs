//! Reads bAbI v1.2 task files: numbered facts, and questions with answer and supporting facts.

use crate::error::{Error, Result};
use crate::fail;
use crate::language::{Kind, Message, Pack, ReadError};
use crate::story::{Answer, Direction, Fact, Question, SourceTask, Story, Way, bind};

/// A question of a bAbI file, with the facts before it.
#[derive(Clone, Debug)]
pub struct BabiItem {
    /// Facts and question.
    pub story: Story,
    /// The official answer; none where it is not one the question can have.
    pub label: Option<Answer>,
    /// The official answer as printed.
    pub label_text: String,
    /// Official supporting facts, as indices into the story's facts, ascending.
    pub support: Vec<usize>,
    /// Line of the question in its file, from 1.
    pub line: usize,
}

/// Parses one file. `pack` is the English pack; `name` stands in errors.
pub fn parse(name: &str, text: &str, task: SourceTask, pack: &Pack) -> Result<Vec<BabiItem>> {
    let mut items = Vec::new();
    let mut facts: Vec<Fact> = Vec::new();
    // The file's own number of each fact.
    let mut numbers: Vec<usize> = Vec::new();
    let mut last = 0;
    for (n, line) in text.lines().enumerate() {
        let line_number = n + 1;
        let place = || format!("{name}, line {line_number}: {}", cut(line));
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.trim().is_empty() {
            return Err(Error::new("an empty line, expected `<number> <sentence>`").at(place()));
        }
        let Some((number, rest)) = line.split_once(' ').and_then(|(n, rest)| Some((n.parse::<usize>().ok()?, rest)))
        else {
            return Err(Error::new("expected `<number> <sentence>`").at(place()));
        };
        if number == 1 {
            facts.clear();
            numbers.clear();
        } else if number != last + 1 {
            return Err(Error::new(format!("expected line number {} or a new story's 1", last + 1)).at(place()));
        }
        last = number;
        if !rest.contains('\t') {
            let message = pack.read(rest.trim()).map_err(|e| Error::new(e.to_string()).at(place()))?;
            let fact = Fact::of(message).ok_or_else(|| {
                Error::new("a question without an answer, expected `<question>\\t<answer>\\t<supporting facts>`")
                    .at(place())
            })?;
            facts.push(fact);
            numbers.push(number);
            // What comes before is bound already.
            let from = facts.iter().rposition(|fact| !fact.leans()).unwrap_or(0);
            bind(&mut facts[from..])
                .map_err(|_| Error::new("its pronoun stands for nobody of the sentence before").at(place()))?;
            continue;
        }
        let fields: Vec<&str> = rest.split('\t').collect();
        let [question, label, support] = fields[..] else {
            return Err(Error::new(format!(
                "expected `<question>\\t<answer>\\t<supporting facts>`, found {} fields",
                fields.len()
            ))
            .at(place()));
        };
        let message = read_question(question.trim(), task, pack).map_err(|e| Error::new(e.to_string()).at(place()))?;
        let question =
            Question::of(message).ok_or_else(|| Error::new("a statement where a question is expected").at(place()))?;
        if !asks(task, question) {
            return Err(Error::new(format!("not a question of {task}: the file may have the wrong name")).at(place()));
        }
        if label.trim().is_empty() {
            return Err(Error::new("the answer is empty").at(place()));
        }
        let mut supporting = Vec::new();
        for id in support.split_whitespace() {
            let index = id.parse().ok().and_then(|id: usize| numbers.iter().position(|n| *n == id));
            supporting.push(
                index.ok_or_else(|| {
                    Error::new(format!("supporting fact {id} is not a fact of this story")).at(place())
                })?,
            );
        }
        supporting.sort_unstable();
        items.push(BabiItem {
            story: Story { task, facts: facts.clone(), question },
            label: label_of(label.trim(), question, pack),
            label_text: label.trim().to_owned(),
            support: supporting,
            line: line_number,
        });
    }
    if items.is_empty() {
        fail!("{name} holds no question");
    }
    if text.as_bytes().last() != Some(&b'\n') {
        return Err(Error::new("the file is truncated: its last line has no line end")
            .at(format!("{name}, line {}", text.lines().count()))
            .help("download it again"));
    }
    Ok(items)
}

/// The files of qa15 and qa20 write names in questions without a capital.
fn read_question(text: &str, task: SourceTask, pack: &Pack) -> std::result::Result<Message, ReadError> {
    if !matches!(task.number(), 15 | 20) {
        return pack.read(text);
    }
    let capital = |word: &str| {
        let name = (0..Kind::Actor.count() as u8).map(|n| pack.citation(Kind::Actor, n));
        name.filter(|name| name.to_lowercase() == word).map(str::to_owned).next().unwrap_or_else(|| word.to_owned())
    };
    pack.read(&text.split(' ').map(capital).collect::<Vec<_>>().join(" "))
}

/// A line as errors quote it: its beginning is enough.
fn cut(line: &str) -> String {
    match line.char_indices().nth(100) {
        Some((end, _)) => format!("{:?}...", &line[..end]),
        None => format!("{line:?}"),
    }
}

/// Is it a question that the task asks?
pub(super) fn asks(task: SourceTask, question: Question) -> bool {
    match question {
        Question::WhereActor { .. } => matches!(task.number(), 1 | 11..=13),
        Question::WhereObject { .. } => task.number() == 2,
        Question::WhereBefore { .. } => task.number() == 3,
        Question::WhatIs { .. } | Question::WhatIsOf { .. } => task.number() == 4,
        Question::WhatGave { .. }
        | Question::WhoGave { .. }
        | Question::WhomGave { .. }
        | Question::WhoReceived { .. }
        | Question::WhoGaveTo { .. } => task.number() == 5,
        Question::IsIn { .. } => matches!(task.number(), 6 | 9 | 10),
        Question::HowMany { .. } => task.number() == 7,
        Question::Carrying { .. } => task.number() == 8,
        Question::WhereActorBefore { .. } => task.number() == 14,
        Question::AfraidOf { .. } => task.number() == 15,
        Question::WhatColour { .. } => task.number() == 16,
        Question::IsBeside { .. } => task.number() == 17,
        Question::FitsIn { .. } | Question::IsBigger { .. } => task.number() == 18,
        Question::Path { .. } => task.number() == 19,
        Question::WhereWill { .. } | Question::WhyGo { .. } | Question::WhyGet { .. } => task.number() == 20,
    }
}

/// The official label as an answer.
pub(super) fn label_of(label: &str, question: Question, pack: &Pack) -> Option<Answer> {
    let entity = |kind: Kind| (0..kind.count() as u8).find(|&e| pack.citation(kind, e) == label);
    match question.answered_by() {
        Some(kind) => entity(kind).map(|n| Answer::entity(kind, n)),
        None => match (question, label) {
            (Question::Path { .. }, _) => {
                let direction = |letter: &str| {
                    Some(match letter {
                        "n" => Direction::North,
                        "s" => Direction::South,
                        "e" => Direction::East,
                        "w" => Direction::West,
                        _ => return None,
                    })
                };
                let steps = label.split(',').map(direction).collect::<Option<Vec<Direction>>>()?;
                Way::of(&steps).map(Answer::Path)
            }
            (Question::HowMany { .. }, _) => {
                let words = &pack.answers().count;
                words.iter().position(|all| all[0] == label).map(|n| Answer::Count(n as u8))
            }
            (Question::Carrying { .. }, "nothing") => Some(Answer::Objects(0)),
            (Question::Carrying { .. }, _) => label
                .split(',')
                .try_fold(0u64, |set, word| {
                    let objects = 0..Kind::Object.count() as u8;
                    let object = objects.into_iter().find(|&o| pack.citation(Kind::Object, o) == word)?;
                    Some(set | 1 << object)
                })
                .map(Answer::Objects),
            (_, "yes") => Some(Answer::Yes),
            (_, "no") => Some(Answer::No),
            (_, "maybe") => Some(Answer::Maybe),
            _ => None,
        },
    }
}
