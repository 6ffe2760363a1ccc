//! Decides which candidates become instances, each alone, and in which fixed order they stand.

use super::assemble::Sizes;
use super::ingest::Ingested;
use crate::error::{Error, Result};
use crate::family::reasoning::LocalStory;
use crate::language::{Kind, Pack};
use crate::plan::{FilePlan, Plan, Voice};
use crate::recipe::{Length, Recipe, SourceKind, Strategy, Task};
use crate::record::Instance;
use crate::seed::Seed;
use crate::stage::examples::{Pool, longest};
use crate::story::{Answer, Fact, Solution, SourceTask, Story, named, simulate};
use crate::tokenizer::Tokenizer;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Raised when this stage selects other instances from the same input.
pub const VERSION: u32 = 1;

/// The instances of a build, and what was refused on the way.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Selected {
    /// In the fixed order.
    pub instances: Vec<Instance>,
    /// Refused candidates, by source task and reason.
    pub refused: BTreeMap<SourceTask, BTreeMap<String, u32>>,
    /// Lengths at which a source task begins later than the grid does (bAbI's long stories).
    pub starts: BTreeMap<SourceTask, Length>,
}

/// Selects the instances of a plan.
pub fn select(plan: &Plan, ingested: &Ingested, pool: &Pool) -> Result<Selected> {
    let room = Room::new(plan, pool);
    let order = order_of(&plan.recipe, &plan.counts, plan.instances() as usize);
    let order = order.as_slice();
    match plan.recipe.source.kind {
        SourceKind::Simulate => simulated(plan, &room, order),
        SourceKind::Babi | SourceKind::Released => official(plan, &room, ingested, order),
        SourceKind::Squad | SourceKind::Text => Err(Error::new("questions about passages are no stories")),
    }
}

/// The first so many instances of the fixed order, in that order; those of the released files in theirs, task after task.
pub fn order_of(recipe: &Recipe, counts: &[(Task, SourceTask, u32)], limit: usize) -> Vec<(Task, SourceTask, u32)> {
    let mut order = fixed_order(counts);
    order.truncate(limit);
    if recipe.source.kind == SourceKind::Released {
        order.sort_by_key(|(_, source, n)| (*source, *n));
    }
    order
}

/// The fixed order: each prefix holds each task, and each source task of a task, within one row of
/// its share. Items are (task, source task, number within the source task).
pub fn fixed_order(counts: &[(Task, SourceTask, u32)]) -> Vec<(Task, SourceTask, u32)> {
    let tasks: Vec<u32> =
        Task::ALL.iter().map(|task| counts.iter().filter(|c| c.0 == *task).map(|c| c.2).sum()).collect();
    let mut within: Vec<std::vec::IntoIter<usize>> = Task::ALL
        .iter()
        .map(|task| {
            let sources: Vec<u32> = counts.iter().filter(|c| c.0 == *task).map(|c| c.2).collect();
            chairs(&sources).into_iter()
        })
        .collect();
    let mut next: BTreeMap<SourceTask, u32> = BTreeMap::new();
    chairs(&tasks)
        .into_iter()
        .map(|t| {
            let source = within[t].next().expect("as many as the task has instances");
            let source = counts.iter().filter(|c| c.0 == Task::ALL[t]).nth(source).expect("a source of the task").1;
            let n = next.entry(source).or_default();
            *n += 1;
            (Task::ALL[t], source, *n - 1)
        })
        .collect()
}

