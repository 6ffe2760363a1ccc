//! Rows to Parquet and back: the schema of all families, fixed writer settings, the digest of a row.

use crate::error::{Error, Result};
use crate::hash::{Digest, RowEncoder};
use crate::manifest::FORMAT;
use crate::plan::{FilePlan, Plan};
use crate::recipe::{Family, Layout};
use crate::record::{NeedleSpan, Row};
use arrow_array::builder::{ArrayBuilder, BooleanBuilder, Int64Builder, ListBuilder, StringBuilder, StructBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use std::sync::{Arc, LazyLock};

/// What all rows of a file have in common.
#[derive(Clone, Debug)]
pub struct FileConstants {
    /// The family.
    pub family: &'static str,
    /// Language of the story, or of the needle.
    pub language: String,
    /// Language of the haystack; none where there is none.
    pub haystack_language: Option<String>,
    /// Language of the question.
    pub question_language: String,
    /// Its length.
    pub length: String,
    /// Its strategy.
    pub strategy: String,
    /// Its kind of distractors; none where there are none.
    pub distractor_kind: Option<String>,
    /// Which of MLNeedle's prompts, or which layout.
    pub prompt_kind: Option<&'static str>,
    /// Rows hold their prompt as messages too.
    pub messages: bool,
    /// The tokenizer that `n_tokens` is counted with, and those counted beside it: name and digest.
    pub tokenizers: Vec<(String, String)>,
}

impl FileConstants {
    /// Those of a file of a plan.
    pub fn of(plan: &Plan, file: &FilePlan) -> FileConstants {
        let language = file.language.to_string();
        let own = || (Some(file.haystack.to_string()), file.question.to_string());
        let layout = plan.recipe.prompt.layout.filter(|_| plan.family == Family::Factoid);
        let (haystack_language, question_language) = match file.cell {
            None => own(),
            Some(cell) => (cell.haystack.map(|h| h.to_string()), cell.question.to_string()),
        };
        let prompt_kind = file.cell.map(|cell| cell.prompt.name()).or(layout.map(Layout::name));
        FileConstants {
            family: plan.family.name(),
            language,
            haystack_language,
            question_language,
            length: file.length.to_string(),
            strategy: file.strategy.name().to_owned(),
            distractor_kind: (plan.family != Family::Factoid).then(|| file.kind.name().to_owned()),
            prompt_kind,
            messages: layout == Some(Layout::Messages),
            tokenizers: plan.ledger.all().iter().map(|t| (t.name().to_owned(), t.digest().to_string())).collect(),
        }
    }
}

fn list(of: DataType) -> DataType {
    DataType::List(Arc::new(Field::new("item", of, true)))
}

fn fields(names: &[(&str, DataType)]) -> Fields {
    names.iter().map(|(name, kind)| Field::new(*name, kind.clone(), true)).collect()
}

fn message_fields() -> Fields {
    fields(&[("role", DataType::Utf8), ("content", DataType::Utf8)])
}

fn by_language_fields() -> Fields {
    fields(&[("language", DataType::Utf8), ("answers", list(DataType::Utf8))])
}

fn ledger_fields() -> Fields {
    fields(&[("tokenizer", DataType::Utf8), ("digest", DataType::Utf8), ("n_tokens", DataType::Int64)])
}

/// The numbers of a span, in order.
const SPAN_NUMBERS: [&str; 7] = ["start", "end", "char_start", "char_end", "token_start", "token_end", "depth"];

fn span_fields() -> Fields {
    let mut all: Vec<(&str, DataType)> = SPAN_NUMBERS.map(|name| (name, DataType::Int64)).to_vec();
    all.push(("supporting", DataType::Boolean));
    all.push(("also", list(DataType::Struct(also_fields()))));
    fields(&all)
}

/// A span under one more tokenizer.
fn also_fields() -> Fields {
    fields(&[("tokenizer", DataType::Utf8), ("token_start", DataType::Int64), ("token_end", DataType::Int64)])
}

/// The fields of a span in releases of format 1.
fn first_span_fields() -> Fields {
    let mut all: Vec<(&str, DataType)> =
        ["start", "end", "token_start", "token_end", "depth"].map(|name| (name, DataType::Int64)).to_vec();
    all.push(("supporting", DataType::Boolean));
    fields(&all)
}

/// The columns of every family, in order. The digest of a row follows this order.
pub static SCHEMA: LazyLock<Arc<Schema>> = LazyLock::new(|| schema(FORMAT));

/// The columns of releases of older formats, which are still read.
static OLD_SCHEMAS: [LazyLock<Arc<Schema>>; 2] = [LazyLock::new(|| schema(1)), LazyLock::new(|| schema(2))];

/// The columns of releases of a format.
pub fn schema_of(format: u32) -> &'static Arc<Schema> {
    OLD_SCHEMAS.get(format.wrapping_sub(1) as usize).unwrap_or(&SCHEMA)
}

