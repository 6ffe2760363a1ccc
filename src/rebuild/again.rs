//! What is pinned, made again: drift of vectors, and of the answers of services and programs.

use super::{Audit, Verdict, pins, unequal};
use crate::digests;
use crate::error::Result;
use crate::hash::Digest;
use crate::manifest::Manifest;
use crate::pipeline;
use crate::plan::{Options, Plan};
use crate::recipe::EmbedderName;
use crate::table::schema_of;
use std::collections::BTreeMap;
use std::path::Path;

impl Audit {
    /// Builds once more without any pin: what services and programs answer today, and which rows that changes. Where a
    /// recipe has a `max_cost`, it holds here as in any build.
    pub(super) fn ask_again(&mut self, folder: &Path, then: &Manifest, plan: &Plan) -> Result<()> {
        let name = "rederive answers";
        let options = Options { pins: Vec::new(), out: plan.options.out.join("fresh"), ..plan.options.clone() };
        let now = match Plan::new(plan.recipe.clone(), options).and_then(|plan| pipeline::build(&plan)) {
            Ok(now) if schema_of(now.manifest.format) == schema_of(then.format) => now,
            Ok(_) => {
                let what = format!("rows of format {} have other digests", then.format);
                self.step(name, Verdict::CouldNotRun, Some(what));
                return Ok(());
            }
            Err(e) => {
                self.step(name, Verdict::CouldNotRun, Some(e.to_string()));
                return Ok(());
            }
        };
        let rows = |folder: &Path| -> Result<BTreeMap<String, Digest>> {
            Ok(digests::read(folder)?.into_values().flat_map(|file| file.rows).collect())
        };
        let (old, new) = (rows(folder)?, rows(&now.folder)?);
        let (differ, pinned) = (unequal(&old, &new).len(), unequal(&pins(then), &pins(&now.manifest)).len());
        let what = format!("rows {differ} of {}, pins {pinned} of {}", old.len(), then.pins.len());
        let verdict = if differ + pinned == 0 { Verdict::Reproduced } else { Verdict::Differs };
        self.step(name, verdict, Some(what));
        Ok(())
    }

    /// Computes a model's vectors again.
    pub(super) fn rederive(&mut self, plan: &Plan) {
        if plan.recipe.retrieval.embedder != EmbedderName::Onnx {
            return;
        }
        match pipeline::rederive(plan) {
            Err(e) => self.step("rederive vectors", Verdict::CouldNotRun, Some(e.to_string())),
            Ok(drift) => {
                let verdict = if drift.prompts_differ == 0 { Verdict::Reproduced } else { Verdict::Differs };
                self.step("rederive vectors", verdict, Some(drift.to_string()));
                self.drift = Some(drift);
            }
        }
    }
}
