//! Completions offer the words that there are; the manual has a page a verb.

use crate::support::*;

#[test]
fn completions_offer_recipes_languages_and_folders() {
    let bench = Bench::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = bench.run(&["completions", shell]).success().out;
        assert!(script.contains("materialize") && script.contains("languages"), "{shell}: {}", script.len());
    }
    let bash = bench.run(&["completions", "bash"]).success().out;
    assert!(bash.contains("compgen -W \"en de es zh vi hi ar id\""), "languages");
    assert!(bash.contains("0k 2k 4k 8k"), "lengths");
    assert!(bash.contains("mlneedle-existence"), "recipes");
    let zsh = bench.run(&["completions", "zsh"]).success().out;
    assert!(zsh.contains("{compadd -- mlrbench ") && zsh.contains("_files -g \"*.toml\""), "recipes or files");
    assert!(zsh.contains("_files -/"), "folders");
    let fish = bench.run(&["completions", "fish"]).success().out;
    assert!(fish.lines().any(|l| l.contains("-l languages") && l.contains("zh")), "languages");
    // What is offered narrows nothing: other words are still read, and refused by what reads them.
    bench.run(&["recipe", "nothing"]).failure(2, &["no recipe \"nothing\""]);
    bench.run(&["recipe", "golden", "--languages", "xx"]).failure(2, &["--languages", "unknown language `xx`"]);
}

#[test]
fn completions_complete_in_bash() {
    let bench = Bench::new();
    let script = bench.run(&["completions", "bash"]).success().out;
    let script = bench.write("complete.bash", &script);
    let ask = |words: &str| {
        let all: Vec<&str> = words.split(' ').collect();
        let (count, last, before) = (all.len() - 1, all[all.len() - 1], all[all.len() - 2]);
        let program = format!(
            "source {}; COMP_WORDS=({words}); COMP_CWORD={count}; _nihbuild nihbuild '{last}' '{before}'; echo \"${{COMPREPLY[@]}}\"",
            script.display()
        );
        let Ok(output) = std::process::Command::new("bash").args(["-c", &program]).output() else { return None };
        Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
    };
    let Some(recipes) = ask("nihbuild recipe mlr") else {
        eprintln!("skipped: no bash");
        return;
    };
    assert_eq!(recipes, "mlrbench mlrbench-babi mlrbench-paper");
    assert_eq!(ask("nihbuild recipe golden --languages z").unwrap(), "zh");
    assert_eq!(ask("nihbuild recipe golden --layout c").unwrap(), "compact");
    assert_eq!(ask("nihbuild mat").unwrap(), "materialize");
}

#[test]
fn a_page_for_each_verb() {
    let bench = Bench::new();
    let top = bench.run(&["man"]).success().out;
    assert!(top.contains(".TH NIHBUILD 1") && top.contains("materialize"), "{top}");
    let page = bench.run(&["man", "recipe"]).success().out;
    assert!(page.contains(".TH NIHBUILD-RECIPE 1") && page.contains("\\-\\-dry\\-run"), "{page}");
    bench.run(&["man", "bake"]).failure(2, &["no verb \"bake\"", "verify"]);
    bench.run(&["man", "--out", "man1"]).success();
    let help = bench.run(&["--help"]).success().out;
    let verbs: Vec<&str> = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|verb| *verb != "help")
        .collect();
    assert!(verbs.len() >= 10, "{verbs:?}");
    for verb in &verbs {
        let page = std::fs::read_to_string(bench.path(&format!("man1/nihbuild-{verb}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{verb}");
    }
    assert_eq!(nihbuild::store::sorted_dir(&bench.path("man1")).unwrap().len(), verbs.len() + 1);
}
