//! The matching rule.

use super::extract::{clean, extract};
use super::find::{Clitics, Forms, Hit, begins, ends, places};
use super::tongue::Tongue;
use super::words::Words;
use crate::error::Result;
use crate::language::normalize;
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use std::sync::{Arc, Mutex};

/// A rule by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Rule {
    /// Our own.
    #[default]
    Sound,
    /// The papers': an accepted answer occurs anywhere in the output, in normalised text.
    Contains,
    /// That of the released code: the gold occurs in the output, without regard to case alone.
    Released,
}

impl Rule {
    /// As flags name it.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Sound => "sound",
            Rule::Contains => "contains",
            Rule::Released => "released",
        }
    }
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Rule, String> {
        let all = [Rule::Sound, Rule::Contains, Rule::Released];
        all.into_iter().find(|rule| rule.name() == name).ok_or_else(|| {
            let names = all.map(Rule::name).join(", ");
            format!("unknown rule `{name}`, expected one of {names}")
        })
    }
}

/// What is known of a row to score it: the columns of the same names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are the columns of a release")]
pub struct Gold {
    pub family: String,
    pub source_task: String,
    pub language: String,
    pub question_language: String,
    pub strategy: String,
    pub prompt_kind: String,
    pub question: String,
    pub answers: Vec<String>,
    pub answer_variants: Vec<String>,
    pub answers_by_language: Vec<(String, Vec<String>)>,
    pub expected: String,
}

/// What an output is worth; absent where it is not asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Verdict {
    /// Right in the language that was asked for.
    pub exact: Option<bool>,
    /// Right in any language of the release.
    pub any: Option<bool>,
    /// Says rightly whether the answer is there.
    pub existence: Option<bool>,
}

