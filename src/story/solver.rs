//! Derives the answer of a question from facts alone, and the facts it rests on.
//!
//! One pass over the facts; the work a fact costs does not depend on their number.

use super::puzzles;
use super::{Answer, Direction, Fact, Question};
use crate::language::{ACTORS, OBJECTS, PLACES, pronoun};

/// What the facts say about a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Solution {
    /// Exactly one answer, and the indices of the facts it rests on, ascending.
    Unique {
        /// The answer.
        answer: Answer,
        /// Indices into the facts.
        support: Vec<usize>,
    },
    /// None, or more than one.
    Faulty(Fault),
}

/// Why a question has no single answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Fault {
    /// The facts do not say.
    Unknown,
    /// The facts leave several places, as `either .. or` does, and the question wants one.
    Open,
    /// The object came to the place several times, from different places, and the last of these
    /// visits is over.
    SeveralVisits,
    /// Several places lie in that direction.
    SeveralPlaces,
    /// The facts contradict each other: an object is taken that another holds, or dropped or given by one
    /// who does not hold it.
    Contradiction,
    /// A pronoun stands for nobody of the sentence before it.
    Dangling,
    /// Animals of the kind have several colours.
    SeveralColours,
    /// Several ways are the shortest.
    SeveralWays,
}

impl Fault {
    /// The reason as reports print it.
    pub fn name(self) -> &'static str {
        match self {
            Fault::Unknown => "not stated",
            Fault::Open => "left open",
            Fault::SeveralVisits => "several visits",
            Fault::SeveralPlaces => "several places",
            Fault::Contradiction => "contradiction",
            Fault::Dangling => "a pronoun stands for nobody",
            Fault::SeveralColours => "several colours",
            Fault::SeveralWays => "several ways",
        }
    }
}

/// Where an actor is, as far as the facts say, and the fact that says it.
#[derive(Clone, Copy, Default)]
enum Whereabouts {
    #[default]
    Unsaid,
    At(u8, usize),
    OneOf(u8, u8, usize),
    /// Known only by where the actor is not, since the fact.
    Elsewhere(usize),
}

#[derive(Clone, Copy, Default)]
enum Thing {
    #[default]
    Unsaid,
    /// Held by the actor since the fact.
    Held(u8, usize),
    /// Put down by the actor in the fact, at the place if that is known, as said by another fact.
    Lies { dropped: usize, place: Option<(u8, usize)> },
}

/// One stay of the asked object in a place; `place` is none where the facts do not say. `arrived`
/// is the fact that brought it here.
#[derive(Clone, Copy)]
struct Stay {
    place: Option<u8>,
    arrived: usize,
}

struct World {
    actors: [Whereabouts; ACTORS],
    things: [Thing; OBJECTS.len()],
}

/// Solves a question.
pub fn solve(question: Question, facts: impl IntoIterator<Item = Fact>) -> Solution {
    match question {
        Question::WhereActorBefore { .. }
        | Question::AfraidOf { .. }
        | Question::WhatColour { .. }
        | Question::IsBeside { .. }
        | Question::FitsIn { .. }
        | Question::IsBigger { .. }
        | Question::Path { .. }
        | Question::WhereWill { .. }
        | Question::WhyGo { .. }
        | Question::WhyGet { .. } => puzzles::solve(question, facts),
        _ => track(question, facts),
    }
}

