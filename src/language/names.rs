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
    /// What leads from a sentence to the next: then, after that.
    Link,
    /// A pronoun, by sex and number of those it stands for.
    Pronoun,
    /// A time of day.
    Time,
    /// A kind of animal.
    Animal,
    /// A colour.
    Colour,
    /// A coloured shape.
    Shape,
    /// A thing that others fit into.
    Container,
    /// What moves a person to do something.
    Motive,
}

impl Kind {
    /// All kinds, by number.
    pub const ALL: [Kind; 11] = [
        Kind::Actor,
        Kind::Object,
        Kind::Place,
        Kind::Link,
        Kind::Pronoun,
        Kind::Time,
        Kind::Animal,
        Kind::Colour,
        Kind::Shape,
        Kind::Container,
        Kind::Motive,
    ];

    /// The entities of this kind, by number; of actors, which have names of their own, only how many there are.
    pub fn count(self) -> usize {
        match self {
            Kind::Actor => ACTORS,
            _ => self.ids().len(),
        }
    }

    /// The keys of its entities in packs; none of actors.
    pub fn ids(self) -> &'static [&'static str] {
        match self {
            Kind::Actor => &[],
            Kind::Object => &OBJECTS,
            Kind::Place => &PLACES,
            Kind::Link => &LINKS,
            Kind::Pronoun => &PRONOUNS,
            Kind::Time => &TIMES,
            Kind::Animal => &ANIMALS,
            Kind::Colour => &COLOURS,
            Kind::Shape => &SHAPES,
            Kind::Container => &CONTAINERS,
            Kind::Motive => &MOTIVES,
        }
    }

    /// Table of its entities in packs.
    pub fn section(self) -> &'static str {
        match self {
            Kind::Actor => "cast",
            Kind::Object => "objects",
            Kind::Place => "places",
            Kind::Link => "links",
            Kind::Pronoun => "pronouns",
            Kind::Time => "times",
            Kind::Animal => "animals",
            Kind::Colour => "colours",
            Kind::Shape => "shapes",
            Kind::Container => "containers",
            Kind::Motive => "motives",
        }
    }
}

/// A slot of a pattern.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Slot {
    /// The acting person.
    A,
    /// The other person.
    B,
    /// The object.
    O,
    /// The place.
    P,
    /// The other place.
    Q,
    /// What leads from the sentence before.
    L,
    /// The pronoun: a set of [`PRONOUNS`], one bit each.
    G,
    /// The time of day.
    D,
    /// The kind of animal.
    Z,
    /// The other kind of animal.
    W,
    /// The colour.
    C,
    /// The shape.
    S,
    /// The other shape.
    T,
    /// The container, or what is in one.
    U,
    /// The other container.
    V,
    /// The motive.
    M,
}

impl Slot {
    /// All slots; those of one pattern stand in the order of their indices.
    pub const ALL: [Slot; 16] = [
        Slot::A,
        Slot::L,
        Slot::B,
        Slot::G,
        Slot::O,
        Slot::D,
        Slot::C,
        Slot::M,
        Slot::P,
        Slot::Z,
        Slot::S,
        Slot::U,
        Slot::Q,
        Slot::W,
        Slot::T,
        Slot::V,
    ];

    /// Its index in [`super::Message::slots`]. Slots that share one never stand in one pattern.
    pub const fn index(self) -> usize {
        match self {
            Slot::A | Slot::L => 0,
            Slot::B | Slot::G => 1,
            Slot::O | Slot::D | Slot::C | Slot::M => 2,
            Slot::P | Slot::Z | Slot::S | Slot::U => 3,
            Slot::Q | Slot::W | Slot::T | Slot::V => 4,
        }
    }

    /// What stands in the slot.
    pub fn kind(self) -> Kind {
        match self {
            Slot::A | Slot::B => Kind::Actor,
            Slot::O => Kind::Object,
            Slot::P | Slot::Q => Kind::Place,
            Slot::L => Kind::Link,
            Slot::G => Kind::Pronoun,
            Slot::D => Kind::Time,
            Slot::Z | Slot::W => Kind::Animal,
            Slot::C => Kind::Colour,
            Slot::S | Slot::T => Kind::Shape,
            Slot::U | Slot::V => Kind::Container,
            Slot::M => Kind::Motive,
        }
    }