/// Entities to look for: languages, kind, and whether names are written in Latin letters.
type Key = (Vec<String>, &'static str, bool);

/// Scores outputs by the words of a release.
pub struct Scorer {
    rule: Rule,
    words: Words,
    tongues: BTreeMap<String, Tongue>,
    /// A language that has no words.
    plain: Tongue,
    lexicons: Mutex<BTreeMap<Key, Arc<Forms>>>,
    /// Lists of accepted answers in normal form: sets have hundreds, and rows share them.
    accepted: Mutex<BTreeMap<Vec<String>, Arc<Vec<String>>>>,
}

impl Scorer {
    /// Makes words ready. Fails only for more words than an automaton can hold.
    pub fn new(words: Words, rule: Rule) -> Result<Scorer> {
        let tongues = words.languages.iter().map(|(code, of)| Ok((code.clone(), Tongue::new(of.clone())?)));
        Ok(Scorer {
            rule,
            tongues: tongues.collect::<Result<_>>()?,
            plain: Tongue::new(Default::default())?,
            lexicons: Mutex::default(),
            accepted: Mutex::default(),
            words,
        })
    }

    pub(super) fn tongue(&self, code: &str) -> &Tongue {
        self.tongues.get(code).unwrap_or(&self.plain)
    }

    /// Scores an output, and its translation into English where there is one.
    ///
    /// # Errors
    ///
    /// None that can be met: words are looked for that an automaton cannot hold.
    pub fn score(&self, output: &str, gold: &Gold, output_en: Option<&str>) -> Result<Verdict> {
        let english = output_en.filter(|text| !text.is_empty());
        if gold.prompt_kind == "existence" {
            let given = self.existence(output, gold).or_else(|| self.existence(english?, gold));
            return Ok(Verdict { existence: Some(given == Some(true)), ..Verdict::default() });
        }
        let (exact, any) = match self.rule {
            Rule::Sound => self.sound(output, gold, english)?,
            rule => {
                let more = if rule == Rule::Contains { &gold.answer_variants[..] } else { &[] };
                let exact = self.contains(output, gold.answers.iter().chain(more));
                let mut any = exact || self.contains(output, gold.answers_by_language.iter().flat_map(|(_, g)| g));
                if let Some(english) = english.filter(|_| !any) {
                    let golds = gold.answers_by_language.iter().filter(|(code, _)| code == "en");
                    any = self.contains(english, golds.flat_map(|(_, g)| g));
                }
                (exact, any)
            }
        };
        Ok(Verdict { exact: Some(exact), any: Some(any), existence: None })
    }

    fn sound(&self, output: &str, gold: &Gold, english: Option<&str>) -> Result<(bool, bool)> {
        let chain = gold.strategy == "chain_of_thought";
        let read = |text: &str| clean(&extract(text, &self.words, chain));
        let text = read(output);
        let reasoning = gold.family == "reasoning";
        let (exact, mut any) = if reasoning { self.reasoning(&text, gold)? } else { self.open(&text, gold) };
        if let Some(english) = english.filter(|_| !any) {
            let text = read(english);
            any = if reasoning { self.reasoning_in(&text, gold, "en")? } else { self.open_in(&text, gold, "en") };
        }
        Ok((exact, any))
    }

    // The rules that are not ours.

    fn contains<'a>(&self, output: &str, mut golds: impl Iterator<Item = &'a String>) -> bool {
        if self.rule == Rule::Released {
            let text = output.to_lowercase();
            return golds.any(|gold| text.contains(&gold.to_lowercase()));
        }
        let text = normalize(output);
        golds.any(|gold| {
            let gold = normalize(gold);
            !gold.is_empty() && text.contains(&gold)
        })
    }

    // Yes or no.

    /// None where neither is said.
    fn existence(&self, output: &str, gold: &Gold) -> Option<bool> {
        let expected = gold.expected.to_lowercase();
        match self.rule {
            Rule::Released => return Some(!expected.is_empty() && output.to_lowercase().contains(&expected)),
            Rule::Contains => {
                return Some(!expected.is_empty() && normalize(output).contains(&normalize(&expected)));
            }
            Rule::Sound => {}
        }
        let text = clean(&extract(output, &self.words, false));
        let right = ["yes", "no", "maybe"].iter().position(|label| *label == expected);
        for code in ["en", &gold.question_language, &gold.language] {
            let found = self.tongue(code).label(&text);
            if !found.is_empty() {
                return Some(found.len() == 1 && right.is_some_and(|label| found.contains(&(label as i32))));
            }
        }
        None
    }

    // Stories.

    fn reasoning(&self, text: &str, gold: &Gold) -> Result<(bool, bool)> {
        let golds = normal(&gold.answers);
        if text.is_empty() || golds.is_empty() {
            return Ok((false, false));
        }
        let own = own(gold);
        let accepted = [&golds[..], &self.variants(&gold.answer_variants)].concat();
        if is_closed(&gold.source_task) {
            let said = self.closed(gold, &own, &golds);
            let says = |code: &&str| said.as_ref().map(|said| said(self, code, text));
            let exact = accepted.iter().any(|a| a == text) || own.iter().any(|code| says(code) == Some(Says::Gold));
            if exact || said.is_none() {
                return Ok((exact, exact));
            }
            // Words of one language may be others in another: none of ours and of English may say something else.
            if own.iter().chain([&"en"]).any(|code| says(code) == Some(Says::Other)) {
                return Ok((false, false));
            }
            let mut others =
                gold.answers_by_language.iter().map(|(code, _)| code.as_str()).filter(|c| !own.contains(c));
            return Ok((false, others.any(|code| says(&code) == Some(Says::Gold))));
        }
        let translated = gold.strategy == "translation" && gold.language != "en";
        let is_list = gold.source_task == LIST;
        let cast = translated.then_some(gold.language.as_str());
        let question = normalize(&gold.question);
        let mut ask = Ask { codes: own.clone(), golds, accepted, latin: translated, cast, question };
        if self.names(text, &ask, is_list)? {
            return Ok((true, true));
        }
        ask.latin = true;
        let english = gold.answers_by_language.iter().find(|(code, _)| code == "en").map(|(_, given)| normal(given));
        let english = english.filter(|given| !given.is_empty()).map(|given| Ask::of("en", given));
        if self.others(text, &ask, is_list)?
            || english.is_some_and(|ask| self.others(text, &ask, is_list).unwrap_or(true))
        {
            return Ok((false, false));
        }
        for (code, given) in &gold.answers_by_language {
            let golds = normal(given);
            if golds.is_empty() {
                continue;
            }
            let mut asked = Ask::of(code, golds);
            if own.contains(&code.as_str()) {
                asked.accepted.extend(ask.accepted.iter().cloned());
                asked.question.clone_from(&ask.question);
            }
            if self.names(text, &asked, is_list)? {
                return Ok((false, true));
            }
        }
        Ok((false, false))
    }

    fn variants(&self, variants: &[String]) -> Arc<Vec<String>> {
        if variants.len() < 16 {
            return Arc::new(normal(variants));
        }
        let known = || self.accepted.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(normal) = known().get(variants) {
            return normal.clone();
        }
        let made = Arc::new(normal(variants));
        known().insert(variants.to_vec(), made.clone());
        made
    }

    /// Is it right in one language alone, by the gold of that?
    fn reasoning_in(&self, text: &str, gold: &Gold, code: &str) -> Result<bool> {
        let golds = normal(&gold.answers);
        if text.is_empty() || golds.is_empty() {
            return Ok(false);
        }
        if is_closed(&gold.source_task) {
            let said = self.closed(gold, &own(gold), &golds);
            return Ok(said.is_some_and(|said| said(self, code, text) == Says::Gold));
        }
        let given = gold.answers_by_language.iter().find(|(c, _)| c == code);
        let golds = given.map(|(_, given)| normal(given)).unwrap_or_default();
        Ok(!golds.is_empty() && self.names(text, &Ask::of(code, golds), gold.source_task == LIST)?)
    }

    /// For labels, numbers and ways: is a text, read in a language, what the gold says? None where the gold says nothing.
    fn closed(&self, gold: &Gold, own: &[&str], golds: &[String]) -> Option<Said> {
        let all = || own.iter().flat_map(|code| golds.iter().map(|gold| (self.tongue(code), gold)));
        let sets = |read: fn(&Tongue, &str) -> BTreeSet<i32>| -> Option<Said> {
            let right = all().map(|(tongue, gold)| read(tongue, gold)).find(|set| !set.is_empty())?;
            Some(Box::new(move |scorer, code, text| {
                let found = read(scorer.tongue(code), text);
                match found.is_subset(&right) {
                    false => Says::Other,
                    true if found == right => Says::Gold,
                    true => Says::Nothing,
                }
            }))
        };
        match gold.source_task.as_str() {
            "qa7" => sets(Tongue::number),
            "qa19" => {
                let right = all().map(|(tongue, gold)| tongue.path(gold)).find(|way| !way.is_empty())?;
                Some(Box::new(move |scorer, code, text| match scorer.tongue(code).path(text) {
                    found if found == right => Says::Gold,
                    found if found.is_empty() => Says::Nothing,
                    _ => Says::Other,
                }))
            }
            _ => sets(Tongue::label),
        }
    }

    fn names(&self, text: &str, ask: &Ask<'_>, list: bool) -> Result<bool> {
        if list { self.list(text, ask) } else { self.entity(text, ask) }
    }

    /// Does a text name what is not the gold?
    fn others(&self, text: &str, ask: &Ask<'_>, list: bool) -> Result<bool> {
        if list {
            let lexicon = self.lexicon(ask, "object", false)?;
            let tongue = self.tongue(ask.codes[0]);
            let named = |text: &str| set(&tongue.mentions(text, self.hits(text, &lexicon, ask, None)).0);
            let gold = named(&ask.golds[0]);
            return Ok(!named(text).is_subset(&gold));
        }
        let (kept, gold) = self.named(text, ask)?;
        Ok(kept.iter().any(|hit| hit.class != gold))
    }

    /// The entities of a kind in some languages, ready to be found.
    fn lexicon(&self, ask: &Ask<'_>, kind: &'static str, latin: bool) -> Result<Arc<Forms>> {
        let codes: Vec<&str> = ask.cast.filter(|_| kind == "actor").map_or(ask.codes.clone(), |cast| vec![cast]);
        let masks = self.tongue(ask.codes[0]);
        let key = (codes.iter().chain([&ask.codes[0]]).map(|c| (*c).to_owned()).collect(), kind, latin);
        let mut lexicons = self.lexicons.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(known) = lexicons.get(&key) {
            return Ok(known.clone());
        }
        let mut forms = Vec::new();
        for code in codes {
            for (n, all) in self.tongue(code).words.entities(kind, latin).into_iter().enumerate() {
                forms.extend(all.into_iter().map(|form| (form, n as i32, Clitics::Both)));
            }
        }
        forms.extend(masks.words.none());
        let made = Arc::new(Forms::new(forms)?);
        lexicons.insert(key, made.clone());
        Ok(made)
    }

    /// Hits of the entities of a lexicon; forms that are accepted are the gold, whatever the lexicon says of them.
    fn hits(&self, text: &str, lexicon: &Forms, ask: &Ask<'_>, gold: Option<i32>) -> Vec<Hit> {
        let words = &self.tongue(ask.codes[0]).words;
        let mut hits = lexicon.find(text, &words.proclitics, &words.endings);
        let Some(gold) = gold else { return hits };
        hits.retain_mut(|hit| {
            let accepted = hit.class >= 0 && ask.accepted.iter().any(|a| a == lexicon.form(hit));
            // Behind the accepted ones, as if those had been given first.
            hit.form += ask.accepted.len() as u32;
            !accepted
        });
        for (n, form) in ask.accepted.iter().enumerate() {
            for (start, end) in places(text, form) {
                if begins(text, start, &words.proclitics) && ends(text, end, &words.endings) {
                    hits.push(Hit { start, end, class: gold, form: n as u32 });
                }
            }
        }
        hits
    }

    fn kind(&self, ask: &Ask<'_>) -> Option<(&'static str, usize)> {
        ask.golds.iter().find_map(|gold| {
            super::KINDS.iter().find_map(|(kind, _)| {
                let codes = ask.cast.filter(|_| *kind == "actor").map_or(ask.codes.clone(), |cast| vec![cast]);
                codes.iter().find_map(|code| self.tongue(code).entities.get(kind)?.get(gold).map(|n| (*kind, *n)))
            })
        })
    }

    /// Entities of the gold's kind that a text names and the question does not, and the gold.
    fn named(&self, text: &str, ask: &Ask<'_>) -> Result<(Vec<Hit>, i32)> {
        let tongue = self.tongue(ask.codes[0]);
        let (lexicon, gold) = match self.kind(ask) {
            Some((kind, n)) => (self.lexicon(ask, kind, ask.latin)?, n as i32),
            // Of no kind that is known: the masks alone.
            None => (self.lexicon(ask, "", false)?, 1000),
        };
        let (mut kept, _) = tongue.mentions(text, self.hits(text, &lexicon, ask, Some(gold)));
        if kept.iter().any(|hit| hit.class != gold) && !ask.question.is_empty() {
            let asked = tongue.mentions(&ask.question, self.hits(&ask.question, &lexicon, ask, Some(gold))).0;
            kept.retain(|hit| hit.class == gold || !asked.iter().any(|other| other.class == hit.class));
        }
        Ok((kept, gold))
    }

    /// One entity of a kind, and no other that the question does not name.
    fn entity(&self, text: &str, ask: &Ask<'_>) -> Result<bool> {
        if ask.accepted.iter().any(|a| a == text) {
            return Ok(true);
        }
        let (kept, gold) = self.named(text, ask)?;
        let alone = !kept.is_empty() && kept.iter().all(|hit| hit.class == gold);
        Ok(alone && !self.tongue(ask.codes[0]).strangers(text, &kept, false))
    }

    /// A set of objects: all of them and no other.
    fn list(&self, text: &str, ask: &Ask<'_>) -> Result<bool> {
        if ask.accepted.iter().any(|a| a == text) {
            return Ok(true);
        }
        let tongue = self.tongue(ask.codes[0]);
        let lexicon = self.lexicon(ask, "object", false)?;
        let gold = set(&tongue.mentions(&ask.golds[0], self.hits(&ask.golds[0], &lexicon, ask, None)).0);
        let (kept, denied) = tongue.mentions(text, self.hits(text, &lexicon, ask, None));
        if gold.is_empty() {
            let nothing = tongue.is_nothing(&ask.golds[0]) && kept.is_empty() && denied.is_empty();
            return Ok(nothing && tongue.says_nothing(text));
        }
        Ok(set(&kept) == gold && !tongue.strangers(text, &[kept, denied].concat(), true))
    }
}

