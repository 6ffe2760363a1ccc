//! The pool of distractor passages: short stories of another cast, typed before they are written,
//! and random noise.

use crate::language::{
    EXTRA_MEN, EXTRA_WOMEN, FURTHER, Kind, LAST_OBJECTS, Message, OBJECTS, OUTDOORS, PATTERNS, PLACES, Pack,
    STORY_ACTORS, STORY_OBJECTS, Slot, WIPEABLE, pattern,
};
use crate::recipe::Variant;
use crate::record::Passage;
use crate::seed::{Rng, Seed};
use crate::story::Fact;
use rustc_hash::FxHashMap;

/// Raised when this stage makes other passages of the same seed.
pub const VERSION: u32 = 1;

/// No sentence stands in the pool more often than this, as long as the vocabulary lasts: retrieval
/// favours what resembles a story, and a haystack should not say the same thing over and over.
const REPEATS: u32 = 3;

/// Draws of one passage before a sentence may be repeated more often.
const DRAWS: usize = 200;

/// The pool of a variant, each passage from its own seed. A smaller pool is the head of a larger one.
pub fn synthetic(seed: &Seed, variant: Variant, size: u32) -> Vec<Passage> {
    let mut said: FxHashMap<Message, u32> = FxHashMap::default();
    let mut pool = Vec::with_capacity(size as usize);
    for n in 0..size {
        let mut rng = seed.derive("distractor", &n.to_string());
        let mut draws = 0;
        let passage = loop {
            let Some(passage) = Scenario::tell(variant, &mut rng) else { continue };
            draws += 1;
            // A scene names nobody and is no repetition to mind.
            let fresh = |m: &Message| m.pattern >= SCENES || said.get(m).is_none_or(|n| *n < REPEATS);
            if draws == DRAWS || passage.sentences.iter().all(fresh) {
                break passage;
            }
        };
        for sentence in &passage.sentences {
            *said.entry(*sentence).or_default() += 1;
        }
        pool.push(passage);
    }
    pool
}

/// The id of a passage.
pub fn id(kind: crate::recipe::Kind, n: u32) -> String {
    format!("{}{n:05}", letter(kind))
}

/// What ids of a kind begin with.
pub fn letter(kind: crate::recipe::Kind) -> char {
    match kind {
        crate::recipe::Kind::Synthetic => 's',
        crate::recipe::Kind::Natural => 'p',
        crate::recipe::Kind::Written => 'w',
        crate::recipe::Kind::Noise => 'n',
    }
}

const FILLERS: u8 = pattern("fillers", "talked");
const SCENES: u8 = pattern("scenes", "rain");
const QUESTIONS: u8 = pattern("questions", "where_actor");
const TALKED: u8 = pattern("fillers", "talked");
const MET: u8 = pattern("fillers", "met");
const WAITFOR: u8 = pattern("fillers", "waitfor");
const WINDOW: u8 = pattern("fillers", "window");
const MUSIC: u8 = pattern("fillers", "music");
const QUIET: u8 = pattern("fillers", "quiet");
const THANKED: u8 = pattern("fillers", "thanked");
const LAUGH: u8 = pattern("fillers", "laugh");
const LOOKAT: u8 = pattern("fillers", "lookat");
const LOOKFOR: u8 = pattern("fillers", "lookfor");
const WIPED: u8 = pattern("fillers", "wiped");
const POINTED: u8 = pattern("fillers", "pointed");
const THOUGHT: u8 = pattern("fillers", "thought");
const LIKED: u8 = pattern("fillers", "liked");
const ASKED: u8 = pattern("fillers", "asked");
const TOLD: u8 = pattern("fillers", "told");

/// How often each event is drawn: move, take, drop, give, is in, is not in, is no longer in, either.
const EVENTS: [u32; 8] = [20, 14, 9, 30, 5, 5, 4, 6];

/// Events of passages under [`Variant::SameAction`]: each passage keeps to a few, so that there are some for
/// every story. People move in all of them, since every other event needs them somewhere.
const PROFILES: [[u32; 8]; 6] = [
    [1, 0, 0, 0, 0, 0, 0, 0],
    [2, 2, 0, 0, 0, 0, 0, 0],
    [2, 2, 2, 0, 0, 0, 0, 0],
    [2, 2, 1, 3, 0, 0, 0, 0],
    [2, 0, 0, 0, 1, 1, 1, 0],
    [2, 0, 0, 0, 1, 0, 0, 2],
];

/// How often each profile is drawn.
const PROFILE_WEIGHTS: [u32; 6] = [6, 1, 1, 1, 1, 1];

