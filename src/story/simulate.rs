//! Fresh stories, each drawn alone from its own seed.

use super::answerers::{Mentions, guesses};
use super::invent;
use super::tables;
use super::walk::{Vocabulary, walk};
use super::{ANSWERERS, Answer, Direction, Fact, MOTIVATED_PLACES, Question, Solution, SourceTask, Story};
use crate::language::{ANIMALS, COLOURS, MOTIVES, STORY_ACTORS, STORY_OBJECTS, STORY_PLACES};
use crate::seed::{Rng, Seed};
use serde::{Deserialize, Serialize};

/// How the answers of a build are spread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerSpread {
    /// Labels as even as the task allows, and trivial answerers held at chance.
    Balanced,
    /// bAbI's own vocabulary and spread of labels.
    Official,
}

/// The labels a task can have, with their weights.
pub fn labels(task: SourceTask, spread: AnswerSpread) -> Vec<(Answer, u32)> {
    if spread == AnswerSpread::Official {
        return tables::official(task);
    }
    let all: Vec<Answer> = match task.number() {
        1..=4 | 11..=14 => (0..STORY_PLACES as u8).map(Answer::Place).collect(),
        5 => {
            let actors = (0..STORY_ACTORS as u8).map(Answer::Actor);
            actors.chain((0..STORY_OBJECTS as u8).map(Answer::Object)).collect()
        }
        6 | 9 | 17 | 18 => vec![Answer::Yes, Answer::No],
        15 => (0..ANIMALS.len() as u8).map(Answer::Animal).collect(),
        16 => (0..COLOURS.len() as u8).map(Answer::Colour).collect(),
        19 => tables::ways(),
        // Two motives lead to one place.
        20 => {
            let mut places = MOTIVATED_PLACES.to_vec();
            places.sort_unstable();
            places.dedup();
            let motives = (0..MOTIVES.len() as u8).map(Answer::Motive);
            places.into_iter().map(Answer::Place).chain(motives).collect()
        }
        7 => (0..4).map(Answer::Count).collect(),
        // Every set of up to three of the four objects.
        8 => (0..1u64 << STORY_OBJECTS).filter(|s| s.count_ones() <= 3).map(Answer::Objects).collect(),
        _ => vec![Answer::Yes, Answer::No, Answer::Maybe],
    };
    all.into_iter().map(|answer| (answer, 1)).collect()
}

/// The label of instance `n`: balanced labels come in seeded blocks that hold each label once.
fn label(task: SourceTask, spread: AnswerSpread, n: usize, seed: &Seed, rng: &mut Rng) -> Answer {
    let mut all = labels(task, spread);
    match spread {
        AnswerSpread::Official => {
            let weights: Vec<u32> = all.iter().map(|(_, weight)| *weight).collect();
            all[rng.weighted(&weights)].0
        }
        AnswerSpread::Balanced => {
            let block = n / all.len();
            seed.derive("labels", &format!("{task}/{block}")).shuffle(&mut all);
            all[n % all.len()].0
        }
    }
}

/// Walks of one length that are tried with all wishes, then with as many of them as short stories can
/// grant, then with none (never without the label), before another length is drawn. So the lengths
/// stay bAbI's wherever the label allows.
const WALKS: usize = 300;

/// Lengths that are tried before the task is given up.
const LENGTHS: usize = 400;

