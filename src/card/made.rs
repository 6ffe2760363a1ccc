//! How a release was made, of what, what was left out, and what it does not do.

use super::thousandths;
use crate::manifest::Manifest;
use crate::plan::Plan;
use crate::recipe::{EmbedderName, Family, SourceKind};
use crate::source::released;

/// What the rows were made of and compared with, stage by stage.
pub(super) fn made(plan: &Plan, manifest: &Manifest) -> String {
    let recipe = &plan.recipe;
    let mut text = String::from(match (plan.family, recipe.source.kind) {
        (Family::Reasoning, SourceKind::Simulate) => {
            "Stories come from a seeded simulator of bAbI's worlds; a solver gives each its one answer. The language packs in `packs/` write\n\
             facts, question and instruction, and read them back.\n"
        }
        (Family::Reasoning, _) => {
            "Stories are bAbI's own, read as facts and solved again; the language packs in `packs/` write facts, question and instruction,\n\
             and read them back.\n"
        }
        (Family::Passage, _) => {
            "Questions and answering passages are the source's, parallel by their ids; all other passages are drawn from the haystack,\n\
             the same in every language, without those that hold an answer.\n"
        }
        (Family::Factoid, _) => {
            "Needles are put between two sentences of a running text, at the break next to the asked depth.\n"
        }
    });
    text += "\n";
    if let Some(facts) = &manifest.passages
        && !facts.shared.is_empty()
    {
        let own = |pair: &str| pair.split(' ').next() == pair.split(' ').nth(1);
        let all: Vec<String> =
            facts.shared.iter().filter(|(pair, _)| !own(pair)).map(|(pair, n)| format!("{pair} {n}")).collect();
        text += &format!(
            "{} passages stand in the haystack, the same in every language. Questions that two needle languages share\n\
             in their cells: {}.\n\n",
            facts.passages,
            if all.is_empty() { "there is one needle language".to_owned() } else { all.join(", ") }
        );
    }
    for (language, facts) in &manifest.texts {
        text += &format!(
            "The text in {language}: {} bytes, {} tokens, {} sentence breaks of which {} stand before a sentence that points back.\n",
            facts.bytes, facts.tokens, facts.breaks.0, facts.breaks.1
        );
        text += &format!(
            "- needles stand within {} percent of their asked depths; {} cells are equal to another\n",
            thousandths(facts.depth_off, 10_000),
            facts.equal_cells
        );
        for (needle, n) in &facts.answers_in_text {
            text += &format!("- an answer of {needle} also stands in the text, {n} times\n");
        }
        for (what, n) in &facts.repairs {
            text += &format!("- {n} {what}\n");
        }
    }
    if !manifest.texts.is_empty() {
        text += "\n";
    }
    let embedding = &recipe.embedding;
    text += &match recipe.retrieval.embedder {
        _ if plan.family == Family::Factoid => String::new(),
        EmbedderName::Ngram => "Passages were ranked by hashed character n-grams.\n\n".to_owned(),
        EmbedderName::Onnx => format!(
            "Passages were ranked by {} ({:?} pooling, prefixes {:?} and {:?}, texts cut at {} tokens); its vectors, and\n\
             what made them, are in `pins/`.\n\n",
            embedding.model, embedding.pooling, embedding.query_prefix, embedding.passage_prefix, embedding.max_tokens
        ),
    };
    if let Some(differences) = &manifest.differences {
        text += "The stories are those of the released MLRBench files, in their order; the languages are written anew. What the\n\
                 released files differ in, by language:\n\n";
        text += &released::markdown(differences);
        text += "\n";
    }
    text += &translations(manifest);
    if !manifest.stages.is_empty() {
        text += "Stages, with the key of what each was made from:\n\n| stage | key |\n|---|---|\n";
        for (stage, key) in &manifest.stages {
            text += &format!("| {stage} | `{key}` |\n");
        }
        text += "\n";
    }
    text + &format!(
        "Built by nihbuild {}; the recipe in `recipe.toml` has every default written out.\n\n",
        manifest.nihbuild
    )
}

/// Licences, and files that were read.
pub(super) fn sources(manifest: &Manifest) -> String {
    let mut text = format!(
        "The release is under `{}`; `LICENSE.md` says what that asks for, and whom to name.\n\n",
        manifest.licence
    );
    if !manifest.source_licences.is_empty() {
        text += "| source | licence |\n|---|---|\n";
        for (id, licence) in &manifest.source_licences {
            text += &format!("| {id} | {licence} |\n");
        }
        text += "\n";
    }
    if manifest.sources.is_empty() {
        return text + "Nothing was read from outside.\n\n";
    }
    text += "| file read | bytes | SHA-256 |\n|---|---|---|\n";
    for file in &manifest.sources {
        text += &format!("| {} | {} | `{}` |\n", file.name.replace('|', "\\|"), file.bytes, file.sha256);
    }
    text + "\n"
}