/// Solves the questions of qa1-qa13, about who is where and who holds what.
fn track(question: Question, facts: impl IntoIterator<Item = Fact>) -> Solution {
    // Whom a pronoun in the next sentence stands for, and the fact that names them.
    let mut named: (Vec<u8>, usize) = (Vec::new(), 0);
    // Facts with a pronoun that bear on what is asked, and the facts that say whom they mean.
    let mut bound: Vec<(usize, usize)> = Vec::new();
    let mut world = World { actors: [Whereabouts::default(); ACTORS], things: [Thing::default(); OBJECTS.len()] };
    // Facts that changed what the asked actor holds, or who holds the asked object.
    let mut handled: Vec<usize> = Vec::new();
    // The last fact that says the asked actor is not in the asked place.
    let mut denied: Option<usize> = None;
    let mut gave: Option<(Answer, usize)> = None;
    let mut stays: Vec<Stay> = Vec::new();
    let mut relations: Vec<(Direction, u8, u8, usize)> = Vec::new();
    let watched_actor = match question {
        Question::HowMany { actor } | Question::Carrying { actor } => Some(actor),
        _ => None,
    };
    let watched = match question {
        Question::WhereBefore { object, .. } => Some(object),
        _ => None,
    };
    // A contradiction counts where it touches what is asked; distractors may well tell of one thing
    // in two hands.
    let touches = |object: u8, actors: [u8; 2]| match question {
        Question::WhereObject { object: o }
        | Question::WhereBefore { object: o, .. }
        | Question::WhoGave { object: o }
        | Question::WhomGave { object: o, .. }
        | Question::WhoReceived { object: o }
        | Question::WhoGaveTo { object: o, .. } => o == object,
        Question::WhatGave { actor, .. } | Question::HowMany { actor } | Question::Carrying { actor } => {
            actors.contains(&actor)
        }
        _ => false,
    };
    let mut contradiction = false;
    for (index, fact) in facts.into_iter().enumerate() {
        match fact {
            Fact::Take { actor, object, .. } | Fact::Drop { actor, object, .. }
                if watched == Some(object) || watched_actor == Some(actor) =>
            {
                handled.push(index);
            }
            Fact::Give { actor, to, object, .. }
                if watched == Some(object) || watched_actor == Some(actor) || watched_actor == Some(to) =>
            {
                handled.push(index);
            }
            _ => {}
        }
        match fact {
            Fact::Move { actor, place, .. } | Fact::In { actor, place } => {
                world.actors[actor as usize] = Whereabouts::At(place, index);
                if let Some(object) = watched
                    && let Thing::Held(holder, _) = world.things[object as usize]
                    && holder == actor
                {
                    stay(&mut stays, Stay { place: Some(place), arrived: index });
                }
            }
            Fact::Take { actor, object, .. } => {
                let before = world.things[object as usize];
                if let Thing::Held(holder, _) = before {
                    contradiction |= holder != actor && touches(object, [holder, actor]);
                }
                world.things[object as usize] = Thing::Held(actor, index);
                if watched == Some(object) {
                    let (place, arrived) = match world.actors[actor as usize] {
                        Whereabouts::At(place, moved) => (Some(place), moved),
                        _ => (None, index),
                    };
                    stay(&mut stays, Stay { place, arrived });
                }
            }
            Fact::Drop { actor, object, .. } => {
                let before = world.things[object as usize];
                let held = matches!(before, Thing::Held(holder, _) if holder == actor);
                contradiction |= !held && touches(object, [actor; 2]);
                let place = match world.actors[actor as usize] {
                    Whereabouts::At(place, moved) => Some((place, moved)),
                    _ => None,
                };
                world.things[object as usize] = Thing::Lies { dropped: index, place };
            }
            Fact::Give { actor, to, object, .. } => {
                let before = world.things[object as usize];
                let held = matches!(before, Thing::Held(holder, _) if holder == actor);
                contradiction |= !held && touches(object, [actor, to]);
                world.things[object as usize] = Thing::Held(to, index);
                let asked = match question {
                    Question::WhatGave { actor: a, to: b } if (a, b) == (actor, to) => Some(Answer::Object(object)),
                    Question::WhoGave { object: o } if o == object => Some(Answer::Actor(actor)),
                    Question::WhomGave { actor: a, object: o } if (a, o) == (actor, object) => Some(Answer::Actor(to)),
                    Question::WhoReceived { object: o } if o == object => Some(Answer::Actor(to)),
                    Question::WhoGaveTo { object: o, to: b } if (o, b) == (object, to) => Some(Answer::Actor(actor)),
                    _ => None,
                };
                // The instruction of qa5: of several events that fit, the most recent counts.
                gave = asked.map(|answer| (answer, index)).or(gave);
                if watched == Some(object) {
                    // The two stand together, so one's place is the other's.
                    let at = |who: u8| match world.actors[who as usize] {
                        Whereabouts::At(place, moved) => Some((place, moved)),
                        _ => None,
                    };
                    if let Some((place, moved)) = at(to).or(at(actor)) {
                        stay(&mut stays, Stay { place: Some(place), arrived: moved });
                    }
                }
            }
            Fact::NotIn { actor, place } | Fact::NoLonger { actor, place } => {
                if question == (Question::IsIn { actor, place }) {
                    denied = Some(index);
                }
                let now = &mut world.actors[actor as usize];
                *now = match *now {
                    Whereabouts::At(at, said) if at != place => Whereabouts::At(at, said),
                    Whereabouts::OneOf(p, q, _) if p == place => Whereabouts::At(q, index),
                    Whereabouts::OneOf(p, q, _) if q == place => Whereabouts::At(p, index),
                    Whereabouts::OneOf(p, q, said) => Whereabouts::OneOf(p, q, said),
                    Whereabouts::Elsewhere(since) => Whereabouts::Elsewhere(since),
                    Whereabouts::Unsaid | Whereabouts::At(..) => Whereabouts::Elsewhere(index),
                };
            }
            Fact::Either { actor, place, or } => {
                // "The school or the school" leaves nothing open.
                let at = if place == or { Whereabouts::At(place, index) } else { Whereabouts::OneOf(place, or, index) };
                world.actors[actor as usize] = at;
            }
            Fact::Relation { direction, place, of } => relations.push((direction, place, of, index)),
            Fact::Pair { actor, other, place, .. } => {
                for actor in [actor, other] {
                    world.actors[actor as usize] = Whereabouts::At(place, index);
                }
            }
            Fact::Then { who, place, .. } => {
                if named.0.is_empty() || who & pronoun(&named.0) == 0 {
                    return Solution::Faulty(Fault::Dangling);
                }
                for actor in &named.0 {
                    world.actors[*actor as usize] = Whereabouts::At(place, index);
                }
                bound.push((index, named.1));
            }
            Fact::Idle(_)
            | Fact::At { .. }
            | Fact::Afraid { .. }
            | Fact::IsA { .. }
            | Fact::Coloured { .. }
            | Fact::Beside { .. }
            | Fact::Bigger { .. }
            | Fact::Fits { .. }
            | Fact::Feels { .. } => {}
        }
        if !fact.leans() {
            named.0.clear();
            named.0.extend(fact.movers());
            named.1 = index;
        }
    }
    let mut solution = answer(question, &world, contradiction, &stays, &handled, &relations, gave, denied);
    if let Solution::Unique { support, .. } = &mut solution {
        let means: Vec<usize> =
            bound.iter().filter(|(fact, _)| support.contains(fact)).map(|(_, names)| *names).collect();
        support.extend(means);
        support.sort_unstable();
        support.dedup();
    }
    solution
}

