//! A language pack: its file, checked and compiled.

use super::Message;
use super::breaks::Marks;
use super::file::{AnswerWords, FactoidWords, File, Instructions, OneOrMany, Person, PromptWords, Running, Sentence};
use super::matching::Rules;
use super::names::{
    ACTORS, FURTHER, Kind, LAST_OBJECTS, PATTERNS, PatternName, STORY_ACTORS, Slot, is_woman, pattern_of,
};
use super::pattern::{Segment, compile};
use super::reader::{ReadError, Reader};
use crate::error::{Error, Result};
use crate::fail;
use crate::hash::Digest;
use rustc_hash::FxHashMap;
use unicode_normalization::is_nfc;

/// Number of kinds of entities.
const KINDS: usize = Kind::ALL.len();

/// The declared forms of every entity.
pub(super) struct Forms {
    names: [Vec<String>; KINDS],
    /// By kind, form, entity.
    texts: [Vec<Vec<String>>; KINDS],
    /// The same with the first letter upper-case.
    starts: [Vec<Vec<String>>; KINDS],
    /// By kind and entity: index into the pack's genders; of pronouns their own number.
    gender: [Vec<usize>; KINDS],
    /// By kind and entity: accepted and never printed.
    also: [Vec<Vec<String>>; KINDS],
    genders: usize,
}

impl Forms {
    pub(super) fn index(&self, kind: Kind, form: &str) -> Result<usize> {
        let names = &self.names[kind as usize];
        names
            .iter()
            .position(|n| n == form)
            .ok_or_else(|| Error::new(format!("unknown form `{form}` of {kind:?}, declared are {}", names.join(", "))))
    }

    pub(super) fn genders(&self, kind: Kind) -> usize {
        match kind {
            Kind::Actor => self.genders.min(2),
            Kind::Pronoun => Kind::Pronoun.count(),
            _ => self.genders,
        }
    }

    pub(super) fn texts(&self, kind: Kind, form: usize, start: bool) -> &[String] {
        let texts = if start { &self.starts } else { &self.texts };
        &texts[kind as usize][form]
    }
}

/// A language pack, ready to write and read.
pub struct Pack {
    code: String,
    name: String,
    english_name: String,
    digest: Digest,
    forms: Forms,
    patterns: Vec<Vec<Segment>>,
    answers: AnswerWords,
    instructions: Instructions,
    prompt: PromptWords,
    noise: Vec<char>,
    matching: Rules,
    running: Running,
    factoids: Vec<FactoidWords>,
    /// By actor: the name in Latin letters, where the script is another.
    latin: Vec<Vec<String>>,
    /// It has what qa11-qa20 need.
    late: bool,
    /// Its sentences one by one, in place of patterns: message with 1 for women and 0 for men, and pieces.
    memory: Vec<(Message, Vec<Segment>)>,
    /// Where each is.
    places: FxHashMap<Message, u32>,
    /// Its file.
    text: String,
    reader: Option<Reader>,
}

impl Pack {
    /// Reads and checks a pack file. An error names the key at fault.
    pub fn parse(text: &str) -> Result<Pack> {
        check_characters(text)?;
        let file: File = toml::from_str(text).map_err(|e| Error::new(e.to_string().trim_end().to_owned()))?;
        Pack::of(file, Digest::of(text), text)
    }

    /// This pack with the persons of another: each is called what they are called there. Sentences about a story in another
    /// language need it.
    pub fn with_cast(&self, other: &Pack) -> Result<Pack> {
        if self.latin.len() != other.latin.len() {
            fail!("the packs {} and {} have casts of different sizes", self.code, other.code);
        }
        let text = self.text.as_str();
        let mut file: File = toml::from_str(text).map_err(|e| Error::new(e.to_string().trim_end().to_owned()))?;
        let cast = &mut file.cast;
        let persons = cast.story.iter_mut().chain(&mut cast.extra).chain(&mut cast.further);
        let mut latin = std::collections::BTreeMap::new();
        for (n, person) in persons.enumerate() {
            person.name = other.citation(Kind::Actor, n as u8).to_owned();
            latin.insert(person.name.clone(), other.latin[n].clone());
        }
        latin.retain(|_, all| !all.is_empty());
        file.latin = latin;
        let digest = Digest::of_parts([text.as_bytes(), other.digest.0.as_slice()]);
        Pack::of(file, digest, text)
    }

