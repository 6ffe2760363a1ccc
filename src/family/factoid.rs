//! Prompts of the in-context recall test: system message, running text, question, in the layouts that the paper prints
//! ("LLM In-Context Recall is Prompt Dependent", appendices A and B), and the judge's rubric (appendix C).

use crate::recipe::Layout;

/// How the judge of the paper rates an answer, as a file of a release.
pub const JUDGE: &str = include_str!("judge.json");

/// What stands around a running text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// The system message, where it stands apart from the prompt.
    pub system: Option<String>,
    /// Before the text.
    pub head: String,
    /// Behind it.
    pub tail: String,
}

impl Frame {
    /// The frame of a layout. Tags are those of the paper's tables, typing errors included: Table 7 does not close the
    /// system tag, and closes `[INST]` with a backslash.
    pub fn new(layout: Layout, system: &str, question: &str) -> Frame {
        let (head, tail) = match layout {
            Layout::PlainTable6 => (format!("{system}\n"), format!("\n{question}")),
            Layout::PlainTable7 => (format!("{system} "), format!(" {question}")),
            Layout::LlamaTable6 => (format!("<s><<SYS>>\n{system}\n<</SYS>>\n"), format!("\n[INST]{question}[/INST]")),
            Layout::LlamaTable7 => (format!("<s><<SYS>>{system}<<SYS>> "), format!(" [INST]{question}[\\INST]")),
            Layout::MistralTable6 => (format!("[INST]\n{system}\n"), format!("\n{question}\n[/INST]")),
            Layout::MistralTable7 => (format!("[INST]{system} "), format!(" {question}[\\INST]")),
            Layout::Messages => {
                let tail = format!("\n\n{question}");
                return Frame { system: Some(system.to_owned()), head: String::new(), tail };
            }
        };
        Frame { system: None, head, tail }
    }

    /// The running text of a prompt; none if the frame is not around it.
    pub fn document<'p>(&self, prompt: &'p str) -> Option<&'p str> {
        prompt.strip_prefix(self.head.as_str())?.strip_suffix(self.tail.as_str())
    }
}

/// What stands between a needle and the text beside it.
pub fn gap(spaced: bool) -> &'static str {
    if spaced { " " } else { "" }
}
