//! Draws stories of qa11-qa20 and the questions that they can be asked.

use super::walk::Vocabulary;
use super::{AnswerSpread, Direction, Fact, MOTIVATED_OBJECTS, MOTIVATED_PLACES, Question, Side, SourceTask};
use crate::language::{
    ACTORS, ANIMALS, COLOURS, CONTAINERS, FURTHER, MOTIVATED, MOTIVES, SHAPES, STORY_ACTORS, TIMES, pronoun,
};
use crate::seed::Rng;

/// Actors of a task that has others than qa1-qa10: bAbI's own under its own spread.
pub(super) fn actors(task: SourceTask, spread: AnswerSpread, rng: &mut Rng) -> Option<Vec<u8>> {
    let official = spread == AnswerSpread::Official;
    let further = FURTHER as u8;
    let (from, n): (Vec<u8>, usize) = match task.number() {
        15 if official => ((further..further + 4).collect(), 4),
        16 if official => ((further + 4..further + 9).collect(), 5),
        15 => ((further..MOTIVATED as u8).collect(), 4),
        16 => ((further..MOTIVATED as u8).collect(), 5),
        20 if official => ((MOTIVATED as u8..ACTORS as u8).collect(), 4),
        20 => ((0..STORY_ACTORS as u8).chain(MOTIVATED as u8..ACTORS as u8).collect(), 4),
        _ => return None,
    };
    Some(some(from, n, rng))
}

/// `n` of these, in a drawn order.
fn some(mut all: Vec<u8>, n: usize, rng: &mut Rng) -> Vec<u8> {
    rng.shuffle(&mut all);
    all.truncate(n);
    all
}

/// `length` facts of a task.
pub(super) fn facts(
    task: SourceTask,
    spread: AnswerSpread,
    words: &Vocabulary,
    length: usize,
    rng: &mut Rng,
) -> Vec<Fact> {
    match task.number() {
        11 => trips(words, length, 1, true, rng),
        12 => trips(words, length, 2, false, rng),
        13 => trips(words, length, 2, true, rng),
        14 => days(words, length, rng),
        15 => fears(spread, words, rng),
        16 => colours(spread, words, rng),
        17 => shapes(rng),
        18 => sizes(length, rng),
        19 => map(words, length, rng),
        _ => motives(words, length, rng),
    }
}

/// One person or two go to a place; with `further`, every second sentence takes them on.
fn trips(words: &Vocabulary, length: usize, persons: usize, further: bool, rng: &mut Rng) -> Vec<Fact> {
    // Where each actor is, so that nobody goes where they are.
    let mut at: Vec<Option<u8>> = vec![None; words.actors.len()];
    let mut facts: Vec<Fact> = Vec::with_capacity(length);
    let mut group: Vec<usize> = Vec::new();
    while facts.len() < length {
        let leans = further && facts.len() % 2 == 1;
        if !leans {
            group = (0..words.actors.len()).collect();
            rng.shuffle(&mut group);
            group.truncate(persons);
        }
        let places: Vec<u8> =
            words.places.iter().copied().filter(|p| group.iter().all(|a| at[*a] != Some(*p))).collect();
        let place = rng.pick(&places);
        group.iter().for_each(|a| at[*a] = Some(place));
        let actors: Vec<u8> = group.iter().map(|a| words.actors[*a]).collect();
        let verb = rng.below(5) as u8;
        facts.push(match (leans, actors[..].first(), actors.get(1)) {
            (true, ..) => Fact::Then { verb, link: rng.below(4) as u8, who: pronoun(&actors), place },
            (false, Some(&actor), Some(&other)) => Fact::Pair { verb, actor, other, place },
            (false, actor, _) => Fact::Move { verb, actor: *actor.expect("a group has somebody"), place },
        });
    }
    facts
}

/// People go to places at times of day, one place a time, told in any order.
fn days(words: &Vocabulary, length: usize, rng: &mut Rng) -> Vec<Fact> {
    let times = TIMES.len();
    let mut all: Vec<(usize, u8)> =
        (0..words.actors.len()).flat_map(|a| (0..times as u8).map(move |time| (a, time))).collect();
    rng.shuffle(&mut all);
    all.truncate(length);
    let mut went: Vec<(usize, u8, u8)> = Vec::new();
    for (actor, time) in all {
        // Nobody goes where they were the time before, or will be the time after.
        let near = |place: u8| went.iter().any(|(a, t, p)| *a == actor && *p == place && t.abs_diff(time) == 1);
        let places: Vec<u8> = words.places.iter().copied().filter(|p| !near(*p)).collect();
        went.push((actor, time, rng.pick(&places)));
    }
    let tell = |(actor, time, place): (usize, u8, u8)| Fact::At {
        verb: rng.below(5) as u8,
        first: rng.chance(1, 2),
        time,
        actor: words.actors[actor],
        place,
    };
    went.into_iter().map(tell).collect()
}