/// Where an object of the passage is.
#[derive(Clone, Copy, PartialEq)]
enum Whereabouts {
    Unseen,
    /// Held by the person of this index.
    Held(usize),
    /// Lies in the place.
    Lies(u8),
    /// Somewhere that the passage does not say: it can only be thought or spoken of.
    Unsaid,
}

/// One passage in the making. Its state keeps its sentences true to each other: who is where, who
/// holds what. It knows nothing of any story.
struct Scenario {
    actors: Vec<u8>,
    objects: Vec<u8>,
    places: Vec<u8>,
    at: Vec<Option<u8>>,
    things: Vec<Whereabouts>,
    sentences: Vec<Message>,
    noisy: bool,
}

impl Scenario {
    /// Three to seven sentences, two of them facts at least (none under [`Variant::SameObject`], whose
    /// sentences change no state); none if the draw did not come out so.
    fn tell(variant: Variant, rng: &mut Rng) -> Option<Passage> {
        let actors = distinct(1 + rng.weighted(&[1, 6, 4]), rng, |rng| {
            (if rng.chance(1, 2) { EXTRA_WOMEN } else { EXTRA_MEN } + rng.below(12)) as u8
        });
        let some = if variant == Variant::SameObject { 1 } else { 1 + rng.below(2) };
        let objects = distinct(some, rng, |rng| match variant {
            Variant::SameObject => rng.below(STORY_OBJECTS) as u8,
            _ => (STORY_OBJECTS + rng.below(LAST_OBJECTS - STORY_OBJECTS)) as u8,
        });
        let profile = match variant {
            Variant::SameAction => PROFILES[rng.weighted(&PROFILE_WEIGHTS)],
            _ => EVENTS,
        };
        // Places are drawn from all there are, without regard to any story.
        let places = distinct(1 + rng.weighted(&[3, 4, 2]), rng, |rng| rng.below(PLACES.len()) as u8);
        let mut scenario = Scenario {
            at: vec![None; actors.len()],
            things: vec![Whereabouts::Unseen; objects.len()],
            actors,
            objects,
            places,
            sentences: Vec::new(),
            noisy: false,
        };
        let length = 3 + rng.weighted(&[3, 4, 5, 4, 3]);
        if variant != Variant::SameAction && rng.chance(15, 100) {
            let scene = SCENES + rng.below((QUESTIONS - SCENES) as usize) as u8;
            scenario.sentences.push(Message { pattern: scene, slots: [0; 5] });
        }
        for _ in 0..400 {
            if scenario.sentences.len() == length {
                break;
            }
            let next = match variant {
                Variant::SameAction => scenario.event(&profile, rng).map(Fact::message),
                Variant::SameObject => scenario.filler(rng),
                Variant::Unconstrained if rng.chance(50, 100) => scenario.filler(rng),
                Variant::Unconstrained => scenario.event(&profile, rng).map(Fact::message),
            };
            if let Some(next) = next
                && !scenario.sentences.contains(&next)
            {
                scenario.sentences.push(next);
            }
        }
        let facts = scenario.sentences.iter().filter(|m| m.pattern < FILLERS).count();
        let named = scenario.sentences.iter().filter(|m| PATTERNS[m.pattern as usize].has(Slot::O)).count();
        let sound = match variant {
            Variant::SameObject => 2 * named >= length,
            _ => facts >= 2,
        };
        (scenario.sentences.len() == length && sound).then_some(Passage { sentences: scenario.sentences })
    }

