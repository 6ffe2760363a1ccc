//! The token ledger: every prompt counted under every tokenizer of its recipe, in every family.

use crate::recall::recall;
use crate::support::*;
use nihbuild::table::{self, int, read_also, read_ledger, read_spans, text};
use nihbuild::tokenizer::Tokenizer;
use nihbuild::verify::{Depth, verify, verify_with};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn tokenizer(name: &str) -> Tokenizer {
    Tokenizer::embedded(name).unwrap()
}

/// Every count of a release is that of the whole prompt, every span holds its needle and no token more than it must.
fn counted(release: &Path, tokenizers: &[Tokenizer]) -> u64 {
    let mut compared = 0;
    for path in data_files(release) {
        for batch in batches(&release.join(path)) {
            for row in 0..batch.num_rows() {
                let (id, prompt) = (text(&batch, "id", row), text(&batch, "prompt", row));
                let system = text(&batch, "system", row);
                let ledger = read_ledger(&batch, row);
                assert_eq!(ledger.len(), tokenizers.len(), "{id}");
                let also = read_also(&batch, row);
                for (n, (tokenizer, (name, digest, tokens))) in tokenizers.iter().zip(&ledger).enumerate() {
                    assert_eq!((tokenizer.name(), tokenizer.digest().to_string()), (name.as_str(), digest.clone()));
                    let whole = tokenizer.count(prompt) + tokenizer.count(system);
                    assert_eq!(*tokens, whole as i64, "{id} under {name}");
                    let ends = tokenizer.ends(prompt);
                    for (span, also) in read_spans(&batch, row).iter().zip(&also) {
                        let (from, to) = match n {
                            0 => (span.token_start, span.token_end),
                            _ => (also[n - 1].1, also[n - 1].2),
                        };
                        let begins = if from == 0 { 0 } else { ends[from as usize - 1] as u64 };
                        assert!(begins <= span.start && ends[to as usize - 1] as u64 >= span.end, "{id} under {name}");
                        assert!(
                            ends[from as usize] as u64 > span.start,
                            "{id} under {name}: a token before the needle"
                        );
                        let chars = |byte: u64| prompt[..byte as usize].chars().count() as u64;
                        assert_eq!((span.char_start, span.char_end), (chars(span.start), chars(span.end)), "{id}");
                    }
                    compared += 1;
                }
                assert_eq!(int(&batch, "n_tokens", row), ledger[0].2);
            }
        }
    }
    compared
}

#[test]
fn stories_are_counted_under_every_tokenizer() {
    let bench = Bench::new();
    bench.write(
        "r.toml",
        &small("two", &format!("{QUICK}[tokens]\nalso = [\"cl100k_base\"]\nmodels = [\"llama_2_13b_chat\"]\n")),
    );
    let release = bench.run(&["recipe", "r.toml", "--limit", "8"]).success().release(&bench);
    assert_eq!(counted(&release, &[tokenizer("o200k_base"), tokenizer("cl100k_base")]), 8 * 7 * 2 * 2);
    let report = verify(&release, Depth::Full, 2).unwrap();
    assert_eq!((report.n_findings, report.proven), (0, 112), "{:#?}", report.findings);
    let card = std::fs::read_to_string(release.join("README.md")).unwrap();
    for line in [
        "| hi | 2k | cl100k_base |",
        "| Llama 2 13B Chat | 4096 | o200k_base (its own, llama2, is not in the ledger) |",
    ] {
        assert!(card.contains(line), "{line} in {card}");
    }
}

#[test]
fn a_prompt_may_have_to_fit_under_every_tokenizer() {
    let bench = Bench::new();
    let build = |fit: &str| {
        let more = format!("{QUICK}[budget]\nfit = \"{fit}\"\n[tokens]\nalso = [\"cl100k_base\"]\n");
        bench.write("r.toml", &small(fit, &more));
        bench
            .run(&["recipe", "r.toml", "--languages", "hi,en", "--lengths", "2k", "--limit", "6"])
            .success()
            .release(&bench)
    };
    // Hindi takes four times as many tokens of cl100k as of o200k.
    let most = |release: &Path, language: &str| {
        let file = release.join(format!("data/{language}_2k/test-00000-of-00001.parquet"));
        let rows = batches(&file);
        let all = rows.iter().flat_map(|batch| (0..batch.num_rows()).map(|row| read_ledger(batch, row)));
        all.fold((0, 0), |most: (i64, i64), ledger| (most.0.max(ledger[0].2), most.1.max(ledger[1].2)))
    };
    let (primary, all) = (build("primary"), build("all"));
    let room = 2000 - 96;
    assert!(most(&primary, "hi").0 <= room && most(&primary, "hi").1 > 2 * room, "{:?}", most(&primary, "hi"));
    assert!(most(&all, "hi").1 <= room && most(&all, "hi").1 > room - 400, "{:?}", most(&all, "hi"));
    for release in [&primary, &all] {
        let report = verify(release, Depth::Full, 2).unwrap();
        assert_eq!(report.n_findings, 0, "{:#?}", report.findings);
    }
}

