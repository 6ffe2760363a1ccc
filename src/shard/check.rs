//! Whether a build from a narrowed collection is the build from all of it.
//!
//! A build chooses questions, and takes the head of each one's ranking. Both are the same from the narrowed collection if every question
//! that it chooses was searched for, none is refused for want of passages, and every list reaches beyond what the build takes.
//!
//! All of it is what was searched. How many passages that is, lists do not say: where it is more than `haystack.sample`, a build that
//! reads the collection itself draws a sample of it, and is another one.

use super::apart::Asked;
use super::embed::Embedder;
use super::topk::Lists;
use super::{EMBEDDER, QUESTIONS};
use crate::error::{Error, Result};
use crate::fail;
use crate::index::{EXACT_UP_TO, Engine};
use crate::plan::Plan;
use crate::recipe::Ranking;
use crate::source::collection::number;
use crate::source::locate::Locator;
use crate::stage::counter::Counter;
use crate::stage::rank::{Ranker, engine};
use crate::stage::{haystack, questions};
use std::collections::BTreeMap;

/// What was checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Checked {
    /// Questions that the build takes.
    pub questions: usize,
    /// Passages of the narrowed collection.
    pub passages: usize,
}

/// Checks a narrowed collection, which the plan reads, against the lists by which it was narrowed.
///
/// # Errors
///
/// The first question whose prompts might differ; lists of other questions or of another embedder; a recipe that ranks each language for
/// itself, all passages, or with the approximate engine.
pub fn check(plan: &Plan, lists: &Lists) -> Result<Checked> {
    if plan.recipe.retrieval.ranking != Ranking::Pivot {
        fail!(
            "the lists are of all languages at once: a recipe with retrieval.ranking = \"per_language\" is not built from them"
        );
    }
    // No build of the recipe ranks more passages than it draws.
    if engine(plan, plan.recipe.haystack.sample as usize) != Engine::Exact {
        return Err(Error::new("the build ranks by the approximate engine, and the lists are exact").help(format!(
            "set retrieval.engine = \"exact\"; \"auto\" is exact where haystack.sample is at most {EXACT_UP_TO}"
        )));
    }
    let asked = Asked::read(plan)?;
    if lists.said.get(QUESTIONS).is_some_and(|said| *said != asked.digest.to_string()) {
        return Err(Error::new("the lists are of other questions than the recipe's")
            .help("write the questions again with `worker questions`, and search for them"));
    }
    if let Some(said) = lists.said.get(EMBEDDER)
        && *said != Embedder::of(plan)?.identity.to_string()
    {
        return Err(Error::new("the lists are of vectors of another embedder than the recipe's")
            .help("embed queries and passages with --recipe, with the model and the runtime of the build"));
    }
    let k = lists.k()?;
    let read = &asked.questions;
    let haystack = haystack::read(plan, &Locator::new(plan)?)?;
    let counters = Counter::all(plan, &haystack)?;
    let chosen = questions::choose(plan, read, &haystack, &counters)?;
    if let Some((reason, n)) = chosen.refused.iter().find(|(reason, _)| reason.starts_with(questions::TOO_FEW)) {
        return Err(Error::new(format!("{n} questions are refused {reason}, which the whole collection may fill"))
            .help("search for all questions, and with a larger -k"));
    }
    let mut places: BTreeMap<u32, u32> = BTreeMap::new();
    for (place, id) in (0u32..).zip(&haystack.ids) {
        let Some(number) = number(id.as_bytes()) else { fail!("passage {id:?} of the collection is no number") };
        places.insert(number, place);
    }
    let numbers: BTreeMap<&str, u32> = (0u32..).zip(read.joined()).map(|(n, (id, _))| (id.as_str(), n)).collect();
    let none = (BTreeMap::new(), BTreeMap::new());
    let ranker = Ranker {
        plan,
        instances: &chosen.instances,
        apart: &chosen.apart,
        counter: &counters[0],
        haystack: &haystack,
        passages: &none.0,
        questions: &none.1,
    };
    for (n, instance) in chosen.instances.iter().enumerate() {
        let number = numbers[instance.source_id.as_str()];
        let Some(list) = lists.lists.get(&number) else {
            return Err(Error::new(format!("question {number} ({}) was not searched for", instance.source_id))
                .help("write more questions with `worker questions`, and search for those"));
        };
        let mut nearest = Vec::with_capacity(list.len());
        for (_, passage) in list {
            let Some(place) = places.get(passage) else {
                return Err(Error::new(format!(
                    "passage {passage} of the list of question {number} is not in the collection"
                ))
                .help("the collection must be narrowed by these lists, in every language of the recipe"));
            };
            nearest.push(*place);
        }
        // A list with room left holds every passage that there is.
        if list.len() >= k && !ranker.is_enough(n, &nearest) {
            let largest = plan.largest();
            return Err(Error::new(format!("the list of question {number} may end before the build does at {largest}"))
                .help(format!("search with -k beyond {k}; a recipe with existence prompts ranks all passages, and is built from a whole collection")));
        }
    }
    Ok(Checked { questions: chosen.instances.len(), passages: haystack.ids.len() })
}
