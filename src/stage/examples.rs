//! The worked examples of few-shot prompts: stories of their own, with another cast.
//!
//! An example's label is drawn without regard to the gold; of the stories with that label the one most like the instance
//! is shown. So to copy an example's label is to guess.

use crate::error::Result;
use crate::family::reasoning::Example;
use crate::hash::Digest;
use crate::language::{ACTORS, FURTHER, Kind, MOTIVATED, Message, PATTERNS, Pack, STORY_ACTORS, Slot, is_woman};
use crate::plan::tasks;
use crate::recipe::{Recipe, SourceKind, Strategy};
use crate::record::Instance;
use crate::seed::{Rng, Seed};
use crate::stage::select::tells;
use crate::store::Key;
use crate::story::{Answer, AnswerSpread, Fact, Question, Solution, SourceTask, Story, labels, simulate};
use rayon::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;

/// Raised when this stage shows other examples of the same seed and vectors.
pub const VERSION: u32 = 1;

/// Stories of each label, at least: one label may be drawn for all examples of an instance.
const EACH: usize = 8;

/// Examples are short: so many facts at most.
const LONGEST: usize = 12;

/// The pool of examples: by task, each story with its answer.
pub type Pool = BTreeMap<SourceTask, Vec<(Story, Answer)>>;

/// How the labels of a plan's stories are spread.
fn spread(recipe: &Recipe) -> AnswerSpread {
    match recipe.source.kind {
        SourceKind::Simulate => recipe.stories.answers,
        _ => AnswerSpread::Official,
    }
}

/// Draws the pool of a recipe; empty without a few-shot strategy. What one of the packs cannot tell is left out.
pub fn pool<'a>(recipe: &Recipe, seed: &Seed, packs: impl Iterator<Item = &'a Pack>) -> Pool {
    if !recipe.prompt.strategies.contains(&Strategy::FewShot) {
        return Pool::new();
    }
    let spread = spread(recipe);
    let packs: Vec<&Pack> = packs.filter(|pack| pack.is_translated()).collect();
    // Never a story of the release: their seed is another.
    let seed = seed.child("examples");
    let of = |task: SourceTask| {
        let n = EACH.max(recipe.prompt.worked()) * labels(task, AnswerSpread::Balanced).len();
        let story = |n: usize| {
            let story = simulate(task, n, AnswerSpread::Balanced, &seed, |story| story.facts.len() <= LONGEST)?;
            match story.solve() {
                Solution::Unique { answer, .. } => Some((story, answer)),
                Solution::Faulty(_) => None,
            }
        };
        let made: Vec<(Story, Answer)> = (0..n).into_par_iter().filter_map(story).collect();
        // bAbI's own vocabulary is smaller: no example has a label that its stories do not have.
        let known: Vec<Answer> = labels(task, spread).into_iter().map(|(label, _)| label).collect();
        let fits = |answer: &Answer| match answer {
            Answer::Actor(_) => true,
            other => known.contains(other),
        };
        let told = |story: &Story| packs.iter().all(|pack| tells(pack, story));
        (task, made.into_iter().filter(|(story, answer)| fits(answer) && told(story)).collect())
    };
    tasks(recipe).into_iter().map(of).collect()
}

/// The text by which stories are compared, in English.
pub fn text(english: &Pack, story: &Story) -> String {
    let mut text: String = story.facts.iter().map(|fact| english.sentence(fact.message()) + "\n").collect();
    english.write(story.question.message(), &mut text);
    text
}

/// The key of the pool: whoever has it can draw the same examples again.
pub fn key(recipe: &Recipe, seed: Digest) -> Key {
    let tasks: Vec<SourceTask> = tasks(recipe);
    Key {
        stage: "examples",
        version: VERSION,
        params: json!({ "tasks": tasks, "spread": spread(recipe), "shown": recipe.prompt.worked() }),
        inputs: vec![seed],
    }
}

