//! The names that packs and stories share: slots, entities and patterns, in their fixed order.

/// What an entity is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// A person of the cast.
    Actor,
    /// A thing that can be carried.
    Object,
    /// A room or other place.
    Place,
}

/// A slot of a pattern. The number is its index in [`super::Message::slots`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Slot {
    /// The acting person.
    A = 0,
    /// The other person.
    B = 1,
    /// The object.
    O = 2,
    /// The place.
    P = 3,
    /// The other place.
    Q = 4,
}

impl Slot {
    /// All slots, by index.
    pub const ALL: [Slot; 5] = [Slot::A, Slot::B, Slot::O, Slot::P, Slot::Q];

    /// What stands in the slot.
    pub fn kind(self) -> Kind {
        match self {
            Slot::A | Slot::B => Kind::Actor,
            Slot::O => Kind::Object,
            Slot::P | Slot::Q => Kind::Place,
        }
    }

    /// The letter that names it in a pack.
    pub fn letter(self) -> char {
        ['A', 'B', 'O', 'P', 'Q'][self as usize]
    }

    /// The slot that a pack's letter names.
    pub fn of(letter: char) -> Option<Slot> {
        Slot::ALL.into_iter().find(|slot| slot.letter() == letter)
    }
}

/// The places, by number. The first [`STORY_PLACES`] are bAbI's own.
pub const PLACES: [&str; 33] = [
    "bathroom",
    "bedroom",
    "garden",
    "hallway",
    "kitchen",
    "office",
    "school",
    "park",
    "cinema",
    "dining_room",
    "supermarket",
    "garage",
    "cellar",
    "museum",
    "bakery",
    "hospital",
    "hotel",
    "restaurant",
    "courtyard",
    "gym",
    "pharmacy",
    "flower_shop",
    "stadium",
    "warehouse",
    "laboratory",
    "waiting_room",
    "greenhouse",
    "workshop",
    "barber_shop",
    "toy_shop",
    "clinic",
    "shopping_centre",
    "forest",
];

/// Places of bAbI's qa1-qa10.
pub const STORY_PLACES: usize = 9;

/// Places under the open sky: they have no window.
pub const OUTDOORS: [&str; 5] = ["garden", "park", "courtyard", "stadium", "forest"];

/// The objects, by number. The first [`STORY_OBJECTS`] are the stories' own.
pub const OBJECTS: [&str; 40] = [
    "apple",
    "football",
    "milk",
    "cake",
    "magazine",
    "flashlight",
    "cup",
    "candle",
    "basket",
    "brush",
    "camera",
    "bottle",
    "cap",
    "alarm_clock",
    "towel",
    "map",
    "pencil",
    "plate",
    "pillow",
    "coat",
    "wallet",
    "notebook",
    "teapot",
    "glove",
    "vase",
    "comb",
    "hammer",
    "rope",
    "dictionary",
    "shirt",
    "belt",
    "lantern",
    "coin",
    "skirt",
    "mask",
    "tie",
    "bracelet",
    "passport",
    "poster",
    "shovel",
];

/// Objects of bAbI's qa1-qa10.
pub const STORY_OBJECTS: usize = 4;

/// Objects that one can wipe.
pub const WIPEABLE: [&str; 16] = [
    "flashlight",
    "cup",
    "camera",
    "bottle",
    "alarm_clock",
    "plate",
    "teapot",
    "vase",
    "comb",
    "hammer",
    "belt",
    "lantern",
    "coin",
    "mask",
    "bracelet",
    "shovel",
];

/// Actors: eight story roles (Mary John Sandra Daniel Fred Bill Julie Jeff), then twelve women and twelve men.
pub const ACTORS: usize = 32;

/// The story roles.
pub const STORY_ACTORS: usize = 8;

/// The further women of every cast are the actors from here on, twelve of them.
pub const EXTRA_WOMEN: usize = 8;

/// The further men of every cast are the actors from here on, twelve of them.
pub const EXTRA_MEN: usize = 20;

/// Where a pattern stands in a pack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PatternName {
    /// Table of the pack.
    pub section: &'static str,
    /// Key in that table.
    pub key: &'static str,
    /// Position in the key's array, for keys that hold several patterns.
    pub index: u8,
    /// How many patterns the key holds; 0 for a key that is one string.
    pub of: u8,
    /// The slots a message of this pattern has, by index.
    pub slots: [bool; 5],
}

