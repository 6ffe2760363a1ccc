//! The files of a recipe's grid, and what a recipe of MLNeedle's leaves out.

use super::{Cell, FilePlan, no_repeats};
use crate::error::{Error, Result};
use crate::fail;
use crate::language::Language;
use crate::recipe::{
    Choice, Family, Grid, Haystack, Kind, Last, Middle, Pairs, Position, PromptKind, QuestionLanguage, Recipe, Strategy,
};

/// Every file of a recipe's grid, in order.
pub fn files(recipe: &Recipe) -> Vec<FilePlan> {
    match recipe.family() {
        Family::Reasoning => story_files(recipe),
        Family::Passage => cell_files(recipe),
        Family::Factoid => super::slots::files(recipe),
    }
}

/// Languages of story, haystack and question, in the order of the recipe's lists. Without a haystack (at 0k) the story
/// stands alone.
fn voices(recipe: &Recipe, alone: bool) -> Vec<(Language, Language, Language)> {
    let grid = &recipe.grid;
    let stories = grid.story.as_ref().unwrap_or(&grid.languages);
    let mut all = Vec::new();
    for &story in stories {
        let own = vec![Haystack::In(story)];
        let haystacks = if alone { &own } else { grid.haystack.as_ref().unwrap_or(&own) };
        for haystack in
            haystacks.iter().filter_map(single).filter(|h| alone || is_wanted(recipe, story, Haystack::In(*h)))
        {
            let question = match grid.question {
                None | Some(QuestionLanguage::Needle) => story,
                Some(QuestionLanguage::Haystack) => haystack,
                Some(QuestionLanguage::Fixed(language)) => language,
            };
            all.push((story, haystack, question));
        }
    }
    all
}

/// What a recipe of stories says of languages.
pub(super) fn check_stories(recipe: &Recipe) -> Result<()> {
    let grid = &recipe.grid;
    let languages = &grid.languages;
    let haystacks = grid.haystack.as_deref().unwrap_or_default();
    if let Some(n) = haystacks.iter().position(|haystack| *haystack == Haystack::Multilingual) {
        return Err(Error::new("grid.haystack names multilingual, which is MLNeedle's alone")
            .on(format!("grid.haystack[{n}]"))
            .help("name languages: each story then stands in a haystack of each"));
    }
    check_languages(grid)?;
    if grid.pairs.is_some() && grid.haystack.is_none() {
        fail!(key "grid.pairs"; "grid.pairs does nothing: without grid.haystack each story stands in a haystack of its own language");
    }
    match &grid.story {
        Some(stories) => check_pairs(grid, "grid.story", stories)?,
        None => check_pairs(grid, "grid.languages", languages)?,
    }
    let with_haystack = grid.lengths.iter().any(|length| length.0 > 0);
    if with_haystack && !languages.is_empty() && voices(recipe, false).is_empty() {
        fail!(on "grid.pairs"; "grid.pairs leaves no pair of story and haystack languages");
    }
    if recipe.rag.is_some() && !with_haystack {
        fail!(key "rag"; "[rag] does nothing: at 0k there is no haystack to retrieve from; name other lengths in grid.lengths");
    }
    Ok(())
}

/// Lists of languages name each once, and only those of `grid.languages`.
fn check_languages(grid: &Grid) -> Result<()> {
    for (key, list) in [("grid.story", &grid.story), ("grid.needle", &grid.needle)] {
        list.as_ref().map_or(Ok(()), |list| no_repeats(key, list))?;
    }
    grid.haystack.as_ref().map_or(Ok(()), |list| no_repeats("grid.haystack", list))?;
    for (key, used) in [
        ("grid.story", grid.story.clone().unwrap_or_default()),
        ("grid.needle", grid.needle.clone().unwrap_or_default()),
        ("grid.haystack", grid.haystack.iter().flatten().filter_map(single).collect()),
        ("grid.question", grid.question.iter().filter_map(fixed).collect()),
    ] {
        // Of haystacks the multilingual one is not among these.
        let place = |n: usize, language: &Language| match key {
            "grid.haystack" => grid.haystack.iter().flatten().position(|h| *h == Haystack::In(*language)).unwrap_or(n),
            _ => n,
        };
        if let Some((n, language)) = used.iter().enumerate().find(|(_, l)| !grid.languages.contains(l)) {
            return Err(Error::new(format!("{key} names {language}, which grid.languages does not"))
                .on(format!("{key}[{}]", place(n, language)))
                .help("add it to grid.languages"));
        }
    }
    Ok(())
}