/// Are they the columns of a format? Writers of Parquet name the elements of lists in their own ways.
pub fn has_columns(schema: &Schema, format: u32) -> bool {
    fn same(a: &DataType, b: &DataType) -> bool {
        match (a, b) {
            (DataType::List(a), DataType::List(b)) => same(a.data_type(), b.data_type()),
            (DataType::Struct(a), DataType::Struct(b)) => all(a, b),
            _ => a == b,
        }
    }
    fn all(a: &Fields, b: &Fields) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.name() == b.name() && same(a.data_type(), b.data_type()))
    }
    all(schema.fields(), schema_of(format).fields())
}

/// Columns that format 1 does not have.
pub const SINCE_2: [&str; 2] = ["haystack_tokens", "moved"];

/// Columns that formats 1 and 2 do not have.
pub const SINCE_3: [&str; 7] =
    ["examples", "example_labels", "retriever", "top_k", "answerable", "recall", "recall_supporting"];

fn schema(format: u32) -> Arc<Schema> {
    let span_fields = || if format == 1 { first_span_fields() } else { span_fields() };
    let text = DataType::Utf8;
    let structs = |fields: Fields| list(DataType::Struct(fields));
    let all = [
        ("id", text.clone()),
        ("instance_id", text.clone()),
        ("family", text.clone()),
        ("task", text.clone()),
        ("category", text.clone()),
        ("source_task", text.clone()),
        ("language", text.clone()),
        ("needle_language", text.clone()),
        ("haystack_language", text.clone()),
        ("question_language", text.clone()),
        ("length", text.clone()),
        ("strategy", text.clone()),
        ("distractor_kind", text.clone()),
        ("position", text.clone()),
        ("prompt_kind", text.clone()),
        ("pair_id", text.clone()),
        ("system", text.clone()),
        ("prompt", text.clone()),
        ("messages", structs(message_fields())),
        ("question", text.clone()),
        ("answers", list(text.clone())),
        ("answer_variants", list(text.clone())),
        ("answers_by_language", structs(by_language_fields())),
        ("expected", text.clone()),
        ("n_tokens", DataType::Int64),
        ("tokenizer", text.clone()),
        ("tokens", structs(ledger_fields())),
        ("needle_spans", structs(span_fields())),
        ("supporting", list(DataType::Int64)),
        ("distractor_ids", list(text.clone())),
        ("n_distractors", DataType::Int64),
        ("haystack_tokens", DataType::Int64),
        ("moved", DataType::Int64),
        ("repeats", DataType::Int64),
        ("examples", list(text.clone())),
        ("example_labels", list(text.clone())),
        ("retriever", text.clone()),
        ("top_k", DataType::Int64),
        ("answerable", DataType::Boolean),
        ("recall", DataType::Int64),
        ("recall_supporting", DataType::Int64),
        ("source_id", text.clone()),
        ("certificate", text.clone()),
        ("prompt_sha256", text),
    ];
    let known = |name: &str| (format > 1 || !SINCE_2.contains(&name)) && (format > 2 || !SINCE_3.contains(&name));
    let all: Vec<(&str, DataType)> = all.into_iter().filter(|(name, _)| known(name)).collect();
    Arc::new(Schema::new(fields(&all)))
}

/// Rows in one group hold at most so many bytes of prompts.
pub const GROUP_BYTES: usize = 64 << 20;

/// The one set of writer settings: other batch, page or group sizes would give other bytes.
pub fn writer_properties() -> WriterProperties {
    let prompt = ColumnPath::from("prompt");
    WriterProperties::builder()
        .set_created_by("nihbuild table 1".to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3).expect("level 3 exists")))
        // Pages are cut between batches: small ones keep a page of long prompts near its limit.
        .set_write_batch_size(8)
        .set_max_row_group_row_count(None)
        .set_data_page_size_limit(1 << 20)
        .set_column_data_page_size_limit(prompt.clone(), 8 << 20)
        .set_column_dictionary_enabled(prompt.clone(), false)
        .set_column_statistics_enabled(prompt, EnabledStatistics::None)
        .build()
}

