//! The README of an export: what it is, and the commands.

use super::To;
use super::config::{Config, Context};
use super::openai_evals::key;
use crate::release::Release;
use std::fmt::Write as _;

pub(super) fn readme(release: &Release, context: &Context, configs: &[Config]) -> String {
    let manifest = &release.manifest;
    let mut out = String::new();
    if context.to() == To::Lighteval {
        // The configs by which `datasets` finds the files of this folder.
        out += "---\nconfigs:\n";
        for config in configs {
            let _ = write!(
                out,
                "- config_name: {}\n  data_files:\n  - split: test\n    path: {}\n",
                config.config, config.data
            );
        }
        out += "---\n\n";
    }
    let rows: u64 = configs.iter().map(|config| config.rows).sum();
    let _ = write!(
        out,
        "# {} for {}\n\n{rows} rows in {} configs, of the release with rows digest `{}`.\n\nLicence: {}. \
         {}\n\n{}\n\n",
        manifest.title(),
        context.to().name(),
        configs.len(),
        manifest.rows_digest,
        manifest.licence,
        manifest.canary,
        commands(context, configs)
    );
    out += "`export.json` says what each config is; `nihbuild_score.py` with `words.json` is the scorer. The folder may be \
            moved";
    out += if context.is_linked() { ", as long as the release stays where it is.\n" } else { ".\n" };
    out
}

fn commands(context: &Context, configs: &[Config]) -> String {
    let (name, first) = (&context.name, &configs[0]);
    match context.to() {
        To::LmEval => format!(
            "```sh\nlm_eval --model dummy --include_path . --tasks {name}           # all; or a group, or one task:\n\
             lm_eval --model hf --model_args pretrained=MODEL --include_path . --tasks {} --apply_chat_template\n```",
            first.task
        ),
        To::Inspect => format!(
            "```sh\ninspect eval tasks.py@{} --model openai/MODEL\ninspect eval tasks.py --model openai/MODEL     # all\n```",
            first.config
        ),
        To::Lighteval => {
            format!("```sh\nlighteval accelerate model_name=MODEL \"{}\" --custom-tasks tasks.py\n```", first.task)
        }
        To::OpenaiEvals => format!(
            "```sh\nPYTHONPATH=. oaieval dummy {} --registry_path registry\nPYTHONPATH=. oaievalset MODEL {name} --registry_path registry\n```",
            key(name, first)
        ),
        To::Jsonl => {
            "Each line of `data/*.jsonl` is a row: `id`, `messages`, `prompt`, `system`, `answers` and what else \
                      the scorer reads:\n\n```python\nimport json\nfrom nihbuild_score import Scorer\n\n\
                      scorer = Scorer(json.load(open(\"words.json\")))\nscores = scorer.score(output, row)\n```"
                .to_owned()
        }
    }
}
