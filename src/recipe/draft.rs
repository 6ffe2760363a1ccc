//! A recipe to begin with: commented text for a few choices.

use super::schema::LINE;
use super::{Length, Name, Task, TaskKey, Tokens};
use crate::error::{Error, Result};
use crate::fail;
use crate::hash::Digest;
use crate::language::Language;

/// The benchmarks that a recipe can be of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Benchmark {
    /// Stories with a question, spread over a haystack (MLRBench)
    Mlrbench,
    /// A passage that answers a question, among other passages (MLNeedle)
    Mlneedle,
    /// One sentence hidden in running text (in-context recall)
    Recall,
}

/// Where the texts of a recipe come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum From {
    /// Fresh stories of our own simulator, no download (mlrbench)
    Simulate,
    /// The official bAbI files, downloaded or from --data (mlrbench)
    Babi,
    /// MLQA's questions in mMARCO's passages, downloaded (mlneedle)
    Mlqa,
    /// Questions and passages of your own, from --data (mlneedle)
    Files,
    /// Generated essays, no download (recall)
    Essays,
    /// Texts of your own, from --data (recall)
    Text,
}

impl Benchmark {
    /// All, in order.
    pub const ALL: [Benchmark; 3] = [Benchmark::Mlrbench, Benchmark::Mlneedle, Benchmark::Recall];

    /// As flags write it.
    pub fn name(self) -> &'static str {
        match self {
            Benchmark::Mlrbench => "mlrbench",
            Benchmark::Mlneedle => "mlneedle",
            Benchmark::Recall => "recall",
        }
    }

    /// The sources it can have; the first is the default.
    pub fn sources(self) -> &'static [From] {
        match self {
            Benchmark::Mlrbench => &[From::Simulate, From::Babi],
            Benchmark::Mlneedle => &[From::Mlqa, From::Files],
            Benchmark::Recall => &[From::Essays, From::Text],
        }
    }

    /// The size where none is wished: instances, questions a cell, lengths and depths.
    pub fn size(self) -> u32 {
        match self {
            Benchmark::Mlrbench => 100,
            Benchmark::Mlneedle => 10,
            Benchmark::Recall => 10,
        }
    }

    /// What a size counts.
    pub fn unit(self) -> &'static str {
        match self {
            Benchmark::Mlrbench => "instances, shared by the tasks",
            Benchmark::Mlneedle => "questions in each cell of languages, position and length",
            Benchmark::Recall => "depths, and as many lengths where none are named",
        }
    }
}

impl From {
    /// As flags write it.
    pub fn name(self) -> &'static str {
        match self {
            From::Simulate => "simulate",
            From::Babi => "babi",
            From::Mlqa => "mlqa",
            From::Files => "files",
            From::Essays => "essays",
            From::Text => "text",
        }
    }

    /// The licence of its texts; none where only their owner knows it.
    pub fn licence(self) -> Option<&'static str> {
        match self {
            From::Simulate | From::Essays => Some("CC-BY-4.0"),
            From::Babi => Some("CC-BY-3.0"),
            From::Mlqa => Some("CC-BY-SA-3.0 AND LicenseRef-MS-MARCO"),
            From::Files | From::Text => None,
        }
    }
}

/// What a recipe is to be; what is none has the default.
#[derive(Clone, Debug)]
pub struct Draft {
    /// `release.name`
    pub name: Name,
    /// The benchmark.
    pub benchmark: Benchmark,
    /// Where its texts come from.
    pub from: From,
    /// Its languages; English, German and Chinese if empty (of the recall test English).
    pub languages: Vec<Language>,
    /// Its lengths; of the recall test in thousands of tokens.
    pub lengths: Vec<Length>,
    /// Its tasks, with the number of instances where one is wished (MLRBench).
    pub tasks: Vec<(TaskKey, Option<u32>)>,
    /// How many, see [`Benchmark::unit`].
    pub size: u32,
    /// `tokens.primary`
    pub tokenizer: Name,
    /// `release.licence`
    pub licence: Option<String>,
}

impl Draft {
    /// A recipe of a benchmark with nothing wished for.
    pub fn new(name: Name, benchmark: Benchmark) -> Draft {
        Draft {
            name,
            benchmark,
            from: benchmark.sources()[0],
            languages: Vec::new(),
            lengths: Vec::new(),
            tasks: Vec::new(),
            size: benchmark.size(),
            tokenizer: Tokens::default().primary,
            licence: None,
        }
    }

