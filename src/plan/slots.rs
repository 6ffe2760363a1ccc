//! Lengths, depths and needles of the in-context recall test, and the files of its grid.

use super::{FilePlan, no_repeats};
use crate::error::{Error, Result};
use crate::fail;
use crate::language::breaks::{breaks, points_back};
use crate::language::{Language, Pack};
use crate::recipe::{
    CollectionKind, Factoid, Kind, Layout, Length, LengthOf, Lines, Model, Name, Percent, Recipe, Spacing, Strategy,
};
use crate::seed::Seed;

/// The window where neither recipe nor model gives one, and the number of lengths and of depths.
const WINDOW: u32 = 32_768;
const SIDE: u32 = 35;

/// The two needles of the paper that differ in places alone.
const PAIR: [&str; 2] = ["san_francisco", "thornfield_hollow"];

/// One file for each needle in each language, in the order of the languages.
pub fn files(recipe: &Recipe) -> Vec<FilePlan> {
    let mut all = Vec::new();
    for &language in &recipe.grid.languages {
        for (n, needle) in recipe.needles.iter().enumerate().filter(|(_, needle)| needle.language == Some(language)) {
            let config = format!("{language}_{}", needle.name);
            let needle = Some(n as u32);
            let (length, strategy, kind) = (Length(0), Strategy::ZeroShot, Kind::Natural);
            all.push(FilePlan { needle, ..FilePlan::of(language, length, strategy, kind, config) });
        }
    }
    all
}

/// Cells of the grid: lengths times depths.
pub fn cells(recipe: &Recipe) -> u32 {
    let slots = &recipe.slots;
    (slots.lengths.as_ref().map_or(0, Vec::len) * slots.depths.as_ref().map_or(0, Vec::len)) as u32
}

/// The cells that a build makes, as pairs of a length's and a depth's place, in the order of the grid: the first so many
/// of one seeded order, so that 10 cells are among 100.
pub fn chosen(recipe: &Recipe, seed: &Seed, limit: u32) -> Vec<(usize, usize)> {
    let depths = recipe.slots.depths.as_ref().map_or(0, Vec::len);
    let mut order: Vec<usize> = (0..cells(recipe) as usize).collect();
    seed.derive("cells", "").shuffle(&mut order);
    order.truncate(limit as usize);
    order.sort_unstable();
    order.into_iter().map(|cell| (cell / depths, cell % depths)).collect()
}

/// Fills in and checks what a recipe of this family leaves out.
pub fn fill(recipe: &mut Recipe) -> Result<()> {
    no_repeats("grid.languages", &recipe.grid.languages)?;
    fill_grid(recipe)?;
    let model = recipe.slots.model.map(|name| name.0);
    recipe.prompt.layout.get_or_insert(model.map_or(Layout::PlainTable6, |model| model.layout));
    let haystack = &mut recipe.haystack;
    haystack.lines.get_or_insert(Lines::Wrapped);
    haystack.repeat.get_or_insert(false);
    let files = haystack.files.list();
    match haystack.kind {
        CollectionKind::Text if files.is_empty() => {
            return Err(Error::new("haystack.files is missing: the files and folders of the running text, in order")
                .on("haystack.files")
                .help("such as files = [\"essays\"], or leave out [haystack] for the generated essays"));
        }
        CollectionKind::Text => {}
        CollectionKind::Essays if files.is_empty() => {}
        CollectionKind::Essays => {
            fail!(key "haystack.files"; "haystack.files does nothing with haystack.kind = \"essays\"")
        }
        _ => {
            fail!(on "haystack.kind"; "haystack.kind must be \"text\" or \"essays\" here: needles are hidden in running text")
        }
    }
    if recipe.grid.languages.len() > 1
        && let Some((n, name)) =
            files.iter().enumerate().find(|(_, name)| !name.contains("{language}") && !name.contains("{name}"))
    {
        return Err(Error::new(format!("haystack.files: {name} would be the same for every language"))
            .on(format!("haystack.files[{n}]"))
            .help("put {language} where the language's code stands, or {name} for its English name"));
    }
    if recipe.prompt.system.is_some() && recipe.grid.languages.len() > 1 {
        fail!(key "prompt.system"; "prompt.system is one message: it needs one language in grid.languages");
    }
    fill_needles(recipe)
}