/// A list of pairs names each once, and only those of these languages, which `key` lists, and the haystacks.
fn check_pairs(grid: &Grid, key: &str, languages: &[Language]) -> Result<()> {
    let Some(Pairs::List(list)) = &grid.pairs else { return Ok(()) };
    no_repeats("grid.pairs", list)?;
    let is_of = |(language, haystack): &(Language, Haystack)| {
        languages.contains(language) && grid.haystack.iter().flatten().any(|h| h == haystack)
    };
    match list.iter().enumerate().find(|(_, pair)| !is_of(pair)) {
        Some((n, (language, haystack))) => {
            fail!(on format!("grid.pairs[{n}]"); "grid.pairs names {language}-{haystack}, which is not of {key} and grid.haystack")
        }
        None => Ok(()),
    }
}

fn story_files(recipe: &Recipe) -> Vec<FilePlan> {
    let (strategies, kinds) = (&recipe.prompt.strategies, recipe.distractors.kind.list());
    let mut all = Vec::new();
    for &length in &recipe.grid.lengths {
        for (language, haystack, question) in voices(recipe, length.0 == 0) {
            for &strategy in strategies {
                for &kind in &kinds {
                    let mut config = match (language == haystack, language == question) {
                        (true, true) => format!("{language}_{length}"),
                        _ if length.0 == 0 => format!("{language}_{question}_{length}"),
                        _ => format!("{language}_{haystack}_{question}_{length}"),
                    };
                    if strategies.len() > 1 {
                        config += &format!("_{}", strategy.name());
                    }
                    if kinds.len() > 1 {
                        config += &format!("_{}", kind.name());
                    }
                    let own = FilePlan::of(language, length, strategy, kind, config);
                    all.push(FilePlan { haystack, question, ..own });
                }
            }
        }
    }
    // What is retrieved from a prompt comes behind all prompts.
    let whole: Vec<FilePlan> = all.iter().filter(|file| file.length.0 > 0).cloned().collect();
    if let Some(rag) = &recipe.rag {
        for file in &whole {
            for &retriever in &rag.retrievers {
                for &k in &rag.top_k {
                    let config = format!("{}_rag_{}_{k}", file.config, retriever.name());
                    all.push(FilePlan { rag: Some((retriever, k)), config, ..file.clone() });
                }
            }
        }
    }
    all
}

/// MLNeedle's files: at each length one for each pair of languages and prompt; at 0k one for each needle language
/// (and question language, where it follows the haystack's).
fn cell_files(recipe: &Recipe) -> Vec<FilePlan> {
    let mut all: Vec<FilePlan> = Vec::new();
    let prompts = recipe.grid.prompts.clone().unwrap_or_default();
    let question = recipe.grid.question.unwrap_or(QuestionLanguage::Needle);
    for &length in &recipe.grid.lengths {
        for (needle, haystack) in pairs(recipe) {
            for &prompt in &prompts {
                let question = match (question, haystack) {
                    (QuestionLanguage::Fixed(language), _) => language,
                    (QuestionLanguage::Haystack, Haystack::In(language)) if length.0 > 0 => language,
                    _ => needle,
                };
                let haystack = (length.0 > 0).then_some(haystack);
                let mut config = format!("{needle}_");
                config += &haystack.map_or(String::new(), |h| format!("{h}_"));
                config += &length.to_string();
                if prompts.len() > 1 {
                    config += &format!("_{}", prompt.name());
                }
                let cell = Some(Cell { haystack, question, prompt });
                let (strategy, kind) = (Strategy::ZeroShot, Kind::Natural);
                let language = needle;
                let own = FilePlan::of(language, length, strategy, kind, config);
                let file = FilePlan { cell, ..own };
                if !all.contains(&file) {
                    all.push(file);
                }
            }
        }
    }
    all
}