struct TextColumn(StringBuilder);

impl TextColumn {
    fn of<'a>(values: impl Iterator<Item = &'a str>) -> ArrayRef {
        let mut column = TextColumn(StringBuilder::new());
        values.for_each(|value| column.0.append_value(value));
        Arc::new(column.0.finish())
    }

    fn lists<'a, L: Iterator<Item = &'a str>>(rows: impl Iterator<Item = L>) -> ArrayRef {
        TextColumn::maybe_lists(rows.map(Some))
    }

    /// Lists, or null.
    fn maybe_lists<'a, L: Iterator<Item = &'a str>>(rows: impl Iterator<Item = Option<L>>) -> ArrayRef {
        let mut builder = ListBuilder::new(StringBuilder::new()).with_field(item(DataType::Utf8));
        for row in rows {
            let is_there = row.is_some();
            row.into_iter().flatten().for_each(|value| builder.values().append_value(value));
            builder.append(is_there);
        }
        Arc::new(builder.finish())
    }
}

fn strings(list: &[String]) -> impl Iterator<Item = &str> {
    list.iter().map(String::as_str)
}

fn item(of: DataType) -> FieldRef {
    Arc::new(Field::new("item", of, true))
}

fn ints(values: impl Iterator<Item = i64>) -> ArrayRef {
    let mut builder = Int64Builder::new();
    values.for_each(|value| builder.append_value(value));
    Arc::new(builder.finish())
}

/// The batch of a file's rows and their prompts.
pub fn batch(rows: &[Row], prompts: StringArray, digests: &[Digest], file: &FileConstants) -> Result<RecordBatch> {
    let n = rows.len();
    let prompts: ArrayRef = Arc::new(prompts);
    let same = |value: &str| TextColumn::of(std::iter::repeat_n(value, n));
    let text = |of: fn(&Row) -> &str| TextColumn::of(rows.iter().map(of));
    let maybe = |of: fn(&Row) -> Option<&str>| -> ArrayRef { Arc::new(rows.iter().map(of).collect::<StringArray>()) };
    let same_maybe =
        |value: Option<&str>| -> ArrayRef { Arc::new(rows.iter().map(|_| value).collect::<StringArray>()) };
    let hex: Vec<String> = digests.iter().map(Digest::to_string).collect();
    let columns = SCHEMA.fields().iter().map(|field| -> ArrayRef {
        match field.name().as_str() {
            "id" => text(|r| &r.id),
            "instance_id" => text(|r| &r.instance_id),
            "family" => same(file.family),
            "task" => text(|r| r.task),
            "category" => text(|r| r.category),
            "source_task" => text(|r| &r.source_task),
            "language" | "needle_language" => same(&file.language),
            "haystack_language" => same_maybe(file.haystack_language.as_deref()),
            "question_language" => same(&file.question_language),
            "position" => maybe(|r| r.position.as_deref()),
            "system" => maybe(|r| r.system.as_deref()),
            "messages" if file.messages => messages(rows.iter().map(|r| r.system.as_deref()), &prompts),
            "prompt_kind" => same_maybe(file.prompt_kind),
            "pair_id" => maybe(|r| r.pair_id.as_deref()),
            "expected" => maybe(|r| r.expected),
            "length" => TextColumn::of(rows.iter().map(|r| r.length.as_deref().unwrap_or(&file.length))),
            "strategy" => same(&file.strategy),
            "distractor_kind" => same_maybe(file.distractor_kind.as_deref()),
            "prompt" => prompts.clone(),
            "question" => text(|r| &r.question),
            "answers" => TextColumn::lists(rows.iter().map(|r| r.answers.iter().map(String::as_str))),
            "answer_variants" => TextColumn::lists(rows.iter().map(|r| r.answer_variants.iter().map(String::as_str))),
            "answers_by_language" => by_language(rows),
            "n_tokens" => ints(rows.iter().map(|r| r.n_tokens as i64)),
            "tokenizer" => same(&file.tokenizers[0].0),
            "tokens" => ledger(rows, &file.tokenizers),
            "needle_spans" => spans(rows, &file.tokenizers),
            "supporting" => {
                let mut builder = ListBuilder::new(Int64Builder::new()).with_field(item(DataType::Int64));
                for row in rows {
                    row.supporting.iter().for_each(|i| builder.values().append_value(i64::from(*i)));
                    builder.append(true);
                }
                Arc::new(builder.finish())
            }
            "distractor_ids" => TextColumn::lists(rows.iter().map(|r| r.distractor_ids.iter().map(String::as_str))),
            "n_distractors" => ints(rows.iter().map(|r| r.distractor_ids.len() as i64)),
            "haystack_tokens" => maybe_ints(rows.iter().map(|r| r.haystack_tokens)),
            "moved" => maybe_ints(rows.iter().map(|r| r.moved)),
            "repeats" => maybe_ints(rows.iter().map(|r| r.repeats)),
            "examples" => TextColumn::maybe_lists(rows.iter().map(|r| r.examples.as_deref().map(strings))),
            "example_labels" => TextColumn::maybe_lists(rows.iter().map(|r| r.example_labels.as_deref().map(strings))),
            "retriever" => maybe(|r| r.retrieved.as_ref().map(|found| found.retriever)),
            "top_k" => maybe_ints(rows.iter().map(|r| r.retrieved.as_ref().map(|found| found.top_k))),
            "answerable" => {
                let answerable = rows.iter().map(|r| r.retrieved.as_ref().map(|found| found.answerable));
                Arc::new(answerable.collect::<BooleanArray>())
            }
            "recall" => maybe_ints(rows.iter().map(|r| r.retrieved.as_ref().map(|found| found.recall))),
            "recall_supporting" => {
                maybe_ints(rows.iter().map(|r| r.retrieved.as_ref().map(|found| found.recall_supporting)))
            }
            "source_id" => maybe(|r| r.source_id.as_deref()),
            "certificate" => text(|r| r.certificate),
            "prompt_sha256" => TextColumn::of(hex.iter().map(String::as_str)),
            // A column of another family.
            _ => arrow_array::new_null_array(field.data_type(), n),
        }
    });
    RecordBatch::try_new(SCHEMA.clone(), columns.collect())
        .map_err(|e| Error::new(format!("cannot build a batch: {e}")))
}

