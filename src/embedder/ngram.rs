//! Hashed character n-grams: no download, no float.
//!
//! Runs of two to four characters, spaces included, are counted into buckets with a sign, both from
//! a hash; the counts' vector is scaled to length `NORM` and rounded.

/// Components of a vector.
pub const DIMENSIONS: usize = 256;

/// Length of a vector before rounding. Large enough that most components differ from 0, small
/// enough that few are clipped at 127.
const NORM: i64 = 512;

/// FNV-1a's offset and prime.
const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// Raised when it makes other vectors of the same text.
pub const VERSION: u32 = 1;

/// The vector of a text; `out` has [`DIMENSIONS`] components.
pub fn embed(text: &str, out: &mut [i8]) {
    let mut counts = [0i64; DIMENSIONS];
    let mut window = [OFFSET; 4];
    let mut seen = 0;
    for c in text.chars().flat_map(char::to_lowercase) {
        // window[n] is the hash of the last n + 1 characters.
        for n in (1..4).rev() {
            window[n] = step(window[n - 1], c);
        }
        window[0] = step(OFFSET, c);
        seen += 1;
        for n in 2..=seen.min(4) {
            // The low bits of FNV are weak: fold the high ones in.
            let hash = window[n - 1] ^ (window[n - 1] >> 29);
            let sign = if hash >> 40 & 1 == 0 { 1 } else { -1 };
            counts[(hash % DIMENSIONS as u64) as usize] += sign;
        }
    }
    let square: i64 = counts.iter().map(|c| c * c).sum();
    let length = square.isqrt().max(1);
    for (out, count) in out.iter_mut().zip(counts) {
        *out = (count * NORM / length).clamp(-127, 127) as i8;
    }
}

fn step(hash: u64, c: char) -> u64 {
    (hash ^ u64::from(u32::from(c))).wrapping_mul(PRIME)
}