    fn of(file: File, digest: Digest, text: &str) -> Result<Pack> {
        let late = !file.cast.further.is_empty();
        let translated = !file.sentences.is_empty();
        let forms = build_forms(&file)?;
        let memory = memory(&file, &forms)?;
        let places = memory.iter().enumerate().map(|(n, (message, _))| (*message, n as u32)).collect();
        let mut patterns = Vec::with_capacity(PATTERNS.len());
        for name in &PATTERNS {
            let section = match name.section {
                "facts" => &file.facts,
                "questions" => &file.questions,
                "fillers" => &file.fillers,
                _ => &file.scenes,
            };
            let text = match (section.get(name.key), name.of) {
                (Some(OneOrMany::One(text)), 0) => text,
                (Some(OneOrMany::Many(texts)), of) if of > 0 && texts.len() == of as usize => {
                    &texts[name.index as usize]
                }
                (None, _) if name.late && !late || translated => {
                    patterns.push(Vec::new());
                    continue;
                }
                (Some(_), 0) => fail!("{}.{} must be one string", name.section, name.key),
                (Some(_), of) => fail!("{}.{} must be a list of {of} strings", name.section, name.key),
                (None, _) => fail!("missing key {}.{}", name.section, name.key),
            };
            patterns.push(compile(name, text, &forms, file.capitalize)?);
        }
        for (section, table) in [
            ("facts", &file.facts),
            ("questions", &file.questions),
            ("fillers", &file.fillers),
            ("scenes", &file.scenes),
        ] {
            let known = |key: &str| PATTERNS.iter().any(|p| p.section == section && p.key == key);
            if let Some(key) = table.keys().find(|key| !known(key)) {
                fail!("unknown pattern {section}.{key}");
            }
            let of_late = |key: &&String| PATTERNS.iter().any(|p| p.section == section && p.key == *key && p.late);
            if let Some(key) = table.keys().find(of_late).filter(|_| !late) {
                fail!("{section}.{key} is of qa11-qa20, which need cast.further and all that goes with it");
            }
        }
        let words = &file.answers;
        for (key, list) in
            [("yes", &words.yes), ("no", &words.no), ("maybe", &words.maybe), ("nothing", &words.nothing)]
        {
            if list.is_empty() {
                fail!("answers.{key} needs at least the word itself");
            }
        }
        if words.count.len() != 11 || words.count.iter().any(Vec::is_empty) {
            fail!("answers.count needs eleven lists, for none to ten");
        }
        if late {
            check_late(&file)?;
        }
        let latin = latin(&file)?;
        let noise: Vec<char> = file.noise.letters.chars().filter(|c| !c.is_whitespace()).collect();
        if noise.len() < 20 {
            fail!("noise.letters needs at least 20 letters");
        }
        let matching = Rules::new(&file.code, &file.matching)?;
        let mut pack = Pack {
            code: file.code,
            name: file.name,
            english_name: file.english_name,
            digest,
            forms,
            patterns,
            answers: file.answers,
            instructions: file.instructions,
            prompt: file.prompt,
            noise,
            matching,
            running: file.running,
            factoids: file.factoids,
            latin,
            late,
            memory,
            places,
            text: text.to_owned(),
            reader: None,
        };
        pack.reader = Some(Reader::new(&pack));
        Ok(pack)
    }

    /// ISO 639-1 code.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// The language's own name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The language's English name.
    pub fn english_name(&self) -> &str {
        &self.english_name
    }

    /// SHA-256 of the pack file.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Appends the sentence of a message.
    pub fn write(&self, message: Message, out: &mut String) {
        self.write_segments(self.pieces(message), message, out);
    }