    /// A sentence that tells of an event or state, if the drawn one can be true now.
    fn event(&mut self, weights: &[u32; 8], rng: &mut Rng) -> Option<Fact> {
        let who = rng.below(self.actors.len());
        let actor = self.actors[who];
        let here = self.at[who];
        let thing = rng.below(self.objects.len());
        let object = self.objects[thing];
        match rng.weighted(weights) {
            0 => {
                let place = rng.pick(&self.places);
                if here == Some(place) {
                    return None;
                }
                self.at[who] = Some(place);
                Some(Fact::Move { verb: rng.below(5) as u8, actor, place })
            }
            1 => {
                match self.things[thing] {
                    Whereabouts::Unseen => {}
                    Whereabouts::Lies(place) if here == Some(place) => {}
                    _ => return None,
                }
                self.things[thing] = Whereabouts::Held(who);
                Some(Fact::Take { verb: rng.below(4) as u8, there: here.is_some() && rng.chance(1, 3), actor, object })
            }
            2 => {
                if self.things[thing] != Whereabouts::Held(who) {
                    return None;
                }
                self.things[thing] = here.map_or(Whereabouts::Unsaid, Whereabouts::Lies);
                Some(Fact::Drop { verb: rng.below(4) as u8, there: here.is_some() && rng.chance(1, 3), actor, object })
            }
            3 => {
                let other = self.companion(who, rng)?;
                if !matches!(self.things[thing], Whereabouts::Unseen | Whereabouts::Held(_))
                    || matches!(self.things[thing], Whereabouts::Held(holder) if holder != who)
                {
                    return None;
                }
                self.things[thing] = Whereabouts::Held(other);
                Some(Fact::Give { verb: rng.below(3) as u8, actor, to: self.actors[other], object })
            }
            4 => {
                if here.is_some() {
                    return None;
                }
                let place = rng.pick(&self.places);
                self.at[who] = Some(place);
                Some(Fact::In { actor, place })
            }
            5 => {
                let place = rng.below(PLACES.len()) as u8;
                (here.is_some() && here != Some(place)).then_some(Fact::NotIn { actor, place })
            }
            6 => {
                let place = here?;
                self.at[who] = None;
                Some(Fact::NoLonger { actor, place })
            }
            _ => {
                if here.is_some() {
                    return None;
                }
                let (place, or) = (rng.pick(&self.places), rng.below(PLACES.len()) as u8);
                // Where the person is stays open, so nothing later in the passage may place them: no more
                // events of theirs are told than the walk allows.
                (place != or && !self.said_either(actor)).then_some(Fact::Either { actor, place, or })
            }
        }
    }

    fn said_either(&self, actor: u8) -> bool {
        let either = pattern("facts", "either");
        self.sentences.iter().any(|m| m.pattern == either && m.slots[0] == actor)
    }

    /// Another person in the same known place.
    fn companion(&self, who: usize, rng: &mut Rng) -> Option<usize> {
        let place = self.at[who]?;
        let near: Vec<usize> = (0..self.at.len()).filter(|&b| b != who && self.at[b] == Some(place)).collect();
        (!near.is_empty()).then(|| rng.pick(&near))
    }

    /// Puts a person who has not been placed yet into a place; false if they are elsewhere.
    fn place(&mut self, who: usize, place: u8) -> bool {
        if self.at[who].is_none() && !self.said_either(self.actors[who]) && !self.told_of(who) {
            self.at[who] = Some(place);
        }
        self.at[who] == Some(place)
    }

    /// Was the person placed or sent away by an earlier sentence?
    fn told_of(&self, who: usize) -> bool {
        let no_longer = pattern("facts", "no_longer");
        self.sentences.iter().any(|m| m.pattern == no_longer && m.slots[0] == self.actors[who])
    }

    /// A sentence that changes no state, if the drawn one can be true now.
    fn filler(&mut self, rng: &mut Rng) -> Option<Message> {
        // No filler twice in a passage.
        let filler = FILLERS + rng.below((SCENES - FILLERS) as usize) as u8;
        if self.sentences.iter().any(|m| m.pattern == filler) {
            return None;
        }
        let name = &PATTERNS[filler as usize];
        let who = rng.below(self.actors.len());
        let other = if name.has(Slot::B) {
            let other = rng.below(self.actors.len());
            if other == who {
                return None;
            }
            other
        } else {
            who
        };
        let place = rng.pick(&self.places);
        let thing = rng.below(self.objects.len());
        // What a story's own object does, the story tells; here it is only thought or spoken of.
        let lent = name.has(Slot::O) && (self.objects[thing] as usize) < STORY_OBJECTS;
        if lent && !matches!(filler, THOUGHT | LIKED | LOOKFOR | ASKED | TOLD) {
            return None;
        }
        let possible = match filler {
            TALKED | MET => self.place(who, place) && self.place(other, place),
            WAITFOR => self.at[other].is_some_and(|at| at != place) && self.place(who, place),
            // It is quiet only where nobody talks, laughs or makes music.
            QUIET => !self.noisy && self.at.contains(&Some(place)),
            WINDOW => !OUTDOORS.contains(&PLACES[place as usize]) && self.place(who, place),
            THANKED | THOUGHT | LIKED => true,
            LOOKFOR => match self.things[thing] {
                Whereabouts::Unseen => {
                    self.things[thing] = Whereabouts::Unsaid;
                    true
                }
                Whereabouts::Held(holder) => holder != who && self.at[holder] != self.at[who],
                Whereabouts::Lies(at) => self.at[who] != Some(at),
                Whereabouts::Unsaid => true,
            },
            LOOKAT | WIPED | POINTED => {
                let wipeable = WIPEABLE.contains(&OBJECTS[self.objects[thing] as usize]);
                let near = match (self.things[thing], self.at[who]) {
                    (Whereabouts::Held(holder), _) => {
                        holder == who || (self.at[who].is_some() && self.at[holder] == self.at[who])
                    }
                    (Whereabouts::Lies(at), Some(here)) => at == here,
                    (Whereabouts::Unseen, Some(here)) if filler != WIPED || wipeable => {
                        self.things[thing] = Whereabouts::Lies(here);
                        true
                    }
                    _ => false,
                };
                near && (filler != WIPED || wipeable)
            }
            // Fillers of one person in a place, and of two people who stand together.
            _ if name.has(Slot::P) => self.place(who, place),
            _ => self.at[who].is_some() && self.at[who] == self.at[other],
        };
        if !possible {
            return None;
        }
        self.noisy |= matches!(filler, TALKED | MUSIC | LAUGH) || filler == QUIET;
        let mut message = Message { pattern: filler, slots: [0; 5] };
        for slot in name.used() {
            message.slots[slot.index()] = match slot {
                Slot::A => self.actors[who],
                Slot::B => self.actors[other],
                Slot::O => self.objects[thing],
                Slot::P => place,
                other => unreachable!("no filler has a slot {other:?}"),
            };
        }
        Some(message)
    }
}

