//! `new`: any choice of flags gives a recipe that parses and makes sense; answers on a terminal do too.

use super::*;
use crate::support::*;
use nihbuild::language::Language;
use nihbuild::recipe::draft::{Benchmark, Draft};
use nihbuild::recipe::schema::{FILE, LINE};
use nihbuild::recipe::{Length, Name};
use std::io::Write;
use std::process::Stdio;

#[test]
fn every_choice_gives_a_recipe_that_plans() {
    let codes: [&[&str]; 4] = [&[], &["en"], &["zh", "hi"], &["en", "de", "es", "zh", "vi", "hi", "ar", "id"]];
    let lengths: [&[u32]; 3] = [&[], &[4], &[2, 16, 128]];
    let tasks: [&[(&str, Option<u32>)]; 4] = [
        &[],
        &[("yes_no", None)],
        &[("qa20", Some(3)), ("counting", None)],
        &[("path_finding", None), ("qa6", Some(0))],
    ];
    let mut n = 0;
    for benchmark in Benchmark::ALL {
        for from in benchmark.sources() {
            for codes in codes {
                for lengths in lengths {
                    for tasks in tasks.iter().take(if benchmark == Benchmark::Mlrbench { 4 } else { 1 }) {
                        for (size, tokenizer) in [(7, "o200k_base"), (40, "cl100k_base")] {
                            let mut draft = Draft::new(Name("mine".to_owned()), benchmark);
                            draft.from = *from;
                            draft.languages = codes.iter().map(|code| code.parse::<Language>().unwrap()).collect();
                            draft.lengths = lengths.iter().copied().map(Length).collect();
                            draft.tasks = tasks.iter().map(|(task, n)| (task.parse().unwrap(), *n)).collect();
                            draft.size = size;
                            draft.tokenizer = Name(tokenizer.to_owned());
                            let text = draft.text("mine.toml").unwrap();
                            assert_eq!(text.lines().next(), Some(LINE));
                            assert_eq!(faults(&text), Vec::<String>::new(), "{text}");
                            let plan = plan(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
                            assert_eq!(plan.recipe.tokens.primary.0, tokenizer);
                            if !codes.is_empty() {
                                let planned = plan.recipe.grid.languages.iter().map(|l| l.code());
                                assert!(planned.eq(codes.iter().copied()), "{text}");
                            }
                            if benchmark == Benchmark::Mlrbench && tasks.iter().all(|(_, n)| n.is_none()) {
                                assert_eq!(plan.total(), size, "{text}");
                            }
                            n += 1;
                        }
                    }
                }
            }
        }
    }
    assert_eq!(n, 2 * 4 * 3 * 4 * 2 + 2 * 2 * 4 * 3 * 2);
}

#[test]
fn without_a_terminal_defaults_are_taken_and_said() {
    let bench = Bench::new();
    let made = bench.run(&["new"]).success();
    assert!(made.err.contains("no terminal to ask on") && made.err.contains("languages"), "{}", made.err);
    assert!(made.out.contains("nihbuild recipe my-mlrbench.toml --dry-run"), "{}", made.out);
    assert_eq!(std::fs::read_to_string(bench.path(FILE)).unwrap(), nihbuild::recipe::schema::text());
    for family in ["mlrbench", "mlneedle", "recall"] {
        let file = format!("{family}.toml");
        bench.run(&["new", "mine", "--family", family, "--out", &file, "--yes"]).success();
        let dry = bench.run(&["recipe", &file, "--dry-run", "--offline"]).success();
        assert!(dry.out.contains("name = \"mine\""), "{}", dry.out);
    }
    // One that needs no download is built.
    bench
        .run(&["new", "tiny", "--languages", "en,zh", "--lengths", "0k,2k", "--tasks", "qa1=2,yes_no=2", "-y"])
        .success();
    let release = bench.run(&["recipe", "tiny.toml"]).success().release(&bench);
    let manifest = nihbuild::verify::read_manifest(&release).unwrap();
    assert_eq!((manifest.rows, manifest.licence.as_str()), (2 * 2 * 4, "CC-BY-4.0"));
    let json: Value = serde_json::from_str(&bench.run(&["new", "other", "-y", "--json"]).success().out).unwrap();
    assert_eq!(json["recipe"], "other.toml");
}

#[test]
fn nothing_is_written_over_and_wrong_flags_are_named() {
    let bench = Bench::new();
    bench.run(&["new", "mine", "--yes"]).success();
    let before = std::fs::read_to_string(bench.path("mine.toml")).unwrap();
    bench.run(&["new", "mine", "--yes", "--size", "9"]).failure(2, &["mine.toml is there already", "--force"]);
    assert_eq!(std::fs::read_to_string(bench.path("mine.toml")).unwrap(), before);
    bench.run(&["new", "mine", "--yes", "--size", "9", "--force"]).success();
    assert_ne!(std::fs::read_to_string(bench.path("mine.toml")).unwrap(), before);
    // A schema of another version stays, unless it is said to go.
    bench.write(FILE, "{}");
    let said = bench.run(&["new", "second", "--yes"]).success().err;
    assert!(said.contains("left as it is"), "{said}");
    assert_eq!(std::fs::read_to_string(bench.path(FILE)).unwrap(), "{}");
    for (args, said) in [
        (&["--languages", "xx"][..], "--languages: unknown language `xx`"),
        (&["--lengths", "2K"], "`2K` is not a length"),
        (&["--tasks", "sums"], "--tasks: unknown task `sums`"),
        (&["--tasks", "qa1=many"], "`many` is no number"),
        (&["--tasks", "qa1,qa1"], "--tasks names qa1 twice"),
        (&["--family", "recall", "--tasks", "qa1"], "--tasks does nothing"),
        (&["--family", "recall", "--lengths", "0k"], "--lengths 0k"),
        (&["--source", "mlqa"], "--source mlqa is none of mlrbench's"),
        (&["--size", "0"], "--size 0"),
        (&["--size", "3"], "fewer than the 7 tasks"),
        (&["--licence", "my own!"], "is no expression of SPDX identifiers"),
        (&["--tokenizer", "A B"], "--tokenizer"),
        (&["--out", "no/such/r.toml"], "there is no folder no/such"),
    ] {
        bench.run(&[&["new", "wrong", "--yes"], args].concat()).failure(2, &[said]);
        assert!(!bench.path("wrong.toml").exists(), "{args:?}");
    }
    bench.run(&["new", "A b", "--yes"]).failure(2, &["`A b` is not a name"]);
}

/// Runs the program on a terminal of its own and types; nothing where no terminal can be made.
fn on_a_terminal(bench: &Bench, args: &[&str], keys: &[&str]) -> Option<(Option<i32>, String)> {
    let line = [&[env!("CARGO_BIN_EXE_nihbuild")], args].concat().join(" ");
    let mut command = std::process::Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).current_dir(bench.dir.path()).env("TERM", "xterm");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else {
        eprintln!("skipped: no program `script`");
        return None;
    };
    let mut keyboard = child.stdin.take().unwrap();
    for key in keys {
        std::thread::sleep(std::time::Duration::from_millis(700));
        keyboard.write_all(key.as_bytes()).unwrap();
        keyboard.flush().unwrap();
    }
    std::thread::sleep(std::time::Duration::from_millis(700));
    drop(keyboard);
    let output = child.wait_with_output().unwrap();
    Some((output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned()))
}