/// The answer, once all facts are told.
#[allow(clippy::too_many_arguments, reason = "each is what one task has gathered")]
fn answer(
    question: Question,
    world: &World,
    contradiction: bool,
    stays: &[Stay],
    handled: &[usize],
    relations: &[(Direction, u8, u8, usize)],
    gave: Option<(Answer, usize)>,
    denied: Option<usize>,
) -> Solution {
    if contradiction {
        return Solution::Faulty(Fault::Contradiction);
    }
    match question {
        Question::WhereActor { actor } => match world.actors[actor as usize] {
            Whereabouts::At(place, said) => unique(Answer::Place(place), [said]),
            Whereabouts::OneOf(..) => Solution::Faulty(Fault::Open),
            _ => Solution::Faulty(Fault::Unknown),
        },
        Question::WhereObject { object } => match world.things[object as usize] {
            Thing::Held(holder, since) => match world.actors[holder as usize] {
                Whereabouts::At(place, said) => unique(Answer::Place(place), [since, said]),
                Whereabouts::OneOf(..) => Solution::Faulty(Fault::Open),
                _ => Solution::Faulty(Fault::Unknown),
            },
            Thing::Lies { dropped, place: Some((place, said)) } => unique(Answer::Place(place), [dropped, said]),
            _ => Solution::Faulty(Fault::Unknown),
        },
        Question::WhereBefore { place, .. } => before(stays, handled, place),
        Question::WhatIs { direction, of } => beyond(relations, direction, of),
        Question::WhatIsOf { direction, place } => beyond(relations, direction.opposite(), place),
        Question::WhatGave { .. }
        | Question::WhoGave { .. }
        | Question::WhomGave { .. }
        | Question::WhoReceived { .. }
        | Question::WhoGaveTo { .. } => match gave {
            Some((answer, said)) => unique(answer, [said]),
            None => Solution::Faulty(Fault::Unknown),
        },
        Question::IsIn { actor, place } => match world.actors[actor as usize] {
            Whereabouts::At(at, said) => unique(if at == place { Answer::Yes } else { Answer::No }, [said]),
            Whereabouts::OneOf(p, q, said) if p == place || q == place => unique(Answer::Maybe, [said]),
            Whereabouts::OneOf(_, _, said) => unique(Answer::No, [said]),
            Whereabouts::Elsewhere(since) => match denied {
                Some(said) if said >= since => unique(Answer::No, [said]),
                _ => Solution::Faulty(Fault::Unknown),
            },
            Whereabouts::Unsaid => Solution::Faulty(Fault::Unknown),
        },
        Question::HowMany { actor } => {
            unique(Answer::Count(world.holds(actor).count_ones() as u8), handled.iter().copied())
        }
        Question::Carrying { actor } => unique(Answer::Objects(world.holds(actor)), handled.iter().copied()),
        _ => unreachable!("the puzzles are solved apart"),
    }
}