    /// The recipe's text, which names its schema.
    ///
    /// # Errors
    ///
    /// Choices that do not go together; they are named by their flags.
    pub fn text(&self, file: &str) -> Result<String> {
        let benchmark = self.benchmark.name();
        if !self.benchmark.sources().contains(&self.from) {
            let own: Vec<&str> = self.benchmark.sources().iter().map(|from| from.name()).collect();
            return Err(Error::new(format!("--source {} is none of {benchmark}'s", self.from.name()))
                .help(format!("it has {}", own.join(" and "))));
        }
        if !self.tasks.is_empty() && self.benchmark != Benchmark::Mlrbench {
            fail!("--tasks does nothing: only mlrbench has tasks");
        }
        if self.benchmark == Benchmark::Recall && self.lengths.contains(&Length(0)) {
            fail!("--lengths 0k: a needle needs running text around it, at least 1k");
        }
        if !(1..=99_999).contains(&self.size) {
            fail!("--size {}: expected 1 to 99999 {}", self.size, self.benchmark.unit());
        }
        if self.benchmark == Benchmark::Recall && self.size > 1000 {
            fail!("--size {}: expected 1 to 1000 {}", self.size, self.benchmark.unit());
        }
        let mut out = format!("{LINE}\n{}", head(self.benchmark, file));
        out += &self.release();
        out += &match self.benchmark {
            Benchmark::Mlrbench => self.stories()?,
            Benchmark::Mlneedle => self.passages(),
            Benchmark::Recall => self.running(),
        };
        out += &format!(
            "\n[tokens]\nprimary = {:?}              # whose tokens a length counts; also embedded: cl100k_base\n",
            self.tokenizer.0
        );
        if self.benchmark == Benchmark::Recall {
            out += "\n[prompt]\nlayout = \"messages\"                 # system message and user message; \"plain-table-6\": one text\n";
        }
        Ok(aligned(&out))
    }

    fn release(&self) -> String {
        // Another name, another seed, and the same each time.
        let seed = Digest::of(&self.name.0).0[..4].iter().fold(0u32, |seed, byte| seed << 8 | u32::from(*byte));
        let licence = match self.licence.as_deref().or(self.from.licence()) {
            Some(licence) => format!("licence = {licence:?}"),
            None => "# licence = \"CC-BY-4.0\"            # that of your texts, by its SPDX identifier".to_owned(),
        };
        // The sources' own terms do not go together: whoever publishes the release answers for that.
        let licence = match self.from {
            From::Mlqa => format!(
                "{licence}\nallow_conflicting_licences = true   # MLQA's and MS MARCO's differ: publish only where you may"
            ),
            _ => licence,
        };
        format!(
            "\n[release]\nname = {:?}\nversion = \"1.0.0\"                   # raise it whenever a row changes\n\
             seed = {seed}                      # another number, another release\n{licence}\n",
            self.name.0
        )
    }

    fn languages(&self) -> Vec<Language> {
        let usual: &[&str] = if self.benchmark == Benchmark::Recall { &["en"] } else { &["en", "de", "zh"] };
        match self.languages.is_empty() {
            true => Language::all().filter(|l| usual.contains(&l.code())).collect(),
            false => self.languages.clone(),
        }
    }

    fn grid(&self) -> String {
        let usual: &[u32] = match self.benchmark {
            Benchmark::Mlrbench => &[0, 4, 8, 16, 32],
            _ => &[0, 4, 8],
        };
        let lengths =
            if self.lengths.is_empty() { usual.iter().copied().map(Length).collect() } else { self.lengths.clone() };
        format!(
            "\n[grid]\nlanguages = {}\nlengths = {}    # 0k: without any haystack\n",
            list(&self.languages()),
            list(&lengths)
        )
    }

    fn stories(&self) -> Result<String> {
        let usual = || Task::ALL[..Task::PAPER].iter().map(|task| (TaskKey::Task(*task), None)).collect();
        let tasks: Vec<(TaskKey, Option<u32>)> = if self.tasks.is_empty() { usual() } else { self.tasks.clone() };
        if let Some((n, (task, _))) =
            tasks.iter().enumerate().find(|(n, (task, _))| tasks[..*n].iter().any(|t| t.0 == *task))
        {
            fail!("--tasks names {task} twice (as number {})", n + 1);
        }
        let open = tasks.iter().filter(|(_, n)| n.is_none()).count() as u32;
        if self.size < open {
            fail!("--size {}: fewer than the {open} tasks", self.size);
        }
        let mut out = match self.from {
            From::Babi => "\n[source]\nkind = \"babi\"                       # the official files\narchive = \"babi-v1.2\"               # their pin; left out, any files under --data\n".to_owned(),
            _ => "\n[source]\nkind = \"simulate\"                   # fresh stories, that no model has seen\n".to_owned(),
        };
        out += "\n[stories.tasks]                     # instances of each; also qa1 to qa20\n";
        let mut n = 0;
        for (task, wished) in &tasks {
            // The first take what cannot be split evenly.
            let share = wished.unwrap_or_else(|| {
                n += 1;
                self.size / open + u32::from(n <= self.size % open)
            });
            out += &format!("{task} = {share}\n");
        }
        out += &self.grid();
        out += "# haystack = [\"en\"]                 # left out: each story stands in its own language\n\
                \n[distractors]\nkind = \"synthetic\"                  # passages like the stories; \"noise\", or a list of both\n\
                pool = 20000                        # so many passages; longer prompts need more\n\
                \n[budget]\nunit = 1000                         # tokens in one k; or 1024\n\
                answer = 64                         # tokens that are kept free for the answer\n\
                template = 32                       # and for a chat template\n";
        Ok(out)
    }

