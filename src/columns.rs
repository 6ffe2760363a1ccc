//! What each column of a row holds, in a sentence, for people and for formats that describe data.

/// Columns and their descriptions, in the order of the newest format. Positions count bytes or characters from the
/// beginning of `prompt`.
pub const DESCRIPTIONS: [(&str, &str); 44] = [
    ("id", "Unique in the release."),
    ("instance_id", "The instance: the same story or question in every language, length and strategy."),
    ("family", "reasoning (MLRBench), passage (MLNeedle) or factoid (in-context recall)."),
    ("task", "The task."),
    ("category", "The task's category: retrieval, multi_hop, aggregation or uncertainty."),
    ("source_task", "bAbI's task, such as qa3; else the set that the question is from, or the needle's name."),
    ("language", "Code of the language of story or needle."),
    ("needle_language", "The same: the language of what is to be found."),
    ("haystack_language", "Language of what stands around it; multilingual if several do, null if nothing does."),
    ("question_language", "Language of the question."),
    ("length", "Context length that was asked for: 0k is the bare story or needle; in running text, tokens."),
    ("strategy", "Prompting strategy."),
    ("distractor_kind", "What distractors are made of; null where there are none."),
    ("position", "Where the needle was asked to stand: start, middle, end, or percent of the text."),
    ("prompt_kind", "MLNeedle's exact or existence prompt, or the layout of running text."),
    ("pair_id", "What a row has in common with its twin."),
    ("system", "System message, where it stands apart from the prompt."),
    ("prompt", "The prompt, to be sent as it is."),
    ("messages", "The prompt as chat messages, where it has roles; else null."),
    ("question", "The question as the prompt prints it."),
    ("answers", "Gold answers; any one is right."),
    ("answer_variants", "Further texts that are right."),
    ("answers_by_language", "The gold answers in every language of the release."),
    ("expected", "Yes or No where the prompt asks whether the needle is there; else null."),
    ("n_tokens", "Tokens of system message and prompt under tokenizer."),
    ("tokenizer", "The tokenizer that lengths are measured with."),
    ("tokens", "Tokens of system message and prompt under every tokenizer of the release."),
    (
        "needle_spans",
        "Where each fact or needle stands, in the order of the text: bytes, characters, tokens, depth in millionths.",
    ),
    ("supporting", "Numbers, from 0, of the facts that the gold rests on."),
    ("distractor_ids", "Distractors in the order printed."),
    ("n_distractors", "Their number."),
    ("haystack_tokens", "Tokens of the running text with its needle; else null."),
    ("moved", "Nearer sentence breaks that were passed over for the needle's sake; else null."),
    ("repeats", "Times that the running text begins; else null."),
    ("examples", "Ids of the worked examples; null where there are none."),
    ("example_labels", "Answers of the worked examples, as printed."),
    ("retriever", "What chose the sentences that are left; null in whole prompts."),
    ("top_k", "Sentences that it was asked for."),
    ("answerable", "Do the sentences that are left still prove the gold?"),
    ("recall", "Share of all facts that are left, in millionths."),
    ("recall_supporting", "Share of the supporting facts that are left, in millionths."),
    ("source_id", "The source's own id; null where the story is simulated."),
    ("certificate", "How the row was proven: solved, contained or inserted; retrieved proves nothing."),
    ("prompt_sha256", "SHA-256 of the prompt's UTF-8 bytes."),
];

/// The description of a column.
pub fn describe(column: &str) -> &'static str {
    DESCRIPTIONS.iter().find(|(name, _)| *name == column).map_or("", |(_, text)| text)
}
