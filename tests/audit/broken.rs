//! Broken input: a clear error with file and row, never a panic.

use super::rows::{audit, good, lines};
use crate::support::{Bench, refused};
use arrow_array::{ArrayRef, Int64Array, ListArray, RecordBatch, StringArray, TimestampSecondArray};
use nihbuild::audit::Check;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn write(bench: &Bench, name: &str, bytes: &[u8]) -> PathBuf {
    let path = bench.path(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn parquet(path: &Path, columns: Vec<(&str, ArrayRef)>) {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = ArrowWriter::try_new(std::fs::File::create(path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

#[test]
fn lines_of_json() {
    let bench = Bench::new();
    let row = "{\"input\":\"a text\",\"outputs\":[\"text\"],\"length\":\"8k\"}\n";
    let with = |more: &str| [row, more].concat().into_bytes();
    for (bytes, map, said) in [
        (with("{\"input\": \"a\n"), "", "row 2 (line 2)"),
        (with("{\"input\": \"a"), "", "the file is truncated"),
        (with("\n[1]\n"), "", "row 2 (line 3)"),
        (with("{\"text\":1}\n"), "", "no value in the column \"input\", only in text"),
        (with("{\"input\":{\"a\":1}}\n"), "", "\"input\" holds an object, expected a text"),
        (with("{\"input\":\"a\",\"outputs\":{\"a\":1}}\n"), "", "\"outputs\" holds an object without `text`"),
        (with("{\"input\":\"a\",\"length\":\"long\"}\n"), "length=length", "expected a length such as 8k or 8192"),
        (with("{\"input\":\"a\"}\n"), "answers=outputs", "no value in the column \"outputs\""),
        ([row.as_bytes(), b"{\"input\":\"\xff\"}\n"].concat(), "", "not UTF-8"),
        (Vec::new(), "", "holds no rows"),
        (b"\n\n".to_vec(), "", "holds no rows"),
        (b"[{\"input\":\"a\"},\n".to_vec(), "", "a JSON array, expected one object a line"),
        (row.into(), "prompt=text", "no column \"text\" for prompt: it has input, length, outputs"),
        (b"{\"body\":\"a\"}\n".to_vec(), "", "no column is known to hold the prompt: it has body"),
    ] {
        let path = write(&bench, "set.jsonl", &bytes);
        refused(audit(&path, map), &[said, "set.jsonl"]);
    }
}

#[test]
fn tables() {
    let bench = Bench::new();
    for (bytes, map, said) in [
        (&b"input,outputs\na,b\nc\n"[..], "", "a row of 1 fields, expected 2\n  at "),
        (b"input,outputs\na,b\nc\n", "", "row 2 (line 3)"),
        (b"input,outputs\na,b\nc,\xff\n", "", "not UTF-8, in field 2"),
        (b"input,input\na,b\n", "", "stands twice"),
        (b"input,outputs\n", "", "holds no rows"),
        (b"", "", "holds no rows"),
        (b"a,b\n1,2\n", "", "it has a, b"),
        (b"input,b\n1,2\n", "answers=gold", "no column \"gold\" for answers: it has input, b"),
    ] {
        let path = write(&bench, "set.csv", bytes);
        refused(audit(&path, map), &[said, "set.csv"]);
    }
}

#[test]
fn parquet_files() {
    let bench = Bench::new();
    let path = bench.path("set.parquet");
    let texts = |n: usize| -> ArrayRef { Arc::new((0..n).map(|n| Some(format!("text {n}"))).collect::<StringArray>()) };
    parquet(&path, vec![("input", texts(40))]);
    assert_eq!(audit(&path, "").unwrap().rows, 40);
    // As others compress it.
    for compression in [Compression::SNAPPY, Compression::GZIP(Default::default()), Compression::LZ4_RAW] {
        let properties = WriterProperties::builder().set_compression(compression).build();
        let batch = RecordBatch::try_from_iter([("input", texts(40))]).unwrap();
        let path = bench.path("packed.parquet");
        let file = std::fs::File::create(&path).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        assert_eq!(audit(&path, "").unwrap().rows, 40, "{compression}");
    }
    let whole = std::fs::read(&path).unwrap();
    for length in [0, 3, 8, whole.len() / 2, whole.len() - 1] {
        let path = write(&bench, "cut.parquet", &whole[..length]);
        refused(audit(&path, ""), &["cut.parquet", "it may be truncated"]);
    }
    // Bytes of a page turned over.
    let mut refused_at = 0;
    for at in (8..whole.len() - 8).step_by(7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x5a;
        let path = write(&bench, "turned.parquet", &bytes);
        if let Err(e) = audit(&path, "") {
            assert!(e.to_string().contains("turned.parquet"), "{e}");
            refused_at += 1;
        }
    }
    assert!(refused_at > 0, "no turned byte was refused");
    refused(audit(&path, "prompt=text"), &["no column \"text\" for prompt: it has input"]);
    parquet(&path, vec![("input", Arc::new(TimestampSecondArray::from(vec![1])))]);
    refused(audit(&path, ""), &["\"input\" holds Timestamp", "row 1"]);
    parquet(&path, vec![("input", texts(0))]);
    refused(audit(&path, ""), &["holds no rows"]);
    let lists = ListArray::from_iter_primitive::<arrow_array::types::Int64Type, _, _>([Some([Some(1)])]);
    parquet(&path, vec![("input", Arc::new(lists))]);
    refused(audit(&path, ""), &["\"input\" holds a list, expected a text"]);
    parquet(&path, vec![("input", texts(2)), ("answer", Arc::new(Int64Array::from(vec![Some(7), None])))]);
    let found = audit(&path, "").unwrap();
    assert_eq!(found.findings.iter().map(|f| (f.row, f.check)).collect::<Vec<_>>(), [(Some(2), Check::BlankAnswer)]);
}

#[test]
fn paths_and_maps() {
    let bench = Bench::new();
    bench.write("empty/readme.txt", "nothing");
    bench.write("set.xlsx", "nothing");
    bench.write("set.jsonl", &lines(&good()[..2]));
    bench.run(&["audit", "nowhere"]).failure(2, &["there is no nowhere"]);
    bench.run(&["audit", "empty"]).failure(2, &["holds no file of rows", "jsonl"]);
    bench.run(&["audit", "set.xlsx"]).failure(2, &["its ending names no format"]);
    for (map, said) in [
        ("prompt", "has no `=`"),
        ("story=input", "unknown role \"story\""),
        ("prompt=", "names no column"),
        ("prompt=input,prompt=query", "the role stands twice"),
    ] {
        bench.run(&["audit", "set.jsonl", "--map", map]).failure(2, &[said, "roles are prompt, context"]);
    }
    bench.run(&["audit", "set.jsonl", "--nominal", "long"]).failure(2, &["--nominal long"]);
    bench.run(&["audit", "set.jsonl", "--tokenizer", "none"]).failure(2, &["the tokenizer none is not here"]);
    bench.run(&["audit", "set.jsonl", "--findings", "out.xml"]).failure(2, &[".jsonl or .csv"]);
    bench.run(&["audit", "empty", "--profile", "mlrbench"]).failure(2, &["data/en.csv", "help:"]);
    let idle = ["audit", "empty", "--profile", "mlrbench", "--nominal", "8k"];
    bench.run(&idle).failure(2, &["does nothing with --profile mlrbench"]);
}

#[test]
fn ready_prompts_of_the_released_files() {
    let bench = Bench::new();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/released/data/en.csv");
    let english = std::fs::read_to_string(fixture).unwrap();
    bench.write("copy/data/en.csv", &english);
    for (text, said) in [
        ("id,prompt\n1_en,a\n", "no column \"input_lang\", only id, prompt"),
        ("id,input_lang,prompt,target\n1_en,en\n", "row 1"),
    ] {
        bench.write("copy/rag_prompts/set/prompts_2k/en.csv", text);
        bench.run(&["audit", "--profile", "mlrbench", "copy"]).failure(2, &[said, "prompts_2k/en.csv"]);
    }
    bench.write("copy/data/de.csv", "a,b\n1,2\n");
    bench.run(&["audit", "--profile", "mlrbench", "copy"]).failure(2, &["copy/data/de.csv", "the columns are"]);
}

#[test]
fn the_same_rows_in_every_format() {
    let bench = Bench::new();
    let mut rows = good();
    rows.truncate(6);
    rows[2]["outputs"] = json!(["nowhere"]);
    let keys = ["_id", "input", "query", "context"];
    let column = |key: &str| rows.iter().map(|row| row[key].as_str()).collect::<StringArray>();
    bench.write("set.jsonl", &lines(&rows));
    for (name, delimiter) in [("set.csv", b','), ("set.tsv", b'\t')] {
        let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_path(bench.path(name)).unwrap();
        writer.write_record(keys.iter().chain(&["outputs"])).unwrap();
        for row in &rows {
            let cells = keys.iter().map(|key| row[*key].as_str().unwrap().to_owned());
            // As Python prints a list.
            let outputs = row["outputs"].to_string().replace('"', "'");
            writer.write_record(cells.chain([outputs])).unwrap();
        }
        writer.flush().unwrap();
    }
    let mut columns: Vec<(&str, ArrayRef)> = keys.iter().map(|key| (*key, Arc::new(column(key)) as ArrayRef)).collect();
    let outputs = rows.iter().map(|row| row["outputs"][0].as_str()).collect::<StringArray>();
    columns.push(("outputs", Arc::new(outputs)));
    parquet(&bench.path("set.parquet"), columns);
    for name in ["set.jsonl", "set.csv", "set.tsv", "set.parquet"] {
        let found = audit(&bench.path(name), "").unwrap();
        let all: Vec<_> = found.findings.iter().filter(|f| f.check != Check::ShortLength).collect();
        assert_eq!(
            all.iter().map(|f| (f.id.as_deref(), f.row, f.check)).collect::<Vec<_>>(),
            [(Some("r2"), Some(3), Check::AnswerAbsent)],
            "{name}"
        );
    }
    // SQuAD's answers, and fields of an object.
    let nested = json!({ "doc": { "text": "red and blue" }, "answers": { "text": ["green"], "answer_start": [0] } });
    let path = bench.write("nested.jsonl", &lines(&[nested]));
    let found = audit(&path, "prompt=doc.text").unwrap();
    assert_eq!(found.findings.iter().map(|f| f.check).collect::<Vec<_>>(), [Check::AnswerAbsent]);
}
