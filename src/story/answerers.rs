//! Trivial answerers: rules that need no understanding. A good task defeats them all.
//!
//! A score far above chance says that a model could pass without reading.

use super::{Answer, Fact, Question, Story};
use crate::language::{Kind, PATTERNS, STORY_ACTORS, STORY_OBJECTS, STORY_PLACES};

/// The rules that look at one story, in the order of [`guesses`]. The majority label, which needs
/// the whole build, is scored beside them.
pub const ANSWERERS: [&str; 8] = [
    "last place named",
    "most frequent candidate",
    "last object named",
    "last person named",
    "number of objects named",
    "first fact",
    "asked place is named",
    "absent or rarest candidate",
];

/// What a rule answers: one of these at random, or nothing where it does not apply.
pub type Guess = Option<Vec<Answer>>;

/// Share of credit in millionths that a guess earns.
pub fn credit(guess: &Guess, gold: Answer) -> Option<u32> {
    let all = guess.as_ref()?;
    Some(if all.contains(&gold) { 1_000_000 / all.len() as u32 } else { 0 })
}

/// How often each story actor, object, place and other entity is named.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mentions {
    /// By kind, then entity number.
    pub counts: [Vec<u32>; Kind::ALL.len()],
}

impl Default for Mentions {
    fn default() -> Self {
        Mentions {
            counts: Kind::ALL.map(|kind| {
                let size = match kind {
                    Kind::Actor => STORY_ACTORS,
                    Kind::Object => STORY_OBJECTS,
                    Kind::Place => STORY_PLACES,
                    other => other.count(),
                };
                vec![0; size]
            }),
        }
    }
}

impl Mentions {
    /// Counts the entities of a sentence.
    pub fn add(&mut self, fact: Fact) {
        for (kind, entity) in named(fact) {
            if let Some(count) = self.counts[kind as usize].get_mut(entity as usize) {
                *count += 1;
            }
        }
    }
}

/// The entities a sentence names, in the order of its slots (qa4: the place, then what it is next to).
pub fn named(fact: Fact) -> impl Iterator<Item = (Kind, u8)> {
    let message = fact.message();
    PATTERNS[message.pattern as usize].used().map(move |slot| (slot.kind(), slot.entity(&message.slots)))
}

/// The entities that are named most.
pub fn commonest(counts: &[u32]) -> impl Iterator<Item = u8> {
    let most = counts.iter().copied().max().unwrap_or(0);
    (0..counts.len() as u8).filter(move |e| counts[*e as usize] == most)
}

/// The guess of every rule. `mentions` counts what the whole context names, distractors included.
pub fn guesses(story: &Story, mentions: &Mentions) -> [Guess; ANSWERERS.len()] {
    let (mut last, mut first) = ([None; Kind::ALL.len()], [None; Kind::ALL.len()]);
    let mut here = Mentions::default();
    for fact in &story.facts {
        here.add(*fact);
        for (kind, entity) in named(*fact) {
            last[kind as usize] = Some(entity);
        }
    }
    for (kind, entity) in story.facts.first().into_iter().flat_map(|fact| named(*fact)) {
        first[kind as usize].get_or_insert(entity);
    }
    let places = &here.counts[Kind::Place as usize];
    let (place, object, actor) = (Kind::Place as usize, Kind::Object as usize, Kind::Actor as usize);
    let one = |answer: Option<Answer>| answer.map(|a| vec![a]);
    match (story.question, story.question.answered_by()) {
        (_, Some(kind)) => {
            let answer = |n: u8| Answer::entity(kind, n);
            let counts = &mentions.counts[kind as usize];
            let least = counts.iter().copied().min().unwrap_or(0);
            let rarest = (0..counts.len() as u8).filter(|e| counts[*e as usize] == least).map(answer).collect();
            let is = |wanted: Kind, guess: Option<u8>| if kind == wanted { one(guess.map(answer)) } else { None };
            [
                is(Kind::Place, last[place]),
                Some(commonest(&here.counts[kind as usize]).map(answer).collect()),
                is(Kind::Object, last[object]),
                is(Kind::Actor, last[actor]),
                None,
                one(first[kind as usize].map(answer)),
                None,
                Some(rarest),
            ]
        }
        (Question::IsIn { place: asked, .. }, None) => {
            let says = |yes: bool| Some(vec![if yes { Answer::Yes } else { Answer::No }]);
            [
                says(last[place] == Some(asked)),
                says(commonest(places).any(|p| p == asked)),
                None,
                None,
                None,
                says(first[place] == Some(asked)),
                says(places[asked as usize] > 0),
                None,
            ]
        }
        (Question::Carrying { .. }, None) => {
            let set = |object: Option<u8>| one(object.map(|o| Answer::Objects(1 << o)));
            [None, None, set(last[object]), None, None, set(first[object]), None, None]
        }
        (
            Question::IsBeside { .. } | Question::FitsIn { .. } | Question::IsBigger { .. } | Question::Path { .. },
            None,
        ) => Default::default(),
        (_, None) => {
            let distinct = here.counts[object].iter().filter(|n| **n > 0).count() as u8;
            [None, None, None, None, one(Some(Answer::Count(distinct))), None, None, None]
        }
    }
}
