//! The dry run: what would be built, and what of it must be made anew.

use super::{print, print_json};
use crate::error::Result;
use crate::pipeline::reasoning::{self, Keys};
use crate::plan::{Plan, slots};
use crate::recipe::{Family, Length, SourceKind};
use crate::stage::ingest::ingest;
use crate::stage::translate;
use crate::store::Store;
use crate::translator::Estimate;
use crate::work::cost;
use std::collections::BTreeMap;

/// What a build of this kind needed on disk, in bytes a thousand tokens: measured on the default recipe.
const BYTES_PER_KILOTOKEN: u64 = 780;

/// The same where prompts tell one text again and again.
const BYTES_PER_REPEATED: u64 = 80;

/// Bytes a row of a compact release, with its share of the texts: measured on the default recipe.
const BYTES_PER_COMPACT: u64 = 720;

/// Up to this many tokens a prompt repeats what the compressor still sees of the one before.
const REPEATED: u32 = 64_000;

/// Stages whose outputs are not in the store yet. What depends on downloads is not looked into.
fn to_run(plan: &Plan) -> Result<Vec<String>> {
    if (plan.recipe.reads_passages() || plan.recipe.written.is_some()) && plan.family != Family::Factoid {
        return Ok(vec!["all that are not in the store, which the sources decide".to_owned()]);
    }
    if plan.family == Family::Factoid {
        return Ok(vec!["texts".to_owned()]);
    }
    let ingested = match plan.recipe.source.kind {
        SourceKind::Babi => ingest(plan)?,
        _ => Default::default(),
    };
    let store = Store::new(plan.options.out.join("store"));
    let keys = Keys::new(plan, &ingested, None);
    Ok(keys.all().into_iter().filter(|(_, key)| !store.has(key)).map(|(name, _)| name).collect())
}

/// Prints what a build would do.
pub(super) fn dry_run(plan: &Plan, json: bool) -> Result<()> {
    let missing = to_run(plan)?;
    let rows: u64 = plan.files.iter().map(|file| plan.rows_of(file)).sum();
    // A bare story has about 300 tokens; the other lengths are filled.
    let of = |length: Length| match length.0 {
        0 => 300,
        _ => plan.recipe.budget.tokens(length),
    };
    let tokens: u64 = match plan.family {
        Family::Factoid => {
            let lengths = plan.recipe.slots.lengths.clone().unwrap_or_default();
            let cells = slots::chosen(&plan.recipe, &plan.seed, plan.instances());
            cells.iter().map(|(length, _)| u64::from(lengths[*length])).sum::<u64>() * plan.files.len() as u64
        }
        _ => plan.files.iter().map(|f| of(f.length) * plan.rows_of(f)).sum(),
    };
    let disk = match plan.family {
        _ if plan.options.compact => rows * BYTES_PER_COMPACT,
        Family::Factoid => {
            let longest = plan.recipe.slots.lengths.iter().flatten().max().copied().unwrap_or(0);
            let each = if longest > REPEATED { BYTES_PER_KILOTOKEN } else { BYTES_PER_REPEATED };
            tokens / 1000 * each + rows * 1500
        }
        _ => tokens / 1000 * BYTES_PER_KILOTOKEN + rows * 1500,
    };
    let folder = plan.folder();
    let exists = folder.exists();
    let asked = translate::estimate(plan, &reasoning::tellable(plan, None)?)?;
    if json {
        let asked: BTreeMap<&String, serde_json::Value> = asked
            .iter()
            .map(|(l, e)| (l, serde_json::json!({ "texts": e.texts, "characters": e.characters, "cost": e.cost })))
            .collect();
        return print_json(&serde_json::json!({
            "to_translate": asked,
            "release": folder, "exists": exists, "instances": plan.instances(), "files": plan.files.len(), "prompts": rows,
            "tokens_at_most": tokens, "disk_about": disk,
            "core_seconds": cost::core_seconds(tokens), "prompt_rows_about": cost::row_bytes(plan.family, tokens), "stages_to_run": missing, "recipe": plan.resolved(),
        }));
    }
    let mut out = plan.resolved();
    out += &format!("\n# release       {}{}\n", folder.display(), if exists { " (exists)" } else { "" });
    let instances = if plan.family == Family::Factoid { "cells    " } else { "instances" };
    out += &format!("# {instances}     {} of {}\n", plan.instances(), plan.total());
    out += &format!("# files         {} of {}\n", plan.files.len(), plan.grid.len());
    if plan.family == Family::Passage {
        for length in &plan.recipe.grid.lengths {
            let files = plan.files.iter().filter(|f| f.length == *length);
            let prompts: u64 = files.map(|f| plan.rows_of(f)).sum();
            out += &format!("# prompts       {prompts} of {length}\n");
        }
    }
    out += &format!(
        "# prompts       {rows}\n# tokens        at most {tokens}\n# disk          about {} MB\n",
        disk / 1_000_000 + 1
    );
    out += &format!(
        "# work          about {} core-seconds to make the rows, and as many to seal them\n\
         # on the way    about {} MB of prompt rows, where workers make them (a fifth with --compress)\n",
        cost::core_seconds(tokens),
        cost::row_bytes(plan.family, tokens) / 1_000_000 + 1
    );
    out += &format!("# to write      {} data files\n", plan.files.len());
    for (language, Estimate { texts, characters, cost }) in &asked {
        out += &format!(
            "# to translate  {language}: {texts} texts, {characters} characters, {}.{:06} of money, those asked again aside\n",
            cost / 1_000_000,
            cost % 1_000_000
        );
    }
    out += &match missing.len() {
        0 => "# stages to run none, all outputs are in the store\n".to_owned(),
        _ => format!("# stages to run {}\n", missing.join(", ")),
    };
    print(&out)
}
