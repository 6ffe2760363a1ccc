//! Solves the questions of qa14-qa20: about times, kinds, colours, shapes, sizes, ways and motives.
//!
//! What the facts leave to convention is what the instructions say: animals of one kind are alike, "above" is directly
//! above, people go where their motive leads.

use super::solver::unique;
use super::{Answer, Direction, Fact, Fault, Question, Side, Solution, Way};
use crate::language::{CONTAINERS, PLACES, SHAPES};
use std::collections::VecDeque;

/// Where each motive leads, by its number: kitchen, kitchen, bedroom, garden.
pub const MOTIVATED_PLACES: [u8; 4] = [4, 4, 1, 2];

/// What each motive makes one take, by its number: apple, milk, pajamas, football.
pub const MOTIVATED_OBJECTS: [u8; 4] = [0, 2, 40, 1];

/// Solves a question of qa14-qa20.
pub(super) fn solve(question: Question, facts: impl IntoIterator<Item = Fact>) -> Solution {
    let facts: Vec<(usize, Fact)> = facts.into_iter().enumerate().collect();
    let solved = match question {
        Question::WhereActorBefore { actor, place } => before(&facts, actor, place),
        Question::AfraidOf { actor } => afraid(&facts, actor),
        Question::WhatColour { actor } => colour(&facts, actor),
        Question::IsBeside { side, shape, of } => beside(&facts, side, shape, of),
        Question::FitsIn { thing, inside } => bigger(&facts, inside, thing),
        Question::IsBigger { thing, than } => bigger(&facts, thing, than),
        Question::Path { from, to } => way(&facts, from, to),
        Question::WhereWill { actor } => {
            motive(&facts, actor).map(|(motive, said)| (Answer::Place(MOTIVATED_PLACES[motive as usize]), vec![said]))
        }
        Question::WhyGo { actor, place } => why(&facts, actor, |motive| MOTIVATED_PLACES[motive as usize] == place),
        Question::WhyGet { actor, object } => why(&facts, actor, |motive| MOTIVATED_OBJECTS[motive as usize] == object),
        _ => unreachable!("not a puzzle"),
    };
    match solved {
        Ok((answer, support)) => unique(answer, support),
        Err(fault) => Solution::Faulty(fault),
    }
}

type Solved = Result<(Answer, Vec<usize>), Fault>;

/// qa14: times of day give the order. Of several visits to the place, all must come from one other.
fn before(facts: &[(usize, Fact)], actor: u8, place: u8) -> Solved {
    let mut visits: Vec<(u8, u8, usize)> = facts
        .iter()
        .filter_map(|(n, fact)| match *fact {
            Fact::At { time, actor: a, place, .. } if a == actor => Some((time, place, *n)),
            _ => None,
        })
        .collect();
    visits.sort_by_key(|(time, _, n)| (*time, *n));
    if visits.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        return Err(Fault::Contradiction);
    }
    // To go where one is already is to stay.
    visits.dedup_by_key(|(_, place, _)| *place);
    let arrivals = visits.windows(2).filter(|pair| pair[1].1 == place);
    let from: Vec<(u8, usize, usize)> = arrivals.map(|pair| (pair[0].1, pair[0].2, pair[1].2)).collect();
    match from.last() {
        None => Err(Fault::Unknown),
        Some(last) if from.iter().any(|other| other.0 != last.0) => Err(Fault::SeveralVisits),
        Some((place, left, came)) => Ok((Answer::Place(*place), vec![*left, *came])),
    }
}

/// The one value that facts give, and the first fact that gives it.
fn single(values: impl Iterator<Item = (u8, usize)>, several: Fault) -> Result<(u8, usize), Fault> {
    let mut found = None;
    for (value, n) in values {
        match found {
            None => found = Some((value, n)),
            Some((first, _)) if first != value => return Err(several),
            Some(_) => {}
        }
    }
    found.ok_or(Fault::Unknown)
}