fn by_language(rows: &[Row]) -> ArrayRef {
    let answers = ListBuilder::new(StringBuilder::new()).with_field(item(DataType::Utf8));
    let parts: Vec<Box<dyn ArrayBuilder>> = vec![Box::new(StringBuilder::new()), Box::new(answers)];
    let of = DataType::Struct(by_language_fields());
    let mut builder = ListBuilder::new(StructBuilder::new(by_language_fields(), parts)).with_field(item(of));
    for row in rows {
        for (language, answers) in &row.answers_by_language {
            let entry = builder.values();
            entry.field_builder::<StringBuilder>(0).expect("the first field").append_value(language);
            let list = entry.field_builder::<ListBuilder<StringBuilder>>(1).expect("the second field");
            answers.iter().for_each(|a| list.values().append_value(a));
            list.append(true);
            entry.append(true);
        }
        builder.append(true);
    }
    Arc::new(builder.finish())
}

fn maybe_ints(values: impl Iterator<Item = Option<u64>>) -> ArrayRef {
    let mut builder = Int64Builder::new();
    values.for_each(|value| builder.append_option(value.map(|n| n as i64)));
    Arc::new(builder.finish())
}

fn text_of(builder: &mut StructBuilder, field: usize) -> &mut StringBuilder {
    builder.field_builder(field).expect("a field of text")
}

fn int_of(builder: &mut StructBuilder, field: usize) -> &mut Int64Builder {
    builder.field_builder(field).expect("a field of integers")
}

/// Prompts as messages, behind their system messages.
pub(crate) fn messages<'r>(systems: impl Iterator<Item = Option<&'r str>>, prompts: &ArrayRef) -> ArrayRef {
    let of = DataType::Struct(message_fields());
    let n = prompts.len();
    let mut builder = ListBuilder::new(StructBuilder::from_fields(message_fields(), n)).with_field(item(of));
    for (system, prompt) in systems.zip(prompts.as_string::<i32>()) {
        let entry = builder.values();
        let system = system.map(|text| ("system", text));
        for (role, content) in system.into_iter().chain([("user", prompt.unwrap_or_default())]) {
            text_of(entry, 0).append_value(role);
            text_of(entry, 1).append_value(content);
            entry.append(true);
        }
        builder.append(true);
    }
    Arc::new(builder.finish())
}