    fn passages(&self) -> String {
        let mut out = match self.from {
            From::Files => "\n[source]\nkind = \"squad\"                      # questions in SQuAD's format, one file a language\n\
                dataset = \"own\"                     # ids of rows begin with it\nfiles = \"questions.{language}.json\"\n\
                \n[haystack]\nkind = \"tsv\"                        # lines of number, tab, passage; or \"squad\"\n\
                files = \"passages.{language}.tsv\"\nsample = 10000                      # passages that are drawn\n"
                .to_owned(),
            _ => "\n[source]\nkind = \"squad\"                      # questions that are there in several languages\ndataset = \"mlqa\"\n\
                archive = \"mlqa-v1\"                 # the pin of its download\nsplits = [\"dev\"]\n\
                files = \"MLQA_V1/{split}/{split}-context-{language}-question-{language}.json\"\n\
                \n[haystack]\nkind = \"tsv\"\narchive = \"mmarco-v2-{language}\"\narchives = { en = \"msmarco-passages\" }\n\
                files = [\"{name}_collection.tsv\", \"collection.tsv\"]\nsample = 10000                      # passages that are drawn\n"
                .to_owned(),
        };
        out += &self.grid();
        out += &format!(
            "pairs = \"all\"                       # of needle and haystack; \"monolingual\"\n\
             positions = [\"start\", \"middle\", \"end\"]\nsamples = {}                        # questions in each cell\n\
             prompts = [\"exact\"]                 # and \"existence\", with needle-free twins\n\
             \n[retrieval]\nembedder = \"ngram\"                  # embedded; \"onnx\": the model of [embedding], under --models\n",
            self.size
        );
        out
    }

    fn running(&self) -> String {
        let mut out =
            "\n[source]\nkind = \"text\"                       # sentences hidden in running text\n".to_owned();
        out += match self.from {
            From::Text => {
                "\n[haystack]\nkind = \"text\"                       # plain text or Markdown, files or folders under --data\n\
                files = [\"texts/{language}\"]\nlines = \"wrapped\"                   # a blank line ends a paragraph; \"paragraphs\": every line does\n\
                repeat = false                      # may a short text be told again?\n"
            }
            _ => "\n[haystack]\nkind = \"essays\"                     # generated in each language\n",
        };
        out += &format!("\n[grid]\nlanguages = {}\n\n[slots]\n", list(&self.languages()));
        if self.lengths.is_empty() {
            out += &format!(
                "window = 32768                      # the longest length, in tokens\nn_lengths = {}\n",
                self.size
            );
        } else {
            let mut lengths: Vec<u32> = self.lengths.iter().map(|length| length.0 * 1000).collect();
            lengths.sort_unstable();
            let longest = lengths.last().copied().unwrap_or_default();
            out += &format!(
                "window = {longest}                      # the longest length, in tokens\nlengths = {lengths:?}\n"
            );
        }
        out += &format!(
            "length_of = \"prompt\"                # a length bounds the whole prompt; \"haystack\": its text alone\n\
             n_depths = {}\nspacing = \"sigmoid-v1\"              # the paper's: close together near both ends; \"linear\"\n\
             \n# [[needles]]                       # left out: the paper's three\n# name = \"mine\"\n# language = \"en\"\n\
             # needle = \"One whole sentence that holds the answer.\"\n# question = \"What does it hold?\"\n# answers = [\"the answer\"]\n",
            self.size
        );
        out
    }
}

fn head(benchmark: Benchmark, file: &str) -> String {
    let what = match benchmark {
        Benchmark::Mlrbench => {
            "MLRBench: stories with a question, retold in several languages and spread over haystacks."
        }
        Benchmark::Mlneedle => "MLNeedle: passages that answer a question, among other passages in several languages.",
        Benchmark::Recall => "In-context recall: one sentence hidden in running text, at every depth of every length.",
    };
    format!(
        "# {what}\n#   nihbuild recipe {file} --dry-run   what it makes\n#   nihbuild recipe {file}             makes it\n\
         # Keys that are left out have the defaults that the dry run prints.\n"
    )
}

/// Puts the comments behind keys below each other.
fn aligned(text: &str) -> String {
    let line = |line: &str| match line.split_once("  # ").filter(|_| !line.starts_with('#')) {
        Some((code, said)) => format!("{:<37} # {said}\n", code.trim_end()),
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

fn list<T: std::fmt::Display>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(|item| format!("{:?}", item.to_string())).collect();
    format!("[{}]", items.join(", "))
}