/// The kind of animal that an actor is.
fn kind(facts: &[(usize, Fact)], actor: u8) -> Result<(u8, usize), Fault> {
    let kinds = facts.iter().filter_map(|(n, fact)| match *fact {
        Fact::IsA { actor: a, animal } if a == actor => Some((animal, *n)),
        _ => None,
    });
    single(kinds, Fault::Contradiction)
}

/// qa15: what is true of a kind is true of each of it.
fn afraid(facts: &[(usize, Fact)], actor: u8) -> Solved {
    let (own, said) = kind(facts, actor)?;
    let fears = facts.iter().filter_map(|(n, fact)| match *fact {
        Fact::Afraid { animal, of } if animal == own => Some((of, *n)),
        _ => None,
    });
    let (of, fear) = single(fears, Fault::Contradiction)?;
    Ok((Answer::Animal(of), vec![said, fear]))
}

/// qa16: animals of one kind have one colour.
fn colour(facts: &[(usize, Fact)], actor: u8) -> Solved {
    let coloured = |who: u8| {
        facts.iter().filter_map(move |(n, fact)| match *fact {
            Fact::Coloured { actor, colour } if actor == who => Some((colour, *n)),
            _ => None,
        })
    };
    let (own, said) = kind(facts, actor)?;
    let mut found: Option<(u8, Vec<usize>)> = None;
    for (n, fact) in facts {
        let Fact::IsA { actor: other, animal } = *fact else { continue };
        if animal != own {
            continue;
        }
        for (colour, shown) in coloured(other) {
            match &found {
                Some((first, _)) if *first != colour => return Err(Fault::SeveralColours),
                Some(_) => {}
                None => found = Some((colour, vec![said, *n, shown])),
            }
        }
    }
    found.map(|(colour, support)| (Answer::Colour(colour), support)).ok_or(Fault::Unknown)
}

/// A search through facts that lead from one thing to another: for each thing the facts on the first way to it found.
fn reach(size: usize, start: u8, edges: &[(u8, u8, usize)]) -> Vec<Option<Vec<usize>>> {
    let mut reached: Vec<Option<Vec<usize>>> = vec![None; size];
    reached[start as usize] = Some(Vec::new());
    let mut queue = VecDeque::from([start]);
    while let Some(here) = queue.pop_front() {
        for &(_, to, n) in edges.iter().filter(|(from, ..)| *from == here) {
            if reached[to as usize].is_none() {
                let mut way = reached[here as usize].clone().expect("it was reached");
                way.push(n);
                reached[to as usize] = Some(way);
                queue.push_back(to);
            }
        }
    }
    reached
}

/// qa17: each fact is one step on a grid.
fn beside(facts: &[(usize, Fact)], side: Side, shape: u8, of: u8) -> Solved {
    let stated: Vec<(Side, u8, u8, usize)> = facts
        .iter()
        .filter_map(|(n, fact)| match *fact {
            Fact::Beside { side, shape, of } => Some((side, shape, of, *n)),
            _ => None,
        })
        .collect();
    let edges: Vec<(u8, u8, usize)> =
        stated.iter().flat_map(|(_, shape, of, n)| [(*of, *shape, *n), (*shape, *of, *n)]).collect();
    let reached = reach(SHAPES.len(), of, &edges);
    let Some(support) = reached[shape as usize].clone().filter(|_| shape != of) else { return Err(Fault::Unknown) };
    // Each connected shape's place, with `of` in the middle.
    let place = |way: &[usize]| -> (i32, i32) {
        let mut here = (of, 0, 0);
        for n in way {
            let (side, a, b, _) = *stated.iter().find(|(.., fact)| fact == n).expect("one of these facts");
            let (dx, dy) = side.step();
            here = if b == here.0 { (a, here.1 + dx, here.2 + dy) } else { (b, here.1 - dx, here.2 - dy) };
        }
        (here.1, here.2)
    };
    let places: Vec<Option<(i32, i32)>> = reached.iter().map(|way| way.as_deref().map(place)).collect();
    for (side, a, b, _) in &stated {
        let (Some(a), Some(b)) = (places[*a as usize], places[*b as usize]) else { continue };
        let (dx, dy) = side.step();
        if (b.0 + dx, b.1 + dy) != a {
            return Err(Fault::Contradiction);
        }
    }
    let there: Vec<(i32, i32)> = places.iter().flatten().copied().collect();
    if (0..there.len()).any(|n| there[..n].contains(&there[n])) {
        // Two shapes in one place.
        return Err(Fault::Contradiction);
    }
    let ((x, y), (dx, dy)) = (places[shape as usize].expect("it was reached"), side.step());
    Ok((if x * dx + y * dy > 0 { Answer::Yes } else { Answer::No }, support))
}