/// What a text says, held against the gold.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Says {
    Gold,
    Other,
    Nothing,
}

/// What a text says in a language.
type Said = Box<dyn Fn(&Scorer, &str, &str) -> Says>;

/// What is asked for in some languages.
#[derive(Default)]
struct Ask<'a> {
    codes: Vec<&'a str>,
    golds: Vec<String>,
    accepted: Vec<String>,
    latin: bool,
    /// The language of the persons, if another.
    cast: Option<&'a str>,
    question: String,
}

impl<'a> Ask<'a> {
    /// Golds of one language, whose persons may be written in Latin letters.
    fn of(code: &'a str, golds: Vec<String>) -> Ask<'a> {
        Ask { codes: vec![code], accepted: golds.clone(), golds, latin: true, ..Ask::default() }
    }
}

fn set(hits: &[Hit]) -> BTreeSet<i32> {
    hits.iter().map(|hit| hit.class).collect()
}

/// The languages that a story's answer may be given in: the one asked for, and where it differs the story's.
fn own(gold: &Gold) -> Vec<&str> {
    let story = gold.language.as_str();
    match gold.question_language.as_str() {
        _ if gold.strategy == "translation" => vec!["en"],
        asked if asked.is_empty() || asked == story => vec![story],
        asked => vec![asked, story],
    }
}

/// The task of sets of objects.
const LIST: &str = "qa8";

/// Is one of a few labels, a number or a way asked for?
fn is_closed(source_task: &str) -> bool {
    matches!(source_task, "qa6" | "qa7" | "qa9" | "qa10" | "qa17" | "qa18" | "qa19")
}

fn normal(words: &[String]) -> Vec<String> {
    words.iter().map(|word| normalize(word)).filter(|word| !word.is_empty()).collect()
}