    /// The pieces of a message's sentence; none where it cannot be written.
    fn pieces(&self, message: Message) -> &[Segment] {
        if self.memory.is_empty() {
            return &self.patterns[message.pattern as usize];
        }
        let place = self.places.get(&self.sexes(message));
        place.map_or(&[], |n| &self.memory[*n as usize].1)
    }

    /// A message with the sexes of its persons in their place: what a pack of single sentences looks it up by.
    fn sexes(&self, message: Message) -> Message {
        let name = &PATTERNS[message.pattern as usize];
        let mut slots = message.slots;
        for slot in [Slot::A, Slot::B].into_iter().filter(|slot| name.has(*slot)) {
            slots[slot.index()] = u8::from(is_woman(slots[slot.index()]));
        }
        Message { slots, ..message }
    }

    /// Was it made by machine translation?
    pub fn is_translated(&self) -> bool {
        !self.memory.is_empty()
    }

    /// Can it write a message, whoever its persons are? Packs of patterns can write all that they know.
    pub fn can_write(&self, message: Message) -> bool {
        if self.memory.is_empty() {
            return !self.patterns[message.pattern as usize].is_empty();
        }
        let name = &PATTERNS[message.pattern as usize];
        let sexes = |slot: Slot| {
            if name.has(slot) { 0..2u8 } else { message.slots[slot.index()]..message.slots[slot.index()] + 1 }
        };
        sexes(Slot::A).all(|a| {
            sexes(Slot::B).all(|b| {
                let mut slots = message.slots;
                (slots[Slot::A.index()], slots[Slot::B.index()]) = (a, b);
                self.places.contains_key(&Message { slots, ..message })
            })
        })
    }

    /// Its file.
    pub fn file(&self) -> &str {
        &self.text
    }

    /// The sentences of a pack of single sentences.
    pub(super) fn memory(&self) -> &[(Message, Vec<Segment>)] {
        &self.memory
    }

    fn write_segments(&self, segments: &[Segment], message: Message, out: &mut String) {
        for segment in segments {
            match segment {
                Segment::Text(text) => out.push_str(text),
                Segment::Form { slot, form, start } => {
                    let entity = slot.entity(&message.slots) as usize;
                    out.push_str(&self.forms.texts(slot.kind(), *form, *start)[entity]);
                }
                Segment::Agree { slots, texts } => {
                    self.write_segments(&texts[self.gender(slots, message)], message, out);
                }
            }
        }
    }

    /// Which of the alternatives of an agreement: of two persons the second where both are women.
    fn gender(&self, slots: &[Slot], message: Message) -> usize {
        let of = |slot: &Slot| self.forms.gender[slot.kind() as usize][slot.entity(&message.slots) as usize];
        slots.iter().map(of).min().unwrap_or(0)
    }

    /// Can it write all of bAbI's tasks? Packs of old releases know the first ten.
    pub fn knows_all_tasks(&self) -> bool {
        self.late
    }

    /// How a person's name is written in Latin letters; empty where it is.
    pub fn latin(&self, actor: u8) -> &[String] {
        self.latin.get(actor as usize).map_or(&[], Vec::as_slice)
    }

    /// The sentence of a message.
    pub fn sentence(&self, message: Message) -> String {
        let mut out = String::new();
        self.write(message, &mut out);
        out
    }

    /// The single meaning of a sentence.
    pub fn read(&self, sentence: &str) -> std::result::Result<Message, ReadError> {
        self.reader.as_ref().expect("set by parse").read(self, sentence)
    }

    /// The words that stand for the entity in a slot of a message's sentence, as printed there.
    pub fn printed(&self, message: Message, slot: Slot) -> Vec<&str> {
        let mut found = Vec::new();
        self.find_printed(self.pieces(message), message, slot, &mut found);
        found.retain(|text| !text.is_empty());
        found
    }