/// qa18: is a thing bigger than another? What fits inside is smaller, and the other way round.
fn bigger(facts: &[(usize, Fact)], thing: u8, than: u8) -> Solved {
    let edges: Vec<(u8, u8, usize)> = facts
        .iter()
        .filter_map(|(n, fact)| match *fact {
            Fact::Bigger { thing, than } => Some((thing, than, *n)),
            Fact::Fits { thing, inside } => Some((inside, thing, *n)),
            _ => None,
        })
        .collect();
    if thing == than {
        return Err(Fault::Unknown);
    }
    let way = |from: u8, to: u8| reach(CONTAINERS.len(), from, &edges)[to as usize].clone();
    match (way(thing, than), way(than, thing)) {
        (Some(_), Some(_)) => Err(Fault::Contradiction),
        (Some(support), None) => Ok((Answer::Yes, support)),
        (None, Some(support)) => Ok((Answer::No, support)),
        (None, None) => Err(Fault::Unknown),
    }
}

/// qa19: the one shortest way.
fn way(facts: &[(usize, Fact)], from: u8, to: u8) -> Solved {
    let steps: Vec<(u8, u8, Direction, usize)> = facts
        .iter()
        .filter_map(|(n, fact)| match *fact {
            Fact::Relation { direction, place, of } => {
                Some([(of, place, direction, *n), (place, of, direction.opposite(), *n)])
            }
            _ => None,
        })
        .flatten()
        .collect();
    if from == to {
        return Err(Fault::Unknown);
    }
    // All ways of one length at a time.
    let mut ways: Vec<(u8, Vec<Direction>, Vec<usize>)> = vec![(from, Vec::new(), Vec::new())];
    let mut seen = [false; PLACES.len()];
    seen[from as usize] = true;
    while !ways.is_empty() {
        let mut next: Vec<(u8, Vec<Direction>, Vec<usize>)> = Vec::new();
        for (here, directions, support) in &ways {
            for (_, place, direction, n) in steps.iter().filter(|(of, ..)| of == here) {
                let way = ([directions.as_slice(), &[*direction]].concat(), [support.as_slice(), &[*n]].concat());
                let told = next.iter().any(|(other, directions, _)| other == place && *directions == way.0);
                if !seen[*place as usize] && !told {
                    next.push((*place, way.0, way.1));
                }
            }
        }
        next.iter().for_each(|(place, ..)| seen[*place as usize] = true);
        let mut there = next.iter().filter(|(place, ..)| *place == to);
        match (there.next(), there.next()) {
            (Some(_), Some(_)) => return Err(Fault::SeveralWays),
            (Some((_, directions, support)), None) => {
                let way = Way::of(directions).ok_or(Fault::Unknown)?;
                return Ok((Answer::Path(way), support.clone()));
            }
            _ => ways = next,
        }
    }
    Err(Fault::Unknown)
}

/// What moves an actor.
fn motive(facts: &[(usize, Fact)], actor: u8) -> Result<(u8, usize), Fault> {
    let motives = facts.iter().filter_map(|(n, fact)| match *fact {
        Fact::Feels { actor: a, motive } if a == actor => Some((motive, *n)),
        _ => None,
    });
    single(motives, Fault::Open)
}

fn why(facts: &[(usize, Fact)], actor: u8, leads: impl Fn(u8) -> bool) -> Solved {
    let (motive, said) = motive(facts, actor)?;
    if !leads(motive) {
        return Err(Fault::Unknown);
    }
    Ok((Answer::Motive(motive), vec![said]))
}
