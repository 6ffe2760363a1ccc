//! The file format of a release: enough to write a reader and a verifier of it. This page has no code; each part names the module
//! that writes it.
//!
//! # The folder
//!
//! | path | what it is |
//! |---|---|
//! | `manifest.json` | what the release is, its files with their digests, counts ([`crate::manifest::Manifest`], every key documented) |
//! | `README.md` | the card: YAML front matter between two lines `---`, with `configs`, each a `config_name` and its `data_files`; then Markdown for people. Nothing in it is read back |
//! | `CITATION.cff`, `LICENSE.md`, `croissant.json` | since 5: how to cite it, its licence with those of its sources, its description in Croissant ([`crate::card`]). Made of recipe and manifest; nothing in them is read back |
//! | `ro-crate-metadata.json` | since 5, where the recipe has `release.ro_crate`: the same as RO-Crate |
//! | `recipe.toml` | the recipe, every default of its family written out ([`crate::recipe::Recipe`]); a held-out seed stands as `{ digest = ".." }` |
//! | `data/<config>/test-00000-of-00001.parquet` | the rows, a file a config |
//! | `packs/<code>.toml` | the language packs that wrote the rows: UTF-8, as embedded in the program, or as made by translation |
//! | `pins/embed/`, `pins/translate/`, `pins/rerank/` | what models and services said, where any was asked |
//! | `digests/rows.parquet`, `digests/columns.parquet` | the digest of every row, and of every column of every file ([`crate::digests`]) |
//! | `provenance.intoto.json` | the statement of provenance ([`crate::provenance`]) |
//! | `judge.json` | the recall test alone: the prompt of its judge |
//! | `SHA256SUMS` | every other file of the folder |
//!
//! Nothing else may lie there. `SHA256SUMS` has a line `<64 hexadecimal digits>  <path>\n` a file, sorted by path, without itself; paths have `/`
//! and lead nowhere out of the folder. A file that is not listed is a fault, so is one that is listed and not there.
//!
//! The folder of a release is `<name>/<version>` below where it was built; a part that flags narrowed, or a build under another seed, has `+` and eight
//! hexadecimal digits behind its version; a compact one ends with `.compact`. No name of a folder is part of an identity.
//!
//! # Data files
//!
//! Parquet, compressed with zstd, row groups of at most 64 MB of prompts, `created_by` "nihbuild table 1". Every file has all columns of its
//! format in this order; columns of other families are null. Integers are 64-bit and signed, texts UTF-8; shares are in millionths. List
//! elements are called `item`. Every column may be null by its schema; the table says which are. A span's end is one past its last
//! unit.
//!
//! Families: R is `reasoning` (MLRBench), P `passage` (MLNeedle), F `factoid` (in-context recall).
//!
//! | column | type | in | meaning |
//! |---|---|---|---|
//! | `id` | text | all | unique in the release, see below |
//! | `instance_id` | text | all | the story (`qa3-00042`) or question (`mlqa-00042`), the same in every language, length, strategy and kind; F: the cell, `l03d12` |
//! | `family` | text | all | `reasoning`, `passage`, `factoid` |
//! | `task` | text | all | R: the recipe's task ([`crate::recipe::Task::name`]); P: `passage_retrieval`; F: `in_context_recall` |
//! | `category` | text | all | R: `retrieval`, `multi_hop`, `aggregation`, `uncertainty`; P and F: `retrieval` |
//! | `source_task` | text | all | R: `qa1` to `qa20`; P: the set of questions (`source.dataset`); F: the needle's name |
//! | `language`, `needle_language` | text | all | both that of the story or needle |
//! | `haystack_language` | text | all | R: at 0k the story's; P: or `multilingual`, and null at 0k |
//! | `question_language` | text | all | that of the question |
//! | `length` | text | all | R, P: `0k`, `8k`: thousands (`budget.unit` tokens each) that the prompt fits; F: the asked length in tokens |
//! | `strategy` | text | all | R: `zero_shot`, `translation`, `chain_of_thought`, `few_shot`; else `zero_shot` |
//! | `distractor_kind` | text | R P | `synthetic`, `natural`, `noise`, `written`; P: `natural`; F: null |
//! | `position` | text | P F | P: `start`, `middle`, `end`, null at 0k; F: the asked depth in percent, three decimals |
//! | `prompt_kind` | text | P F | P: `exact`, `existence`; F: the layout ([`crate::recipe::Layout::name`]) |
//! | `pair_id` | text | P F | P: what an existence prompt shares with its needle-free twin; F: what needles of one pair share |
//! | `system` | text | F | the system message, where the layout keeps it apart |
//! | `prompt` | text | all | the whole prompt |
//! | `messages` | list of {role, content} | F | the same as messages, under the layout `messages`; else null |
//! | `question` | text | all | the question as printed in the prompt |
//! | `answers` | list of text | all | the gold, in the question's language (strategy `translation`: English) |
//! | `answer_variants` | list of text | all | what else is accepted; may be empty |
//! | `answers_by_language` | list of {language, answers} | all | the gold in every language of the recipe that has it |
//! | `expected` | text | P | `Yes` or `No` of an existence prompt; else null |
//! | `n_tokens` | integer | all | tokens of system message and prompt under `tokenizer` |
//! | `tokenizer` | text | all | the primary tokenizer's name |
//! | `tokens` | list of {tokenizer, digest, n_tokens} | all | the token ledger: the primary one first, then the others of the recipe; digest is the tokenizer's of the manifest |
//! | `needle_spans` | list of span | all | R: each fact, in order; P: the needle, then its answer; F: the needle |
//! | `supporting` | list of integer | all | numbers (from 0) of the facts that the gold rests on; retrieved rows: in the whole story |
//! | `distractor_ids` | list of text | all | the passages in the order printed; F and retrieved rows: empty |
//! | `n_distractors` | integer | all | their number |
//! | `haystack_tokens` | integer | F, since 2 | tokens of the running text with its needle |
//! | `moved` | integer | F, since 2 | sentence breaks nearer to the asked depth that the guard passed over |
//! | `repeats` | integer | F | how often the running text begins |
//! | `examples`, `example_labels` | list of text | R, since 3 | few-shot: the worked examples in the order printed, and their answers as printed; else null |
//! | `retriever` | text | R, since 3 | `embedder`, `bm25`, `command` of a retrieved row; else null, as the next four |
//! | `top_k` | integer | R, since 3 | sentences asked for |
//! | `answerable` | boolean | R, since 3 | the sentences that are left have the gold as their one answer |
//! | `recall`, `recall_supporting` | integer | R, since 3 | share of all facts, and of the supporting ones, that are left, in millionths |
//! | `source_id` | text | R P | where the story or question came from; null of a simulated one |
//! | `certificate` | text | all | `solved`, `contained`, `inserted`, `retrieved` |
//! | `prompt_sha256` | text | all | SHA-256 of the prompt's UTF-8 bytes, 64 lower-case hexadecimal digits |
//!
//! A span is {`start`, `end`: bytes of the prompt; `char_start`, `char_end`: Unicode scalar values, since 2; `token_start`, `token_end`: under the primary
//! tokenizer; `depth`: the share of the context's tokens that stand before it, in millionths; `supporting`; `also`: a list of {tokenizer, token_start,
//! token_end}, since 2}. The last token may also hold the line feed behind the sentence.
//!
//! **Ids.** R: `<instance>-<language>-<length>-<strategy>-<kind>`; the languages are `story.haystack.question` where they differ; a retrieved row ends
//! with `-<retriever>-<top k>`. P: `<instance>-<needle>-<haystack>-<position>-<length>-<kind>` ([`crate::stage::needles::row_id`]). F:
//! `<needle's name>-<language>-<cell>`, a cell is `l<number of the length>d<number of the depth>`, from 0.
//!
//! **Contexts.** In R the context stands between the lines `<context>` and `</context>`, one sentence a line.
//!
//! # Identity
//!
//! The bytes of a file have a SHA-256, and so have its rows, whatever Parquet makes of them. The tree from cells to the release stands in [`crate::digests`], the
//! encoding of a value in [`crate::hash::RowEncoder`]. What a verifier of another make does:
//!
//! 1. Compare every file with `SHA256SUMS`, and the list with the folder.
//! 2. Read `manifest.json`; `format` must be one it knows. For each of `files`: `bytes`, `sha256` and `rows` are those of the file.
//! 3. Encode each row in the order of the file's columns, with the 32 bytes of the prompt's own SHA-256 in place of `prompt`; `prompt_sha256` must be that digest. The digest of
//!    the row digests is the file's `rows_digest`; the digest of the sorted lines of files is the manifest's `rows_digest`.
//! 4. Since 4: compare with `digests/`, `recipe_sha256` with recipe.toml, and the subjects of the statement with the files.
//! 5. Compare each digest of `packs` with `packs/`, of `pins` with `pins/`.
//!
//! `tests/check_release.py` is such a verifier. Whether the answers are right is another question, which `nihbuild verify` puts to the text of each prompt.
//!
//! # The manifest
//!
//! [`crate::manifest::Manifest`] documents each key. `files` are [`crate::stage::stats::DataFile`], with the sums of their rows in `stats`; `sources` are the files that were read from
//! outside; `packs` SHA-256 by language; `tokenizers` name, digest and added special tokens; `stages` the key of each stage (the digest of its inputs and parameters) and `outputs`
//! the digest of what it put out; `plan` the digest of all that the recipe, the packs, the tokenizers and the flags say. `canary` is a text that belongs into no training corpus. Keys that
//! do not apply are left out. A reader passes over keys it does not know.
//!
//! # Pins
//!
//! Parquet files named `<digest of inputs>-<digest of parameters>.parquet`, whose key-value metadata hold `nihbuild.parameters` (JSON with sorted keys),
//! `nihbuild.inputs` and `nihbuild.content` (digests).
//!
//! | folder | columns |
//! |---|---|
//! | `pins/embed/` | `id`, `text_sha256`, `vector` (a signed byte a component): [`crate::embedder::pinned`] |
//! | `pins/translate/` | `kind`, `source_language`, `target_language`, `temperature`, `attempt`, `source`, `target`: [`crate::translator::pin`] |
//! | `pins/rerank/` | `question_sha256`, `sentence_sha256`, `score` (millionths): [`crate::reranker::pin`] |
//!
//! # Provenance
//!
//! An in-toto statement (v1) with the SLSA provenance predicate (v1). Its subjects are all files but itself and `SHA256SUMS`; its dependencies are named `source:..`, `pack:..`,
//! `tokenizer:..` and `pin:..`. It holds no time and no place.
//!
//! # Compact releases
//!
//! The same folder with `compact/` in place of `data/` ([`crate::compact`]). `compact/compact.json` ([`crate::compact::Index`], its own `format` is 1) has the SHA-256 of each part and says of each data file which
//! parts it is put together from, and the rows of each of its row groups. `SHA256SUMS` is of this folder, `compact/SHA256SUMS` that of the full release; `manifest.json` is the same.
//!
//! | part | columns |
//! |---|---|
//! | `compact/rows/<config>.parquet` | those of the data file but for `prompt`, `messages` and `distractor_ids`, then `prompt_instance`, `prompt_bytes`, `prompt_passages`, `prompt_at`, `prompt_end`, `prompt_instead`, `prompt_cut`, `prompt_lines` ([`crate::compact::Recipe`] says what they are) |
//! | `compact/texts/<name>.parquet` | `id`, `text`: a passage a row, or a running text |
//! | `compact/facts/<name>.parquet` | `facts`: a list an instance |
//! | `compact/frames/<name>.parquet` | `head`, `tail`, `cut_head`: what stands before and behind the context |
//! | `compact/rankings/<name>.parquet` | `passages`, `ranks`, `languages`: lists of numbers |
//!
//! How a prompt is put together depends on the layout ([`crate::compact::Layout`]): `story`: head, then the first `prompt_passages` ranked passages in the order printed with the facts between them, then
//! tail; `numbered`: labelled passages, the needle behind `prompt_at` of them; `running`: the text up to `prompt_end` with the needle before the byte `prompt_at`. The prompt must have the SHA-256 of
//! its row, and the file, once encoded, that of the manifest.
//!
//! # Formats
//!
//! `format` of the manifest. All of them are still read ([`crate::table::schema_of`]); releases of each lie in `tests/releases`.
//!
//! | format | what it added |
//! |---|---|
//! | 1 | |
//! | 2 | columns `haystack_tokens` and `moved`; in spans `char_start`, `char_end` and `also`; `chars` in the sums of files |
//! | 3 | columns `examples`, `example_labels`, `retriever`, `top_k`, `answerable`, `recall`, `recall_supporting` |
//! | 4 | `digests/`, `provenance.intoto.json`; `outputs` and `recipe_sha256` in the manifest. Rows and their digests are those of 3 |
//! | 5 | `CITATION.cff`, `LICENSE.md`, `croissant.json`, `ro-crate-metadata.json`, more front matter in `README.md`; `source_licences`, `errata` and, of files, `data_bytes` in the manifest. Rows and their digests are those of 3 |