impl PatternName {
    /// The key as messages print it: `facts.move[2]`.
    pub fn path(&self) -> String {
        match self.of {
            0 => format!("{}.{}", self.section, self.key),
            _ => format!("{}.{}[{}]", self.section, self.key, self.index),
        }
    }
}

const fn letters(text: &str) -> [bool; 5] {
    let bytes = text.as_bytes();
    let mut slots = [false; 5];
    let mut i = 0;
    while i < bytes.len() {
        let slot = match bytes[i] {
            b'A' => 0,
            b'B' => 1,
            b'O' => 2,
            b'P' => 3,
            _ => 4,
        };
        slots[slot] = true;
        i += 1;
    }
    slots
}

/// Number of patterns of a pack.
pub const PATTERN_COUNT: usize = 81;

const KEYS: [(&str, &str, u8, &str); 54] = [
    ("facts", "move", 5, "AP"),
    ("facts", "take", 4, "AO"),
    ("facts", "take_there", 4, "AO"),
    ("facts", "drop", 4, "AO"),
    ("facts", "drop_there", 4, "AO"),
    ("facts", "give", 3, "ABO"),
    ("facts", "is_in", 0, "AP"),
    ("facts", "not_in", 0, "AP"),
    ("facts", "no_longer", 0, "AP"),
    ("facts", "either", 0, "APQ"),
    ("facts", "relation", 4, "PQ"),
    ("fillers", "talked", 0, "ABP"),
    ("fillers", "met", 0, "ABP"),
    ("fillers", "waitfor", 0, "ABP"),
    ("fillers", "wait", 0, "AP"),
    ("fillers", "sat", 0, "AP"),
    ("fillers", "rested", 0, "AP"),
    ("fillers", "music", 0, "AP"),
    ("fillers", "tea", 0, "AP"),
    ("fillers", "window", 0, "AP"),
    ("fillers", "quiet", 0, "P"),
    ("fillers", "greeted", 0, "AB"),
    ("fillers", "smiled", 0, "AB"),
    ("fillers", "waved", 0, "AB"),
    ("fillers", "thanked", 0, "AB"),
    ("fillers", "helped", 0, "AB"),
    ("fillers", "laugh", 0, "AB"),
    ("fillers", "lookat", 0, "AO"),
    ("fillers", "lookfor", 0, "AO"),
    ("fillers", "wiped", 0, "AO"),
    ("fillers", "pointed", 0, "AO"),
    ("fillers", "thought", 0, "AO"),
    ("fillers", "liked", 0, "AO"),
    ("fillers", "asked", 0, "ABO"),
    ("fillers", "told", 0, "ABO"),
    ("scenes", "rain", 0, ""),
    ("scenes", "sun", 0, ""),
    ("scenes", "wind", 0, ""),
    ("scenes", "clouds", 0, ""),
    ("scenes", "dark", 0, ""),
    ("scenes", "birds", 0, ""),
    ("questions", "where_actor", 0, "A"),
    ("questions", "where_object", 0, "O"),
    ("questions", "where_before", 0, "OP"),
    ("questions", "what_is", 4, "P"),
    ("questions", "what_is_of", 4, "P"),
    ("questions", "what_gave", 0, "AB"),
    ("questions", "who_gave", 0, "O"),
    ("questions", "whom_gave", 0, "AO"),
    ("questions", "who_received", 0, "O"),
    ("questions", "who_gave_to", 0, "OB"),
    ("questions", "is_in", 0, "AP"),
    ("questions", "how_many", 0, "A"),
    ("questions", "carrying", 0, "A"),
];

/// Every pattern of a pack, in the order of their numbers.
pub const PATTERNS: [PatternName; PATTERN_COUNT] = {
    let mut all = [PatternName { section: "", key: "", index: 0, of: 0, slots: [false; 5] }; PATTERN_COUNT];
    let (mut key, mut n) = (0, 0);
    while key < KEYS.len() {
        let (section, name, of, slots) = KEYS[key];
        let mut index = 0;
        while index == 0 || index < of {
            all[n] = PatternName { section, key: name, index, of, slots: letters(slots) };
            index += 1;
            n += 1;
        }
        key += 1;
    }
    assert!(n == PATTERN_COUNT);
    all
};

/// The number of the first pattern of a key.
pub const fn pattern(section: &str, key: &str) -> u8 {
    let mut i = 0;
    while i < PATTERN_COUNT {
        if same(PATTERNS[i].section, section) && same(PATTERNS[i].key, key) {
            return i as u8;
        }
        i += 1;
    }
    panic!("no such pattern")
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}