    /// The entity in this slot of a message, as a number below [`Kind::count`]; of several pronouns that are written
    /// alike, the first.
    pub fn entity(self, slots: &[u8; 5]) -> u8 {
        let value = slots[self.index()];
        match self {
            Slot::G => value.trailing_zeros().min(PRONOUNS.len() as u32 - 1) as u8,
            _ => value,
        }
    }

    /// The letter that names it in a pack.
    pub const fn letter(self) -> char {
        match self {
            Slot::A => 'A',
            Slot::B => 'B',
            Slot::O => 'O',
            Slot::P => 'P',
            Slot::Q => 'Q',
            Slot::L => 'L',
            Slot::G => 'G',
            Slot::D => 'D',
            Slot::Z => 'Z',
            Slot::W => 'W',
            Slot::C => 'C',
            Slot::S => 'S',
            Slot::T => 'T',
            Slot::U => 'U',
            Slot::V => 'V',
            Slot::M => 'M',
        }
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

/// Places of bAbI's stories.
pub const STORY_PLACES: usize = 9;

/// Places under the open sky: they have no window.
pub const OUTDOORS: [&str; 5] = ["garden", "park", "courtyard", "stadium", "forest"];

/// The objects, by number. The first [`STORY_OBJECTS`] are the stories' own.
pub const OBJECTS: [&str; 41] = [
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
    "pajamas",
];

/// Objects of bAbI's qa1-qa10; the last of all, the pajamas, is qa20's.
pub const STORY_OBJECTS: usize = 4;

/// Objects from here on are bAbI's too: distractors have those between.
pub const LAST_OBJECTS: usize = 40;

/// What leads from a sentence to the next.
pub const LINKS: [&str; 4] = ["then", "after_that", "following_that", "afterwards"];

/// Pronouns: a man, a woman, two persons with a man among them, two women.
pub const PRONOUNS: [&str; 4] = ["he", "she", "they_m", "they_f"];

/// Times of day, in their order.
pub const TIMES: [&str; 4] = ["yesterday", "this_morning", "this_afternoon", "this_evening"];

/// Kinds of animals: qa15's four, then qa16's.
pub const ANIMALS: [&str; 8] = ["mouse", "wolf", "cat", "sheep", "frog", "lion", "swan", "rhino"];

/// Colours of animals (qa16).
pub const COLOURS: [&str; 4] = ["green", "white", "yellow", "gray"];

/// Shapes (qa17).
pub const SHAPES: [&str; 6] =
    ["triangle", "pink_rectangle", "blue_square", "red_square", "red_sphere", "yellow_square"];

/// Things that fit into one another (qa18).
pub const CONTAINERS: [&str; 6] = ["chocolate", "box_of_chocolates", "box", "chest", "suitcase", "container"];

/// What moves people (qa20).
pub const MOTIVES: [&str; 4] = ["hungry", "thirsty", "tired", "bored"];

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

/// Actors: eight story roles (Mary John Sandra Daniel Fred Bill Julie Jeff), then twelve women and twelve men, then
/// bAbI's further names (Gertrude Winona Emily Jessica Lily Bernhard Greg Brian Julius Sumit Yann Antoine Jason).
pub const ACTORS: usize = 45;

/// The story roles.
pub const STORY_ACTORS: usize = 8;

/// The further women of every cast are the actors from here on, twelve of them.
pub const EXTRA_WOMEN: usize = 8;

/// The further men of every cast are the actors from here on, twelve of them.
pub const EXTRA_MEN: usize = 20;

/// bAbI's further names are the actors from here on: five women, then eight men. They are animals in qa15 and qa16.
pub const FURTHER: usize = 32;

/// Women among [`FURTHER`].
pub const FURTHER_WOMEN: usize = 5;

/// The first of qa20's four men.
pub const MOTIVATED: usize = 41;

/// Is a role of this number a woman? The same in every language: pronouns agree with it.
pub const fn is_woman(actor: u8) -> bool {
    let n = actor as usize;
    matches!(n, 0 | 2 | 6) || n >= EXTRA_WOMEN && n < EXTRA_MEN || n >= FURTHER && n < FURTHER + FURTHER_WOMEN
}

/// The pronoun that stands for one person or two, as a bit of [`Slot::G`].
pub fn pronoun(actors: &[u8]) -> u8 {
    let women = actors.iter().all(|a| is_woman(*a));
    1 << match (actors.len(), women) {
        (1, false) => 0,
        (1, true) => 1,
        (_, false) => 2,
        (_, true) => 3,
    }
}

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
    pub slots: [Option<Slot>; 5],
    /// Packs of old releases do not have it.
    pub late: bool,
}

impl PatternName {
    /// Has it this slot?
    pub fn has(&self, slot: Slot) -> bool {
        self.slots[slot.index()] == Some(slot)
    }

