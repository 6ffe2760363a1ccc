//! OpenAI evals: a registry of an eval a config, a set of all, and the class that runs them.

use super::config::{Config, Context};
use super::folder::Folder;
use super::with_scorer;
use crate::error::Result;
use serde_json::{Map, Value, json};

pub(super) fn write(folder: &Folder, context: &Context, configs: &[Config]) -> Result<()> {
    let name = &context.name;
    folder.text("nihbuild_evals.py", &with_scorer(include_str!("openai_evals.py")))?;
    let mut evals = Map::new();
    for config in configs {
        let key = key(name, config);
        let args = json!({ "samples_jsonl": format!("{name}/{}.jsonl", config.config), "config": config.config });
        evals.insert(key, json!({ "class": "nihbuild_evals:Reference", "args": args }));
    }
    let first = key(name, &configs[0]);
    evals.insert(name.clone(), json!({ "id": first, "metrics": configs[0].metrics }));
    // JSON is YAML.
    folder.json(&format!("registry/evals/{name}.yaml"), &Value::Object(evals))?;
    let all: Vec<String> = configs.iter().map(|config| key(name, config)).collect();
    folder.json(&format!("registry/eval_sets/{name}.yaml"), &json!({ name: { "evals": all } }))
}

/// The package asks for names of two parts at least.
pub(super) fn key(name: &str, config: &Config) -> String {
    format!("{name}.{}", config.config)
}