impl World {
    /// The objects an actor holds.
    fn holds(&self, actor: u8) -> u64 {
        let held = |thing: &Thing| matches!(thing, Thing::Held(holder, _) if *holder == actor);
        self.things.iter().enumerate().filter(|(_, thing)| held(thing)).fold(0, |set, (object, _)| set | 1 << object)
    }
}

pub(super) fn unique(answer: Answer, support: impl IntoIterator<Item = usize>) -> Solution {
    let mut support: Vec<usize> = support.into_iter().collect();
    support.sort_unstable();
    support.dedup();
    Solution::Unique { answer, support }
}

/// Appends a stay, unless the object is still where it was.
fn stay(stays: &mut Vec<Stay>, next: Stay) {
    match stays.last() {
        Some(last) if last.place.is_some() && last.place == next.place => {}
        _ => stays.push(next),
    }
}

/// qa3: where was the object before its last arrival in the place? Several arrivals from different
/// places leave it open which is meant, except when the object is still there: then it is the last.
fn before(stays: &[Stay], handled: &[usize], place: u8) -> Solution {
    let arrivals: Vec<usize> = (0..stays.len()).filter(|&i| stays[i].place == Some(place)).collect();
    let Some(&last) = arrivals.last() else { return Solution::Faulty(Fault::Unknown) };
    let from = |arrival: usize| arrival.checked_sub(1).and_then(|i| stays[i].place);
    let Some(answer) = from(last) else { return Solution::Faulty(Fault::Unknown) };
    if last + 1 != stays.len() && arrivals.iter().any(|&a| from(a) != Some(answer)) {
        return Solution::Faulty(Fault::SeveralVisits);
    }
    let (old, new) = (stays[last - 1], stays[last]);
    unique(Answer::Place(answer), [old.arrived, new.arrived].into_iter().chain(handled.last().copied()))
}

/// qa4: the places that lie in a direction of another, through any number of statements.
fn beyond(relations: &[(Direction, u8, u8, usize)], direction: Direction, of: u8) -> Solution {
    let mut found = [false; PLACES.len()];
    let mut direct = None;
    let mut frontier = vec![of];
    while let Some(here) = frontier.pop() {
        for &(stated, place, other, index) in relations {
            let next = if stated == direction && other == here {
                place
            } else if stated == direction.opposite() && place == here {
                other
            } else {
                continue;
            };
            if !found[next as usize] {
                found[next as usize] = true;
                frontier.push(next);
                direct = direct.or(Some((next, index)));
            }
        }
    }
    match (direct, found.iter().filter(|f| **f).count()) {
        (Some((place, index)), 1) => unique(Answer::Place(place), [index]),
        (None, _) => Solution::Faulty(Fault::Unknown),
        _ => Solution::Faulty(Fault::SeveralPlaces),
    }
}
