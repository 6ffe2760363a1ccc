//! Questions and answers as meaning.

use super::{Direction, Side};
use crate::language::{Kind, Message, pattern};
use serde::{Deserialize, Serialize};

/// What is asked. Actors, objects and places are entity numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the fields are the slots of the sentence")]
pub enum Question {
    /// qa1: where is the actor?
    WhereActor { actor: u8 },
    /// qa2: where is the object?
    WhereObject { object: u8 },
    /// qa3: where was the object before it was in the place?
    WhereBefore { object: u8, place: u8 },
    /// qa4: what lies in that direction of the place?
    WhatIs { direction: Direction, of: u8 },
    /// qa4: what does the place lie in that direction of?
    WhatIsOf { direction: Direction, place: u8 },
    /// qa5: what did the actor give to the other?
    WhatGave { actor: u8, to: u8 },
    /// qa5: who gave the object?
    WhoGave { object: u8 },
    /// qa5: to whom did the actor give the object?
    WhomGave { actor: u8, object: u8 },
    /// qa5: who received the object?
    WhoReceived { object: u8 },
    /// qa5: who gave the object to the other?
    WhoGaveTo { object: u8, to: u8 },
    /// qa6, qa9, qa10: is the actor in the place?
    IsIn { actor: u8, place: u8 },
    /// qa7: how many objects is the actor carrying?
    HowMany { actor: u8 },
    /// qa8: what is the actor carrying?
    Carrying { actor: u8 },
    /// qa14: where was the actor before they were in the place?
    WhereActorBefore { actor: u8, place: u8 },
    /// qa15: what kind of animal is the actor afraid of?
    AfraidOf { actor: u8 },
    /// qa16: what colour has the actor?
    WhatColour { actor: u8 },
    /// qa17: does the shape lie on that side of the other?
    IsBeside { side: Side, shape: u8, of: u8 },
    /// qa18: does a thing fit in another?
    FitsIn { thing: u8, inside: u8 },
    /// qa18: is a thing bigger than another?
    IsBigger { thing: u8, than: u8 },
    /// qa19: which way leads from a place to another?
    Path { from: u8, to: u8 },
    /// qa20: where will the actor go?
    WhereWill { actor: u8 },
    /// qa20: why did the actor go to the place?
    WhyGo { actor: u8, place: u8 },
    /// qa20: why did the actor get the object?
    WhyGet { actor: u8, object: u8 },
}

const WHERE_ACTOR: u8 = pattern("questions", "where_actor");
const WHERE_OBJECT: u8 = pattern("questions", "where_object");
const WHERE_BEFORE: u8 = pattern("questions", "where_before");
const WHAT_IS: u8 = pattern("questions", "what_is");
const WHAT_IS_OF: u8 = pattern("questions", "what_is_of");
const WHAT_GAVE: u8 = pattern("questions", "what_gave");
const WHO_GAVE: u8 = pattern("questions", "who_gave");
const WHOM_GAVE: u8 = pattern("questions", "whom_gave");
const WHO_RECEIVED: u8 = pattern("questions", "who_received");
const WHO_GAVE_TO: u8 = pattern("questions", "who_gave_to");
const IS_IN: u8 = pattern("questions", "is_in");
const HOW_MANY: u8 = pattern("questions", "how_many");
const CARRYING: u8 = pattern("questions", "carrying");
const WHERE_ACTOR_BEFORE: u8 = pattern("questions", "where_actor_before");
const AFRAID_OF: u8 = pattern("questions", "afraid_of");
const WHAT_COLOUR: u8 = pattern("questions", "what_colour");
const IS_BESIDE: u8 = pattern("questions", "is_beside");
const FITS_IN: u8 = pattern("questions", "fits_in");
const IS_BIGGER: u8 = pattern("questions", "is_bigger");
const PATH: u8 = pattern("questions", "path");
const WHERE_WILL: u8 = pattern("questions", "where_will");
const WHY_GO: u8 = pattern("questions", "why_go");
const WHY_GET: u8 = pattern("questions", "why_get");

