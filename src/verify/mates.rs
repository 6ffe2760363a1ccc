//! What rows of the passage family have in common: positions of a cell, twins, texts under one id, one ranking.

use super::Checker;
use super::passage::{Desk, Taken, bare, printed_in};
use super::rankings::Room;
use crate::embedder::Role;
use crate::error::Result;
use crate::fail;
use crate::family::passage::{before, label};
use crate::hash::Digest;
use crate::plan::{Cell, FilePlan};
use crate::recipe::{Bound, Haystack, Last, Position, PromptKind, Ranking};
use crate::stage::embed::text_digest;
use crate::table::{int, text};
use arrow_array::RecordBatch;

/// What a row with a needle has in common with the rows after it: those of its other positions, and its twin.
pub(super) struct Mate {
    instance: String,
    pair: String,
    ids: Vec<String>,
    needle: String,
}

impl Checker<'_> {
    /// What rows have in common with others.
    #[allow(clippy::too_many_arguments, reason = "the parts of one row")]
    pub(super) fn same(
        &self,
        batch: &RecordBatch,
        row: usize,
        plan: &FilePlan,
        cell: Cell,
        taken: &Taken<'_>,
        lines: &[i64],
        desk: &mut Desk,
    ) -> Result<()> {
        let Taken { all, others, ids, needle, .. } = taken;
        let get = |name: &str| text(batch, name, row);
        let (id, instance) = (get("id"), get("instance_id"));
        let mut facts = vec![
            (format!("{instance} question {}", cell.question), Digest::of(get("question"))),
            (instance.to_owned(), Digest::of(format!("{:?} {}", taken.by_language, get("source_id")))),
        ];
        if let Some(found) = needle {
            let text = all[found.passage];
            let at = found.spans[1].start - found.spans[0].start;
            facts.push((format!("{instance} needle {}", plan.language), Digest::of(format!("{at} {text}"))));
        }
        match needle {
            Some(found) => {
                let text = all[found.passage];
                if let Some(mate) = desk.mate.as_ref().filter(|mate| mate.instance == instance)
                    && mate.ids != *ids
                {
                    fail!("its passages are not those of the row before, whose needle stands elsewhere");
                }
                let (pair, needle) = (get("pair_id").to_owned(), text.to_owned());
                desk.mate = Some(Mate { instance: instance.to_owned(), pair, ids: ids.to_vec(), needle });
            }
            None => self.twin(get("pair_id"), get("position"), plan, cell, taken, lines, desk)?,
        }
        for (n, (id, text)) in ids.iter().zip(others).enumerate() {
            // The last one may be cut, and then differs.
            if self.recipe.prompt.last == Some(Last::Cut) && n + 1 >= ids.len().saturating_sub(1) {
                continue;
            }
            let language = printed_in(id, plan, cell);
            let key = format!("passage {} {language}", bare(id));
            match desk.compared.get(&key) {
                Some(known) if known == *text => {}
                Some(_) => fail!("the text of passage {id} is another one than in an earlier row"),
                None => {
                    self.pinned_text("passages", language, bare(id), text)?;
                    facts.push((key.clone(), Digest::of(text)));
                    desk.compared.insert(key, (*text).to_owned());
                }
            }
        }
        let asked = format!("question {instance} {}", cell.question);
        if desk.compared.insert(asked, String::new()).is_none() {
            self.pinned_text("questions", cell.question.code(), instance, get("question"))?;
        }
        let pivot = self.recipe.retrieval.ranking == Ranking::Pivot;
        if pivot && cell.haystack == Some(Haystack::Multilingual) && needle.is_some() {
            self.turns(instance, plan, cell, ids)?;
        }
        let list: Vec<String> = ids.iter().map(|id| if pivot { bare(id).to_owned() } else { id.clone() }).collect();
        let mut distinct = list.clone();
        distinct.sort_unstable();
        distinct.dedup();
        if distinct.len() != list.len() {
            fail!("a distractor stands there twice");
        }
        let ranking = match (pivot, cell.haystack) {
            (true, _) => instance.to_owned(),
            (false, Some(haystack)) => format!("{instance} {haystack}"),
            (false, None) => format!("{instance} {}", plan.language),
        };
        let mut shared = self.shared.lock().expect("no thread panics");
        for (key, digest) in facts {
            let (first, other) = shared.meanings.entry(key.clone()).or_insert_with(|| (digest, id.to_owned()));
            if *first != digest {
                fail!("{key} is another one than in {other}");
            }
        }
        if let Some(Haystack::In(language)) = cell.haystack {
            for (id, text) in ids.iter().zip(others).filter(|(id, _)| !id.contains('-')) {
                let (line, closing) = desk.counts[*text];
                shared.counts.entry((id.clone(), language)).or_insert((line as u32, closing as i8));
            }
        }
        let Some(found) = needle else {
            shared.twins.push((ranking, list, id.to_owned()));
            return Ok(());
        };
        let exact = cell.prompt == PromptKind::Exact
            && self.recipe.budget.counts == Bound::Prompt
            && self.recipe.prompt.last != Some(Last::Cut)
            && self.fills();
        if let (Some(Haystack::In(language)), true, "start") = (cell.haystack, exact, get("position")) {
            let (_, closing) = desk.counts[all[found.passage]];
            let last = desk.counts[*all.last().expect("the needle is there")].1;
            let used = int(batch, "n_tokens", row) - last + self.recipe.budget.reserve(plan.strategy) as i64;
            let number = self.recipe.prompt.first_label.unwrap_or(1) as usize + all.len();
            let used = used + self.tokenizer.count_line(&label(number)) as i64;
            let room = self.recipe.budget.tokens(plan.length) as i64 - used;
            shared.rooms.push(Room {
                ranking: ranking.clone(),
                taken: ids.len(),
                language,
                room,
                closing,
                id: id.to_owned(),
            });
        }
        let order = shared.orders.entry(ranking).or_default();
        let common = order.len().min(list.len());
        if order[..common] != list[..common] {
            fail!("its distractors are not in the order of the instance's one ranking");
        }
        if list.len() > order.len() {
            *order = list;
        }
        Ok(())
    }

    /// A twin has its mate's passages in their order, one in the needle's place and language, and after a long needle more.
    #[allow(clippy::too_many_arguments, reason = "the parts of one row")]
    fn twin(
        &self,
        pair: &str,
        position: &str,
        plan: &FilePlan,
        cell: Cell,
        taken: &Taken<'_>,
        lines: &[i64],
        desk: &Desk,
    ) -> Result<()> {
        let Taken { ids, others, .. } = taken;
        let Some(mate) = desk.mate.as_ref().filter(|mate| mate.pair == pair) else {
            fail!("its mate with the needle does not stand before it");
        };
        if others.contains(&mate.needle.as_str()) {
            fail!("the needle stands in the twin");
        }
        let position = Position::ALL.into_iter().find(|p| p.name() == position);
        let own = |id: &str| match cell.haystack {
            Some(Haystack::In(language)) => printed_in(id, plan, cell) == language.code(),
            Some(Haystack::Multilingual) => true,
            None => printed_in(id, plan, cell) == plan.language.code(),
        };
        let fits = |odd: usize| {
            let without = |n: &usize| *n != odd;
            let rest: Vec<&String> = (0..ids.len()).filter(without).map(|n| &ids[n]).collect();
            let tokens: Vec<i64> = (0..ids.len()).filter(without).map(|n| lines[n]).collect();
            printed_in(&ids[odd], plan, cell) == plan.language.code()
                && rest.len() >= mate.ids.len()
                && rest.iter().zip(&mate.ids).all(|(a, b)| *a == b)
                && rest.iter().all(|id| own(id))
                && before(position, self.recipe.prompt.middle, &tokens) == odd
        };
        if !(0..ids.len()).any(fits) {
            fail!("its passages are not its mate's, with one in the needle's place and language");
        }
        Ok(())
    }

    /// In a multilingual haystack the languages take turns, in an order that the seed gives.
    fn turns(&self, instance: &str, plan: &FilePlan, cell: Cell, ids: &[String]) -> Result<()> {
        let Some(seed) = &self.seed else { return Ok(()) };
        let mut turns = self.recipe.grid.languages.clone();
        seed.derive("multilingual", instance).shuffle(&mut turns);
        for (rank, id) in ids.iter().enumerate() {
            if printed_in(id, plan, cell) != turns[rank % turns.len()].code() {
                fail!("passage {id} is not in the language whose turn it is");
            }
        }
        Ok(())
    }

    /// A text that was embedded is the one that its pin names.
    fn pinned_text(&self, what: &str, language: &str, id: &str, text: &str) -> Result<()> {
        let Some(pins) = &self.pinned else { return Ok(()) };
        let Some(known) = pins.texts.get(&format!("{what} {language}")) else { return Ok(()) };
        let role = if what == "questions" { Role::Query } else { Role::Passage };
        if known.get(id) != Some(&text_digest(role, text)) {
            fail!("the text of {id} in {language} is not the one whose vector is pinned");
        }
        Ok(())
    }
}