/// Candidates, questions and passages that were refused, with their reasons.
pub(super) fn left_out(manifest: &Manifest) -> String {
    let mut text = String::new();
    for (task, reasons) in &manifest.refused {
        for (reason, n) in reasons {
            text += &format!("- {task}: {n} stories refused ({reason})\n");
        }
    }
    if let Some(facts) = &manifest.passages {
        for (file, reasons) in &facts.dropped {
            for (reason, n) in reasons {
                text += &format!("- {file}: {n} dropped ({reason})\n");
            }
        }
        for (reason, n) in &facts.refused {
            text += &format!("- {n} questions refused ({reason})\n");
        }
        for (reason, n) in &facts.kept_apart {
            text += &format!("- {n} pairs of a passage and a question never meet ({reason})\n");
        }
    }
    for (task, length) in &manifest.starts {
        text += &format!(
            "- {task} begins at {length} (and is whole at 0k): some of its stories are longer than shorter lengths\n"
        );
    }
    if text.is_empty() {
        text += "Nothing was refused.\n";
    }
    text + "\n"
}

/// What rules score that look at words alone.
pub(super) fn answerers(manifest: &Manifest) -> String {
    if manifest.answerers.is_empty() {
        return String::new();
    }
    let mut text = "## Trivial answerers\n\nHow rules score that do not read the story, beside guessing among the candidates. A rule far above chance would\n\
                    answer a task without understanding it.\n\n| task | rule | score | chance | rows |\n|---|---|---|---|---|\n"
        .to_owned();
    for (task, rules) in &manifest.answerers {
        for (rule, score) in rules {
            let share = |millionths| thousandths(millionths, 1_000_000);
            text +=
                &format!("| {task} | {rule} | {} | {} | {} |\n", share(score.score), share(score.chance), score.rows);
        }
    }
    text + "\n"
}

/// What a reader must know before drawing conclusions.
pub(super) fn limits(plan: &Plan, manifest: &Manifest) -> String {
    let mut all: Vec<&str> = Vec::new();
    match plan.family {
        Family::Reasoning => {
            all.push("Sentences follow a few patterns a language, with a small vocabulary: this measures reasoning over long contexts, not understanding of free text.");
            all.push("The language packs were written with care and are tested for ambiguity; unless a review is named above, no native reviewer has signed them.");
        }
        Family::Passage => {
            all.push("Answers are kept out of other passages as whole words, with the endings that the packs list. A passage that paraphrases an answer is not found.");
            all.push("Questions, answers and passages are the sources' own, with the sources' own faults of content and translation.");
        }
        Family::Factoid => {
            all.push("A needle is unlike the text around it: this measures recall, not reasoning.");
            all.push(
                "Short texts have fewer sentence breaks than depths are asked for; rows of such cells may be equal.",
            );
        }
    }
    if !manifest.translations.is_empty() {
        all.push("Some languages are machine-translated; their tables above say how good that is.");
    }
    if plan.files.iter().any(|file| file.rag.is_some()) {
        all.push("Rows of retrieved sentences may have lost what the answer rests on; see `answerable`.");
    }
    all.push("Lengths are met under the primary tokenizer; under others the same prompt is shorter or longer, as the token table says.");
    all.push("The files are public: a model may have been trained on them. The canary and a build with a secret seed help to tell.");
    all.iter().map(|limit| format!("- {limit}\n")).collect::<String>() + "\n"
}

/// Languages by machine translation, and how good it is (the paper's Table 7).
fn translations(manifest: &Manifest) -> String {
    if manifest.translations.is_empty() {
        return String::new();
    }
    let mut text =
        "Machine translation, pinned in `pins/translate`. Similarity is the cosine of source and translation, and of\n\
                    source and translation back, under the embedder that ranked the passages:\n\n\
                    | language | part | texts | similarity | translated back |\n|---|---|---|---|---|\n"
            .to_owned();
    for (language, facts) in &manifest.translations {
        for (part, (there, back)) in &facts.similarity {
            let texts = facts.texts.get(part).copied().unwrap_or(0);
            let back = back.map_or("-".to_owned(), |back| thousandths(u64::from(back), 1000));
            text += &format!("| {language} | {part} | {texts} | {} | {back} |\n", thousandths(u64::from(*there), 1000));
        }
    }
    text += "\n";
    for (language, facts) in &manifest.translations {
        text += &format!("- {language}: {} texts asked for again", facts.asked_again);
        text += &format!("; {} sentences are told like one with another verb", facts.alike);
        for (reason, n) in &facts.dropped {
            text += &format!("; {n} dropped ({reason})");
        }
        if let Some((same, of, near)) = facts.compared {
            let near = thousandths(u64::from(near), 1000);
            text += &format!("; beside the language pack: {same} of {of} sentences are the same, similarity {near}");
        }
        match &facts.review {
            Some(review) => {
                text += &format!(
                    "; native reviewers: {} of {} sampled texts good, {} wrong, {} unsure, {} without a verdict",
                    review.ok,
                    review.sampled,
                    review.wrong.len(),
                    review.unsure,
                    review.missing
                );
                for id in &review.wrong {
                    text += &format!("\n  - wrong: {id}");
                }
            }
            None => text += "; no native reviewer has read it",
        }
        text += "\n";
    }
    text + "\n"
}