/// Interleaves groups of these sizes so that each prefix holds each group within one of its share
/// (R. Tijdeman, The chairman assignment problem, 1980): of the groups whose lag is large enough to allow
/// it, the one whose next turn is due first.
fn chairs(sizes: &[u32]) -> Vec<usize> {
    let total: i64 = sizes.iter().map(|n| i64::from(*n)).sum();
    let groups = sizes.iter().filter(|n| **n > 0).count() as i64;
    let mut taken = vec![0i64; sizes.len()];
    let mut order = Vec::with_capacity(total as usize);
    for turn in 1..=total {
        // With share s = size / total: a group may be taken if s * turn - taken >= 1 / (2 groups - 2), and
        // is due when s * t - taken reaches 1 - 1 / (2 groups - 2). All times total * (2 groups - 2).
        let fine = (2 * groups - 2).max(1);
        let slack = if groups > 1 { total } else { 0 };
        let lag = |g: usize| fine * (i64::from(sizes[g]) * turn - total * taken[g]);
        let due = |g: usize| (fine * total * (taken[g] + 1) - slack, i64::from(sizes[g]));
        let open = (0..sizes.len()).filter(|&g| taken[g] < i64::from(sizes[g]) && lag(g) >= slack);
        // due(g).0 / due(g).1, compared without division; ties go to the first group.
        let best = open.min_by(|&a, &b| (due(a).0 * due(b).1).cmp(&(due(b).0 * due(a).1)));
        let best = best.expect("the lags sum to one turn, so some group is open");
        taken[best] += 1;
        order.push(best);
    }
    order
}

/// What stories must leave room for, by voice, source task and bounding tokenizer: the longest worked examples.
pub struct Room {
    /// Every voice of the plan.
    voices: Vec<Voice>,
    kept: BTreeMap<(Voice, SourceTask), Vec<u64>>,
}

impl Room {
    /// The room that a plan's examples need.
    pub fn new(plan: &Plan, pool: &Pool) -> Room {
        let wanted = plan.recipe.prompt.worked();
        let voices = voices(&plan.grid);
        let all: Vec<(Voice, SourceTask)> = voices
            .iter()
            .copied()
            .filter(|(.., strategy)| *strategy == Strategy::FewShot)
            .flat_map(|voice| pool.keys().map(move |task| (voice, *task)))
            .collect();
        let of = |&(voice, task): &(Voice, SourceTask)| {
            let count = |tokenizer: &Tokenizer| {
                longest(&pool[&task], wanted, |examples| {
                    let local = LocalStory::new(&examples[0].story, &plan.voices(voice), examples);
                    // Examples are lines of their own behind the context.
                    tokenizer.count_line(&local.tail) as u64
                })
            };
            ((voice, task), plan.ledger.bounding().iter().map(count).collect())
        };
        Room { kept: all.par_iter().map(of).collect(), voices }
    }
}

/// Every voice of these files, once.
pub fn voices(files: &[FilePlan]) -> Vec<Voice> {
    let mut all: Vec<Voice> = files.iter().map(FilePlan::voice).collect();
    all.sort();
    all.dedup();
    all
}

/// Can every language tell and ask it? Machine translation may have failed for a sentence.
fn is_told(plan: &Plan, story: &Story) -> bool {
    plan.packs.iter().all(|(_, pack)| tells(pack, story))
}

/// Can a pack tell and ask a story, and has it a word for whatever an answer may name?
pub fn tells(pack: &Pack, story: &Story) -> bool {
    let named = |fact: &Fact| {
        named(*fact).all(|(kind, n)| {
            matches!(kind, Kind::Link | Kind::Pronoun | Kind::Time | Kind::Shape | Kind::Container)
                || !pack.citation(kind, n).is_empty()
        })
    };
    pack.can_write(story.question.message())
        && story.facts.iter().all(|fact| pack.can_write(fact.message()) && named(fact))
}

/// The longest head-to-tail count of a story over the recipe's voices must fit the length.
fn fits(plan: &Plan, room: &Room, story: &Story, length: Length) -> bool {
    room.voices.iter().all(|&voice| {
        let Some(budget) = plan.budget(length, voice.2) else { return true };
        let local = LocalStory::new(story, &plan.voices(voice), &[]);
        let kept = room.kept.get(&(voice, story.task));
        plan.ledger.bounding().iter().enumerate().all(|(n, tokenizer)| {
            let kept = kept.map_or(0, |tokens| tokens[n]);
            u64::from(Sizes::of(&local, plan, tokenizer).fixed_tokens) + kept <= budget
        })
    })
}

