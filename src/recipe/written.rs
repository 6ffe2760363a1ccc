//! `[written]`: distractors written by a model (the paper's section 2.5, figures 13-16).

use crate::error::Result;
use crate::fail;
use crate::stage::written::Constraint;
use crate::translator::Settings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[written]`
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrittenBy {
    /// A chat model's service, or a program.
    pub service: Settings,
    /// Facts that passages are written after; each gives one a constraint and temperature.
    #[serde(default = "WrittenBy::facts")]
    #[schemars(range(min = 1, max = 100_000))]
    pub facts: u32,
    /// What a passage may share with its fact.
    #[serde(default = "WrittenBy::constraints")]
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub constraints: Vec<Constraint>,
}

impl WrittenBy {
    fn facts() -> u32 {
        200
    }

    fn constraints() -> Vec<Constraint> {
        Constraint::ALL.to_vec()
    }

    /// Refuses what makes no sense.
    pub(crate) fn check(&self) -> Result<()> {
        self.service.check().map_err(|e| e.under("written.service").at("written.service"))?;
        if !self.service.engine.record().completes {
            fail!(on "written.service.engine"; "written.service.engine must be \"openai\" or \"command\": a translation service writes no passages");
        }
        if !(1..=100_000).contains(&self.facts) {
            fail!(on "written.facts"; "written.facts is {}, expected 1 to 100000", self.facts);
        }
        if self.constraints.is_empty() {
            fail!(on "written.constraints"; "written.constraints is empty");
        }
        Ok(())
    }
}
