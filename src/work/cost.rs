//! What a build costs before it is begun: measured on builds of 70 to 180 million tokens of each family, on one core of a common
//! server, in seven languages (the page beside this module has the figures).

use crate::recipe::Family;

/// Tokens of prompts that a core makes rows of in a second, or seals. Families differ by less than machines do.
pub const TOKENS_A_CORE_SECOND: u64 = 20_000_000;

/// Core-seconds to make the rows of so many tokens; sealing them takes as many again.
pub fn core_seconds(tokens: u64) -> u64 {
    tokens.div_ceil(TOKENS_A_CORE_SECOND)
}

/// Bytes of prompt rows on their way from workers to the seal: prompt, columns and certificates, not compressed.
pub fn row_bytes(family: Family, tokens: u64) -> u64 {
    let a_kilotoken = match family {
        Family::Reasoning => 4_900,
        Family::Passage => 5_300,
        // The prompt stands in the row twice: as text, and as the messages of its layout.
        Family::Factoid => 9_200,
    };
    tokens / 1000 * a_kilotoken
}