fn simulated(plan: &Plan, room: &Room, order: &[(Task, SourceTask, u32)]) -> Result<Selected> {
    let smallest = plan.smallest();
    let made: Vec<(Option<Story>, u32, bool)> = order
        .par_iter()
        .map(|&(_, task, n)| {
            let (mut too_long, mut untold) = (0, false);
            let story = simulate(task, n as usize, plan.recipe.stories.answers, &plan.seed, |story| {
                if !is_told(plan, story) {
                    untold = true;
                    return false;
                }
                let ok = smallest.is_none_or(|length| fits(plan, room, story, length));
                too_long += u32::from(!ok);
                ok
            });
            (story, too_long, untold)
        })
        .collect();
    let mut selected = Selected::default();
    for (&(task, source, n), (story, too_long, untold)) in order.iter().zip(made) {
        if too_long > 0 {
            let reason = format!("does not fit {}", smallest.expect("only a length refuses"));
            *selected.refused.entry(source).or_default().entry(reason).or_default() += too_long;
        }
        let story = story.ok_or_else(|| match untold && too_long == 0 {
            true => untellable(plan, source),
            false => no_story(plan, source, smallest),
        })?;
        selected.instances.push(instance(plan, task, source, n, story, None)?);
    }
    Ok(selected)
}

fn untellable(plan: &Plan, task: SourceTask) -> Error {
    let made: Vec<&str> = plan.packs.iter().filter(|(_, p)| p.is_translated()).map(|(_, p)| p.code()).collect();
    let languages = made.join(", ");
    Error::new(format!("no story of {task} can be told in every language: translation dropped what it needs in {languages}"))
        .help("a name of a place, object or answer may be missing: raise translation.attempts, ask another service, or leave the task out")
}

fn no_story(plan: &Plan, task: SourceTask, smallest: Option<Length>) -> Error {
    let reserve = plan.recipe.prompt.strategies.iter().map(|s| plan.recipe.budget.reserve(*s)).max().unwrap_or(0);
    match smallest {
        Some(length) => Error::new(format!(
            "no story of {task} fits {length} ({} tokens less {reserve} for answer and template) in every language",
            plan.recipe.budget.tokens(length)
        ))
        .help("leave out that length, raise budget.unit, or lower budget.answer"),
        None => Error::new(format!("no story of {task} could be drawn")),
    }
}

fn instance(
    plan: &Plan,
    task: Task,
    source: SourceTask,
    n: u32,
    story: Story,
    source_id: Option<String>,
) -> Result<Instance> {
    let id = format!("{source}-{n:05}");
    let Solution::Unique { answer, support } = story.solve() else {
        return Err(Error::new(format!("instance {id} has no single answer after it was admitted")));
    };
    let depths = depths(&plan.seed, &id, &story.facts);
    let support = support.into_iter().map(|i| i as u32).collect();
    Ok(Instance { id, task, story, answer, support, depths, source_id })
}

/// The depths of an instance's facts, in millionths, ascending: drawn once, used in every language and length. A fact
/// with a pronoun stands right behind the one that says whom it means.
pub fn depths(seed: &Seed, id: &str, facts: &[Fact]) -> Vec<u32> {
    let mut rng = seed.derive("slots", id);
    let mut depths: Vec<u32> = facts.iter().map(|_| rng.below(1_000_001) as u32).collect();
    depths.sort_unstable();
    for n in 1..facts.len() {
        if facts[n].leans() {
            depths[n] = depths[n - 1];
        }
    }
    depths
}

