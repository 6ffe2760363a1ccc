//! The solver on stories written in English.

use nihbuild::language::{Kind, Language, Pack};
use nihbuild::story::{Answer, Fact, Fault, Question, Solution, solve};

fn english() -> Pack {
    "en".parse::<Language>().unwrap().pack().unwrap()
}

/// Solves a story, its question last; the answer in words and the supporting facts.
fn check(story: &str, expected: &str, support: &[usize]) {
    let pack = english();
    let sentences: Vec<&str> = story.split_inclusive(['.', '?']).map(str::trim).collect();
    let (question, facts) = sentences.split_last().unwrap();
    let facts = facts.iter().map(|s| Fact::of(pack.read(s).unwrap()).unwrap());
    let question = Question::of(pack.read(question).unwrap()).unwrap();
    let name = |kind, n| pack.citation(kind, n).to_owned();
    match solve(question, facts) {
        Solution::Unique { answer, support: found } => {
            let words = match answer {
                other if other.as_entity().is_some() => {
                    let (kind, n) = other.as_entity().unwrap();
                    name(kind, n)
                }
                Answer::Path(way) => way.steps().map(|d| format!("{d:?}")).collect::<Vec<_>>().join(" "),
                Answer::Objects(set) => {
                    Answer::listed(set).map(|n| name(Kind::Object, n)).collect::<Vec<_>>().join(" ")
                }
                other => format!("{other:?}"),
            };
            assert_eq!((words.as_str(), found.as_slice()), (expected, support), "{story}");
        }
        Solution::Faulty(fault) => assert_eq!(fault.name(), expected, "{story}"),
    }
}

#[test]
fn one_fact() {
    check("Mary went to the garden. John moved to the park. Where is Mary?", "garden", &[0]);
    check("Mary went to the garden. Mary moved to the park. Where is Mary?", "park", &[1]);
    check("Mary went to the garden. Where is John?", Fault::Unknown.name(), &[]);
}

#[test]
fn objects_follow_their_holders_and_stay_where_they_are_put() {
    check(
        "Mary went to the garden. Mary got the milk there. Mary moved to the park. Where is the milk?",
        "park",
        &[1, 2],
    );
    check(
        "Mary went to the garden. Mary got the milk there. Mary dropped the milk. Mary moved to the park. Where is the milk?",
        "garden",
        &[0, 2],
    );
    check("Mary got the milk. Where is the milk?", Fault::Unknown.name(), &[]);
    check(
        "Mary went to the garden. Mary got the milk. John got the milk. John moved to the park. Where is the milk?",
        Fault::Contradiction.name(),
        &[],
    );
}

#[test]
fn before_a_place() {
    check(
        "Mary went to the garden. Mary got the milk there. Mary moved to the park. Where was the milk before the park?",
        "garden",
        &[0, 1, 2],
    );
    // Two arrivals from different places, and the milk is elsewhere now: which is meant?
    check(
        "Mary went to the garden. Mary got the milk there. Mary moved to the park. Mary moved to the office. Mary moved to the park. \
         Mary went to the kitchen. Where was the milk before the park?",
        Fault::SeveralVisits.name(),
        &[],
    );
    // The same, but it is still there: the last arrival.
    check(
        "Mary went to the garden. Mary got the milk there. Mary moved to the park. Mary moved to the office. Mary moved to the park. \
         Where was the milk before the park?",
        "office",
        &[1, 3, 4],
    );
}

#[test]
fn relations_reach_through_other_places() {
    check(
        "The office is north of the kitchen. The garden is west of the kitchen. What is north of the kitchen?",
        "office",
        &[0],
    );
    check(
        "The office is north of the kitchen. The garden is west of the kitchen. What is the office north of?",
        "kitchen",
        &[0],
    );
    check(
        "The office is north of the kitchen. The garden is west of the kitchen. What is south of the office?",
        "kitchen",
        &[0],
    );
    check(
        "The kitchen is west of the garden. The hallway is west of the kitchen. What is the garden east of?",
        Fault::SeveralPlaces.name(),
        &[],
    );
}

#[test]
fn the_most_recent_gift_counts() {
    let story =
        "Mary got the milk. Mary gave the milk to John. John passed the milk to Mary. Mary handed the milk to Fred.";
    check(&format!("{story} Who received the milk?"), "Fred", &[3]);
    check(&format!("{story} Who gave the milk to Mary?"), "John", &[2]);
    check(&format!("{story} What did Mary give to John?"), "milk", &[1]);
    check(&format!("{story} Who did Mary give the milk to?"), "Fred", &[3]);
    check(&format!("{story} Who gave the apple?"), Fault::Unknown.name(), &[]);
}

#[test]
fn yes_no_maybe() {
    check("Mary is in the park. Is Mary in the park?", "Yes", &[0]);
    check("Mary is in the park. Is Mary in the school?", "No", &[0]);
    check("Mary is in the park. Mary is no longer in the park. Is Mary in the park?", "No", &[1]);
    check("Mary is in the park. Mary is no longer in the park. Is Mary in the school?", Fault::Unknown.name(), &[]);
    check("Mary is not in the park. Mary is not in the school. Is Mary in the park?", "No", &[0]);
    check("Mary is not in the park. Mary went to the school. Is Mary in the school?", "Yes", &[1]);
    check("Mary is either in the park or the school. Is Mary in the park?", "Maybe", &[0]);
    check("Mary is either in the park or the school. Is Mary in the office?", "No", &[0]);
    check("Mary is either in the park or the school. Mary is not in the park. Is Mary in the school?", "Yes", &[1]);
    check("Mary is either in the park or the park. Is Mary in the park?", "Yes", &[0]);
}

#[test]
fn counts_and_lists() {
    let story = "Mary got the milk. Mary took the apple. John got the football. Mary gave the apple to John. John left the football.";
    check(&format!("{story} How many objects is Mary carrying?"), "Count(1)", &[0, 1, 3]);
    check(&format!("{story} What is John carrying?"), "apple", &[2, 3, 4]);
    check(&format!("{story} What is Fred carrying?"), "", &[]);
}
