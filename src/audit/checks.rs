//! The table of checks: what can be wrong with data of others.

use serde::{Serialize, Serializer};
use std::fmt;

macro_rules! checks {
    ($($name:ident $key:literal $words:literal),* $(,)?) => {
        /// One check.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Check {
            $(#[doc = $words] $name),*
        }

        impl Check {
            /// Every check, in the order of reports.
            pub const ALL: &'static [Check] = &[$(Check::$name),*];

            /// Its name in files.
            pub fn key(self) -> &'static str {
                match self { $(Check::$name => $key),* }
            }

            /// What it means, for people.
            pub fn words(self) -> &'static str {
                match self { $(Check::$name => $words),* }
            }
        }
    };
}

checks![
    // Rows without their answer.
    AskedAbsent "asked_absent" "asked person not in the passage",
    AnswerAbsent "answer_absent" "answer not in the context",
    BlankAnswer "blank_answer" "blank answer",
    QuestionChanged "question_changed" "question asks something else",
    NamesChangeAnswer "names_change_answer" "names read as printed give another answer",
    LabelWrong "label_wrong" "answer is not what the facts say",
    LabelAmbiguous "label_ambiguous" "facts allow other answers too",
    OtherAnswer "other_answer" "answer is another row's",
    // Faults of wording.
    UnknownName "unknown_name" "asked person under no known name",
    SeveralNames "several_names" "one person under several names",
    QuestionAmbiguous "question_ambiguous" "question can be read in two ways",
    AnswerPart "answer_part" "answer stands only inside longer words",
    AnswerInQuestion "answer_in_question" "answer stands in the question",
    // Debris.
    DoubledMark "doubled_mark" "doubled marks",
    Invisible "invisible" "invisible or replacement characters",
    CaseNoise "case_noise" "answer in another case than the others",
    BlankText "blank_text" "blank prompt or question",
    // Rows against each other.
    MissingLanguage "missing_language" "language without a file",
    Misaligned "misaligned" "row is not that of its place",
    SentencesDiffer "sentences_differ" "more or fewer sentences than facts",
    OrderDiffers "order_differs" "facts name other persons, or in another order",
    MissingRow "missing_row" "row is missing",
    SurplusRow "surplus_row" "row too many",
    DuplicateId "duplicate_id" "id stands twice",
    DuplicateRow "duplicate_row" "same prompt twice",
    NearDuplicate "near_duplicate" "nearly the same row twice",
    // What a long context makes of a row.
    OneBlock "one_block" "all facts stand in one block",
    FactMissing "fact_missing" "facts of the story are not in the prompt",
    DistractorCast "distractor_cast" "distractors name one of all the stories' people",
    DistractorNames "distractor_names" "distractors name a person of the row's story",
    DistractorAsked "distractor_asked" "distractors name the asked person",
    DistractorAnswer "distractor_answer" "distractors hold the answer",
    PositionFixed "position_fixed" "answer always at one depth",
    LabelsSkewed "labels_skewed" "one label has most rows",
    ScriptMix "script_mix" "script differs from the language or the file",
    OverLength "over_length" "more tokens than the length allows",
    ShortLength "short_length" "far fewer tokens than the length",
];

impl Check {
    /// Can the row not be answered as it is printed?
    pub fn is_unanswerable(self) -> bool {
        matches!(
            self,
            Check::AskedAbsent
                | Check::AnswerAbsent
                | Check::BlankAnswer
                | Check::QuestionChanged
                | Check::NamesChangeAnswer
                | Check::LabelWrong
                | Check::OtherAnswer
        )
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key())
    }
}

impl Serialize for Check {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.key())
    }
}
