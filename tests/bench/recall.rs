//! The in-context recall test under a real tokenizer: three needles in 1225 cells of a window of 32k. Skipped where the
//! tokenizer's file is not there (`NIHBUILD_TOKENIZERS`).

use super::{Figures, now};
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use nihbuild::language::Language;
use nihbuild::language::essays::essays;
use nihbuild::seed::Seed;
use nihbuild::table::writer_properties;
use nihbuild::tokenizer::Tokenizer;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rayon::prelude::*;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// Bytes of a page of prompts in our Parquet files.
const PAGE: usize = 8 << 20;

/// Runs it.
pub fn run(figures: &mut Figures) {
    #[allow(clippy::disallowed_methods, reason = "benchmarks may look where tokenizers are")]
    let folder = std::env::var_os("NIHBUILD_TOKENIZERS").map(PathBuf::from);
    let Some(folder) = folder.filter(|folder| folder.join("llama3_1/tokenizer.json").is_file()) else {
        println!("skipped: the recall test under a real tokenizer needs NIHBUILD_TOKENIZERS");
        return;
    };
    let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    println!("in-context recall: 3 needles x 1225 cells, window 32768, with each tokenizer");
    for name in ["llama3_1", "qwen3", "gemma3", "llama2", "o200k_base"] {
        one(figures, root.path(), &folder, name);
    }
}

fn one(figures: &mut Figures, root: &Path, folder: &Path, name: &str) {
    let recipe = root.join(format!("{name}.toml"));
    let text = format!(
        "[release]\nname = \"{}\"\nversion = \"1.0.0\"\nseed = 5\n[source]\nkind = \"text\"\n[slots]\nwindow = 32768\n\
         [tokens]\nprimary = \"{name}\"\n[prompt]\nlayout = \"plain-table-6\"\n",
        name.replace('_', "-")
    );
    std::fs::write(&recipe, text).unwrap();
    // The best of three on both sides: what else the machine does weighs as much as these short times.
    let build = |n: usize| -> (Value, f64) {
        let output = Command::new(env!("CARGO_BIN_EXE_nihbuild"))
            .arg("recipe")
            .arg(&recipe)
            .args(["--json", "--models"])
            .arg(folder)
            .arg("--out")
            .arg(root.join(format!("out{n}")))
            .output()
            .unwrap();
        let built: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("the build failed: {}", String::from_utf8_lossy(&output.stderr)));
        // Loading the tokenizer is not among the stages.
        let seconds = built["seconds"].as_object().unwrap().values().map(|s| s.as_f64().unwrap()).sum();
        (built, seconds)
    };
    let (built, seconds) = (0..3).map(build).min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    let manifest = &built["manifest"];
    let facts = &manifest["texts"]["en"];
    let tokenizer = Tokenizer::embedded(name)
        .unwrap_or_else(|| Tokenizer::open(name, &folder.join(name).join("tokenizer.json")).unwrap());
    let language: Language = "en".parse().unwrap();
    let bytes = facts["bytes"].as_u64().unwrap() as usize;
    let text = essays(language, &language.pack().unwrap(), &Seed::new("5"), bytes).unwrap();
    let tokens = tokenizer.count(&text[..bytes]);
    let tokenise = || {
        let start = now();
        assert_eq!(tokenizer.tokens(&text[..bytes]).len(), tokens);
        start.elapsed().as_secs_f64()
    };
    let tokenise = (0..3).map(|_| tokenise()).fold(f64::MAX, f64::min);
    let release = PathBuf::from(built["release"].as_str().unwrap());
    let prompts = prompts(&release, manifest);
    let (squeezed, bare) = squeeze(&prompts);
    let compress = (0..3).map(|_| compress(&prompts, root)).fold(f64::MAX, f64::min);
    let sum = |key: &str| -> u64 {
        manifest["files"].as_array().unwrap().iter().map(|file| file["stats"][key].as_u64().unwrap_or(0)).sum()
    };
    let (rows, size) = (prompts.len(), prompts.iter().map(String::len).sum::<usize>());
    println!(
        "       {name}: {rows} prompts, {} tokens, {} MB (zstd: {squeezed} bytes in {bare:.2} s); build {seconds:.2} s, of which {}",
        manifest["tokens"],
        size / 1_000_000,
        built["seconds"]
    );
    println!(
        "       the text ({tokens} tokens) tokenised once {tokenise:.2} s, prompts compressed to Parquet {compress:.2} s; seams repaired {} of {}, windows widened {}",
        sum("seams_repaired"),
        sum("seams"),
        sum("windows_widened")
    );
    figures.check(&format!("{name}: prompts"), rows.to_string(), "3675", rows == 3675);
    let ratio = seconds / (tokenise + compress);
    // The embedded tokenizer is too quick to be a measure, and those without a pre-tokenizer are measured apart.
    let bounded = ["llama3_1", "qwen3"].contains(&name);
    let bound = if bounded { "<= 3 x (tokenise + compress)" } else { "(no bound)" };
    figures.check(&format!("{name}: whole build"), format!("{ratio:.2} x"), bound, !bounded || ratio <= 3.0);
    // 500 prompts counted whole.
    let counts = counts(&release, manifest);
    let wrong =
        prompts.iter().zip(&counts).step_by(rows / 500).filter(|(p, n)| tokenizer.count(p) as i64 != **n).count();
    figures.check(&format!("{name}: of 500 prompts counted whole, wrong"), wrong.to_string(), "0", wrong == 0);
    let over = manifest["files"].as_array().unwrap().iter().map(|f| f["stats"]["tokens_max"].as_u64().unwrap()).max();
    let over = over.unwrap() + 96;
    figures.check(
        &format!("{name}: longest prompt with answer and template"),
        over.to_string(),
        "<= 32768",
        over <= 32768,
    );
}