impl Question {
    /// The question of a message; none for a fact.
    pub fn of(message: Message) -> Option<Question> {
        let Message { pattern, slots: [actor, to, object, place, other] } = message;
        Some(match pattern {
            WHERE_ACTOR => Question::WhereActor { actor },
            WHERE_OBJECT => Question::WhereObject { object },
            WHERE_BEFORE => Question::WhereBefore { object, place },
            WHAT_IS..WHAT_IS_OF => {
                Question::WhatIs { direction: Direction::ALL[(pattern - WHAT_IS) as usize], of: place }
            }
            WHAT_IS_OF..WHAT_GAVE => {
                Question::WhatIsOf { direction: Direction::ALL[(pattern - WHAT_IS_OF) as usize], place }
            }
            WHAT_GAVE => Question::WhatGave { actor, to },
            WHO_GAVE => Question::WhoGave { object },
            WHOM_GAVE => Question::WhomGave { actor, object },
            WHO_RECEIVED => Question::WhoReceived { object },
            WHO_GAVE_TO => Question::WhoGaveTo { object, to },
            IS_IN => Question::IsIn { actor, place },
            HOW_MANY => Question::HowMany { actor },
            CARRYING => Question::Carrying { actor },
            WHERE_ACTOR_BEFORE => Question::WhereActorBefore { actor, place },
            AFRAID_OF => Question::AfraidOf { actor },
            WHAT_COLOUR => Question::WhatColour { actor },
            IS_BESIDE..FITS_IN => {
                Question::IsBeside { side: Side::ALL[(pattern - IS_BESIDE) as usize], shape: place, of: other }
            }
            FITS_IN => Question::FitsIn { thing: place, inside: other },
            IS_BIGGER => Question::IsBigger { thing: place, than: other },
            PATH => Question::Path { from: place, to: other },
            WHERE_WILL => Question::WhereWill { actor },
            WHY_GO => Question::WhyGo { actor, place },
            WHY_GET => Question::WhyGet { actor, object },
            _ => return None,
        })
    }

    /// The message that asks it.
    pub fn message(self) -> Message {
        let (pattern, slots) = match self {
            Question::WhereActor { actor } => (WHERE_ACTOR, [actor, 0, 0, 0, 0]),
            Question::WhereObject { object } => (WHERE_OBJECT, [0, 0, object, 0, 0]),
            Question::WhereBefore { object, place } => (WHERE_BEFORE, [0, 0, object, place, 0]),
            Question::WhatIs { direction, of } => (WHAT_IS + direction as u8, [0, 0, 0, of, 0]),
            Question::WhatIsOf { direction, place } => (WHAT_IS_OF + direction as u8, [0, 0, 0, place, 0]),
            Question::WhatGave { actor, to } => (WHAT_GAVE, [actor, to, 0, 0, 0]),
            Question::WhoGave { object } => (WHO_GAVE, [0, 0, object, 0, 0]),
            Question::WhomGave { actor, object } => (WHOM_GAVE, [actor, 0, object, 0, 0]),
            Question::WhoReceived { object } => (WHO_RECEIVED, [0, 0, object, 0, 0]),
            Question::WhoGaveTo { object, to } => (WHO_GAVE_TO, [0, to, object, 0, 0]),
            Question::IsIn { actor, place } => (IS_IN, [actor, 0, 0, place, 0]),
            Question::HowMany { actor } => (HOW_MANY, [actor, 0, 0, 0, 0]),
            Question::Carrying { actor } => (CARRYING, [actor, 0, 0, 0, 0]),
            Question::WhereActorBefore { actor, place } => (WHERE_ACTOR_BEFORE, [actor, 0, 0, place, 0]),
            Question::AfraidOf { actor } => (AFRAID_OF, [actor, 0, 0, 0, 0]),
            Question::WhatColour { actor } => (WHAT_COLOUR, [actor, 0, 0, 0, 0]),
            Question::IsBeside { side, shape, of } => (IS_BESIDE + side as u8, [0, 0, 0, shape, of]),
            Question::FitsIn { thing, inside } => (FITS_IN, [0, 0, 0, thing, inside]),
            Question::IsBigger { thing, than } => (IS_BIGGER, [0, 0, 0, thing, than]),
            Question::Path { from, to } => (PATH, [0, 0, 0, from, to]),
            Question::WhereWill { actor } => (WHERE_WILL, [actor, 0, 0, 0, 0]),
            Question::WhyGo { actor, place } => (WHY_GO, [actor, 0, 0, place, 0]),
            Question::WhyGet { actor, object } => (WHY_GET, [actor, 0, object, 0, 0]),
        };
        Message { pattern, slots }
    }