/// Kinds of animals of a task: the first or the last four under bAbI's own spread.
fn kinds(spread: AnswerSpread, first: u8, rng: &mut Rng) -> Vec<u8> {
    match spread {
        AnswerSpread::Official => (first..first + 4).collect(),
        AnswerSpread::Balanced => some((0..ANIMALS.len() as u8).collect(), 4, rng),
    }
}

fn fears(spread: AnswerSpread, words: &Vocabulary, rng: &mut Rng) -> Vec<Fact> {
    let kinds = kinds(spread, 0, rng);
    let mut facts: Vec<Fact> = Vec::new();
    for &animal in &kinds {
        let others: Vec<u8> = kinds.iter().copied().filter(|other| *other != animal).collect();
        facts.push(Fact::Afraid { animal, of: rng.pick(&others) });
    }
    facts.extend(words.actors.iter().map(|&actor| Fact::IsA { actor, animal: rng.pick(&kinds) }));
    rng.shuffle(&mut facts);
    facts
}

fn colours(spread: AnswerSpread, words: &Vocabulary, rng: &mut Rng) -> Vec<Fact> {
    let kinds = kinds(spread, 4, rng);
    let colour: Vec<u8> = kinds.iter().map(|_| rng.below(COLOURS.len()) as u8).collect();
    let mut facts = Vec::new();
    let uncoloured = rng.below(words.actors.len());
    for (n, &actor) in words.actors.iter().enumerate() {
        let kind = rng.below(kinds.len());
        facts.push(Fact::IsA { actor, animal: kinds[kind] });
        if n != uncoloured {
            facts.push(Fact::Coloured { actor, colour: colour[kind] });
        }
    }
    rng.shuffle(&mut facts);
    facts
}

/// Three shapes, two of which lie beside the third or in a row.
fn shapes(rng: &mut Rng) -> Vec<Fact> {
    let shapes = some((0..SHAPES.len() as u8).collect(), 3, rng);
    let pairs = rng.pick(&[[(0, 1), (1, 2)], [(0, 1), (2, 1)], [(1, 0), (1, 2)], [(1, 0), (2, 1)]]);
    let mut facts: Vec<Fact> = pairs
        .into_iter()
        .map(|(a, b): (usize, usize)| Fact::Beside { side: rng.pick(&Side::ALL), shape: shapes[a], of: shapes[b] })
        .collect();
    rng.shuffle(&mut facts);
    facts
}

/// Pairs of things in one order of size.
fn sizes(length: usize, rng: &mut Rng) -> Vec<Fact> {
    let things = some((0..CONTAINERS.len() as u8).collect(), CONTAINERS.len(), rng);
    let mut facts = Vec::with_capacity(length);
    while facts.len() < length {
        let (a, b) = (rng.below(things.len()), rng.below(things.len()));
        if a >= b {
            continue;
        }
        // Earlier in the order is bigger.
        let (big, small) = (things[a], things[b]);
        facts.push(match rng.chance(1, 2) {
            true => Fact::Bigger { thing: big, than: small },
            false => Fact::Fits { thing: small, inside: big },
        });
    }
    facts
}

/// Places that hang together, each at a point of its own on a grid.
fn map(words: &Vocabulary, length: usize, rng: &mut Rng) -> Vec<Fact> {
    let mut at: Vec<(u8, i32, i32)> = vec![(words.places[0], 0, 0)];
    let mut facts = Vec::with_capacity(length);
    for &place in words.places.iter().skip(1).take(length) {
        loop {
            let (of, x, y) = rng.pick(&at);
            let direction = rng.pick(&Direction::ALL);
            let (dx, dy) = [(0, 1), (0, -1), (1, 0), (-1, 0)][direction as usize];
            if at.iter().any(|(_, a, b)| (*a, *b) == (x + dx, y + dy)) {
                continue;
            }
            at.push((place, x + dx, y + dy));
            facts.push(match rng.chance(1, 2) {
                true => Fact::Relation { direction, place, of },
                false => Fact::Relation { direction: direction.opposite(), place: of, of: place },
            });
            break;
        }
    }
    rng.shuffle(&mut facts);
    facts
}