/// The story of instance `n` of a task; none where no candidate is admitted.
///
/// `admit` says whether a candidate may be an instance (the solver already says that it has one answer).
pub fn simulate(
    task: SourceTask,
    n: usize,
    spread: AnswerSpread,
    seed: &Seed,
    mut admit: impl FnMut(&Story) -> bool,
) -> Option<Story> {
    let mut rng = seed.derive("simulate", &format!("{task}/{n}"));
    let gold = label(task, spread, n, seed, &mut rng);
    let wishes = wishes(task, n, spread, seed);
    let fewer = fewer(task, gold, &wishes, &mut rng);
    for _ in 0..LENGTHS {
        let mut length = rng.pick(tables::lengths(task)) as usize;
        // Of two facts the second, with its pronoun, gives the answer away: they are half as many as in bAbI.
        if matches!(task.number(), 11 | 13) && spread == AnswerSpread::Balanced && length == 2 && rng.chance(1, 2) {
            length = 4;
        }
        for walked in 0..3 * WALKS {
            let words = vocabulary(task, spread, &mut rng);
            let (facts, mut questions) = match task.is_late() {
                false => {
                    let facts = walk(task, &words, length, &mut rng);
                    let questions = questions(task, &words, &facts);
                    (facts, questions)
                }
                true => {
                    let facts = invent::facts(task, spread, &words, length, &mut rng);
                    let questions = invent::questions(task, &words, &facts);
                    (facts, questions)
                }
            };
            rng.shuffle(&mut questions);
            let story = questions.into_iter().find_map(|question| {
                // Only the solver's answer decides; the walk's hidden state is never the gold.
                let story = Story { task, facts: facts.clone(), question };
                let solved = matches!(story.solve(), Solution::Unique { answer, .. } if answer == gold);
                let granted = match walked / WALKS {
                    0 => grants(&story, gold, &wishes),
                    1 => grants(&story, gold, &fewer),
                    _ => true,
                };
                (solved && granted).then_some(story)
            });
            if let Some(story) = story {
                if admit(&story) {
                    return Some(story);
                }
                // A story that is too long for its smallest length: another length.
                break;
            }
        }
    }
    None
}

/// What each trivial answerer should do with this instance; none where it may do as it likes.
///
/// Under yes/no/maybe questions a wish says whether the answerer should say yes, drawn without regard
/// to the gold; under all others whether it should hit the gold.
type Wishes = [Option<bool>; ANSWERERS.len()];

/// Draws the wishes so that each answerer is right as often as chance over many instances.
///
/// The shortest stories leave an answerer little to miss: in two facts of qa1 the gold is in the
/// first or in the last. So that the whole comes out at chance, the others are hit less often: by
/// this share of chance, in percent, fitted over builds of 2,000 stories a task.
fn wishes(task: SourceTask, n: usize, spread: AnswerSpread, seed: &Seed) -> Wishes {
    let mut wishes = [None; ANSWERERS.len()];
    if spread == AnswerSpread::Official {
        return wishes;
    }
    let answers = labels(task, spread).len();
    let says_yes = match task.number() {
        // Last place, most frequent place, last object, last person, objects named, first fact, asked place.
        6 | 9 | 10 => Some([40, 50, 0, 0, 0, 40, 100]),
        _ => None,
    };
    // Most frequent candidate, last object and first fact have these places among the answerers.
    let percent = |answerer: usize| match (task.number(), answerer) {
        (1 | 11..=13, _) => 12,
        (5, 1) => 30,
        (5, 2) => 0,
        (5, 5) => 40,
        (7, _) => 40,
        (8, 5) => 30,
        _ => 100,
    };
    // The last answerer, the rarest candidate, depends on the distractors and is left alone.
    for (j, wish) in wishes[..ANSWERERS.len() - 1].iter_mut().enumerate() {
        let (numerator, denominator) = match says_yes {
            Some(percents) => (percents[j], 100),
            None => (percent(j), 100 * answers),
        };
        *wish = Some(share(n, numerator, denominator, |block| {
            seed.derive("wishes", &format!("{task}/{}/{block}", ANSWERERS[j]))
        }));
    }
    wishes
}

/// Is instance `n` one of the given share? Blocks of [`BLOCK`] instances hold that share of it in a seeded
/// order, so that small builds come out even too.
fn share(n: usize, numerator: usize, denominator: usize, rng: impl Fn(usize) -> Rng) -> bool {
    let mut order: Vec<usize> = (0..BLOCK).collect();
    rng(n / BLOCK).shuffle(&mut order);
    let k = order[n % BLOCK];
    (k + 1) * numerator / denominator > k * numerator / denominator
}

const BLOCK: usize = 90;

