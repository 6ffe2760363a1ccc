//! `nihbuild` builds frozen multilingual long-context benchmark files. This page is its architecture.
//!
//! # The path of the data
//!
//! ```text
//! reasoning  recipe.toml -> Plan -> ingest -> select -> distractors -> localize -> embed -> retrieve -> assemble + certify (+ cut) + write -> release
//! passage    recipe.toml -> Plan -> questions + haystack -> leaks -> choose -> embed -> rank -> fit + certify + write -> release
//! factoid    recipe.toml -> Plan -> texts -> breaks -> place -> splice + certify + write -> release
//!                                                                                     (verify, show, diff and audit read a release)
//! ```
//!
//! A [`recipe::Recipe`] is what a person wrote; a [`plan::Plan`] is what it means, and printing it is the dry run.
//! [`pipeline::build`] is the whole path, one call a stage, one module a family ([`pipeline::reasoning`], [`pipeline::passage`],
//! [`pipeline::factoid`]). A stage is
//! a function of hashed inputs, parameters and derived seeds to rows; [`store`] holds its output under a key one can
//! print, and alone decides whether it runs.
//!
//! What a recipe may add to a story's path: worked examples, drawn and chosen beside the stories ([`stage::examples`]); other languages of
//! haystack and question than the story's, by packs that keep the story's names ([`language::Pack::with_cast`]); and rows with the best sentences
//! of a proven prompt alone ([`stage::retrieved`]). Before all of it, languages without a pack are made by machine translation
//! ([`stage::units`]: what is to be told; [`stage::translate`]: asked for, checked, judged), and a model is asked for distractors
//! ([`stage::authored`]).
//!
//! From fitted rows on there is one path: rows are rendered and proven ([`stage::render`]), then sealed ([`stage::write`]). A local build goes it
//! in memory. [`work`] goes it by way of a folder: a plan of the rows, workers that render any of them from parts by content, and a seal that takes
//! them in any order. [`engine`] has Spark or Ray hand rows to workers. [`shard`] does the retrieval before it on parts of a collection.
//!
//! # Modules, in reading order
//!
//! - [`language`]: packs of data, one a language. A [`language::Message`] is a sentence's meaning; one set of patterns writes
//!   it and reads it back, in any of bAbI's twenty tasks. A [`language::Finder`] tells whether a passage holds an answer. [`language::breaks`](mod@language::breaks) finds where a sentence
//!   may be put between two others, [`language::essays`] makes running text.
//! - [`story`]: bAbI as meaning. [`story::Fact`], [`story::Question`], the solver, the simulator, the trivial answerers.
//! - [`source`]: formats that are read, the pins of what is read, and how it is found, downloaded, unpacked, cleaned and sampled;
//!   [`source::released`] reads the files of the released MLRBench, to compare.
//! - [`recipe`], [`plan`], [`pipeline`], and [`stage`] with the verbs in the order of the path.
//! - [`family`]: what a prompt is made of; of stories a template a strategy, filled with the packs' words. [`embedder`], [`index`] and [`tokenizer`]: texts to vectors, vectors to nearest neighbours, texts to counts.
//! - [`translator`]: services that are asked for text, and the memory that keeps every answer. [`stage::written`]: which texts of a model may
//!   stand beside a story.
//! - [`reranker`]: sentences to their relevance to a question, by shared words in integers or by any local model, whose scores are pinned.
//! - [`record`]: the rows that flow. [`table`]: rows to Parquet and back. [`hash`], [`seed`], [`store`]: identity, randomness, storage. [`parallel`]: steps on threads. [`stream`]: Arrow IPC streams that have their end. `pinfile`: what published
//!   pins have in common. `markup`: text in pages.
//! - [`manifest`], [`digests`], [`provenance`], [`card`]: what a release says of itself, to programs, auditors, hubs and people; [`columns`]: what each
//!   column holds. Its identity as a tree of digests stands in [`digests`], the format of its files in [`mod@format`], which licences go together in [`licence`].
//! - [`work`]: plan, workers and seal, from places in folders or buckets. [`engine`]: drivers. [`shard`]: retrieval as streams that merge exactly.
//! - [`remote`]: folders, buckets and web servers as places of files; a release is sent to one and brought from one.
//! - [`release`](mod@release): rows of a release, full or compact, for whoever reads one. [`verify`](mod@verify), [`show`](mod@show) and [`diff`](mod@diff) check, print and compare;
//!   [`rebuild`] builds one again; [`audit`] looks at data of others. [`compact`]: a release with each text once, and the full one of it.
//! - What others do with one: [`export`](mod@export) writes it as the files of an evaluator, [`score`](mod@score) holds what models answered against it, [`page`](mod@page) shows it to people.
//! - [`cli`], [`report`], [`error`].
//!
//! # Invariants
//!
//! - **Same recipe, same bytes**, on any number of threads, after a kill, whole or in parts. Randomness comes from [`seed`]
//!   alone, by stage and id; no clock, environment, map order or folder order reaches an output (`.clippy.toml` holds that).
//! - **Who made a row does not show.** Prompt rows bear the plan's identity, their place and the digest of what was proven; they are sealed by place, so any
//!   split, order and repetition of the work comes to the same bytes, or is refused by the row's id.
//! - **Integers decide order.** Similarities are sums of products of small integers; ties go by number.
//! - **Each instance is decided alone**: the n-th story of a task depends on seed, task and n. So a part never depends on the whole.
//! - **Nothing unproven ships.** [`stage::certify`] reads each final prompt's text and solves it again; one failure aborts the build. Rows that
//!   hold but the best sentences of a prompt are cut from a proven one, and say what was lost ([`stage::retrieved`]).
//! - **A pronoun keeps its antecedent.** A fact that leans on the one before it stands directly behind it, at whatever depth ([`stage::select`]).
//! - **Strategies share contexts**: the prompts of an instance differ in what stands around the context alone.
//! - **Examples say nothing of the gold**: their labels are drawn without regard to it, their cast is another ([`stage::examples`]).
//! - **Prompts are never stored between stages.** A row is rendered into a reused buffer, proven, hashed and encoded at once; a finished
//!   Parquet file is the unit of resume.
//! - **Neural vectors are pinned.** They do not come out bit for bit elsewhere, so they are stored by content, published with the
//!   release, and used again; everything after them is integers ([`stage::embed`]). So are a reranking program's scores and a service's texts.
//! - **Counts are exact under any tokenizer.** Counts of parts are added only where the tokenizer keeps them apart; elsewhere
//!   what stands around a seam is tokenised again ([`tokenizer::join`](fn@tokenizer::join), [`stage::ledger`], [`stage::splice`]).
//! - **A sentence is a line.** Each line ends its own tokens, so that counts of lines add up ([`tokenizer`]). Running text alone is split at
//!   sentence ends, and only where no doubt is left.
//! - **A file is judged by what it says only where its bytes are those of the release**; else it is located, by row and column ([`verify`](mod@verify)).
//! - **A release is written aside and renamed whole**, and never written over.
//!
//! # What is deliberately absent
//!
//! No model is run: what models said is read and scored ([`score`](mod@score)). No network but for pinned
//! files ([`source::fetch`]), places that a person names ([`remote`]) and the services of a [`translator`], and none at all under `--offline`.

pub mod audit;
pub mod card;
pub mod cli;
pub mod columns;
pub mod compact;
pub mod diff;
pub mod digests;
pub mod embedder;
pub mod engine;
pub mod error;
pub mod export;
pub mod family;
pub mod format;
pub mod hash;
pub mod index;
pub mod language;
pub mod licence;
pub mod manifest;
mod markup;
pub mod page;
pub mod parallel;
mod pinfile;
pub mod pipeline;
pub mod plan;
pub mod provenance;
pub mod rebuild;
pub mod recipe;
pub mod record;
pub mod release;
pub mod remote;
pub mod report;
pub mod reranker;
pub mod score;
pub mod seed;
pub mod shard;
pub mod show;
pub mod source;
pub mod stage;
pub mod store;
pub mod story;
pub mod stream;
pub mod table;
pub mod tokenizer;
pub mod translator;
pub mod verify;
pub mod work;
