//! One random walk through bAbI's little world: who moves, takes, drops and gives, and what is told.

use super::tables::{self, Mix};
use super::{Direction, Fact, SourceTask};
use crate::seed::Rng;

/// The actors, places and objects of one story.
pub(super) struct Vocabulary {
    pub actors: Vec<u8>,
    pub places: Vec<u8>,
    pub objects: Vec<u8>,
}

/// The true state of affairs, part of which the facts tell.
struct Truth<'a> {
    words: &'a Vocabulary,
    /// Place of each actor, as an index into the vocabulary.
    at: Vec<usize>,
    /// The reader knows where the actor is.
    told: Vec<bool>,
    /// Place of each object that lies somewhere.
    lies: Vec<Option<usize>>,
    /// Holder of each object that is held.
    held: Vec<Option<usize>>,
}

/// `length` facts of a task.
pub(super) fn walk(task: SourceTask, words: &Vocabulary, length: usize, rng: &mut Rng) -> Vec<Fact> {
    if task.number() == 4 {
        return relations(words, length, rng);
    }
    let mix = tables::mix(task);
    let place = |rng: &mut Rng| rng.below(words.places.len());
    let mut truth = Truth {
        words,
        at: words.actors.iter().map(|_| place(rng)).collect(),
        told: vec![false; words.actors.len()],
        lies: words.objects.iter().map(|_| Some(place(rng))).collect(),
        held: vec![None; words.objects.len()],
    };
    let mut facts = Vec::with_capacity(length);
    while facts.len() < length {
        // An event that cannot happen now is drawn again; a move always can.
        if let Some(fact) = truth.step(&mix, rng) {
            facts.push(fact);
        }
    }
    facts
}

impl Truth<'_> {
    fn step(&mut self, mix: &Mix, rng: &mut Rng) -> Option<Fact> {
        let words = self.words;
        let who = rng.below(words.actors.len());
        let actor = words.actors[who];
        let event = rng.weighted(&mix.events);
        match event {
            0 => {
                let to = self.elsewhere(who, rng);
                self.at[who] = to;
                self.told[who] = true;
                Some(Fact::Move { verb: rng.below(5) as u8, actor, place: words.places[to] })
            }
            1 => {
                let here: Vec<usize> = (0..self.lies.len()).filter(|&o| self.lies[o] == Some(self.at[who])).collect();
                if here.is_empty() {
                    return None;
                }
                let object = rng.pick(&here);
                self.lies[object] = None;
                self.held[object] = Some(who);
                // "There" refers back to a place the reader knows.
                let there = rng.chance(mix.take_there, 100) && self.told[who];
                Some(Fact::Take { verb: rng.below(4) as u8, there, actor, object: words.objects[object] })
            }
            2 | 3 => {
                let mine: Vec<usize> = (0..self.held.len()).filter(|&o| self.held[o] == Some(who)).collect();
                if mine.is_empty() {
                    return None;
                }
                let object = rng.pick(&mine);
                let name = words.objects[object];
                if event == 2 {
                    self.held[object] = None;
                    self.lies[object] = Some(self.at[who]);
                    let there = rng.chance(mix.drop_there, 100) && self.told[who];
                    return Some(Fact::Drop { verb: rng.below(4) as u8, there, actor, object: name });
                }
                let near: Vec<usize> = (0..self.at.len()).filter(|&b| b != who && self.at[b] == self.at[who]).collect();
                if near.is_empty() {
                    return None;
                }
                let to = rng.pick(&near);
                self.held[object] = Some(to);
                Some(Fact::Give { verb: rng.below(3) as u8, actor, to: words.actors[to], object: name })
            }
            4 => {
                let to = self.elsewhere(who, rng);
                self.at[who] = to;
                self.told[who] = true;
                Some(Fact::In { actor, place: words.places[to] })
            }
            5 => Some(Fact::NotIn { actor, place: words.places[self.elsewhere(who, rng)] }),
            6 => {
                if !self.told[who] {
                    return None;
                }
                let left = self.at[who];
                self.at[who] = self.elsewhere(who, rng);
                self.told[who] = false;
                Some(Fact::NoLonger { actor, place: words.places[left] })
            }
            _ => {
                let truly = self.elsewhere(who, rng);
                self.at[who] = truly;
                self.told[who] = false;
                let other = self.elsewhere(who, rng);
                let (place, or) = if rng.chance(1, 2) { (truly, other) } else { (other, truly) };
                Some(Fact::Either { actor, place: words.places[place], or: words.places[or] })
            }
        }
    }

    /// A place where the actor is not.
    fn elsewhere(&self, who: usize, rng: &mut Rng) -> usize {
        let other = rng.below(self.words.places.len() - 1);
        other + usize::from(other >= self.at[who])
    }
}

/// qa4: statements that link one more place each.
fn relations(words: &Vocabulary, length: usize, rng: &mut Rng) -> Vec<Fact> {
    let mut places = words.places.clone();
    rng.shuffle(&mut places);
    let mut facts = Vec::with_capacity(length);
    for n in 1..=length {
        let (mut place, mut of) = (places[n], places[rng.below(n)]);
        if rng.chance(1, 2) {
            std::mem::swap(&mut place, &mut of);
        }
        facts.push(Fact::Relation { direction: rng.pick(&Direction::ALL), place, of });
    }
    rng.shuffle(&mut facts);
    facts
}
