//! Completions for shells, and pages of the manual: made of the command line's own definition.

use super::{Cli, print};
use crate::error::{Error, Result};
use crate::fail;
use crate::language::Language;
use crate::recipe::{BUILT_IN, Task};
use crate::store::{make_dir, write_aside};
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, Command, CommandFactory, ValueHint};
use clap_complete::Shell;
use std::path::{Path, PathBuf};

/// Lengths that are offered; any other may be written.
const LENGTHS: [&str; 10] = ["0k", "2k", "4k", "8k", "10k", "12k", "16k", "32k", "64k", "128k"];

/// Prints the script of a shell.
pub(super) fn completions(shell: Shell) -> Result<bool> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut offering(Cli::command()), "nihbuild", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    if shell == Shell::Zsh {
        // Where words are offered zsh looks for no files: a recipe may be either.
        let names: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
        let names = names.join(" ");
        script = script.replace(&format!("({names})"), &format!("{{compadd -- {names}; _files -g \"*.toml\"}}"));
    }
    print(&script).map(|()| true)
}

/// The command with words and kinds of paths to offer. It completes and is never parsed with.
fn offering(command: Command) -> Command {
    command.mut_args(offer).mut_subcommands(offering)
}

fn offer(arg: Arg) -> Arg {
    let words: Vec<&'static str> = match arg.get_id().as_str() {
        "recipe" => BUILT_IN.iter().map(|(name, _)| *name).collect(),
        "languages" => Language::all().map(Language::code).collect(),
        "lengths" => LENGTHS.to_vec(),
        "tasks" => Task::ALL.into_iter().map(Task::name).collect(),
        "tokenizer" => crate::tokenizer::Tokenizer::EMBEDDED.to_vec(),
        _ => Vec::new(),
    };
    if !words.is_empty() {
        return arg.value_parser(PossibleValuesParser::new(words.into_iter().map(PossibleValue::new)));
    }
    let named: Vec<String> = arg.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect();
    let folders = ["release", "compact", "a", "b"];
    match named.first().map(String::as_str) {
        Some("DIR") => arg.value_hint(ValueHint::DirPath),
        Some("FILE" | "NAME=FILE") => arg.value_hint(ValueHint::FilePath),
        _ if folders.contains(&arg.get_id().as_str()) => arg.value_hint(ValueHint::DirPath),
        _ => arg,
    }
}

#[derive(clap::Args)]
pub(super) struct ManArgs {
    /// The page of this verb [default: that of the program]
    verb: Option<String>,
    /// Write all pages into this folder, one a verb
    #[arg(long, value_name = "DIR", conflicts_with = "verb")]
    out: Option<PathBuf>,
}

/// Prints or writes pages of the manual.
pub(super) fn man(args: ManArgs) -> Result<bool> {
    let pages = pages()?;
    if let Some(folder) = args.out {
        make_dir(&folder)?;
        for (name, page) in &pages {
            write_aside(&folder.join(name), |out| out.write_all(page))?;
        }
        return print(&format!("{}\n  {} pages: man -l {}\n", folder.display(), pages.len(), beside(&folder)))
            .map(|()| true);
    }
    let wanted = args.verb.as_deref().map_or("nihbuild.1".to_owned(), |verb| format!("nihbuild-{verb}.1"));
    match pages.iter().find(|(name, _)| *name == wanted) {
        Some((_, page)) => print(&String::from_utf8_lossy(page)).map(|()| true),
        None => {
            let verbs: Vec<String> = Cli::command().get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
            fail!("no verb {:?}, there are {}", args.verb.unwrap_or_default(), verbs.join(", "))
        }
    }
}

fn beside(folder: &Path) -> String {
    folder.join("nihbuild.1").display().to_string()
}

/// Every page, by the name of its file.
fn pages() -> Result<Vec<(String, Vec<u8>)>> {
    let mut command = Cli::command();
    command.build();
    let page = |command: Command, name: String| -> Result<(String, Vec<u8>)> {
        let mut page = Vec::new();
        let man = clap_mangen::Man::new(command)
            .title(name.to_uppercase())
            .date("")
            .source(concat!("nihbuild ", env!("CARGO_PKG_VERSION")))
            .manual("nihbuild");
        man.render(&mut page).map_err(|e| Error::new(format!("cannot write the page {name}: {e}")))?;
        // Without a date its place must be kept, else the source would stand there.
        let page = String::from_utf8_lossy(&page).replacen(" 1  \"", " 1 \"\" \"", 1);
        Ok((format!("{name}.1"), page.into_bytes()))
    };
    let mut all = vec![page(command.clone().disable_help_subcommand(true), "nihbuild".to_owned())?];
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        let name = format!("nihbuild-{}", verb.get_name());
        all.push(page(verb.clone().display_name(name.clone()), name)?);
    }
    Ok(all)
}