/// bAbI's own questions: each is admitted alone, in a seeded order (those of the released files in theirs); the n-th
/// admitted is instance n.
fn official(plan: &Plan, room: &Room, ingested: &Ingested, order: &[(Task, SourceTask, u32)]) -> Result<Selected> {
    let mut selected = Selected::default();
    let mut admitted: BTreeMap<SourceTask, Vec<(Story, String)>> = BTreeMap::new();
    for &(_, task, wanted) in &plan.counts {
        if wanted == 0 {
            continue;
        }
        let items = ingested.babi.get(&task).map(Vec::as_slice).unwrap_or_default();
        let verdicts: Vec<Option<&'static str>> =
            items.par_iter().map(|(_, item)| judge(&item.story, item.label)).collect();
        let sound: Vec<usize> = (0..items.len()).filter(|&i| verdicts[i].is_none()).collect();
        let refused = selected.refused.entry(task).or_default();
        for reason in verdicts.iter().flatten() {
            *refused.entry((*reason).to_owned()).or_default() += 1;
        }
        let (sound, untold): (Vec<usize>, Vec<usize>) =
            sound.into_iter().partition(|i| is_told(plan, &items[*i].1.story));
        if !untold.is_empty() {
            *refused.entry("not translated".to_owned()).or_default() += untold.len() as u32;
        }
        // A task that would lose more than 1% of its sound stories to the smallest length begins at the next one instead.
        let mut lengths = plan.recipe.grid.lengths.clone();
        lengths.retain(|l| l.0 > 0);
        lengths.sort_unstable();
        let mut kept = sound.clone();
        for (i, &length) in lengths.iter().enumerate() {
            let fit: Vec<bool> = sound.par_iter().map(|&i| fits(plan, room, &items[i].1.story, length)).collect();
            let lost = fit.iter().filter(|f| !**f).count();
            if lost * 100 > sound.len() && i + 1 < lengths.len() {
                continue;
            }
            if lost > 0 {
                *refused.entry(format!("does not fit {length}")).or_default() += lost as u32;
            }
            if i > 0 {
                selected.starts.insert(task, length);
            }
            kept = sound.iter().zip(&fit).filter(|(_, fit)| **fit).map(|(i, _)| *i).collect();
            break;
        }
        if plan.recipe.source.kind == SourceKind::Babi {
            plan.seed.derive("select", &task.to_string()).shuffle(&mut kept);
        }
        if kept.len() < wanted as usize {
            let reasons: Vec<String> = refused.iter().map(|(reason, n)| format!("{n} {reason}")).collect();
            return Err(Error::new(format!(
                "{task} has {} usable questions of {}, the recipe wants {wanted} (refused: {})",
                kept.len(),
                items.len(),
                reasons.join(", ")
            ))
            .help("ask for fewer, or add a split to source.splits"));
        }
        let stories = kept.iter().map(|&i| (items[i].1.story.clone(), format!("{}:{}", items[i].0, items[i].1.line)));
        admitted.insert(task, stories.collect());
    }
    selected.refused.retain(|_, reasons| !reasons.is_empty());
    for &(task, source, n) in order {
        let (story, id) = admitted[&source][n as usize].clone();
        selected.instances.push(instance(plan, task, source, n, story, Some(id))?);
    }
    Ok(selected)
}

/// Why a bAbI question cannot be an instance; none if it can.
pub fn judge(story: &Story, label: Option<Answer>) -> Option<&'static str> {
    match story.solve() {
        Solution::Faulty(fault) => Some(fault.name()),
        Solution::Unique { answer, .. } if Some(answer) != label => Some("label is not what the facts say"),
        Solution::Unique { .. } if story.facts.iter().any(|f| matches!(f, Fact::Idle(_))) => Some("holds a filler"),
        Solution::Unique { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_prefix_keeps_the_shares() {
        for sizes in [
            vec![200, 200, 200, 100, 100, 100, 100],
            vec![4, 4, 4, 2, 2, 2, 2],
            vec![1, 97, 3, 0, 50],
            vec![5],
            vec![7, 1],
        ] {
            let order = chairs(&sizes);
            let total: i64 = sizes.iter().map(|n| i64::from(*n)).sum();
            assert_eq!(order.len() as i64, total);
            for prefix in 1..=order.len() {
                for (group, size) in sizes.iter().enumerate() {
                    let taken = order[..prefix].iter().filter(|g| **g == group).count() as i64;
                    let share = i64::from(*size) * prefix as i64;
                    assert!(
                        (taken * total - share).abs() < total,
                        "{sizes:?}, first {prefix}: group {group} has {taken}"
                    );
                }
            }
        }
    }
}