fn ledger(rows: &[Row], tokenizers: &[(String, String)]) -> ArrayRef {
    let of = DataType::Struct(ledger_fields());
    let mut builder = ListBuilder::new(StructBuilder::from_fields(ledger_fields(), rows.len())).with_field(item(of));
    for row in rows {
        let counts = std::iter::once(row.n_tokens).chain(row.also.iter().map(|also| also.n_tokens));
        for ((name, digest), tokens) in tokenizers.iter().zip(counts) {
            let entry = builder.values();
            text_of(entry, 0).append_value(name);
            text_of(entry, 1).append_value(digest);
            int_of(entry, 2).append_value(tokens as i64);
            entry.append(true);
        }
        builder.append(true);
    }
    Arc::new(builder.finish())
}

fn spans(rows: &[Row], tokenizers: &[(String, String)]) -> ArrayRef {
    let of = DataType::Struct(span_fields());
    let n = rows.iter().map(|r| r.needle_spans.len()).sum();
    let mut parts: Vec<Box<dyn ArrayBuilder>> = Vec::new();
    parts.extend(SPAN_NUMBERS.map(|_| Box::new(Int64Builder::with_capacity(n)) as Box<dyn ArrayBuilder>));
    parts.push(Box::new(BooleanBuilder::with_capacity(n)));
    let also = ListBuilder::new(StructBuilder::from_fields(also_fields(), n));
    parts.push(Box::new(also.with_field(item(DataType::Struct(also_fields())))));
    let mut builder = ListBuilder::new(StructBuilder::new(span_fields(), parts)).with_field(item(of));
    for row in rows {
        for (n, span) in row.needle_spans.iter().enumerate() {
            let entry = builder.values();
            let NeedleSpan { start, end, char_start, char_end, token_start, token_end, depth, supporting } = *span;
            let numbers = [start, end, char_start, char_end, token_start, token_end, depth];
            for (i, value) in numbers.into_iter().enumerate() {
                int_of(entry, i).append_value(value as i64);
            }
            entry.field_builder::<BooleanBuilder>(7).expect("the eighth field").append_value(supporting);
            let list: &mut ListBuilder<StructBuilder> = entry.field_builder(8).expect("the ninth field");
            for ((name, _), also) in tokenizers[1..].iter().zip(&row.also) {
                let (from, to) = also.spans[n];
                text_of(list.values(), 0).append_value(name);
                int_of(list.values(), 1).append_value(from as i64);
                int_of(list.values(), 2).append_value(to as i64);
                list.values().append(true);
            }
            list.append(true);
            entry.append(true);
        }
        builder.append(true);
    }
    Arc::new(builder.finish())
}

/// The needle spans of a row; character positions are 0 in format 1.
pub fn read_spans(batch: &RecordBatch, row: usize) -> Vec<NeedleSpan> {
    let list = column(batch, "needle_spans").as_list::<i32>().value(row);
    let entries = list.as_struct();
    let number = |name: &str, n: usize| {
        entries.column_by_name(name).map_or(0, |column| column.as_primitive::<Int64Type>().value(n) as u64)
    };
    (0..entries.len())
        .map(|n| NeedleSpan {
            start: number("start", n),
            end: number("end", n),
            char_start: number("char_start", n),
            char_end: number("char_end", n),
            token_start: number("token_start", n),
            token_end: number("token_end", n),
            depth: number("depth", n),
            supporting: entries.column_by_name("supporting").is_some_and(|column| column.as_boolean().value(n)),
        })
        .collect()
}

/// A tokenizer's name, a span's first token under it, and one past the last.
pub type AlsoSpan = (String, u64, u64);

/// For each needle span of a row, where it stands under the tokenizers beside the primary one: name, first token, one
/// past the last. Empty in format 1.
pub fn read_also(batch: &RecordBatch, row: usize) -> Vec<Vec<AlsoSpan>> {
    let list = column(batch, "needle_spans").as_list::<i32>().value(row);
    let Some(also) = list.as_struct().column_by_name("also") else { return vec![Vec::new(); list.len()] };
    let also = also.as_list::<i32>();
    let of = |n: usize| {
        let entries = also.value(n);
        let entries = entries.as_struct();
        let number = |field: usize, n: usize| entries.column(field).as_primitive::<Int64Type>().value(n) as u64;
        let names = entries.column(0).as_string::<i32>();
        (0..entries.len()).map(|n| (names.value(n).to_owned(), number(1, n), number(2, n))).collect()
    };
    (0..also.len()).map(of).collect()
}

