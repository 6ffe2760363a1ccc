//! Questions and answers as meaning.

use super::Direction;
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

impl Question {
    /// The question of a message; none for a fact.
    pub fn of(message: Message) -> Option<Question> {
        let Message { pattern, slots: [actor, to, object, place, _] } = message;
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
            | Question::WhatIsOf { .. } => Some(Kind::Place),
            Question::WhatGave { .. } => Some(Kind::Object),
            Question::WhoGave { .. }
            | Question::WhomGave { .. }
            | Question::WhoReceived { .. }
            | Question::WhoGaveTo { .. } => Some(Kind::Actor),
            Question::IsIn { .. } | Question::HowMany { .. } | Question::Carrying { .. } => None,
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
}

impl Answer {
    /// The answer that is one entity.
    pub fn entity(kind: Kind, n: u8) -> Answer {
        match kind {
            Kind::Place => Answer::Place(n),
            Kind::Actor => Answer::Actor(n),
            Kind::Object => Answer::Object(n),
        }
    }

    /// The objects of a list answer, by number.
    pub fn listed(objects: u64) -> impl Iterator<Item = u8> {
        (0..64).filter(move |n| objects >> n & 1 == 1)
    }
}
