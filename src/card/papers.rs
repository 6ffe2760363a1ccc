//! The papers and data sets that a release comes from, as it cites them.

use crate::plan::Plan;
use crate::recipe::{Family, SourceKind};

/// Something to cite.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Work {
    /// Key of its BibTeX entry.
    pub key: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Its authors: given names and family name.
    pub authors: &'static [(&'static str, &'static str)],
    /// Its year.
    pub year: u32,
    /// Its number at arXiv.
    pub arxiv: &'static str,
}

const MLRBENCH: Work = Work {
    key: "hengle2025mlrbench",
    title: "Can LLMs reason over extended multilingual contexts? Towards long-context evaluation beyond retrieval and haystacks",
    authors: &[("Amey", "Hengle"), ("Prasoon", "Bajpai"), ("Soham", "Dan"), ("Tanmoy", "Chakraborty")],
    year: 2025,
    arxiv: "2504.12845",
};

const MLNEEDLE: Work = Work {
    key: "hengle2024mlneedle",
    title: "Multilingual Needle in a Haystack: Investigating Long-Context Behavior of Multilingual Large Language Models",
    authors: &[("Amey", "Hengle"), ("Prasoon", "Bajpai"), ("Soham", "Dan"), ("Tanmoy", "Chakraborty")],
    year: 2024,
    arxiv: "2408.10151",
};

const RECALL: Work = Work {
    key: "machlab2024recall",
    title: "LLM In-Context Recall is Prompt Dependent",
    authors: &[("Daniel", "Machlab"), ("Rick", "Battle")],
    year: 2024,
    arxiv: "2404.08865",
};

const BABI: Work = Work {
    key: "weston2015babi",
    title: "Towards AI-Complete Question Answering: A Set of Prerequisite Toy Tasks",
    authors: &[
        ("Jason", "Weston"),
        ("Antoine", "Bordes"),
        ("Sumit", "Chopra"),
        ("Alexander M.", "Rush"),
        ("Bart", "van Merri\u{eb}nboer"),
        ("Armand", "Joulin"),
        ("Tomas", "Mikolov"),
    ],
    year: 2015,
    arxiv: "1502.05698",
};

const MLQA: Work = Work {
    key: "lewis2019mlqa",
    title: "MLQA: Evaluating Cross-lingual Extractive Question Answering",
    authors: &[
        ("Patrick", "Lewis"),
        ("Barlas", "O\u{11f}uz"),
        ("Ruty", "Rinott"),
        ("Sebastian", "Riedel"),
        ("Holger", "Schwenk"),
    ],
    year: 2019,
    arxiv: "1910.07475",
};

const XQUAD: Work = Work {
    key: "artetxe2019xquad",
    title: "On the Cross-lingual Transferability of Monolingual Representations",
    authors: &[("Mikel", "Artetxe"), ("Sebastian", "Ruder"), ("Dani", "Yogatama")],
    year: 2019,
    arxiv: "1910.11856",
};

const MMARCO: Work = Work {
    key: "bonifacio2021mmarco",
    title: "mMARCO: A Multilingual Version of the MS MARCO Passage Ranking Dataset",
    authors: &[
        ("Luiz", "Bonifacio"),
        ("Vitor", "Jeronymo"),
        ("Hugo Queiroz", "Abonizio"),
        ("Israel", "Campiotti"),
        ("Marzieh", "Fadaee"),
        ("Roberto", "Lotufo"),
        ("Rodrigo", "Nogueira"),
    ],
    year: 2021,
    arxiv: "2108.13897",
};

const MS_MARCO: Work = Work {
    key: "bajaj2016msmarco",
    title: "MS MARCO: A Human Generated MAchine Reading COmprehension Dataset",
    authors: &[
        ("Payal", "Bajaj"),
        ("Daniel", "Campos"),
        ("Nick", "Craswell"),
        ("Li", "Deng"),
        ("Jianfeng", "Gao"),
        ("Xiaodong", "Liu"),
        ("Rangan", "Majumder"),
        ("Andrew", "McNamara"),
        ("Bhaskar", "Mitra"),
        ("Tri", "Nguyen"),
        ("Mir", "Rosenberg"),
        ("Xia", "Song"),
        ("Alina", "Stoica"),
        ("Saurabh", "Tiwary"),
        ("Tong", "Wang"),
    ],
    year: 2016,
    arxiv: "1611.09268",
};

impl Work {
    /// Its page at arXiv.
    pub fn url(&self) -> String {
        format!("https://arxiv.org/abs/{}", self.arxiv)
    }

    /// Given and family names of all authors, with commas between.
    pub fn people(&self) -> String {
        self.authors.iter().map(|(given, family)| format!("{given} {family}")).collect::<Vec<_>>().join(", ")
    }

    /// Its BibTeX entry.
    pub fn bibtex(&self) -> String {
        let authors: Vec<String> = self.authors.iter().map(|(given, family)| format!("{family}, {given}")).collect();
        format!(
            "@misc{{{},\n  title = {{{}}},\n  author = {{{}}},\n  year = {{{}}},\n  eprint = {{{}}},\n  archivePrefix = {{arXiv}}\n}}\n",
            self.key,
            self.title,
            authors.join(" and "),
            self.year,
            self.arxiv
        )
    }
}

/// What a plan's release comes from, the benchmark's own paper first.
pub(crate) fn works(plan: &Plan) -> Vec<Work> {
    let mut works = vec![match plan.family {
        Family::Reasoning => MLRBENCH,
        Family::Passage => MLNEEDLE,
        Family::Factoid => RECALL,
    }];
    if plan.family == Family::Reasoning && plan.recipe.source.kind != SourceKind::Text {
        works.push(BABI);
    }
    let known = [("mlqa", MLQA), ("xquad", XQUAD), ("mmarco", MMARCO), ("msmarco", MS_MARCO)];
    let named: Vec<&str> = plan.licences.keys().map(String::as_str).collect();
    let dataset = plan.recipe.source.dataset.as_ref().map_or("", |name| name.0.as_str());
    for (name, work) in known {
        if dataset == name || named.iter().any(|id| id.starts_with(name)) {
            works.push(work);
        }
    }
    works
}
