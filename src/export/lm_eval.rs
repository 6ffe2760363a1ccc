//! lm-evaluation-harness: a YAML task a config, groups by all, language and length, and the functions that they name.

use super::config::{Config, Context};
use super::folder::Folder;
use super::with_scorer;
use crate::error::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The functions that the tasks name.
const UTILS: &str = include_str!("lm_eval.py");

pub(super) fn write(folder: &Folder, context: &Context, configs: &[Config]) -> Result<()> {
    for config in configs {
        folder.text(&format!("tasks/{}.yaml", config.config), &task(context, config))?;
    }
    for (name, members) in groups(&context.name, configs) {
        folder.text(&format!("groups/{name}.yaml"), &group(context, &name, &members))?;
    }
    // Functions are looked for beside the file that names them.
    folder.text("tasks/utils.py", &with_scorer(UTILS))
}

/// A text as YAML: JSON is that.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn task(context: &Context, config: &Config) -> String {
    let (do_sample, temperature, top_k) = context.decoding();
    let until: Vec<String> = config.stop.iter().map(|stop| quoted(stop)).collect();
    let mut out = format!(
        "task: {}\ndataset_path: parquet\ncustom_dataset: !function utils.load\ndataset_kwargs:\n  data_files:\n    \
         test: {}\ntest_split: test\noutput_type: generate_until\n",
        quoted(&config.task),
        quoted(&config.data)
    );
    // Filled in for each row. With a chat template it is the system message, else it stands before the text.
    out += "description: \"{{ system or '' }}\"\n";
    out += "doc_to_text: !function utils.doc_to_text\ndoc_to_target: !function utils.doc_to_target\n";
    out += "process_results: !function utils.process_results\nnum_fewshot: 0\nrepeats: 1\n";
    let _ = write!(
        out,
        "generation_kwargs:\n  until: [{}]\n  max_gen_toks: {}\n  do_sample: {do_sample}\n  temperature: {temperature}\n",
        until.join(", "),
        config.max_tokens
    );
    if let Some(top_k) = top_k {
        let _ = writeln!(out, "  top_k: {top_k}");
    }
    out += "metric_list:\n";
    for metric in config.metrics {
        let _ = writeln!(out, "  - metric: {metric}\n    aggregation: mean\n    higher_is_better: true");
    }
    let _ = write!(out, "metadata:\n  version: {}\n", quoted(&context.version));
    out
}

/// All configs; those of each language, and of each length. A group has tasks of one set of metrics.
fn groups<'c>(name: &str, configs: &'c [Config]) -> BTreeMap<String, Vec<&'c Config>> {
    let mut groups: BTreeMap<String, Vec<&Config>> = BTreeMap::new();
    let kinds: BTreeSet<_> = configs.iter().map(|config| config.metrics).collect();
    for config in configs {
        // Of a release with two kinds of prompts each has its own groups.
        let kind = match (kinds.len(), config.prompt_kind) {
            (2.., Some(kind)) => format!("_{kind}"),
            _ => String::new(),
        };
        let mut names = vec![format!("{name}{kind}"), format!("{name}_{}{kind}", config.language)];
        names.extend(config.length.as_ref().map(|length| format!("{name}_{length}{kind}")));
        names.into_iter().for_each(|name| groups.entry(name).or_default().push(config));
    }
    groups.retain(|name, _| configs.iter().all(|config| config.task != *name));
    groups
}

fn group(context: &Context, name: &str, members: &[&Config]) -> String {
    let mut out = format!("group: {}\ntask:\n", quoted(name));
    members.iter().for_each(|config| out += &format!("  - {}\n", quoted(&config.task)));
    out += "aggregate_metric_list:\n";
    for metric in members[0].metrics {
        let _ = writeln!(out, "  - metric: {metric}\n    aggregation: mean\n    weight_by_size: true");
    }
    let _ = write!(out, "metadata:\n  version: {}\n", quoted(&context.version));
    out
}