fn fill_grid(recipe: &mut Recipe) -> Result<()> {
    let slots = &mut recipe.slots;
    let model: Option<&Model> = slots.model.map(|name| name.0);
    let side = model.map_or(SIDE, |model| model.side);
    let window = *slots.window.get_or_insert(model.map_or(WINDOW, |model| model.window));
    // The paper bounds the text alone; a model's first lengths are too short for whole prompts.
    slots.length_of.get_or_insert(if model.is_some() { LengthOf::Haystack } else { LengthOf::Prompt });
    if !(100..=100_000_000).contains(&window) {
        fail!(on "slots.window"; "slots.window is {window}, expected 100 to 100000000 tokens");
    }
    if slots.lengths.is_none() || slots.n_lengths.is_some() {
        let n = slots.n_lengths.unwrap_or(side);
        if !(1..=1000).contains(&n) {
            fail!(on "slots.n_lengths"; "slots.n_lengths is {n}, expected 1 to 1000");
        }
        // One step of the window, so that the lengths divide it evenly.
        let first = slots.first.unwrap_or((window + n / 2) / n);
        if !(50..=window).contains(&first) {
            fail!(on "slots.first"; "slots.first is {first}, expected 50 tokens up to the window of {window}");
        }
        let even = evenly(first, window, n);
        slots.n_lengths = Some(n);
        slots.first = Some(first);
        if slots.lengths.get_or_insert_with(|| even.clone()) != &even {
            fail!(on "slots.lengths"; "slots.lengths are not the {n} that slots.n_lengths gives: leave one of the two out");
        }
    } else if slots.first.is_some() {
        fail!(key "slots.first"; "slots.first does nothing beside slots.lengths");
    }
    if slots.depths.is_none() || slots.n_depths.is_some() || slots.spacing.is_some() {
        let n = slots.n_depths.unwrap_or(side);
        if !(1..=1000).contains(&n) {
            fail!(on "slots.n_depths"; "slots.n_depths is {n}, expected 1 to 1000");
        }
        let spacing = *slots.spacing.get_or_insert(Spacing::SigmoidV1);
        let spaced = depths(spacing, n);
        slots.n_depths = Some(n);
        if slots.depths.get_or_insert_with(|| spaced.clone()) != &spaced {
            fail!(on "slots.depths"; "slots.depths are not the {n} that slots.spacing gives: leave one of the two out");
        }
    }
    let lengths = slots.lengths.clone().unwrap_or_default();
    no_repeats("slots.lengths", &lengths)?;
    no_repeats("slots.depths", slots.depths.as_deref().unwrap_or_default())?;
    if let Some((n, length)) = lengths.iter().enumerate().find(|(_, n)| !(50..=window).contains(*n)) {
        fail!(on format!("slots.lengths[{n}]"); "slots.lengths holds {length}, expected 50 tokens up to the window of {window}");
    }
    fn falls<T: PartialOrd>(list: &[T]) -> Option<usize> {
        list.windows(2).position(|two| two[1] < two[0]).map(|n| n + 1)
    }
    let depths = slots.depths.as_deref().unwrap_or_default();
    for (key, place) in [("slots.lengths", falls(&lengths)), ("slots.depths", falls(depths))] {
        if let Some(n) = place {
            fail!(on format!("{key}[{n}]"); "{key} must ascend");
        }
    }
    Ok(())
}

/// So many whole numbers from the first to the last, evenly spaced and rounded (the paper's section 3.1).
fn evenly(first: u32, last: u32, n: u32) -> Vec<u32> {
    if n == 1 {
        return vec![last];
    }
    let (span, steps) = (u64::from(last - first), u64::from(n - 1));
    (0..u64::from(n)).map(|i| first + ((i * span + steps / 2) / steps) as u32).collect()
}

/// Depths by a curve; see [`Spacing`].
pub fn depths(spacing: Spacing, n: u32) -> Vec<Percent> {
    let at = |i: u32| {
        // One depth alone is the middle.
        let x = if n == 1 { 50.0 } else { 100.0 * f64::from(i) / f64::from(n - 1) };
        let depth = match spacing {
            Spacing::Linear => x,
            Spacing::SigmoidV1 if x <= 0.0 || x >= 100.0 => x,
            Spacing::SigmoidV1 => 100.0 / (1.0 + (-0.1 * (x - 50.0)).exp()),
        };
        Percent((depth * 1000.0).round() as u32)
    };
    (0..n).map(at).collect()
}