/// Each person is moved by something, goes where it leads, and takes what serves it.
fn motives(words: &Vocabulary, length: usize, rng: &mut Rng) -> Vec<Fact> {
    let motive: Vec<u8> = words.actors.iter().map(|_| rng.below(MOTIVES.len()) as u8).collect();
    let mut stage = vec![0; words.actors.len()];
    let mut taken: Vec<u8> = Vec::new();
    let mut facts = Vec::with_capacity(length);
    while facts.len() < length {
        let open: Vec<usize> = (0..stage.len()).filter(|a| stage[*a] < 3).collect();
        if open.is_empty() {
            break;
        }
        let who = rng.pick(&open);
        let (actor, motive) = (words.actors[who], motive[who] as usize);
        stage[who] += 1;
        match stage[who] {
            1 => facts.push(Fact::Feels { actor, motive: motive as u8 }),
            2 => facts.push(Fact::Move { verb: rng.below(5) as u8, actor, place: MOTIVATED_PLACES[motive] }),
            // An object is taken by one person only.
            _ if !taken.contains(&MOTIVATED_OBJECTS[motive]) => {
                let object = MOTIVATED_OBJECTS[motive];
                taken.push(object);
                facts.push(Fact::Take { verb: rng.below(4) as u8, there: true, actor, object });
            }
            _ => {}
        }
    }
    facts
}

/// The questions that a task asks of a story.
pub(super) fn questions(task: SourceTask, words: &Vocabulary, facts: &[Fact]) -> Vec<Question> {
    let actors = || words.actors.iter().copied();
    match task.number() {
        11..=13 => actors().map(|actor| Question::WhereActor { actor }).collect(),
        14 => actors()
            .flat_map(|actor| words.places.iter().map(move |&place| Question::WhereActorBefore { actor, place }))
            .collect(),
        15 => actors().map(|actor| Question::AfraidOf { actor }).collect(),
        16 => {
            // What is said outright is no induction.
            let shown = |actor: u8| facts.iter().any(|f| matches!(f, Fact::Coloured { actor: a, .. } if *a == actor));
            actors().filter(|actor| !shown(*actor)).map(|actor| Question::WhatColour { actor }).collect()
        }
        17 => {
            let said = |a: u8, b: u8| {
                facts.iter().any(
                    |f| matches!(f, Fact::Beside { shape, of, .. } if (*shape, *of) == (a, b) || (*shape, *of) == (b, a)),
                )
            };
            let all = 0..SHAPES.len() as u8;
            let pairs = all.clone().flat_map(|a| all.clone().map(move |b| (a, b)));
            // What one fact says is no reasoning.
            pairs
                .filter(|(a, b)| a != b && !said(*a, *b))
                .flat_map(|(shape, of)| Side::ALL.map(|side| Question::IsBeside { side, shape, of }))
                .collect()
        }
        18 => {
            let all = 0..CONTAINERS.len() as u8;
            let pairs = all.clone().flat_map(|a| all.clone().map(move |b| (a, b))).filter(|(a, b)| a != b);
            pairs
                .flat_map(|(a, b)| [Question::FitsIn { thing: a, inside: b }, Question::IsBigger { thing: a, than: b }])
                .collect()
        }
        19 => {
            let pairs = words.places.iter().flat_map(|&from| words.places.iter().map(move |&to| (from, to)));
            pairs.map(|(from, to)| Question::Path { from, to }).collect()
        }
        _ => {
            let did = |wanted: &dyn Fn(&Fact) -> bool| facts.iter().any(wanted);
            let mut all = Vec::new();
            for actor in actors() {
                // Where somebody went is no question about the future.
                if !did(&|f| matches!(f, Fact::Move { actor: a, .. } if *a == actor)) {
                    all.push(Question::WhereWill { actor });
                }
                for fact in facts {
                    match *fact {
                        Fact::Move { actor: a, place, .. } if a == actor => all.push(Question::WhyGo { actor, place }),
                        Fact::Take { actor: a, object, .. } if a == actor => {
                            all.push(Question::WhyGet { actor, object });
                        }
                        _ => {}
                    }
                }
            }
            all
        }
    }
}
