//! Broken recipes: the error names the recipe, line and column, shows the line, puts carets under what is at fault, and says the
//! way out.

use super::*;
use crate::support::*;

/// Who refuses it.
#[derive(Clone, Copy, PartialEq)]
enum By {
    /// Schema and program.
    Both,
    /// The program alone: the schema cannot say it.
    Program,
}
use By::{Both, Program};

const HEAD: &str = "[release]\nname = \"x\"\nversion = \"1.0.0\"\nseed = 1\n";
const SQUAD: &str = "[source]\nkind = \"squad\"\ndataset = \"d\"\nfiles = \"q.{language}.json\"\n";
const TEXT: &str = "[source]\nkind = \"text\"\n";
const SERVICE: &str = "[translation.service]\nengine = \"google\"\n";

/// A recipe whose fault stands between « and », and what the error says.
type Case = (By, &'static str, &'static [&'static str]);

const STORIES: &[Case] = &[
    (Both, "[grid]\n«lenghts» = [\"2k\"]\n", &["unknown field `lenghts`", "did you mean `lengths`?"]),
    (Both, "[grid]\n«pool» = 3\n", &["unknown field `pool`", "`pool` is a key of [distractors]"]),
    (Both, "[«relase»]\nname = \"y\"\n", &["unknown field `relase`", "did you mean `release`?"]),
    (
        Both,
        "[grid]\nlanguages = [\"en\", «\"fr\"»]\n",
        &["unknown language `fr`", "French has no pack: [translation.languages.fr]"],
    ),
    (Both, "[grid]\nlanguages = [«\"German\"»]\n", &["unknown language `German`", "did you mean `de`?"]),
    (Both, "[grid]\nlanguages = [«\"EN\"»]\n", &["did you mean `en`?"]),
    (Both, "[grid]\nlanguages = [«\" en\"»]\n", &["has spaces around it"]),
    (Both, "[grid]\nlanguages = «[]»\n", &["grid.languages is empty"]),
    (Both, "[grid]\nlanguages = [\"en\", \"de\", «\"en\"»]\n", &["grid.languages names en twice"]),
    (Both, "[grid]\nlengths = [\"0k\", «\"2K\"»]\n", &["`2K` is not a length"]),
    (Both, "[grid]\nlengths = [\n  \"4k\",\n  «\"4k\"»,\n]\n", &["grid.lengths names 4k twice"]),
    (Both, "[grid]\nlengths = «8»\n", &["invalid type: integer"]),
    (Both, "[grid]\nhaystack = [\"en\", «\"multilingual\"»]\n", &["MLNeedle's alone", "name languages"]),
    (
        Program,
        "[grid]\nlanguages = [\"en\"]\nstory = [\"en\", «\"de\"»]\n",
        &["which grid.languages does not", "add it"],
    ),
    (Program, "[grid]\nlanguages = [\"en\"]\nhaystack = [«\"zh\"»]\n", &["grid.haystack names zh", "add it"]),
    (Program, "[grid]\nlanguages = [\"en\"]\nquestion = «\"zh\"»\n", &["grid.question names zh", "add it"]),
    (Program, "[grid]\n«pairs» = \"all\"\n", &["grid.pairs does nothing"]),
    (
        Program,
        "[grid]\nlanguages = [\"en\", \"de\"]\nhaystack = [\"en\"]\npairs = [\"de-en\", «\"en-de\"»]\n",
        &["names en-de"],
    ),
    (Both, "[grid]\npairs = «\"montlingual\"»\n", &["is not known", "monolingual"]),
    (Both, "[grid]\n«samples» = 5\n", &["grid.samples does nothing", "remove it; it is for source.kind = \"squad\""]),
    (Both, "[«slots»]\nwindow = 4096\n", &["slots does nothing", "it is for source.kind = \"text\""]),
    (Both, "[«haystack»]\nsample = 5\n", &["[haystack] does nothing here"]),
    (Both, "[«embedding»]\nmodel = \"m\"\n", &["[embedding] does nothing here"]),
    (Both, "[stories]\ntasks = { «basic_fact» = 1 }\n", &["unknown task `basic_fact`", "basic_factoid"]),
    (Both, "[stories]\ntasks = { yes_no = 2, counting = «100000» }\n", &["at most 99999"]),
    (Program, "[stories]\ntasks = «{ yes_no = 0 }»\n", &["asks for no instance"]),
    (Both, "[stories.tasks]\nqa1 = «-1»\n", &["invalid value"]),
    (Both, "[stories]\nanswers = «\"balance\"»\n", &["unknown variant `balance`", "did you mean `balanced`?"]),
    (Both, "[distractors]\nkind = «\"syntetic\"»\n", &["did you mean `synthetic`?"]),
    (
        Both,
        "[distractors]\nkind = [\"noise\", «\"nature\"»]\n",
        &["unknown variant `nature`", "did you mean `natural`?"],
    ),
    (Program, "[distractors]\nkind = [\"noise\", «\"noise\"»]\n", &["twice"]),
    (Both, "[distractors]\npool = «0»\n", &["distractors.pool is 0, expected 1 to 1000000"]),
    (Program, "[distractors]\nkind = «\"written\"»\n", &["needs [written.service]"]),
    (Both, "[retrieval]\nranking = «\"pivoted\"»\n", &["did you mean `pivot`?"]),
    (Program, "[retrieval]\nengine = «\"hnsw\"»\n", &["is for MLNeedle's large haystacks", "write \"auto\""]),
    (Both, "[budget]\nunit = «0»\n", &["budget.unit is 0"]),
    (Both, "[budget]\nanswer = «\"many\"»\n", &["expected a number of tokens"]),
    (Program, "[budget]\nanswer = «{ few_shot = 64 }»\n", &["no number for the strategy zero_shot"]),
    (
        Program,
        "[budget]\nby = \"content\"\n[retrieval]\nranking = «\"per_language\"»\n",
        &["needs retrieval.ranking = \"pivot\""],
    ),
    (Program, "[tokens]\nprimary = «\"gpt2\"»\n", &["is not here", "o200k_base"]),
    (Program, "[tokens]\nalso = [\"cl100k_base\", «\"o200k_base\"»]\n", &["twice"]),
    (Program, "[tokens.files.«nobody»]\nfile = \"t.json\"\n", &["tokens.files.nobody does nothing"]),
    (Both, "[tokens]\nmodels = [«\"gpt_4_turbo\"»]\n", &["is no model known here", "gpt_4_turbo_0125"]),
    (Both, "[prompt]\nstrategies = [«\"two_shot\"»]\n", &["unknown variant `two_shot`", "few_shot"]),
    (Program, "[prompt]\n«examples» = 3\n", &["prompt.examples does nothing"]),
    (Both, "[prompt]\nstrategies = [\"few_shot\"]\nexamples = «17»\n", &["expected 1 to 16"]),
    (Program, "[prompt.templates]\n«few_shot» = \"x\"\n", &["prompt.templates.few_shot does nothing"]),
    (
        Program,
        "[prompt.templates]\nzero_shot = «\"{context}{contxt}\"»\n",
        &["unknown placeholder {contxt}", "known are"],
    ),
    (Both, "[rag]\ntop_k = [20, «0»]\n", &["rag.top_k names 0"]),
    (Program, "[rag]\nretrievers = «[\"command\"]»\n", &["does not say which program"]),
    (Program, "[rag.«reranker»]\ncommand = [\"x\"]\nmodel = \"m\"\n", &["rag.reranker does nothing"]),
    (
        Both,
        "[rag]\nretrievers = [\"command\"]\n[rag.reranker]\ncommand = [\"x\"]\nmodel = \"m\"\nbatch = «0»\n",
        &["batch: 0"],
    ),
    (Program, "[grid]\nlengths = [\"0k\"]\n[«rag»]\ntop_k = [5]\n", &["[rag] does nothing: at 0k"]),
    (Both, "[source]\nkind = «\"simulated\"»\n", &["did you mean `simulate`?"]),
    (Both, "[source]\n«dataset» = \"d\"\n", &["source.dataset does nothing"]),
];

const PASSAGES: &[Case] = &[
    (Program, "[haystack]\nfiles = «\"all.tsv\"»\n", &["would name the same file", "put {language}"]),
    (Both, "[grid]\nsamples = «0»\n", &["grid.samples is 0"]),
    (Both, "[prompt]\nfirst_label = «2000»\n", &["more than 1000"]),
    (Both, "[haystack]\nsample = «0»\n", &["haystack.sample is 0"]),
    (Program, "[haystack]\nkind = «\"text\"»\n", &["passages, not running text"]),
    (Both, "[«stories»]\nanswers = \"balanced\"\n", &["stories does nothing", "\"simulate\" or \"babi\""]),
    (Program, "[retrieval]\nembedder = \"onnx\"\n[embedding]\nmodel = «\"../m\"»\n", &["is no name of a folder"]),
    (Program, "[grid]\nlanguages = [\"de\"]\npairs = «\"needle-varies\"»\n", &["leaves no pair"]),
];

const TEXTS: &[Case] = &[
    (Both, "[slots]\nwindow = «10»\n", &["slots.window is 10, expected 100"]),
    (Both, "[slots]\ndepths = [50, «101»]\n", &["`101` is no depth"]),
    (Program, "[slots]\ndepths = [50, «10»]\n", &["slots.depths must ascend"]),
    (Program, "[slots]\nlengths = [500, 900, «700»]\n", &["slots.lengths must ascend"]),
    (Program, "[slots]\nlengths = [500]\n«first» = 400\n", &["slots.first does nothing"]),
    (Both, "[slots]\nn_depths = «0»\n", &["slots.n_depths is 0"]),
    (Both, "[slots]\n«windw» = 900\n", &["did you mean `window`?"]),
    (Program, "[haystack]\nkind = «\"tsv\"»\n", &["must be \"text\" or \"essays\""]),
    (Program, "[«haystack»]\nkind = \"text\"\n", &["haystack.files is missing", "such as files ="]),
    (Both, "[grid]\n«lengths» = [\"8k\"]\n", &["grid.lengths does nothing"]),
    (Program, "[[needles]]\nname = «\"mine\"»\n", &["no needle of this name", "pistachio_ai"]),
    (
        Program,
        "[[needles]]\nname = \"pistachio_ai\"\n[[needles]]\nname = \"m\"\nneedle = \"A b.\"\nquestion = \"Q?\"\nanswers = [\"b\", «\"c\"»]\n",
        &["must each stand in the needle"],
    ),
    (
        Program,
        "[[needles]]\nname = \"m\"\nneedle = «\"No mark\"»\nquestion = \"Q?\"\nanswers = [\"No\"]\n",
        &["does not end with a sentence mark", "one whole sentence"],
    ),
    (
        Program,
        "[[needles]]\nname = \"m\"\nneedle = \"A b.\"\nquestion = «\"Is it b?\"»\nanswers = [\"b\"]\n",
        &["already holds the answer"],
    ),
];

const TRANSLATED: &[Case] = &[
    (Program, "[translation.languages.fr]\nwomen = «[\"Anne\"]»\n", &["women has 1 names", "leave both lists out"]),
    (Program, "[translation.languages.«en»]\nname = \"English\"\n", &["names en"]),
    (Program, "[translation.languages.«f»]\n", &["is no code of a language", "ISO 639"]),
    (Both, "[translation]\nattempts = «0»\n[translation.languages.fr]\n", &["translation.attempts is 0"]),
    (Both, "[translation.languages.fr]\n«nam» = \"x\"\n", &["did you mean `name`?"]),
];

const RELEASES: &[Case] = &[
    (Both, "[release]\nname = «\"A b\"»\nversion = \"1.0.0\"\nseed = 1\n", &["`A b` is not a name"]),
    (Both, "[release]\nname = «\"store\"»\nversion = \"1.0.0\"\nseed = 1\n", &["not `store`"]),
    (Both, "[release]\nname = \"x\"\nversion = «\"1\"»\nseed = 1\n", &["three numbers"]),
    (Both, "[release]\nname = \"x\"\nversion = \"1.0.0\"\nseed = «-1»\n", &["whole number"]),
    (Both, "[release]\nname = \"x\"\nversion = \"1.0.0\"\nseed = 1\ndate = «\"yesterday\"»\n", &["YYYY-MM-DD"]),
    (Program, "[release]\nname = \"x\"\nversion = \"1.0.0\"\nseed = 1\ndate = «\"2025-02-29\"»\n", &["is not a date"]),
    (Both, "[release]\nname = \"x\"\nversion = \"1.0.0\"\nseed = 1\nlicence = «\"a_b\"»\n", &["SPDX"]),
    (
        Program,
        "[release]\nname = \"x\"\nversion = \"1.0.0\"\nseed = «{ env = \"NIHBUILD_NOT_SET\" }»\n",
        &["which is not set", "set NIHBUILD_NOT_SET"],
    ),
];

/// Looks at one error: where it says it is, what it shows, what it says. What is not so.
fn look(head: &str, by: By, marked: &str, said: &[&str]) -> Vec<String> {
    let (before, rest) = marked.split_once('\u{ab}').expect("a mark");
    let (fault, after) = rest.split_once('\u{bb}').expect("its end");
    let text = format!("{head}{before}{fault}{after}");
    let start = head.len() + before.len();
    let line = text[..start].matches('\n').count() + 1;
    let begins = text[..start].rfind('\n').map_or(0, |n| n + 1);
    let column = text[begins..start].chars().count() + 1;
    let Err(e) = plan(&text) else { return vec![format!("accepted: {marked}")] };
    let error = e.to_string();
    let mut wrong = Vec::new();
    let mut holds = |holds: bool, what: &str| {
        if !holds {
            wrong.push(format!("{what}: {marked}\n{error}"));
        }
    };
    holds(error.contains(&format!("at recipe r.toml, line {line}, column {column}\n")), "another place");
    let lines: Vec<&str> = error.lines().collect();
    let carets = lines.iter().position(|line| line.contains("| ") && line.contains('^'));
    let under = carets.and_then(|n| {
        let from = lines[n].find('^')?;
        lines[n - 1].get(from..from + lines[n].matches('^').count())
    });
    holds(under == Some(fault), "carets under something else");
    for word in said {
        holds(error.contains(word), &format!("{word:?} is not said"));
    }
    match by {
        Both => holds(!faults(&text).is_empty(), "the schema takes it"),
        Program => holds(faults(&text).is_empty(), "the schema knows it"),
    }
    wrong
}

#[test]
fn errors_point_at_the_key() {
    let recall = format!("{HEAD}{TEXT}");
    let needle = format!("{HEAD}{SQUAD}");
    let translated = format!("{HEAD}{SERVICE}");
    let all = [(HEAD, STORIES), (&needle, PASSAGES), (&recall, TEXTS), (&translated, TRANSLATED), ("", RELEASES)];
    assert!(all.iter().map(|(_, cases)| cases.len()).sum::<usize>() >= 85);
    let looked = |head: &str, case: &Case| look(head, case.0, case.1, case.2);
    let wrong: Vec<String> =
        all.iter().flat_map(|(head, cases)| cases.iter().flat_map(|case| looked(head, case))).collect();
    assert!(wrong.is_empty(), "{} faults:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_place_holds_behind_wide_letters_tabs_and_long_lines() {
    let wrong =
        look(HEAD, Both, "# \u{6d4b}\u{8bd5}\n[grid]\n\tlanguages = [\"en\", «\"xx\"»]\n", &["unknown language `xx`"]);
    assert_eq!(wrong, Vec::<String>::new());
    let Err(e) = plan(&format!("{HEAD}[tokens]\nprimary = \"{}\"\n", "a".repeat(400))) else { panic!("accepted") };
    assert!(e.to_string().lines().skip(1).all(|line| line.chars().count() < 140), "{e}");
    let many = vec!["\"en\""; 100].join(", ");
    let Err(e) = plan(&format!("{HEAD}[grid]\nlanguages = [{many}]\n")) else { panic!("accepted") };
    let text = e.to_string();
    assert!(text.contains("line 6, column 20") && text.contains("...") && text.contains("^^^^"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() < 140), "{text}");
    // What is not written down is told by its section, or by the recipe's name alone.
    let text = plan(&format!("{HEAD}[source]\nkind = \"squad\"\n")).err().expect("an error").to_string();
    assert!(text.contains("source.dataset is missing") && text.contains("line 5, column 2"), "{text}");
    let text = plan("[grid]\nlengths = [\"2k\"]\n").err().expect("an error").to_string();
    assert!(text.contains("missing field `release`") && text.contains("at recipe r.toml"), "{text}");
    let text = plan("[release\n").err().expect("an error").to_string();
    assert!(text.contains("line 1") && text.contains('^'), "{text}");
}

#[test]
fn flags_are_named_by_what_they_are() {
    let bench = Bench::new();
    bench.write("r.toml", &small("x", QUICK));
    let refuses = |args: &[&str], said: &[&str]| {
        bench.run(&[&["recipe", "r.toml", "--dry-run"], args].concat()).failure(2, said);
    };
    refuses(&["--languages", "xx"], &["--languages: unknown language `xx`"]);
    refuses(&["--languages", "German"], &["--languages: unknown language `German`", "did you mean `de`?"]);
    refuses(&["--languages", "id"], &["--languages: the recipe has no id"]);
    refuses(&["--lengths", "2K"], &["--lengths", "`2K` is not a length"]);
    refuses(&["--lengths", "64k"], &["--lengths: the recipe has no 64k, it has 0k, 2k"]);
    refuses(&["--limit", "0"], &["--limit 0"]);
    refuses(&["--jobs", "0"], &["--jobs 0"]);
    refuses(&["--seed=-1"], &["--seed"]);
    refuses(&["--tokenizer", "x"], &["--tokenizer x", "NAME=FILE"]);
    refuses(&["--pins", "nowhere"], &["--pins", "nowhere"]);
    bench.run(&["recipe", "mlrbensh"]).failure(2, &["no recipe \"mlrbensh\"", "did you mean mlrbench?"]);
}