#[test]
fn all_languages_may_hold_the_same_distractors() {
    let bench = Bench::new();
    bench.write("r.toml", &small("content", &format!("{QUICK}[budget]\nby = \"content\"\n")));
    let release = bench.run(&["recipe", "r.toml", "--limit", "10"]).success().release(&bench);
    let report = verify(&release, Depth::Sampled, 2).unwrap();
    assert_eq!(report.n_findings, 0, "{:#?}", report.findings);
    let mut sets: BTreeMap<(String, String), BTreeSet<Vec<String>>> = BTreeMap::new();
    let mut fullest: BTreeMap<String, i64> = BTreeMap::new();
    for path in data_files(&release) {
        for batch in batches(&release.join(path)) {
            for row in 0..batch.num_rows() {
                let key = [text(&batch, "instance_id", row), text(&batch, "length", row)].map(str::to_owned);
                sets.entry(key.into()).or_default().insert(table::texts(&batch, "distractor_ids", row));
                let language = fullest.entry(text(&batch, "language", row).to_owned()).or_default();
                *language = int(&batch, "n_tokens", row).max(*language);
            }
        }
    }
    assert!(sets.len() == 20 && sets.values().all(|ids| ids.len() == 1));
    // The dearest language sets them: it is full, others are not.
    let (least, most) = (fullest.values().min().unwrap(), fullest.values().max().unwrap());
    assert!(*most <= 1904 && *most > 1750 && *least < most * 9 / 10, "{fullest:?}");
    // A part is the whole's part, though other languages set it.
    let english = bench.run(&["recipe", "r.toml", "--limit", "10", "--languages", "en"]).success().release(&bench);
    let file = "data/en_2k/test-00000-of-00001.parquet";
    assert_eq!(std::fs::read(release.join(file)).unwrap(), std::fs::read(english.join(file)).unwrap());
    bench.write("r.toml", &small("content", "[budget]\nby = \"content\"\n[retrieval]\nranking = \"per_language\"\n"));
    bench.run(&["recipe", "r.toml"]).failure(2, &["needs retrieval.ranking = \"pivot\""]);
}

#[test]
fn running_text_is_counted_under_every_tokenizer() {
    let bench = Bench::new();
    let more = "[grid]\nlanguages = [\"en\", \"zh\", \"ar\"]\n[slots]\nwindow = 1200\nn_lengths = 2\nn_depths = 5\nfirst = 500\n\
                [budget]\nfit = \"all\"\n[tokens]\nalso = [\"cl100k_base\"]\n[prompt]\nlayout = \"messages\"\n";
    bench.write("r.toml", &recall("running", more));
    let release = bench.run(&["recipe", "r.toml"]).success().release(&bench);
    assert_eq!(counted(&release, &[tokenizer("o200k_base"), tokenizer("cl100k_base")]), 3 * 3 * 10 * 2);
    let report = verify(&release, Depth::Full, 2).unwrap();
    assert_eq!((report.n_findings, report.proven), (0, 90), "{:#?}", report.findings);
    for path in data_files(&release) {
        for batch in batches(&release.join(path)) {
            for row in 0..batch.num_rows() {
                let length: i64 = text(&batch, "length", row).parse().unwrap();
                assert!(read_ledger(&batch, row).iter().all(|(.., tokens)| tokens + 96 <= length));
            }
        }
    }
}

/// A tokenizer file of our own: bytes, and a beginning of sequence that it adds itself.
fn small_file(bench: &Bench) -> std::path::PathBuf {
    let mut file = crate::tokens::files::byte_level();
    file["post_processor"] = serde_json::json!({
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}},
    });
    bench.write("tokenizers/mine/tokenizer.json", &file.to_string())
}