    fn find_printed<'a>(&'a self, segments: &'a [Segment], message: Message, slot: Slot, found: &mut Vec<&'a str>) {
        for segment in segments {
            match segment {
                Segment::Form { slot: s, form, start } if *s == slot => {
                    let entity = slot.entity(&message.slots) as usize;
                    found.push(&self.forms.texts(slot.kind(), *form, *start)[entity]);
                }
                Segment::Agree { slots, texts } => {
                    self.find_printed(&texts[self.gender(slots, message)], message, slot, found);
                }
                _ => {}
            }
        }
    }

    /// The citation form of an entity: what the gold answer prints.
    pub fn citation(&self, kind: Kind, entity: u8) -> &str {
        &self.forms.texts(kind, 0, false)[entity as usize]
    }

    /// Everything besides the citation form that is accepted for an entity: its declared forms and
    /// the pack's synonyms, without repeats, sorted.
    pub fn variants(&self, kind: Kind, entity: u8) -> Vec<String> {
        let k = kind as usize;
        let names = self.forms.names[k].iter().enumerate();
        let mut all: Vec<String> = names
            .filter(|(_, name)| !name.starts_with('_'))
            .map(|(form, _)| self.forms.texts[k][form][entity as usize].clone())
            .chain(self.forms.also[k][entity as usize].iter().cloned())
            .filter(|text| text != self.citation(kind, entity))
            .collect();
        all.sort();
        all.dedup();
        all
    }

    /// Several entities in the same form, for every way in which each can be printed: all in the
    /// citation form, then all in each declared form, then the first synonyms of all, and so on.
    pub(crate) fn parallel_forms(&self, kind: Kind, entities: &[u8]) -> Vec<Vec<String>> {
        let k = kind as usize;
        let names = self.forms.names[k].iter().enumerate().filter(|(_, name)| !name.starts_with('_'));
        let mut all: Vec<Vec<String>> = names
            .map(|(form, _)| entities.iter().map(|&e| self.forms.texts[k][form][e as usize].clone()).collect())
            .collect();
        let also = |e: u8, n: usize| self.forms.also[k][e as usize].get(n).cloned();
        let mut n = 0;
        // An entity without an n-th synonym keeps its citation form beside those that have one.
        while entities.iter().any(|&e| also(e, n).is_some()) {
            let form = |&e: &u8| also(e, n).unwrap_or_else(|| self.citation(kind, e).to_owned());
            all.push(entities.iter().map(form).collect());
            n += 1;
        }
        all.dedup();
        all
    }

    /// Every way in which an entity can be printed or is accepted.
    pub fn forms_of(&self, kind: Kind, entity: u8) -> Vec<String> {
        let mut all = self.variants(kind, entity);
        all.push(self.citation(kind, entity).to_owned());
        all
    }

    /// How many entities of a kind it knows: packs of old releases know fewer than [`Kind::count`].
    pub(crate) fn known(&self, kind: Kind) -> u8 {
        self.forms.also[kind as usize].len() as u8
    }

    /// Does the language put spaces between words? (Told by how it joins two sentences.)
    pub fn writes_spaces(&self) -> bool {
        !self.instructions.join.is_empty()
    }

    /// The letters random noise is drawn from.
    pub fn noise(&self) -> &[char] {
        &self.noise
    }

    /// How answers are found in this language's text.
    pub fn matching(&self) -> &Rules {
        &self.matching
    }

    /// The system message of the in-context recall test; empty in packs of old releases.
    pub fn system(&self) -> &str {
        &self.running.system
    }

    /// What is to be known of its sentences to hide one more among them.
    pub fn marks(&self) -> Marks<'_> {
        let Running { openings, soft_openings, abbreviations, .. } = &self.running;
        Marks { abbreviations, openings, soft: soft_openings, spaced: self.writes_spaces() }
    }

    /// The paper's factoids in this language.
    pub(crate) fn factoids(&self) -> &[FactoidWords] {
        &self.factoids
    }

    pub(crate) fn answers(&self) -> &AnswerWords {
        &self.answers
    }

    pub(crate) fn instructions(&self) -> &Instructions {
        &self.instructions
    }

    pub(crate) fn prompt(&self) -> &PromptWords {
        &self.prompt
    }

    pub(super) fn segments(&self, pattern: u8) -> &[Segment] {
        &self.patterns[pattern as usize]
    }

    pub(super) fn forms(&self) -> &Forms {
        &self.forms
    }
}