/// The gold of a row in every language.
pub fn read_by_language(batch: &RecordBatch, row: usize) -> Vec<(String, Vec<String>)> {
    let list = column(batch, "answers_by_language").as_list::<i32>().value(row);
    let entries = list.as_struct();
    let (languages, answers) = (entries.column(0).as_string::<i32>(), entries.column(1).as_list::<i32>());
    let texts = |n: usize| answers.value(n).as_string::<i32>().iter().flatten().map(str::to_owned).collect();
    (0..entries.len()).map(|n| (languages.value(n).to_owned(), texts(n))).collect()
}

/// The token ledger of a row: tokenizer, its digest, tokens.
pub fn read_ledger(batch: &RecordBatch, row: usize) -> Vec<(String, String, i64)> {
    let list = column(batch, "tokens").as_list::<i32>().value(row);
    let entries = list.as_struct();
    let (names, digests) = (entries.column(0).as_string::<i32>(), entries.column(1).as_string::<i32>());
    let counts = entries.column(2).as_primitive::<Int64Type>();
    (0..entries.len()).map(|n| (names.value(n).to_owned(), digests.value(n).to_owned(), counts.value(n))).collect()
}

/// The messages of a row: role and content.
pub fn read_messages(batch: &RecordBatch, row: usize) -> Vec<(String, String)> {
    let list = column(batch, "messages").as_list::<i32>().value(row);
    let entries = list.as_struct();
    let (roles, contents) = (entries.column(0).as_string::<i32>(), entries.column(1).as_string::<i32>());
    (0..entries.len()).map(|n| (roles.value(n).to_owned(), contents.value(n).to_owned())).collect()
}

/// A column of a batch that has the schema.
pub fn column<'a>(batch: &'a RecordBatch, name: &str) -> &'a ArrayRef {
    batch.column_by_name(name).expect("the schema was checked")
}

/// A text value; empty where it is null.
pub fn text<'a>(batch: &'a RecordBatch, name: &str, row: usize) -> &'a str {
    let array = column(batch, name).as_string::<i32>();
    if array.is_null(row) { "" } else { array.value(row) }
}

/// An integer value.
pub fn int(batch: &RecordBatch, name: &str, row: usize) -> i64 {
    column(batch, name).as_primitive::<Int64Type>().value(row)
}

/// A list of texts.
pub fn texts(batch: &RecordBatch, name: &str, row: usize) -> Vec<String> {
    let list = column(batch, name).as_list::<i32>().value(row);
    list.as_string::<i32>().iter().flatten().map(str::to_owned).collect()
}

/// A list of integers.
pub fn numbers(batch: &RecordBatch, name: &str, row: usize) -> Vec<i64> {
    let list = column(batch, name).as_list::<i32>().value(row);
    list.as_primitive::<Int64Type>().iter().flatten().collect()
}

/// The digest of one row of a batch; the prompt's SHA-256 stands in for its text. `cell` is given the digest of each
/// value.
pub fn row_digest(
    batch: &RecordBatch,
    row: usize,
    prompt: &Digest,
    encoder: &mut RowEncoder,
    cell: &mut dyn FnMut(Digest),
) -> Digest {
    encoder.clear();
    for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        let start = encoder.len();
        if field.name() == "prompt" && !array.is_null(row) {
            encoder.digest(prompt);
        } else {
            encode(array, row, array.data_type(), encoder);
        }
        cell(encoder.since(start));
    }
    encoder.finish()
}

/// Encodes a value for the rows digest, as far as a type goes: it may lack fields that the value has.
pub fn encode(array: &ArrayRef, row: usize, kind: &DataType, encoder: &mut RowEncoder) {
    if array.is_null(row) {
        return encoder.null();
    }
    match kind {
        DataType::Utf8 => encoder.str(array.as_string::<i32>().value(row)),
        DataType::Int64 => encoder.int(array.as_primitive::<Int64Type>().value(row)),
        DataType::Boolean => encoder.bool(array.as_boolean().value(row)),
        DataType::List(item) => {
            let items = array.as_list::<i32>().value(row);
            encoder.count(items.len());
            (0..items.len()).for_each(|n| encode(&items, n, item.data_type(), encoder));
        }
        DataType::Struct(fields) => {
            fields_of(fields, array).for_each(|(field, column)| encode(column, row, field.data_type(), encoder));
        }
        other => unreachable!("the schema has no {other}"),
    }
}

/// Of a struct, the columns of some of its fields.
pub fn fields_of<'a>(fields: &'a Fields, array: &'a ArrayRef) -> impl Iterator<Item = (&'a FieldRef, &'a ArrayRef)> {
    let array = array.as_struct();
    fields.iter().filter_map(|field| Some((field, array.column_by_name(field.name())?)))
}