#[test]
#[cfg(feature = "hf-tokenizers")]
fn a_tokenizer_may_come_from_a_file() {
    let bench = Bench::new();
    let path = small_file(&bench);
    let mine = Tokenizer::open("mine", &path).unwrap();
    assert_eq!(mine.added(), 1);
    let recipe = |name: &str, special: &str| {
        recall(
            name,
            &format!(
                "[slots]\nwindow = 3000\nlengths = [3000]\nn_depths = 4\n[tokens]\nprimary = \"mine\"\nalso = [\"o200k_base\"]\nspecial = \"{special}\"\n"
            ),
        )
    };
    bench.write("r.toml", &recipe("file", "ignored"));
    bench
        .run(&["recipe", "r.toml"])
        .failure(2, &["the file of the tokenizer mine is not here", "--tokenizer mine=FILE"]);
    let release = bench.run(&["recipe", "r.toml", "--models", "tokenizers"]).success().release(&bench);
    assert_eq!(counted(&release, &[mine.clone(), tokenizer("o200k_base")]), 3 * 4 * 2);
    bench.run(&["verify", release.to_str().unwrap()]).failure(2, &["--tokenizer mine=FILE"]);
    let flag = format!("mine={}", path.display());
    bench.run(&["verify", release.to_str().unwrap(), "--full", "--tokenizer", &flag]).success();
    // Another file of this name is not the one that the release was counted with.
    let other = bench.write("other.json", &(std::fs::read_to_string(&path).unwrap() + " "));
    let flag = format!("mine={}", other.display());
    bench
        .run(&["verify", release.to_str().unwrap(), "--tokenizer", &flag])
        .failure(1, &["the tokenizer mine at hand is another one than the release's"]);
    // With what the model adds itself each count is one more, and so are stories' and their sums.
    bench.write("r.toml", &recipe("special", "counted"));
    let more = bench.run(&["recipe", "r.toml", "--models", "tokenizers"]).success().release(&bench);
    let options = nihbuild::plan::Options { models: Some(bench.path("tokenizers")), ..Default::default() };
    let report = verify_with(&more, Depth::Full, 2, &options).unwrap();
    assert_eq!(report.n_findings, 0, "{:#?}", report.findings);
    for path in data_files(&more) {
        for batch in batches(&more.join(path)) {
            for row in 0..batch.num_rows() {
                let prompt = text(&batch, "prompt", row);
                assert_eq!(int(&batch, "n_tokens", row), mine.count(prompt) as i64 + 1);
            }
        }
    }
}

#[test]
#[cfg(feature = "hf-tokenizers")]
fn a_ledger_is_checked_as_far_as_tokenizers_are_at_hand() {
    let bench = Bench::new();
    small_file(&bench);
    let more = format!("{QUICK}[tokens]\nalso = [\"mine\"]\n[tokens.files.mine]\nfile = \"mine/tokenizer.json\"\n");
    bench.write("r.toml", &small("beside", &more));
    let flags = ["recipe", "r.toml", "--languages", "de", "--limit", "4", "--models", "tokenizers"];
    let release = bench.run(&flags).success().release(&bench);
    let name = release.to_str().unwrap();
    bench.run(&["verify", name]).success();
    assert!(bench.run(&["verify", name]).out.contains("not checked: counts under mine"));
    let whole = bench.run(&["verify", name, "--models", "tokenizers", "--full"]).success();
    assert!(!whole.out.contains("not checked"), "{}", whole.out);
    let mine = Tokenizer::open("mine", &bench.path("tokenizers/mine/tokenizer.json")).unwrap();
    assert_eq!(counted(&release, &[tokenizer("o200k_base"), mine]), 4 * 2 * 2);
    bench.write("bad.toml", &small("beside", &more).replace("file = \"mine", "sha256 = \"00\"\nfile = \"mine"));
    bench.run(&["recipe", "bad.toml", "--models", "tokenizers"]).failure(2, &["64"]);
    let digest = "0".repeat(64);
    bench.write(
        "bad.toml",
        &small("beside", &more).replace("file = \"mine", &format!("sha256 = \"{digest}\"\nfile = \"mine")),
    );
    bench.run(&["recipe", "bad.toml", "--models", "tokenizers"]).failure(2, &["the recipe wants 0000", "sha256"]);
}