/// The examples of an instance. `score` compares it with an example of its task's pool.
pub fn choose(
    seed: &Seed,
    instance: &str,
    pool: &[(Story, Answer)],
    wanted: usize,
    score: impl Fn(usize) -> i32,
) -> Vec<Example> {
    let mut rng = seed.derive("examples", instance);
    let mut all: Vec<Answer> = pool.iter().map(|(_, answer)| *answer).collect();
    all.sort_unstable();
    all.dedup();
    let mut chosen: Vec<usize> = Vec::new();
    for _ in 0..wanted.min(pool.len()) {
        let label = rng.pick(&all);
        let open = (0..pool.len()).filter(|n| pool[*n].1 == label && !chosen.contains(n));
        // Most similar first, ties by number.
        chosen.extend(open.max_by_key(|n| (score(*n), std::cmp::Reverse(*n))));
    }
    let mut example = |n: usize| {
        let (story, answer) = &pool[n];
        let (story, answer) = recast(story, *answer, &cast(story, &mut rng));
        Example { id: id(story.task, n), story, answer }
    };
    chosen.into_iter().map(&mut example).collect()
}

/// The id of an example.
pub fn id(task: SourceTask, n: usize) -> String {
    format!("{task}-e{n:05}")
}

/// Whom an example's persons are called: persons whom stories of the task never name, and distractors neither.
fn cast(story: &Story, rng: &mut Rng) -> Vec<(u8, u8)> {
    let mut from: Vec<u8> = Vec::new();
    let messages = story.facts.iter().map(|fact| fact.message()).chain([story.question.message()]);
    for message in messages {
        let slots = PATTERNS[message.pattern as usize].used().filter(|slot| slot.kind() == Kind::Actor);
        from.extend(slots.map(|slot| slot.entity(&message.slots)));
    }
    from.sort_unstable();
    from.dedup();
    let roles = || 0..STORY_ACTORS as u8;
    let motivated = || MOTIVATED as u8..ACTORS as u8;
    let mut to: Vec<u8> = match story.task.number() {
        15 | 16 => roles().chain(motivated()).collect(),
        20 => (FURTHER as u8..MOTIVATED as u8).collect(),
        _ => (FURTHER as u8..ACTORS as u8).collect(),
    };
    rng.shuffle(&mut to);
    let mut pairs = Vec::new();
    for actor in from {
        // Pronouns agree with the persons of qa1-qa14.
        let fits = |other: &u8| matches!(story.task.number(), 15 | 16 | 20) || is_woman(*other) == is_woman(actor);
        if let Some(n) = to.iter().position(fits) {
            pairs.push((actor, to.remove(n)));
        }
    }
    pairs
}

/// The same story of other persons.
fn recast(story: &Story, answer: Answer, cast: &[(u8, u8)]) -> (Story, Answer) {
    let named = |actor: u8| cast.iter().find(|(from, _)| *from == actor).map_or(actor, |(_, to)| *to);
    let message = |message: Message| {
        let name = &PATTERNS[message.pattern as usize];
        let mut slots = message.slots;
        for slot in [Slot::A, Slot::B].into_iter().filter(|slot| name.has(*slot)) {
            slots[slot.index()] = named(slots[slot.index()]);
        }
        Message { pattern: message.pattern, slots }
    };
    let facts = story.facts.iter().filter_map(|fact| Fact::of(message(fact.message()))).collect();
    let question = Question::of(message(story.question.message())).unwrap_or(story.question);
    let answer = match answer {
        Answer::Actor(n) => Answer::Actor(named(n)),
        other => other,
    };
    (Story { task: story.task, facts, question }, answer)
}

/// How many tokens the examples of a task's prompts may need at most, counted with `count`.
pub fn longest(pool: &[(Story, Answer)], wanted: usize, count: impl Fn(&[Example]) -> u64) -> u64 {
    let one = |(story, answer): &(Story, Answer)| {
        let example = Example { id: String::new(), story: story.clone(), answer: *answer };
        count(std::slice::from_ref(&example))
    };
    pool.iter().map(one).max().unwrap_or(0) * wanted as u64
}

/// The examples of every instance, in their order.
pub fn of_all(
    recipe: &Recipe,
    seed: &Seed,
    instances: &[Instance],
    pool: &Pool,
    score: impl Fn(usize, SourceTask, usize) -> i32 + Sync,
) -> Result<Vec<Vec<Example>>> {
    let wanted = recipe.prompt.worked();
    let of = |(index, instance): (usize, &Instance)| match pool.get(&instance.source_task()) {
        Some(pool) => choose(seed, &instance.id, pool, wanted, |n| score(index, instance.source_task(), n)),
        None => Vec::new(),
    };
    Ok(instances.par_iter().enumerate().map(of).collect())
}