fn prompts(release: &Path, manifest: &Value) -> Vec<String> {
    let mut all = Vec::new();
    for batch in batches(release, manifest) {
        all.extend((0..batch.num_rows()).map(|row| nihbuild::table::text(&batch, "prompt", row).to_owned()));
    }
    all
}

fn counts(release: &Path, manifest: &Value) -> Vec<i64> {
    let mut all = Vec::new();
    for batch in batches(release, manifest) {
        all.extend((0..batch.num_rows()).map(|row| nihbuild::table::int(&batch, "n_tokens", row)));
    }
    all
}

fn batches(release: &Path, manifest: &Value) -> Vec<RecordBatch> {
    let files = manifest["files"].as_array().unwrap().iter();
    let open = |file: &Value| std::fs::File::open(release.join(file["path"].as_str().unwrap())).unwrap();
    files
        .flat_map(|file| {
            ParquetRecordBatchReaderBuilder::try_new(open(file)).unwrap().build().unwrap().map(Result::unwrap)
        })
        .collect()
}

/// Bytes that two threads of zstd make of the prompts, in pages and at the level of our Parquet files; seconds.
fn squeeze(prompts: &[String]) -> (usize, f64) {
    let mut pages: Vec<Vec<u8>> = Vec::new();
    for prompt in prompts {
        match pages.last_mut() {
            Some(page) if page.len() < PAGE => page.extend_from_slice(prompt.as_bytes()),
            _ => pages.push(prompt.as_bytes().to_vec()),
        }
    }
    let start = now();
    let sizes: Vec<usize> = pages.par_iter().map(|page| zstd::bulk::compress(page, 3).unwrap().len()).collect();
    (sizes.into_iter().sum(), start.elapsed().as_secs_f64())
}

/// Seconds in which the prompts, in memory, become compressed Parquet files of this one column, on two threads.
fn compress(prompts: &[String], root: &Path) -> f64 {
    let fields = vec![Field::new("prompt", DataType::Utf8, true)];
    let schema = Arc::new(Schema::new(fields));
    let start = now();
    prompts.par_chunks(prompts.len() / 3).enumerate().for_each(|(n, file)| {
        let out = std::fs::File::create(root.join(format!("baseline-{n}.parquet"))).unwrap();
        let mut writer = ArrowWriter::try_new(out, schema.clone(), Some(writer_properties())).unwrap();
        for rows in file.chunks(100) {
            let prompts: ArrayRef = Arc::new(rows.iter().map(Some).collect::<StringArray>());
            writer.write(&RecordBatch::try_new(schema.clone(), vec![prompts]).unwrap()).unwrap();
        }
        writer.close().unwrap();
    });
    start.elapsed().as_secs_f64()
}