/// Pairs of needle and haystack languages, in the order of the recipe's lists.
pub fn pairs(recipe: &Recipe) -> Vec<(Language, Haystack)> {
    let needles = recipe.grid.needle.clone().unwrap_or_default();
    let haystacks = recipe.grid.haystack.clone().unwrap_or_default();
    let all = needles.iter().flat_map(|n| haystacks.iter().map(move |h| (*n, *h)));
    all.filter(|(needle, haystack)| is_wanted(recipe, *needle, *haystack)).collect()
}

/// Does `grid.pairs` leave this pair of needle, or story, and haystack?
fn is_wanted(recipe: &Recipe, needle: Language, haystack: Haystack) -> bool {
    match &recipe.grid.pairs {
        None | Some(Pairs::All) => true,
        Some(Pairs::Monolingual) => haystack == Haystack::In(needle),
        Some(Pairs::NeedleVaries) => matches!(haystack, Haystack::In(language) if language.code() == "en"),
        Some(Pairs::HaystackVaries) => needle.code() == "en",
        Some(Pairs::List(list)) => list.contains(&(needle, haystack)),
    }
}

/// Fills in and checks what a recipe of MLNeedle's leaves out.
pub(super) fn fill_cells(recipe: &mut Recipe) -> Result<()> {
    if recipe.source.dataset.is_none() {
        return Err(Error::new("source.dataset is missing: ids of rows begin with it")
            .on("source.dataset")
            .help("give the set of questions a name, such as dataset = \"mlqa\""));
    }
    let needles = recipe.source.files.clone().ok_or_else(|| {
        Error::new("source.files is missing: the names of the files, one a language")
            .on("source.files")
            .help("such as files = \"xquad.{language}.json\"")
    })?;
    for (key, names) in [("source.files", needles), ("haystack.files", recipe.haystack.files.clone())] {
        let names = names.list();
        if !names.iter().any(|name| name.contains("{language}") || name.contains("{name}")) {
            return Err(Error::new(format!("{key}: {} would name the same file for every language", names.join(", ")))
                .on(key)
                .help("put {language} where the language's code stands, or {name} for its English name"));
        }
    }
    let grid = &mut recipe.grid;
    no_repeats("grid.languages", &grid.languages)?;
    let languages = grid.languages.clone();
    let english = languages.iter().copied().find(|l| l.code() == "en");
    let haystacks = || languages.iter().map(|l| Haystack::In(*l)).chain([Haystack::Multilingual]).collect();
    grid.needle.get_or_insert_with(|| languages.clone());
    grid.haystack.get_or_insert_with(haystacks);
    grid.pairs.get_or_insert(Pairs::All);
    grid.question.get_or_insert(english.map_or(QuestionLanguage::Needle, QuestionLanguage::Fixed));
    grid.positions.get_or_insert_with(|| Position::ALL.to_vec());
    grid.samples.get_or_insert(100);
    grid.choice.get_or_insert(Choice::Shared);
    grid.prompts.get_or_insert_with(|| vec![PromptKind::Exact]);
    recipe.prompt.first_label.get_or_insert(1);
    recipe.prompt.middle.get_or_insert(Middle::Tokens);
    recipe.prompt.last.get_or_insert(Last::Whole);
    let grid = &recipe.grid;
    check_languages(grid)?;
    no_repeats("grid.positions", grid.positions.as_deref().unwrap_or_default())?;
    no_repeats("grid.prompts", grid.prompts.as_deref().unwrap_or_default())?;
    check_pairs(grid, "grid.needle", grid.needle.as_deref().unwrap_or_default())?;
    if pairs(recipe).is_empty() {
        fail!(on "grid.pairs"; "grid.pairs leaves no pair of needle and haystack languages");
    }
    if !(1..=99_999).contains(&grid.samples.unwrap_or_default()) {
        fail!(on "grid.samples"; "grid.samples is {}, expected 1 to 99999", grid.samples.unwrap_or_default());
    }
    if recipe.prompt.first_label.is_some_and(|n| n > 1_000) {
        fail!(on "prompt.first_label"; "prompt.first_label is more than 1000");
    }
    Ok(())
}

fn single(haystack: &Haystack) -> Option<Language> {
    match haystack {
        Haystack::In(language) => Some(*language),
        Haystack::Multilingual => None,
    }
}

fn fixed(question: &QuestionLanguage) -> Option<Language> {
    match question {
        QuestionLanguage::Fixed(language) => Some(*language),
        _ => None,
    }
}