/// Real tokenizers on prompts of every family: 500 prompts each, counted whole.
#[test]
#[cfg(feature = "hf-tokenizers")]
fn real_tokenizers_count_prompts_as_a_whole() {
    let real = crate::tokens::files::real();
    if real.is_empty() {
        eprintln!("skipped: no real tokenizers (NIHBUILD_TOKENIZERS)");
        return;
    }
    let bench = Bench::new();
    let models = crate::tokens::files::folder().unwrap();
    for tokenizer in real.iter().filter(|t| ["llama3_1", "qwen3", "gemma3", "llama2"].contains(&t.name())) {
        let name = tokenizer.name();
        let grid = "[grid]\nlanguages = [\"en\", \"de\", \"es\", \"zh\", \"vi\", \"hi\", \"ar\"]\n[slots]\nwindow = 3000\nn_lengths = 4\nn_depths = 6\nfirst = 700\n";
        let more = format!("{grid}[tokens]\nprimary = \"{name}\"\nalso = [\"o200k_base\"]\n");
        bench.write("r.toml", &recall(&name.replace('_', "-"), &more));
        let flags = ["recipe", "r.toml", "--models", models.to_str().unwrap()];
        let release = bench.run(&flags).success().release(&bench);
        let compared = counted(&release, &[tokenizer.clone(), Tokenizer::embedded("o200k_base").unwrap()]);
        assert_eq!(compared, 7 * 3 * 24 * 2, "{name}");
        let files = nihbuild::verify::read_manifest(&release).unwrap().files;
        let seams = files.iter().fold((0, 0), |sum, f| (sum.0 + f.stats.seams_repaired, sum.1 + f.stats.seams));
        println!("{name}: {} prompts counted whole, {} of {} seams repaired", compared / 2, seams.0, seams.1);
        // Stories, whose counts are sums of lines.
        let more = format!("{QUICK}[tokens]\nprimary = \"{name}\"\nalso = [\"o200k_base\"]\n");
        bench.write("r.toml", &small(&format!("s-{}", name.replace('_', "-")), &more));
        let flags = ["recipe", "r.toml", "--limit", "6", "--models", models.to_str().unwrap()];
        let release = bench.run(&flags).success().release(&bench);
        assert_eq!(counted(&release, &[tokenizer.clone(), Tokenizer::embedded("o200k_base").unwrap()]), 6 * 7 * 2 * 2);
    }
}

/// A tokenizer that a pin names is downloaded once, checked, and kept.
#[test]
#[cfg(all(feature = "hf-tokenizers", feature = "fetch"))]
fn a_pinned_tokenizer_is_downloaded() {
    use crate::fetching::{Server, sound};
    use nihbuild::hash::Digest;
    let bench = Bench::new();
    let file = std::fs::read(small_file(&bench)).unwrap();
    let served = file.clone();
    let server = Server::new(move |asked, _| sound(&served, "v1", asked));
    let pin = |digest: Digest| {
        format!(
            "[[source]]\nid = \"mine-pin\"\nurls = [\"{}\"]\nbytes = {}\nsha256 = \"{digest}\"\nlicence = \"CC0-1.0\"\n",
            server.url("/tokenizer.json"),
            file.len()
        )
    };
    let more = "[slots]\nwindow = 900\nlengths = [900]\ndepths = [50]\n[tokens]\nprimary = \"mine\"\n[tokens.files.mine]\narchive = \"mine-pin\"\n";
    bench.write("r.toml", &recall("pinned", more));
    bench.write("wrong.toml", &pin(Digest::of("another file")));
    bench.run(&["recipe", "r.toml", "--sources", "wrong.toml"]).failure(2, &["mine-pin"]);
    bench.write("pins.toml", &pin(Digest::of(&file)));
    bench.run(&["recipe", "r.toml", "--sources", "pins.toml", "--offline"]).failure(2, &["--offline"]);
    let release = bench.run(&["recipe", "r.toml", "--sources", "pins.toml"]).success().release(&bench);
    drop(server);
    // The cache has it now.
    std::fs::remove_dir_all(&release).unwrap();
    bench.run(&["recipe", "r.toml", "--sources", "pins.toml", "--offline"]).success();
}
