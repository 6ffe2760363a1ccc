//! Ranks the pool for each instance: most similar first, by integer scores, ties by passage number.

use crate::embedder::dot;
use crate::error::{Error, Result};
use crate::language::{Kind, PATTERNS, STORY_PLACES, Slot};
use crate::plan::Plan;
use crate::recipe::{Query, Variant};
use crate::record::{Instance, LocalPool, Passage};
use crate::stage::embed::Vectors;
use crate::story::named;

/// Raised when this stage ranks otherwise with the same vectors.
pub const VERSION: u32 = 2;

/// What ranking needs of one language.
pub struct Side<'a> {
    /// The pool's texts and token counts.
    pub pool: &'a LocalPool,
    /// The pool's vectors.
    pub vectors: &'a Vectors,
}

/// The text that is compared with the passages.
pub fn query(instance: &Instance, pack: &crate::language::Pack, query: Query) -> String {
    let mut text: String = instance.story.facts.iter().map(|fact| pack.sentence(fact.message()) + "\n").collect();
    if query == Query::StoryAndQuestion {
        text += &pack.sentence(instance.story.question.message());
    }
    text
}

/// Which passages may be distractors of an instance. This depends on the story and its vocabulary,
/// never on the gold.
pub fn allowed(instance: &Instance, passages: &[Passage], variant: Variant) -> Vec<bool> {
    let story = &instance.story;
    let relations = matches!(story.task.number(), 4 | 19);
    let actions: Vec<usize> = story.facts.iter().filter_map(|f| action(f.message().pattern)).collect();
    let objects: Vec<u8> =
        story.facts.iter().flat_map(|f| named(*f)).filter(|(kind, _)| *kind == Kind::Object).map(|(_, o)| o).collect();
    let fine = |passage: &Passage| {
        let messages = || passage.sentences.iter();
        // Under qa4 and qa19 the places are the puzzle: none of the stories' own is named beside it.
        let places_fine = !relations
            || messages().all(|m| {
                let name = &PATTERNS[m.pattern as usize];
                [Slot::P, Slot::Q].iter().all(|s| !name.has(*s) || m.slots[s.index()] as usize >= STORY_PLACES)
            });
        let variant_fine = match variant {
            Variant::Unconstrained => true,
            // Some tasks tell of no such action, so any will do there.
            Variant::SameAction => {
                actions.is_empty()
                    || messages().all(|m| action(m.pattern).is_none_or(|a| a == MOVES || actions.contains(&a)))
            }
            // A story without objects has none to keep.
            Variant::SameObject => {
                objects.is_empty()
                    || messages().all(|m| {
                        !PATTERNS[m.pattern as usize].has(Slot::O) || objects.contains(&m.slots[Slot::O.index()])
                    })
            }
        };
        places_fine && variant_fine
    };
    passages.iter().map(fine).collect()
}

/// The kind of event a pattern tells of, by its place in this list; none for fillers, scenes and relations.
fn action(pattern: u8) -> Option<usize> {
    let name = &PATTERNS[pattern as usize];
    if matches!(name.key, "pair" | "then" | "at_time" | "time_first") {
        return Some(MOVES);
    }
    ["move", "take", "drop", "give", "is_in", "not_in", "no_longer", "either"]
        .iter()
        .position(|key| name.section == "facts" && name.key.trim_end_matches("_there") == *key)
}

/// [`action`] of a move.
const MOVES: usize = 0;

/// The passages by descending score, as many as the largest length can hold in any of the languages.
///
/// `queries` are the query vectors, one a side. Scores are summed over the sides, so one side gives a
/// language's own ranking and all give the pivoted one.
pub fn rank(
    plan: &Plan,
    instance: &Instance,
    sides: &[Side<'_>],
    queries: &[Vec<i8>],
    allowed: &[bool],
) -> Result<Vec<u32>> {
    let size = allowed.len();
    let score =
        |n: usize| -> i32 { sides.iter().zip(queries).map(|(side, query)| dot(side.vectors.of(n), query)).sum() };
    let mut order: Vec<(std::cmp::Reverse<i32>, u32)> =
        (0..size).filter(|n| allowed[*n]).map(|n| (std::cmp::Reverse(score(n)), n as u32)).collect();
    let need = plan.recipe.budget.tokens(plan.largest());
    let mut sorted = 0;
    loop {
        // Sort a longer and longer head until it holds more than the largest length in every language.
        let next = (sorted * 2).max(512).min(order.len());
        if next < order.len() {
            order[sorted..].select_nth_unstable(next - sorted);
        }
        order[sorted..next].sort_unstable();
        sorted = next;
        let held = |side: &Side<'_>| -> u64 {
            order[..sorted].iter().map(|(_, n)| u64::from(side.pool.tokens[*n as usize])).sum()
        };
        let least = sides.iter().map(held).min().unwrap_or(0);
        if least > need {
            return Ok(order[..sorted].iter().map(|(_, n)| *n).collect());
        }
        if sorted == order.len() {
            return Err(Error::new(format!(
                "the pool runs out: its {sorted} passages that may stand beside {} hold {least} tokens, {} needs {need}",
                instance.id,
                plan.largest()
            ))
            .help("raise distractors.pool (of natural passages: give a larger collection), or leave out the longest lengths"));
        }
    }
}