#[test]
fn it_asks_on_a_terminal() {
    let bench = Bench::new();
    // Third benchmark; a name; every other answer is the one that is offered.
    let keys = ["\u{1b}[B\u{1b}[B\r", "asked\r", "\r", "\r", "\r", "\r", "\r", "\r"];
    let Some((code, heard)) = on_a_terminal(&bench, &["new"], &keys) else { return };
    assert_eq!(code, Some(0), "{heard}");
    assert!(heard.contains("Which benchmark?") && heard.contains("Lengths"), "{heard}");
    let text = std::fs::read_to_string(bench.path("asked.toml")).unwrap();
    assert!(text.contains("kind = \"text\"") && text.contains("name = \"asked\""), "{text}");
    plan(&text).unwrap();
    // What flags give is not asked for.
    let all = ["--family", "recall", "--source", "essays", "--languages", "en", "--lengths", "4k", "--size", "3"];
    let all = [&["new", "quiet", "--tokenizer", "o200k_base", "--licence", "CC0-1.0"], &all[..]].concat();
    let Some((code, heard)) = on_a_terminal(&bench, &all, &[]) else { return };
    assert_eq!(code, Some(0), "{heard}");
    assert!(!heard.contains('?') && bench.path("quiet.toml").exists(), "{heard}");
}