/// The wishes that stay where not all can be granted: under yes/no questions that the asked place is
/// named, under all others one of them by lot, so that what a short story must give away goes to each answerer alike.
fn fewer(task: SourceTask, gold: Answer, wishes: &Wishes, rng: &mut Rng) -> Wishes {
    let keep = match task.number() {
        6 | 9 | 10 => ANSWERERS.len() - 2,
        1..=4 | 11..=14 => rng.pick(&[0, 5]),
        5 if matches!(gold, Answer::Object(_)) => 2,
        _ => rng.below(ANSWERERS.len() - 1),
    };
    let mut fewer = [None; ANSWERERS.len()];
    fewer[keep] = wishes[keep];
    fewer
}

fn grants(story: &Story, gold: Answer, wishes: &Wishes) -> bool {
    let asks_whether = matches!(story.question, Question::IsIn { .. });
    guesses(story, &Mentions::default()).iter().zip(wishes).all(|(guess, wish)| match (guess, wish) {
        (Some(guess), Some(wish)) if asks_whether => guess.contains(&Answer::Yes) == *wish,
        (Some(guess), Some(wish)) => guess.contains(&gold) == *wish,
        _ => true,
    })
}

fn vocabulary(task: SourceTask, spread: AnswerSpread, rng: &mut Rng) -> Vocabulary {
    let own = invent::actors(task, spread, rng);
    let mut words = usual_vocabulary(task, spread, rng);
    if let Some(own) = own {
        words.actors = own;
    }
    words
}

fn usual_vocabulary(task: SourceTask, spread: AnswerSpread, rng: &mut Rng) -> Vocabulary {
    if spread == AnswerSpread::Official {
        let (actors, places, objects) = tables::vocabulary(task);
        let mut places = places.to_vec();
        if task.number() == 19 {
            // The map begins with the first place.
            rng.shuffle(&mut places);
        }
        return Vocabulary { actors: actors.to_vec(), places, objects: objects.to_vec() };
    }
    let some = |all: usize, n: usize, rng: &mut Rng| {
        let mut all: Vec<u8> = (0..all as u8).collect();
        rng.shuffle(&mut all);
        all.truncate(n);
        all
    };
    let objects = if matches!(task.number(), 7 | 8) { STORY_OBJECTS } else { 3 };
    Vocabulary {
        actors: some(STORY_ACTORS, 4, rng),
        places: some(STORY_PLACES, 6, rng),
        objects: some(STORY_OBJECTS, objects, rng),
    }
}

/// The questions that the task asks of a story, as far as its facts mention what they are about.
fn questions(task: SourceTask, words: &Vocabulary, facts: &[Fact]) -> Vec<Question> {
    let mut all = Vec::new();
    let mentioned = |wanted: (crate::language::Kind, u8)| {
        facts.iter().any(|fact| super::answerers::named(*fact).any(|entity| entity == wanted))
    };
    use crate::language::Kind;
    let actors = || words.actors.iter().copied().filter(|a| mentioned((Kind::Actor, *a)));
    let objects = || words.objects.iter().copied().filter(|o| mentioned((Kind::Object, *o)));
    match task.number() {
        1 => all.extend(actors().map(|actor| Question::WhereActor { actor })),
        2 => all.extend(objects().map(|object| Question::WhereObject { object })),
        3 => {
            for object in objects() {
                all.extend(words.places.iter().map(|&place| Question::WhereBefore { object, place }));
            }
        }
        4 => {
            for &place in &words.places {
                for direction in Direction::ALL {
                    all.push(Question::WhatIs { direction, of: place });
                    all.push(Question::WhatIsOf { direction, place });
                }
            }
        }
        5 => {
            for fact in facts {
                if let Fact::Give { actor, to, object, .. } = *fact {
                    all.extend([
                        Question::WhatGave { actor, to },
                        Question::WhoGave { object },
                        Question::WhomGave { actor, object },
                        Question::WhoReceived { object },
                        Question::WhoGaveTo { object, to },
                    ]);
                }
            }
            all.sort();
            all.dedup();
        }
        6 | 9 | 10 => {
            for actor in actors() {
                all.extend(words.places.iter().map(|&place| Question::IsIn { actor, place }));
            }
        }
        7 => all.extend(actors().map(|actor| Question::HowMany { actor })),
        _ => all.extend(actors().map(|actor| Question::Carrying { actor })),
    }
    all
}