    /// What kind of entity answers it; none where the answer is a word of its own (yes, a number,
    /// a list).
    pub fn answered_by(self) -> Option<Kind> {
        match self {
            Question::WhereActor { .. }
            | Question::WhereObject { .. }
            | Question::WhereBefore { .. }
            | Question::WhatIs { .. }
            | Question::WhatIsOf { .. }
            | Question::WhereActorBefore { .. }
            | Question::WhereWill { .. } => Some(Kind::Place),
            Question::AfraidOf { .. } => Some(Kind::Animal),
            Question::WhatColour { .. } => Some(Kind::Colour),
            Question::WhyGo { .. } | Question::WhyGet { .. } => Some(Kind::Motive),
            Question::WhatGave { .. } => Some(Kind::Object),
            Question::WhoGave { .. }
            | Question::WhomGave { .. }
            | Question::WhoReceived { .. }
            | Question::WhoGaveTo { .. } => Some(Kind::Actor),
            Question::IsIn { .. }
            | Question::HowMany { .. }
            | Question::Carrying { .. }
            | Question::IsBeside { .. }
            | Question::FitsIn { .. }
            | Question::IsBigger { .. }
            | Question::Path { .. } => None,
        }
    }
}

/// An answer as meaning.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Answer {
    /// A place.
    Place(u8),
    /// A person.
    Actor(u8),
    /// An object.
    Object(u8),
    /// It is so.
    Yes,
    /// It is not so.
    No,
    /// It may be so or not.
    Maybe,
    /// A number of objects.
    Count(u8),
    /// A set of objects, one bit an object number; empty is "nothing".
    Objects(u64),
    /// A kind of animal.
    Animal(u8),
    /// A colour.
    Colour(u8),
    /// What moves a person.
    Motive(u8),
    /// A way.
    Path(Way),
}

/// Directions in the order in which one goes, at most eight.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Way {
    steps: u8,
    /// Two bits a step, the first one lowest.
    directions: u16,
}

impl Way {
    /// The way of these steps; none of more than eight.
    pub fn of(steps: &[Direction]) -> Option<Way> {
        if steps.len() > 8 {
            return None;
        }
        let directions = steps.iter().enumerate().map(|(n, d)| (*d as u16) << (2 * n)).sum();
        Some(Way { steps: steps.len() as u8, directions })
    }

    /// Its steps, in order.
    pub fn steps(self) -> impl Iterator<Item = Direction> {
        (0..self.steps).map(move |n| Direction::ALL[(self.directions >> (2 * n) & 3) as usize])
    }
}

impl Answer {
    /// The answer that is one entity.
    pub fn entity(kind: Kind, n: u8) -> Answer {
        match kind {
            Kind::Place => Answer::Place(n),
            Kind::Actor => Answer::Actor(n),
            Kind::Object => Answer::Object(n),
            Kind::Animal => Answer::Animal(n),
            Kind::Colour => Answer::Colour(n),
            Kind::Motive => Answer::Motive(n),
            Kind::Link | Kind::Pronoun | Kind::Time | Kind::Shape | Kind::Container => {
                unreachable!("no question is answered by a {kind:?}")
            }
        }
    }

    /// The entity that the answer is; none where it is a word of its own.
    pub fn as_entity(self) -> Option<(Kind, u8)> {
        Some(match self {
            Answer::Place(n) => (Kind::Place, n),
            Answer::Actor(n) => (Kind::Actor, n),
            Answer::Object(n) => (Kind::Object, n),
            Answer::Animal(n) => (Kind::Animal, n),
            Answer::Colour(n) => (Kind::Colour, n),
            Answer::Motive(n) => (Kind::Motive, n),
            Answer::Yes | Answer::No | Answer::Maybe | Answer::Count(_) | Answer::Objects(_) | Answer::Path(_) => {
                return None;
            }
        })
    }

    /// The objects of a list answer, by number.
    pub fn listed(objects: u64) -> impl Iterator<Item = u8> {
        (0..64).filter(move |n| objects >> n & 1 == 1)
    }
}