/// Invisible and look-alike characters have no place in a benchmark's text.
pub fn is_forbidden(c: char) -> bool {
    matches!(c, '\u{a0}' | '\u{ad}' | '\u{61c}' | '\u{640}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// What keeps letters apart or together within a word, as Persian and Indic languages write.
pub fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

fn check_characters(text: &str) -> Result<()> {
    // Languages without an authored pack may need joiners to spell their words.
    let joins = text.contains("[[sentences]]");
    for (n, line) in text.lines().enumerate() {
        if let Some(c) = line.chars().find(|c| is_forbidden(*c) && !(joins && is_joiner(*c))) {
            fail!("line {} holds the invisible character U+{:04X}", n + 1, c as u32);
        }
        if !is_nfc(line) {
            fail!("line {} is not in Unicode normal form NFC", n + 1);
        }
    }
    Ok(())
}

/// The sentences of a pack made by machine translation.
fn memory(file: &File, forms: &Forms) -> Result<Vec<(Message, Vec<Segment>)>> {
    let mut all = Vec::with_capacity(file.sentences.len());
    for Sentence { says, slots, text } in &file.sentences {
        let Some(pattern) = pattern_of(says) else { fail!("sentences: unknown pattern {says:?}") };
        let name = &PATTERNS[pattern as usize];
        let persons = [Slot::A, Slot::B].into_iter().filter(|slot| name.has(*slot));
        if persons.clone().any(|slot| slots[slot.index()] > 1) {
            fail!("sentences: {says} {slots:?}: a person is 1 for a woman or 0 for a man");
        }
        let things = name.used().filter(|slot| slot.kind() != Kind::Actor);
        if let Some(slot) =
            things.into_iter().find(|s| usize::from(s.entity(slots)) >= forms.texts(s.kind(), 0, false).len())
        {
            fail!("sentences: {says} {slots:?}: there is no such {:?}", slot.kind());
        }
        // Only persons are printed by their slots; all else is the sentence's own text.
        let slots_of = name.slots.map(|slot| slot.filter(|slot| slot.kind() == Kind::Actor));
        let spoken = PatternName { slots: slots_of, ..*name };
        all.push((Message { pattern, slots: *slots }, compile(&spoken, text, forms, file.capitalize)?));
    }
    Ok(all)
}

/// Qa11-qa20 are there as a whole or not at all.
fn check_late(file: &File) -> Result<()> {
    if let Some((key, _)) = file.instructions.late().into_iter().find(|(_, text)| text.is_empty()) {
        fail!("missing key instructions.{key}: a pack with cast.further has all that qa11-qa20 need");
    }
    if file.answers.directions.len() != 4 || file.answers.directions.iter().any(Vec::is_empty) {
        fail!("answers.directions needs four lists, for north, south, east and west");
    }
    if file.prompt.json_reasoning.is_empty() || file.prompt.examples.is_empty() {
        fail!("missing key prompt.json_reasoning or prompt.examples");
    }
    Ok(())
}

/// The cast's names in Latin letters, by actor.
fn latin(file: &File) -> Result<Vec<Vec<String>>> {
    let cast = || file.cast.story.iter().chain(&file.cast.extra).chain(&file.cast.further);
    if let Some(name) = file.latin.keys().find(|name| cast().all(|person| person.name != **name)) {
        fail!("latin.{name:?} is nobody of the cast");
    }
    if !file.latin.is_empty()
        && let Some(person) = cast().find(|person| file.latin.get(&person.name).is_none_or(Vec::is_empty))
    {
        fail!("missing key latin.{:?}: all of the cast have one, or none", person.name);
    }
    Ok(cast().map(|person| file.latin.get(&person.name).cloned().unwrap_or_default()).collect())
}

fn build_forms(file: &File) -> Result<Forms> {
    let gender = |what: &str, gender: Option<&String>| match gender {
        None => Ok(0),
        Some(g) => file.genders.iter().position(|known| known == g).ok_or_else(|| {
            Error::new(format!("{what}: unknown gender `{g}`, the pack has {}", file.genders.join(", ")))
        }),
    };
    let mut forms = Forms {
        names: Default::default(),
        texts: Default::default(),
        starts: Default::default(),
        gender: Default::default(),
        also: Default::default(),
        genders: file.genders.len(),
    };
    if file.genders.len() < 2 || file.genders[..2] != ["m", "f"] {
        fail!("genders must begin with m, f");
    }
    let late = !file.cast.further.is_empty();
    let cast: Vec<Person> = file.cast.story.iter().chain(&file.cast.extra).chain(&file.cast.further).cloned().collect();
    if file.cast.story.len() != STORY_ACTORS || file.cast.extra.len() != FURTHER - STORY_ACTORS {
        fail!("cast needs {STORY_ACTORS} story roles and {} more", FURTHER - STORY_ACTORS);
    }
    if late && cast.len() != ACTORS {
        fail!("cast.further needs {} persons", ACTORS - FURTHER);
    }
    let genders = cast.iter().map(|p| gender(&p.name, Some(&p.gender))).collect::<Result<Vec<_>>>()?;
    if genders.iter().any(|g| *g > 1) {
        fail!("cast: a person is m or f");
    }
    if let Some(n) = (0..cast.len()).find(|n| late && (genders[*n] == 1) != is_woman(*n as u8)) {
        let sex = if is_woman(n as u8) { "f" } else { "m" };
        fail!("cast: {} must be {sex}, as this role is in every language", cast[n].name);
    }
    let actor = Kind::Actor as usize;
    forms.also[actor] = vec![Vec::new(); cast.len()];
    forms.names[actor] = vec!["base".to_owned()];
    forms.texts[actor] = vec![cast.iter().map(|p| p.name.clone()).collect()];
    for (name, template) in &file.forms.actor {
        let texts = cast.iter().zip(&genders).map(|(person, &g)| template.of(g, name, file, &person.name));
        forms.texts[actor].push(texts.collect::<Result<_>>()?);
        forms.names[actor].push(name.clone());
    }
    forms.gender[actor] = genders;
    for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Actor) {
        let k = kind as usize;
        let section = kind.section();
        let (entities, templates) = file.entities(kind);
        let ids = match (kind, late) {
            (_, true) | (Kind::Place, _) => kind.ids(),
            (Kind::Object, false) => &kind.ids()[..LAST_OBJECTS],
            (_, false) => &[],
        };
        if let Some(key) = entities.keys().find(|key| !ids.contains(&key.as_str())) {
            fail!("unknown key {section}.{key}, expected {}", ids.join(", "));
        }
        let mut names = vec!["base".to_owned()];
        names.extend(templates.keys().cloned());
        let mut texts = vec![Vec::new(); names.len()];
        for (n, id) in ids.iter().enumerate() {
            let Some(entity) = entities.get(*id) else { fail!("missing key {section}.{id}") };
            if let Some(form) = entity.forms.keys().find(|form| !names.contains(form)) {
                fail!("{section}.{id}: unknown form `{form}`, declared are {}", names.join(", "));
            }
            let g = gender(&format!("{section}.{id}"), entity.gender.as_ref())?;
            forms.gender[k].push(if kind == Kind::Pronoun { n } else { g });
            forms.also[k].push(entity.also.clone());
            for (form, name) in names.iter().enumerate() {
                let text = match (name.as_str(), entity.forms.get(name), templates.get(name)) {
                    ("base", ..) => entity.base.clone(),
                    (_, Some(text), _) => text.clone(),
                    (_, None, Some(template)) => template.of(g, name, file, &entity.base)?,
                    (_, None, None) => unreachable!("names beside `base` are the templates' keys"),
                };
                texts[form].push(text);
            }
        }
        forms.names[k] = names;
        forms.texts[k] = texts;
    }
    let capital = |text: &String| {
        let mut chars = text.chars();
        chars.next().map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect::<String>())
    };
    forms.starts =
        std::array::from_fn(|k| forms.texts[k].iter().map(|texts| texts.iter().map(capital).collect()).collect());
    Ok(forms)
}
