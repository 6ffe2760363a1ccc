//! The token ledger of a row, and where its needles stand in characters and under other tokenizers.

use super::Checker;
use crate::error::Result;
use crate::fail;
use crate::hash::Digest;
use crate::plan::{FilePlan, exceeds, models_of};
use crate::recipe::{By, Fit};
use crate::record::AlsoTokens;
use crate::stage::ledger::{AlsoCounter, whole};
use crate::stage::render::count_chars;
use crate::stage::stats::{Stats, Sums};
use crate::table::{AlsoSpan, read_also, read_ledger, read_spans};
use arrow_array::RecordBatch;

/// More tokens than a system message that stands apart has.
const SYSTEM: i64 = 10_000;

/// A row's prompt, and where the parts end whose token counts add up.
pub(super) struct Parts<'a> {
    pub(super) prompt: &'a str,
    pub(super) ends: &'a [u32],
    /// Is the prompt counted whole as well?
    pub(super) whole: bool,
}

impl Checker<'_> {
    /// Checks what the row says of tokens beside `n_tokens`, and adds it to the sums.
    pub(super) fn counts(
        &self,
        batch: &RecordBatch,
        row: usize,
        plan: &FilePlan,
        parts: &Parts<'_>,
        also: &mut Option<AlsoCounter>,
        stats: &mut Stats,
    ) -> Result<()> {
        let counter = also.get_or_insert_with(|| AlsoCounter::new(&self.ledger));
        let counted = counter.count(parts.prompt, parts.ends, &read_spans(batch, row));
        self.counted(batch, row, plan, parts, &counted, stats)
    }

    /// The same, with the counts under the tokenizers beside the primary one made already.
    pub(super) fn counted(
        &self,
        batch: &RecordBatch,
        row: usize,
        plan: &FilePlan,
        parts: &Parts<'_>,
        counted: &[AlsoTokens],
        stats: &mut Stats,
    ) -> Result<()> {
        let ledger = read_ledger(batch, row);
        let names = ledger.iter().map(|(name, digest, _)| (name.as_str(), digest.clone()));
        if !names.eq(self.tokenizers.iter().map(|t| (t.name.as_str(), t.digest.to_string()))) {
            fail!("the token ledger does not name the release's tokenizers");
        }
        if ledger[0].2 as u64 != stats.tokens {
            fail!("the token ledger does not say what n_tokens says");
        }
        if self.format == 1 {
            return Ok(());
        }
        let mut spans = read_spans(batch, row);
        stats.chars = count_chars(parts.prompt, &mut spans);
        if spans != read_spans(batch, row) {
            fail!("a needle stands at other characters than recorded");
        }
        let recorded = read_also(batch, row);
        for (tokenizer, counted) in self.ledger.also().iter().zip(counted) {
            let name = tokenizer.name();
            let added = u64::from(self.ledger.added(tokenizer));
            let said = ledger.iter().find(|(other, ..)| other == name).map_or(-1, |(.., tokens)| *tokens);
            let places = |counted: &AlsoTokens| {
                let there = |(span, (from, to)): (&Vec<AlsoSpan>, &(u64, u64))| {
                    span.iter().any(|(other, a, b)| other == name && (a, b) == (from, to))
                };
                recorded.len() == counted.spans.len() && recorded.iter().zip(&counted.spans).all(there)
            };
            let anew = parts.whole.then(|| whole(tokenizer, parts.prompt, &spans, added));
            for counted in std::iter::once(counted).chain(&anew) {
                if counted.n_tokens as i64 != said {
                    fail!("under {name} the prompt has {} tokens, recorded are {said}", counted.n_tokens);
                }
                if !places(counted) {
                    fail!("under {name} the needles stand at tokens {:?}", counted.spans);
                }
            }
        }
        // Of a tokenizer that is not at hand at least the sense is checked.
        let most = parts.prompt.len() as i64 + SYSTEM;
        if let Some((name, ..)) = ledger.iter().find(|(.., tokens)| !(1..=most).contains(tokens)) {
            fail!("the count under {name} cannot be one of this prompt");
        }
        for (name, from, to) in recorded.iter().flatten() {
            let tokens = ledger.iter().find(|(other, ..)| other == name).map_or(0, |(.., tokens)| *tokens);
            if from >= to || *to as i64 > tokens {
                fail!("a needle's place under {name} cannot be one of this prompt");
            }
        }
        let beside = self.tokenizers.iter().skip(1).map(|t| t.name.as_str());
        if recorded.iter().any(|span| !span.iter().map(|(name, ..)| name.as_str()).eq(beside.clone())) {
            fail!("a needle's span does not name the release's tokenizers");
        }
        let counts: Vec<(&str, u64)> = ledger.iter().map(|(name, _, n)| (name.as_str(), *n as u64)).collect();
        let reserve = self.recipe.budget.reserve(plan.strategy);
        for (name, tokens) in &counts[1..] {
            stats.also.insert((*name).to_owned(), Sums::of(*tokens));
        }
        for model in models_of(self.recipe) {
            stats.over_window.insert(model.name.to_owned(), u64::from(exceeds(model, &counts, reserve)));
        }
        if self.recipe.budget.fit == Fit::All
            && plan.length.0 > 0
            && let Some((name, tokens)) =
                counts.iter().find(|(_, n)| n + reserve > self.recipe.budget.tokens(plan.length))
        {
            fail!("under {name} the prompt has {tokens} tokens, more than {} allows", plan.length);
        }
        Ok(())
    }

    /// Are prompts as long as the primary tokenizer alone allows?
    pub(super) fn fills(&self) -> bool {
        self.recipe.budget.fit == Fit::Primary && self.recipe.budget.by == By::Tokens
    }

    /// Where all languages hold the same distractors, rows that differ in languages and position alone do.
    pub(super) fn same_content<'i>(&self, id: &str, key: &str, ids: impl Iterator<Item = &'i str>) -> Result<()> {
        if self.recipe.budget.by != By::Content {
            return Ok(());
        }
        let digest = Digest::of(ids.collect::<Vec<_>>().join("\n"));
        let mut shared = self.shared.lock().expect("no thread panics");
        let entry = shared.meanings.entry(format!("content {key}"));
        let (first, other) = entry.or_insert_with(|| (digest, id.to_owned()));
        match *first == digest {
            true => Ok(()),
            false => fail!("holds other distractors than {other}"),
        }
    }
}