fn distinct(n: usize, rng: &mut Rng, mut draw: impl FnMut(&mut Rng) -> u8) -> Vec<u8> {
    let mut all = Vec::with_capacity(n);
    while all.len() < n {
        let next = draw(rng);
        if !all.contains(&next) {
            all.push(next);
        }
    }
    all
}

/// Random noise in one language: passages of lines of random letters, none of which holds a name of the
/// stories' actors, places or objects, in any form.
pub fn noise(seed: &Seed, pack: &Pack, size: u32, late: bool) -> Vec<String> {
    let banned = banned(pack, late);
    (0..size)
        .map(|n| {
            let mut rng = seed.derive("noise", &format!("{}/{n}", pack.code()));
            let lines = 3 + rng.below(5);
            let mut text = String::new();
            for _ in 0..lines {
                loop {
                    let line = noise_line(pack, &mut rng);
                    if !holds(&line, &banned) {
                        text.push_str(&line);
                        text.push('\n');
                        break;
                    }
                }
            }
            text
        })
        .collect()
}

fn noise_line(pack: &Pack, rng: &mut Rng) -> String {
    let spaced = pack.writes_spaces();
    let words = 5 + rng.below(8);
    let mut line = String::new();
    for word in 0..words {
        if spaced && word > 0 {
            line.push(' ');
        }
        for _ in 0..2 + rng.below(7) {
            line.push(rng.pick(pack.noise()));
        }
    }
    line
}

/// Every name that text without certificate of its own must not hold: the stories' actors, and every
/// candidate answer (places and objects; of qa11-qa20, where a recipe has such tasks, all that they tell of), in each
/// form, lower-case.
pub fn banned(pack: &Pack, late: bool) -> Vec<String> {
    let mut sizes = vec![
        (Kind::Actor, 0..STORY_ACTORS),
        (Kind::Object, 0..STORY_OBJECTS),
        (Kind::Place, 0..crate::language::STORY_PLACES),
    ];
    if late {
        sizes.push((Kind::Actor, FURTHER..Kind::Actor.count()));
        sizes.push((Kind::Object, LAST_OBJECTS..Kind::Object.count()));
        for kind in [Kind::Animal, Kind::Colour, Kind::Shape, Kind::Container, Kind::Motive] {
            sizes.push((kind, 0..kind.count()));
        }
    }
    let mut all: Vec<String> = sizes
        .into_iter()
        .flat_map(|(kind, range)| range.flat_map(move |entity| pack.forms_of(kind, entity as u8)))
        .map(|form| form.to_lowercase())
        // Of a guest, what no answer names has no word.
        .filter(|form| !form.is_empty())
        .collect();
    all.sort();
    all.dedup();
    all
}

/// Actors of stories: those who are no extras.
pub fn story_actors() -> impl Iterator<Item = u8> {
    (0..STORY_ACTORS as u8).chain(FURTHER as u8..Kind::Actor.count() as u8)
}

/// Does a text hold one of these names, whatever its case?
pub fn holds(text: &str, banned: &[String]) -> bool {
    let text = text.to_lowercase();
    banned.iter().any(|name| text.contains(name.as_str()))
}
