//! The words that the matching rule needs: those of a release's packs, with the few that packs lack.

use crate::error::{Error, Result};
use crate::language::{Kind, Pack, normalize};
use crate::release::Release;
use crate::verify::read_packs;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the packs lack.
const FILE: &str = include_str!("words.toml");

/// Kinds of entities that answers name, in the order in which a gold is looked for.
pub const KINDS: [(&str, Kind); 6] = [
    ("place", Kind::Place),
    ("actor", Kind::Actor),
    ("object", Kind::Object),
    ("animal", Kind::Animal),
    ("colour", Kind::Colour),
    ("motive", Kind::Motive),
];

/// The words of a release; all texts of a language are normalised, and what is looked for in raw output is lower case.
#[derive(Clone, Debug, Serialize)]
pub struct Words {
    /// Raised when the keys change their meaning.
    pub format: u32,
    /// Keys of a JSON answer.
    pub keys: Vec<String>,
    /// What announces an answer in free text; with a colon at the end where one must stand there.
    pub markers: Vec<String>,
    /// Beginnings of a line that asks a further question.
    pub questions: Vec<String>,
    /// By code.
    pub languages: BTreeMap<String, LanguageWords>,
}

/// The words of one language.
#[derive(Clone, Debug, Default, Serialize)]
#[expect(missing_docs, reason = "src/score/words.toml and the packs say what each is")]
pub struct LanguageWords {
    pub articles: Vec<String>,
    pub joined_articles: Vec<(String, String)>,
    pub proclitics: Vec<String>,
    pub endings: Vec<String>,
    pub changes: Vec<(String, Vec<String>)>,
    pub endings_on_foreign: Vec<String>,
    pub yes: Vec<String>,
    pub no: Vec<String>,
    pub maybe: Vec<String>,
    pub nothing: Vec<String>,
    pub count: Vec<Vec<String>>,
    pub directions: Vec<Vec<String>>,
    /// By kind and entity: every form.
    pub kinds: BTreeMap<String, Vec<Vec<String>>>,
    /// By actor: the name in Latin letters.
    pub latin: Vec<Vec<String>>,
    pub weak: Vec<String>,
    pub weak_numbers: Vec<String>,
    pub more_numbers: Vec<String>,
    pub mask: Vec<String>,
    pub refusals: Vec<String>,
    pub negations: Vec<String>,
    pub negation_after: bool,
    pub or: Vec<String>,
    pub and: Vec<String>,
    pub then: Vec<String>,
    pub things: Vec<String>,
    pub subjects: Vec<String>,
    pub because: Vec<String>,
    pub but: Vec<String>,
    pub fillers: Vec<String>,
}

#[derive(Deserialize)]
struct File {
    keys: Vec<String>,
    markers: Vec<String>,
    questions: Vec<String>,
    #[serde(flatten)]
    languages: BTreeMap<String, Section>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Section {
    refusals: Vec<String>,
    negations: Vec<String>,
    negation_after: bool,
    yes: Vec<String>,
    no: Vec<String>,
    maybe: Vec<String>,
    weak: Vec<String>,
    weak_numbers: Vec<String>,
    nothing: Vec<String>,
    numbers: BTreeMap<String, Vec<String>>,
    more_numbers: Vec<String>,
    mask: Vec<String>,
    or: Vec<String>,
    and: Vec<String>,
    things: Vec<String>,
    subjects: Vec<String>,
    because: Vec<String>,
    but: Vec<String>,
    fillers: Vec<String>,
}

impl Words {
    /// Those of a release: its own packs, which a guest language has too.
    pub fn of(release: &Release) -> Result<Words> {
        Words::of_packs(&read_packs(&release.folder)?)
    }

    /// Those of some packs, by code.
    pub fn of_packs(packs: &BTreeMap<String, Pack>) -> Result<Words> {
        let file: File = toml::from_str(FILE).map_err(|e| Error::new(e.to_string()).at("src/score/words.toml"))?;
        let mut questions = file.questions;
        let mut languages = BTreeMap::new();
        for (code, pack) in packs {
            let asked = pack.prompt().question.split("{question}").next().unwrap_or_default().trim();
            let asked = asked.to_lowercase().replace('\u{ff1a}', ":");
            if asked.ends_with(':') && !questions.contains(&asked) {
                questions.push(asked);
            }
            let more = file.languages.get(code);
            languages.insert(code.clone(), language(pack, more.unwrap_or(&Section::default())));
        }
        // What models write in English whatever they are asked in.
        if let (Some(section), None) = (file.languages.get("en"), languages.get("en")) {
            let pack = "en".parse().map_err(Error::new).and_then(crate::language::Language::pack)?;
            languages.insert("en".to_owned(), language(&pack, section));
        }
        Ok(Words { format: 1, keys: file.keys, markers: file.markers, questions, languages })
    }
}

/// Normalised, without repeats and without what normalising leaves empty.
fn normal<'a>(words: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for word in words {
        let word = normalize(word);
        if !word.is_empty() && !all.contains(&word) {
            all.push(word);
        }
    }
    all
}

fn language(pack: &Pack, more: &Section) -> LanguageWords {
    let rules = pack.matching().lists();
    let words = pack.answers();
    let counts = words
        .count
        .iter()
        .enumerate()
        .map(|(n, forms)| normal(forms.iter().chain(more.numbers.get(&n.to_string()).into_iter().flatten())));
    let kinds = KINDS.iter().map(|(name, kind)| {
        let all = (0..pack.known(*kind)).map(|n| normal(&pack.forms_of(*kind, n))).collect();
        ((*name).to_owned(), all)
    });
    let joiners = |words: &[String]| -> Vec<String> {
        words.iter().map(|w| w.trim_matches(|c: char| !c.is_alphanumeric()).to_owned()).collect()
    };
    let ands = joiners(&[std::slice::from_ref(&words.list_and), &words.list_and_also].concat());
    LanguageWords {
        articles: rules.articles.to_vec(),
        joined_articles: rules.joined_articles.to_vec(),
        proclitics: rules.proclitics.to_vec(),
        endings: rules.endings.to_vec(),
        changes: rules.changes.to_vec(),
        endings_on_foreign: rules.endings_on_foreign.to_vec(),
        yes: normal(words.yes.iter().chain(&more.yes)),
        no: normal(words.no.iter().chain(&more.no)),
        maybe: normal(words.maybe.iter().chain(&more.maybe)),
        nothing: normal(words.nothing.iter().chain(&more.nothing)),
        count: counts.collect(),
        directions: words.directions.iter().map(normal).collect(),
        kinds: kinds.collect(),
        latin: (0..pack.known(Kind::Actor)).map(|n| normal(pack.latin(n))).collect(),
        weak: normal(&more.weak),
        weak_numbers: normal(&more.weak_numbers),
        more_numbers: normal(&more.more_numbers),
        mask: normal(&more.mask),
        refusals: normal(&more.refusals),
        negations: normal(&more.negations),
        negation_after: more.negation_after,
        or: normal(&more.or),
        and: normal(ands.iter().chain(&more.and)),
        then: normal(&joiners(&words.way_also)),
        things: normal(&more.things),
        subjects: normal(&more.subjects),
        because: normal(&more.because),
        but: normal(&more.but),
        fillers: normal(&more.fillers),
    }
}