    /// Its slots, in the order of their indices.
    pub fn used(&self) -> impl Iterator<Item = Slot> + '_ {
        self.slots.iter().filter_map(|slot| *slot)
    }

    /// The key as messages print it: `facts.move[2]`.
    pub fn path(&self) -> String {
        match self.of {
            0 => format!("{}.{}", self.section, self.key),
            _ => format!("{}.{}[{}]", self.section, self.key, self.index),
        }
    }
}

const fn letters(text: &str) -> [Option<Slot>; 5] {
    let bytes = text.as_bytes();
    let mut slots = [None; 5];
    let mut i = 0;
    while i < bytes.len() {
        let mut n = 0;
        while Slot::ALL[n].letter() as u8 != bytes[i] {
            n += 1;
        }
        let slot = Slot::ALL[n];
        assert!(slots[slot.index()].is_none());
        slots[slot.index()] = Some(slot);
        i += 1;
    }
    slots
}

/// Number of patterns of a pack.
pub const PATTERN_COUNT: usize = 124;

/// Keys from here on are of bAbI's qa11-qa20, which packs of old releases do not have.
const LATE: usize = 54;

const KEYS: [(&str, &str, u8, &str); 75] = [
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
    ("facts", "pair", 5, "ABP"),
    ("facts", "then", 5, "LGP"),
    ("facts", "at_time", 5, "ADP"),
    ("facts", "time_first", 5, "ADP"),
    ("facts", "afraid", 0, "ZW"),
    ("facts", "is_a", 0, "AZ"),
    ("facts", "has_colour", 0, "AC"),
    ("facts", "beside", 4, "ST"),
    ("facts", "bigger", 0, "UV"),
    ("facts", "fits", 0, "UV"),
    ("facts", "feels", 0, "AM"),
    ("questions", "where_actor_before", 0, "AP"),
    ("questions", "afraid_of", 0, "A"),
    ("questions", "what_colour", 0, "A"),
    ("questions", "is_beside", 4, "ST"),
    ("questions", "fits_in", 0, "UV"),
    ("questions", "is_bigger", 0, "UV"),
    ("questions", "path", 0, "PQ"),
    ("questions", "where_will", 0, "A"),
    ("questions", "why_go", 0, "AP"),
    ("questions", "why_get", 0, "AO"),
];

/// Every pattern of a pack, in the order of their numbers.
pub const PATTERNS: [PatternName; PATTERN_COUNT] = {
    let mut all = [PatternName { section: "", key: "", index: 0, of: 0, slots: [None; 5], late: false }; PATTERN_COUNT];
    let (mut key, mut n) = (0, 0);
    while key < KEYS.len() {
        let (section, name, of, slots) = KEYS[key];
        let mut index = 0;
        while index == 0 || index < of {
            let late = key >= LATE;
            all[n] = PatternName { section, key: name, index, of, slots: letters(slots), late };
            index += 1;
            n += 1;
        }
        key += 1;
    }
    assert!(n == PATTERN_COUNT);
    all
};

/// Keys whose patterns differ in the verb alone: another language may say them alike.
const VERBS: [&str; 10] =
    ["move", "take", "take_there", "drop", "drop_there", "give", "pair", "then", "at_time", "time_first"];

/// The first pattern that tells of the same event: another verb, or another place of the time.
pub fn event(number: u8) -> u8 {
    let name = &PATTERNS[number as usize];
    match name.key {
        "time_first" => pattern("facts", "at_time"),
        key if name.section == "facts" && VERBS.contains(&key) => number - name.index,
        _ => number,
    }
}

/// The number of a pattern's path, such as `facts.move[2]`.
pub fn pattern_of(path: &str) -> Option<u8> {
    PATTERNS.iter().position(|name| name.path() == path).map(|n| n as u8)
}

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
