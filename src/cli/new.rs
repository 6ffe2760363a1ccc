//! `new`: a recipe to begin with, from flags, answers or defaults.

use super::{print, print_json};
use crate::error::{Error, Result};
use crate::language::Language;
use crate::plan::{Options, Plan};
use crate::recipe::draft::{Benchmark, Draft, From};
use crate::recipe::{Length, Name, Recipe, Task, TaskKey, near, schema};
use crate::store::write_aside;
use crate::tokenizer::Tokenizer;
use clap::Args;
use dialoguer::{Input, MultiSelect, Select};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(super) struct NewArgs {
    /// Name of the release: lower-case letters, digits, - and _ [default: my-FAMILY]
    name: Option<String>,
    /// The benchmark [default: mlrbench]
    #[arg(long)]
    family: Option<Benchmark>,
    /// Where texts come from [default: what needs no files of your own]
    #[arg(long)]
    source: Option<From>,
    /// Languages, such as en,zh [default: en,de,zh; of recall en]
    #[arg(long, value_name = "CODES", value_delimiter = ',')]
    languages: Vec<String>,
    /// Lengths in thousands of tokens, such as 0k,8k
    #[arg(long, value_name = "LENGTHS", value_delimiter = ',')]
    lengths: Vec<Length>,
    /// Tasks, perhaps with the number of instances of each, such as yes_no=20,qa1 [default: the paper's seven]
    #[arg(long, value_name = "TASKS", value_delimiter = ',')]
    tasks: Vec<String>,
    /// How many: of mlrbench instances, of mlneedle questions a cell, of recall depths and lengths [default: 100, 10, 10]
    #[arg(long, alias = "limit", value_name = "N")]
    size: Option<u32>,
    /// Whose tokens lengths count [default: o200k_base]
    #[arg(long, value_name = "NAME")]
    tokenizer: Option<String>,
    /// SPDX identifier of the release's licence [default: that of the source]
    #[arg(long, value_name = "LICENCE")]
    licence: Option<String>,
    /// The file to write [default: NAME.toml]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write over what is there
    #[arg(long)]
    force: bool,
    /// Ask nothing: what no flag gives has its default
    #[arg(long, short = 'y')]
    yes: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Asks on a terminal, and notes what was not asked.
struct Asker {
    on: bool,
    defaults: Vec<&'static str>,
}

impl Asker {
    /// The value that a flag gave, else the answer, else the default.
    fn get<T>(
        &mut self,
        what: &'static str,
        given: Option<T>,
        usual: T,
        ask: impl FnOnce(&T) -> Result<T>,
    ) -> Result<T> {
        match given {
            Some(given) => Ok(given),
            None if self.on => ask(&usual),
            None => {
                self.defaults.push(what);
                Ok(usual)
            }
        }
    }
}

pub(super) fn new(args: NewArgs) -> Result<bool> {
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let mut asker = Asker { on: terminal && !args.yes, defaults: Vec::new() };
    let benchmark = asker.get("family", args.family, Benchmark::Mlrbench, |_| {
        let items = [
            "MLRBench: stories with a question",
            "MLNeedle: passages that answer",
            "In-context recall: a sentence in running text",
        ];
        Ok(Benchmark::ALL[select("Which benchmark?", &items, 0)?])
    })?;
    let usual = format!("my-{}", benchmark.name());
    let name = asker.get("name", args.name, usual, |usual| {
        let check = |text: &String| name(text).map(drop).map_err(|e| e.to_string());
        input("Name of the release", usual, check)
    })?;
    let mut draft = Draft::new(self::name(&name)?, benchmark);
    draft.from = asker.get("source", args.source, draft.from, |_| {
        let items: Vec<&str> = benchmark.sources().iter().map(|from| from.name()).collect();
        Ok(benchmark.sources()[select("Where from?", &items, 0)?])
    })?;
    let languages = parse_all("--languages", &args.languages, |code| code.parse::<Language>())?;
    draft.languages = asker.get("languages", Some(languages).filter(|l| !l.is_empty()), Vec::new(), |_| {
        let all: Vec<Language> = Language::all().collect();
        let usual = if benchmark == Benchmark::Recall { vec!["en"] } else { vec!["en", "de", "zh"] };
        let items: Vec<(String, bool)> = all.iter().map(|l| (l.to_string(), usual.contains(&l.code()))).collect();
        Ok(choose("Languages (space chooses)", &items)?.into_iter().map(|n| all[n]).collect())
    })?;
    draft.lengths = asker.get("lengths", Some(args.lengths).filter(|l| !l.is_empty()), Vec::new(), |_| {
        let all: Vec<Length> = [0, 2, 4, 8, 16, 32, 64, 128].map(Length).into_iter().collect();
        let all: Vec<Length> = all.into_iter().filter(|l| benchmark != Benchmark::Recall || l.0 > 0).collect();
        let usual =
            |length: &Length| length.0 != 2 && length.0 <= if benchmark == Benchmark::Mlneedle { 8 } else { 32 };
        let items: Vec<(String, bool)> = all.iter().map(|l| (l.to_string(), usual(l))).collect();
        Ok(choose("Lengths (space chooses)", &items)?.into_iter().map(|n| all[n]).collect())
    })?;
    let tasks = parse_all("--tasks", &args.tasks, task)?;
    if benchmark == Benchmark::Mlrbench {
        draft.tasks = asker.get("tasks", Some(tasks).filter(|t| !t.is_empty()), Vec::new(), |_| {
            let items: Vec<(String, bool)> =
                Task::ALL.iter().enumerate().map(|(n, task)| (task.name().to_owned(), n < Task::PAPER)).collect();
            Ok(choose("Tasks (space chooses)", &items)?
                .into_iter()
                .map(|n| (TaskKey::Task(Task::ALL[n]), None))
                .collect())
        })?;
    } else {
        draft.tasks = tasks;
    }
    draft.size = asker.get("size", args.size, draft.size, |usual| {
        let check = |text: &String| text.parse::<u32>().map(drop).map_err(|_| "a whole number".to_owned());
        let answer = input(&format!("How many {}", benchmark.unit()), &usual.to_string(), check)?;
        answer.parse().map_err(|_| Error::new("a whole number was expected"))
    })?;
    let tokenizer = asker.get("tokenizer", args.tokenizer, draft.tokenizer.0.clone(), |usual| {
        input("Tokenizer that lengths are counted with", usual, |text| {
            self::name(text).map(drop).map_err(|e| e.to_string())
        })
    })?;
    draft.tokenizer = self::name(&tokenizer).map_err(|e| e.at("--tokenizer"))?;
    let licence = draft.from.licence().unwrap_or_default().to_owned();
    let licence = asker
        .get("licence", args.licence, licence, |usual| input("Licence (SPDX; empty: not stated)", usual, |_| Ok(())))?;
    draft.licence = Some(licence).filter(|licence| !licence.is_empty());
    let path = args.out.unwrap_or_else(|| PathBuf::from(format!("{}.toml", draft.name)));
    let shown = path.display().to_string();
    let text = draft.text(&shown)?;
    check(&shown, &text, &draft)?;
    let beside = write(&path, &text, args.force)?;
    if args.json {
        return print_json(&serde_json::json!({ "recipe": path, "schema": beside, "defaults": asker.defaults }))
            .map(|()| true);
    }
    if !asker.defaults.is_empty() {
        let why = if args.yes { "" } else { "no terminal to ask on; " };
        eprintln!("{why}defaults were taken for {}", asker.defaults.join(", "));
    }
    let more = match Tokenizer::embedded(&draft.tokenizer.0) {
        Some(_) => String::new(),
        None => format!(" --tokenizer {}=FILE", draft.tokenizer),
    };
    let data = if matches!(draft.from, From::Files | From::Text) { " --data DIR" } else { "" };
    print(&format!(
        "{shown}\n  look at it     nihbuild recipe {shown} --dry-run{data}{more}\n  build it       nihbuild recipe {shown}{data}{more}\n  its schema     {}\n",
        beside.display()
    ))?;
    Ok(true)
}

/// The recipe must parse and make sense. Tokenizers that are not embedded are not looked for.
fn check(name: &str, text: &str, draft: &Draft) -> Result<()> {
    let mut recipe = Recipe::parse(name, text)?;
    if Tokenizer::embedded(&draft.tokenizer.0).is_none() {
        recipe.tokens.primary = crate::recipe::Tokens::default().primary;
    }
    Plan::new(recipe, Options { jobs: 1, ..Options::default() }).map(drop)
}

/// Writes recipe and schema; says where the schema is.
fn write(path: &Path, text: &str, force: bool) -> Result<PathBuf> {
    if path.exists() && !force {
        return Err(Error::new(format!("{} is there already", path.display()))
            .help("give another name or --out FILE, or --force to write over it"));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(
            Error::new(format!("there is no folder {}", folder.display())).help("make it, or give another --out FILE")
        );
    }
    let beside = path.with_file_name(schema::FILE);
    let own = schema::text();
    match std::fs::read_to_string(&beside) {
        Ok(there) if there != own && !force => {
            eprintln!("{} is of another version and is left as it is (--force writes it anew)", beside.display());
        }
        Ok(there) if there == own => {}
        _ => write_aside(&folder.join(schema::FILE), |out| out.write_all(own.as_bytes()))?,
    }
    let file = path.file_name().ok_or_else(|| Error::new(format!("--out {}: it names no file", path.display())))?;
    write_aside(&folder.join(file), |out| out.write_all(text.as_bytes()))?;
    Ok(beside)
}

fn name(text: &str) -> Result<Name> {
    use serde::Deserialize;
    let text: serde::de::value::StrDeserializer<'_, serde::de::value::Error> =
        serde::de::value::StrDeserializer::new(text);
    Name::deserialize(text).map_err(|e| Error::new(e.to_string()))
}

/// `yes_no`, or `yes_no=20`.
fn task(text: &str) -> std::result::Result<(TaskKey, Option<u32>), String> {
    let (key, number) = match text.split_once('=') {
        Some((key, number)) => (key, Some(number)),
        None => (text, None),
    };
    let number = number.map(|n| n.parse().map_err(|_| format!("`{n}` is no number of instances"))).transpose()?;
    Ok((key.parse()?, number))
}

fn parse_all<T>(
    flag: &str,
    texts: &[String],
    parse: impl Fn(&str) -> std::result::Result<T, String>,
) -> Result<Vec<T>> {
    texts
        .iter()
        .map(|text| {
            parse(text.trim()).map_err(|e| {
                let error = Error::new(format!("{flag}: {e}"));
                near::help(&e).into_iter().fold(error, Error::help)
            })
        })
        .collect()
}

fn away(e: dialoguer::Error) -> Error {
    Error::new(format!("nothing was written: {e}")).help("--yes takes the defaults, flags give the rest")
}

fn select(what: &str, items: &[&str], usual: usize) -> Result<usize> {
    Select::new().with_prompt(what).items(items).default(usual).interact().map_err(away)
}

fn choose(what: &str, items: &[(String, bool)]) -> Result<Vec<usize>> {
    let items = items.iter().map(|(item, on)| (item.as_str(), *on));
    MultiSelect::new().with_prompt(what).items_checked(items).interact().map_err(away)
}

fn input(what: &str, usual: &str, check: impl FnMut(&String) -> std::result::Result<(), String>) -> Result<String> {
    let input = Input::<String>::new().with_prompt(what).default(usual.to_owned()).allow_empty(true);
    input.validate_with(check).interact_text().map_err(away)
}
