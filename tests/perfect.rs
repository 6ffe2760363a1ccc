//! A perfect reader, who finds the right sentence and copies its words, scores 100% in every language.

use crate::support::*;
use nihbuild::language::{Kind, Language, PATTERNS, Pack};
use nihbuild::story::{Answer, Fact, Question, Solution, solve};
use nihbuild::table::{text, texts};

/// Whole answers, case folded; the marks of a language are kept.
fn score(answer: &str, accepted: &[String]) -> bool {
    accepted.iter().any(|a| a.to_lowercase() == answer.trim().to_lowercase())
}

/// Copies the answer's words from the sentences of the context; words of its own (yes, a number) it takes
/// from the instruction's language.
fn copy(question: Question, sentences: &[&str], pack: &Pack) -> String {
    let facts: Vec<Fact> = sentences.iter().map(|s| Fact::of(pack.read(s).unwrap()).unwrap()).collect();
    let Solution::Unique { answer, support } = solve(question, facts.iter().copied()) else { panic!("not solved") };
    let printed = |kind: Kind, entity: u8| {
        // The last supporting sentence that names it, in whichever slot.
        let found = support.iter().rev().find_map(|&n| {
            let message = facts[n].message();
            PATTERNS[message.pattern as usize]
                .used()
                .filter(|slot| slot.kind() == kind && slot.entity(&message.slots) == entity)
                .find_map(|slot| pack.printed(message, slot).first().map(|text| (*text).to_owned()))
        });
        found.unwrap_or_else(|| panic!("{question:?}: no supporting fact names the answer"))
    };
    if let Some((kind, n)) = answer.as_entity() {
        // Where a motive leads no fact says.
        return if matches!(question, Question::WhereWill { .. }) { String::new() } else { printed(kind, n) };
    }
    match answer {
        Answer::Objects(0) => String::new(),
        Answer::Objects(set) => Answer::listed(set).map(|n| printed(Kind::Object, n)).collect::<Vec<_>>().join(", "),
        _ => String::new(),
    }
}

#[test]
fn copying_the_passage_scores_everything() {
    let bench = Bench::new();
    let release = bench.run(&["recipe", "mlrbench", "--limit", "400", "--lengths", "0k"]).success().release(&bench);
    let mut copied = 0;
    for language in Language::of_the_papers() {
        let pack = language.pack().unwrap();
        for batch in batches(&release.join(format!("data/{language}_0k/test-00000-of-00001.parquet"))) {
            for row in 0..batch.num_rows() {
                let (id, prompt) = (text(&batch, "id", row), text(&batch, "prompt", row));
                let context = prompt.split("<context>\n").nth(1).unwrap().split("</context>").next().unwrap();
                let sentences: Vec<&str> = context.lines().collect();
                let question = Question::of(pack.read(text(&batch, "question", row)).unwrap()).unwrap();
                let mut accepted = texts(&batch, "answers", row);
                accepted.extend(texts(&batch, "answer_variants", row));
                let answer = copy(question, &sentences, &pack);
                if answer.is_empty() {
                    continue;
                }
                copied += 1;
                assert!(score(&answer, &accepted), "{id}: copied {answer:?}, accepted {accepted:?}");
            }
        }
    }
    assert!(copied > 7 * 200, "only {copied} answers could be copied");
}

#[test]
fn accepted_answers_never_belong_to_another_label() {
    use nihbuild::family::reasoning::answers;
    use nihbuild::recipe::Task;
    use nihbuild::story::{AnswerSpread, SourceTask, labels};
    for language in Language::of_the_papers() {
        let pack = language.pack().unwrap();
        for number in Task::ALL.iter().flat_map(|t| t.sources()) {
            let task = SourceTask::of(*number).unwrap();
            let mut seen: Vec<(String, Answer)> = Vec::new();
            for (label, _) in labels(task, AnswerSpread::Balanced) {
                let (gold, variants) = answers(label, &pack);
                for text in gold.into_iter().chain(variants) {
                    let text = text.to_lowercase();
                    if let Some((_, other)) = seen.iter().find(|(t, other)| *t == text && *other != label) {
                        panic!("{language} {task}: {text:?} is accepted for {label:?} and {other:?}");
                    }
                    seen.push((text, label));
                }
            }
        }
    }
}
