//! Facts: what one sentence of a story or distractor says.

use crate::language::{Message, event, pattern, pronoun};
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

/// How one shape lies to another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Side {
    /// Directly to the left.
    Left = 0,
    /// Directly to the right.
    Right = 1,
    /// Directly above.
    Above = 2,
    /// Directly below.
    Below = 3,
}

impl Side {
    /// All four, by number.
    pub const ALL: [Side; 4] = [Side::Left, Side::Right, Side::Above, Side::Below];

    /// Steps to the right, and up.
    pub fn step(self) -> (i32, i32) {
        [(-1, 0), (1, 0), (0, 1), (0, -1)][self as usize]
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
    /// Two actors went to the place together.
    Pair { verb: u8, actor: u8, other: u8, place: u8 },
    /// Whom the sentence before named went on to the place. `who` is the pronoun as a set of
    /// [`PRONOUNS`](crate::language::PRONOUNS): several where the language writes them alike.
    Then { verb: u8, link: u8, who: u8, place: u8 },
    /// The actor went to the place at a time of day; `first` where the sentence begins with the time.
    At { verb: u8, first: bool, time: u8, actor: u8, place: u8 },
    /// Animals of one kind are afraid of those of another.
    Afraid { animal: u8, of: u8 },
    /// The actor is an animal of this kind.
    IsA { actor: u8, animal: u8 },
    /// The actor has this colour.
    Coloured { actor: u8, colour: u8 },
    /// `shape` lies on that side of `of`.
    Beside { side: Side, shape: u8, of: u8 },
    /// A thing is bigger than another.
    Bigger { thing: u8, than: u8 },
    /// A thing fits inside another.
    Fits { thing: u8, inside: u8 },
    /// What moves the actor.
    Feels { actor: u8, motive: u8 },
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
const PAIR: u8 = pattern("facts", "pair");
const THEN: u8 = pattern("facts", "then");
const AT: u8 = pattern("facts", "at_time");
const AT_FIRST: u8 = pattern("facts", "time_first");
const AFRAID: u8 = pattern("facts", "afraid");
const IS_A: u8 = pattern("facts", "is_a");
const COLOURED: u8 = pattern("facts", "has_colour");
const BESIDE: u8 = pattern("facts", "beside");
const BIGGER: u8 = pattern("facts", "bigger");
const FITS: u8 = pattern("facts", "fits");
const FEELS: u8 = pattern("facts", "feels");
const LATE_QUESTION: u8 = pattern("questions", "where_actor_before");

/// Gives every pronoun the sex and number of those it stands for; the number of the fact whose pronoun agrees with
/// nobody in the fact before it.
pub fn bind(facts: &mut [Fact]) -> Result<(), usize> {
    let mut before = Vec::new();
    for (n, fact) in facts.iter_mut().enumerate() {
        match fact {
            Fact::Then { who, .. } => {
                *who &= pronoun(&before);
                if before.is_empty() || *who == 0 {
                    return Err(n);
                }
            }
            _ => {
                before.clear();
                before.extend(fact.movers());
            }
        }
    }
    Ok(())
}

impl Fact {
    /// Those who moved, whom a pronoun in the next sentence may stand for. Of a pronoun itself, none: it names nobody.
    pub fn movers(self) -> impl Iterator<Item = u8> {
        let movers = match self {
            Fact::Move { actor, .. } => [Some(actor), None],
            Fact::Pair { actor, other, .. } => [Some(actor), Some(other)],
            _ => [None; 2],
        };
        movers.into_iter().flatten()
    }

    /// The same event, told with the first of its verbs. Machine translation may tell several alike.
    pub fn event(self) -> Fact {
        let message = self.message();
        Fact::of(Message { pattern: event(message.pattern), ..message }).unwrap_or(self)
    }

    /// Does it stand for whom the sentence before names? Then it stands right behind it.
    pub fn leans(self) -> bool {
        matches!(self, Fact::Then { .. })
    }

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
            PAIR..THEN => Fact::Pair { verb: pattern - PAIR, actor, other: to, place },
            THEN..AT => Fact::Then { verb: pattern - THEN, link: actor, who: to, place },
            AT..AT_FIRST => Fact::At { verb: pattern - AT, first: false, time: object, actor, place },
            AT_FIRST..AFRAID => Fact::At { verb: pattern - AT_FIRST, first: true, time: object, actor, place },
            AFRAID => Fact::Afraid { animal: place, of: other },
            IS_A => Fact::IsA { actor, animal: place },
            COLOURED => Fact::Coloured { actor, colour: object },
            BESIDE..BIGGER => Fact::Beside { side: Side::ALL[(pattern - BESIDE) as usize], shape: place, of: other },
            BIGGER => Fact::Bigger { thing: place, than: other },
            FITS => Fact::Fits { thing: place, inside: other },
            FEELS..LATE_QUESTION => Fact::Feels { actor, motive: object },
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
            Fact::Pair { verb, actor, other, place } => (PAIR + verb, [actor, other, 0, place, 0]),
            Fact::Then { verb, link, who, place } => (THEN + verb, [link, who, 0, place, 0]),
            Fact::At { verb, first: false, time, actor, place } => (AT + verb, [actor, 0, time, place, 0]),
            Fact::At { verb, first: true, time, actor, place } => (AT_FIRST + verb, [actor, 0, time, place, 0]),
            Fact::Afraid { animal, of } => (AFRAID, [0, 0, 0, animal, of]),
            Fact::IsA { actor, animal } => (IS_A, [actor, 0, 0, animal, 0]),
            Fact::Coloured { actor, colour } => (COLOURED, [actor, 0, colour, 0, 0]),
            Fact::Beside { side, shape, of } => (BESIDE + side as u8, [0, 0, 0, shape, of]),
            Fact::Bigger { thing, than } => (BIGGER, [0, 0, 0, thing, than]),
            Fact::Fits { thing, inside } => (FITS, [0, 0, 0, thing, inside]),
            Fact::Feels { actor, motive } => (FEELS, [actor, 0, motive, 0, 0]),
        };
        Message { pattern, slots }
    }
}