/// Writes out every needle in every language it is used in.
fn fill_needles(recipe: &mut Recipe) -> Result<()> {
    let languages = recipe.grid.languages.clone();
    let packs = languages.iter().map(|l| Ok((*l, l.pack()?))).collect::<Result<Vec<(Language, Pack)>>>()?;
    if recipe.needles.is_empty() {
        let names = packs.first().map_or(Vec::new(), |(_, pack)| pack.factoids().to_vec());
        let bare = |name: String| Factoid {
            name: Name(name),
            language: None,
            needle: None,
            question: None,
            answers: None,
            pair: None,
        };
        recipe.needles = names.into_iter().map(|words| bare(words.name)).collect();
    }
    let mut all: Vec<Factoid> = Vec::new();
    // Of each, its place in the recipe.
    let mut places: Vec<usize> = Vec::new();
    for (n, written) in recipe.needles.iter().enumerate() {
        let key = format!("needles[{n}]");
        let own = [written.needle.is_some(), written.question.is_some(), written.answers.is_some()];
        let place = format!("needles: {}", written.name);
        if own.contains(&true) {
            let mut needle = written.clone();
            if needle.language.is_none() {
                if languages.len() > 1 {
                    return Err(Error::new("its language is missing")
                        .at(place)
                        .on_key(key)
                        .help("add language = \"en\", or another"));
                }
                needle.language = languages.first().copied();
            }
            all.push(needle);
            places.push(n);
            continue;
        }
        for (language, pack) in packs.iter().filter(|(l, _)| written.language.is_none_or(|own| own == *l)) {
            let Some(words) = pack.factoids().iter().find(|words| words.name == written.name.0) else {
                let known: Vec<&str> = pack.factoids().iter().map(|words| words.name.as_str()).collect();
                return Err(Error::new(format!("the pack of {language} has no needle of this name"))
                    .at(place)
                    .on(format!("{key}.name"))
                    .help(format!("write needle, question and answers, or take one of {}", known.join(", "))));
            };
            let pair = PAIR.contains(&words.name.as_str()).then(|| Name("best_thing".to_owned()));
            all.push(Factoid {
                name: written.name.clone(),
                language: Some(*language),
                needle: Some(words.needle.clone()),
                question: Some(words.question.clone()),
                answers: Some(words.answers.clone()),
                pair: written.pair.clone().or(pair),
            });
            places.push(n);
        }
    }
    for (n, needle) in all.iter().enumerate() {
        let key = format!("needles[{}]", places[n]);
        check(needle, &packs).map_err(|e| e.under(&key).at(format!("needles: {}", needle.name)))?;
        if all[..n].iter().any(|other| (&other.name, other.language) == (&needle.name, needle.language)) {
            fail!(on format!("{key}.name"); "needles: {} stands there twice in one language", needle.name);
        }
    }
    if let Some((language, _)) = packs.iter().find(|(l, _)| !all.iter().any(|needle| needle.language == Some(*l))) {
        fail!(on "grid.languages"; "needles has none in {language}, which grid.languages names");
    }
    recipe.needles = all;
    Ok(())
}

fn check(needle: &Factoid, packs: &[(Language, Pack)]) -> Result<()> {
    let language = needle.language.expect("filled in");
    if !packs.iter().any(|(known, _)| *known == language) {
        fail!(on "language"; "it is in {language}, which grid.languages does not name");
    }
    let text = needle.needle.as_deref().ok_or_else(|| Error::new("its sentence is missing: `needle`").on("needle"))?;
    let question = needle.question.as_deref().ok_or_else(|| Error::new("`question` is missing").on("question"))?;
    let answers = needle.answers.as_deref().ok_or_else(|| Error::new("`answers` is missing").on("answers"))?;
    for (key, text) in [("needle", text), ("question", question)] {
        if text.is_empty() || text != crate::source::clean::clean(text) {
            return Err(Error::new(format!("`{key}` is empty, or holds a line break, a control or an edge of spaces"))
                .on(key)
                .help("write one line of plain text"));
        }
    }
    let bare =
        text.trim_end_matches(['"', '\'', ')', '\u{bb}', '\u{201c}', '\u{201d}', '\u{2019}', '\u{300d}', '\u{300f}']);
    if !bare.ends_with(['.', '!', '?', '\u{3002}', '\u{ff01}', '\u{ff1f}', '\u{964}', '\u{61f}', '\u{6d4}']) {
        return Err(Error::new(format!("{text:?} does not end with a sentence mark"))
            .on("needle")
            .help("a needle is one whole sentence: the text behind it must not read on"));
    }
    if let Some(pack) = packs.iter().find(|(known, _)| *known == language).map(|(_, pack)| pack) {
        let marks = pack.marks();
        if breaks(text, &marks).iter().any(|place| place.end < text.len()) {
            fail!(on "needle"; "{text:?} is more than one sentence");
        }
        if points_back(text, &marks) {
            fail!(on "needle"; "{text:?} opens by pointing back at a sentence before it");
        }
    }
    if let Some(n) = answers.iter().position(|answer| !answer.contains(char::is_alphanumeric)) {
        fail!(on format!("answers[{n}]"); "`answers` holds one without a letter or digit");
    }
    no_repeats("answers", answers)?;
    if let Some(n) = answers.iter().position(|answer| !text.contains(answer.as_str())) {
        fail!(on format!("answers[{n}]"); "`answers` must each stand in the needle, word for word");
    }
    let lower = question.to_lowercase();
    if let Some(answer) = answers.iter().find(|answer| lower.contains(&answer.to_lowercase())) {
        fail!(on "question"; "the question already holds the answer {answer:?}");
    }
    Ok(())
}
