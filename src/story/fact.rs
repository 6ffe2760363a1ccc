//! Facts: what one sentence of a story or distractor says.

use crate::language::{Message, pattern};
use serde::{Deserialize, Serialize};

/// A compass direction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Direction {
    /// Towards the top of a map.
    North = 0,
    /// Its opposite.
    South = 1,
    /// Towards the right of a map.
    East = 2,
    /// Its opposite.
    West = 3,
}

impl Direction {
    /// All four, by number.
    pub const ALL: [Direction; 4] = [Direction::North, Direction::South, Direction::East, Direction::West];

    /// The opposite direction.
    pub fn opposite(self) -> Direction {
        Direction::ALL[self as usize ^ 1]
    }
}

/// What one sentence says. Actors, objects and places are entity numbers; `verb` is which of the
/// pattern's sentences says it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the fields are the slots of the sentence")]
pub enum Fact {
    /// The actor went to the place.
    Move { verb: u8, actor: u8, place: u8 },
    /// The actor took the object, where they were.
    Take { verb: u8, there: bool, actor: u8, object: u8 },
    /// The actor put the object down, where they were.
    Drop { verb: u8, there: bool, actor: u8, object: u8 },
    /// The actor gave the object to another.
    Give { verb: u8, actor: u8, to: u8, object: u8 },
    /// The actor is in the place.
    In { actor: u8, place: u8 },
    /// The actor is not in the place.
    NotIn { actor: u8, place: u8 },
    /// The actor is no longer in the place.
    NoLonger { actor: u8, place: u8 },
    /// The actor is in one of two places.
    Either { actor: u8, place: u8, or: u8 },
    /// `place` lies in that direction of `of`.
    Relation { direction: Direction, place: u8, of: u8 },
    /// A sentence that changes no state: fillers and scenes.
    Idle(Message),
}

const MOVE: u8 = pattern("facts", "move");
const TAKE: u8 = pattern("facts", "take");
const TAKE_THERE: u8 = pattern("facts", "take_there");
const DROP: u8 = pattern("facts", "drop");
const DROP_THERE: u8 = pattern("facts", "drop_there");
const GIVE: u8 = pattern("facts", "give");
const IN: u8 = pattern("facts", "is_in");
const NOT_IN: u8 = pattern("facts", "not_in");
const NO_LONGER: u8 = pattern("facts", "no_longer");
const EITHER: u8 = pattern("facts", "either");
const RELATION: u8 = pattern("facts", "relation");
const IDLE: u8 = pattern("fillers", "talked");
const QUESTION: u8 = pattern("questions", "where_actor");

impl Fact {
    /// The fact of a message; none for a question.
    pub fn of(message: Message) -> Option<Fact> {
        let Message { pattern, slots: [actor, to, object, place, other] } = message;
        Some(match pattern {
            MOVE..TAKE => Fact::Move { verb: pattern - MOVE, actor, place },
            TAKE..TAKE_THERE => Fact::Take { verb: pattern - TAKE, there: false, actor, object },
            TAKE_THERE..DROP => Fact::Take { verb: pattern - TAKE_THERE, there: true, actor, object },
            DROP..DROP_THERE => Fact::Drop { verb: pattern - DROP, there: false, actor, object },
            DROP_THERE..GIVE => Fact::Drop { verb: pattern - DROP_THERE, there: true, actor, object },
            GIVE..IN => Fact::Give { verb: pattern - GIVE, actor, to, object },
            IN => Fact::In { actor, place },
            NOT_IN => Fact::NotIn { actor, place },
            NO_LONGER => Fact::NoLonger { actor, place },
            EITHER => Fact::Either { actor, place, or: other },
            RELATION..IDLE => {
                Fact::Relation { direction: Direction::ALL[(pattern - RELATION) as usize], place, of: other }
            }
            IDLE..QUESTION => Fact::Idle(message),
            _ => return None,
        })
    }

    /// The message that says it.
    pub fn message(self) -> Message {
        let (pattern, slots) = match self {
            Fact::Move { verb, actor, place } => (MOVE + verb, [actor, 0, 0, place, 0]),
            Fact::Take { verb, there: false, actor, object } => (TAKE + verb, [actor, 0, object, 0, 0]),
            Fact::Take { verb, there: true, actor, object } => (TAKE_THERE + verb, [actor, 0, object, 0, 0]),
            Fact::Drop { verb, there: false, actor, object } => (DROP + verb, [actor, 0, object, 0, 0]),
            Fact::Drop { verb, there: true, actor, object } => (DROP_THERE + verb, [actor, 0, object, 0, 0]),
            Fact::Give { verb, actor, to, object } => (GIVE + verb, [actor, to, object, 0, 0]),
            Fact::In { actor, place } => (IN, [actor, 0, 0, place, 0]),
            Fact::NotIn { actor, place } => (NOT_IN, [actor, 0, 0, place, 0]),
            Fact::NoLonger { actor, place } => (NO_LONGER, [actor, 0, 0, place, 0]),
            Fact::Either { actor, place, or } => (EITHER, [actor, 0, 0, place, or]),
            Fact::Relation { direction, place, of } => (RELATION + direction as u8, [0, 0, 0, place, of]),
            Fact::Idle(message) => return message,
        };
        Message { pattern, slots }
    }
}
