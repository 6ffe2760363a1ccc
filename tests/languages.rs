//! Every sentence that a pack can write is read back to the one meaning it was written from.

use nihbuild::language::*;
use std::collections::HashMap;

/// Every message of a pattern over the whole vocabulary; one place is never two.
pub fn messages(pattern: u8) -> Vec<Message> {
    let used = PATTERNS[pattern as usize].slots;
    let size = |slot: Slot| match slot.kind() {
        _ if !used[slot as usize] => 1,
        Kind::Actor => ACTORS,
        Kind::Object => OBJECTS.len(),
        Kind::Place => PLACES.len(),
    };
    let mut all = vec![[0u8; 5]];
    for slot in Slot::ALL {
        all = all.into_iter().flat_map(|slots| (0..size(slot)).map(move |n| {
            let mut slots = slots;
            slots[slot as usize] = n as u8;
            slots
        })).collect();
    }
    all.retain(|s| !(used[0] && used[1] && s[0] == s[1]) && !(used[3] && used[4] && s[3] == s[4]));
    all.into_iter().map(|slots| Message { pattern, slots }).collect()
}

#[test]
fn every_sentence_is_read_back_to_its_one_meaning() {
    for language in Language::all() {
        let pack = language.pack().unwrap();
        let mut seen: HashMap<String, Message> = HashMap::new();
        for pattern in 0..PATTERN_COUNT as u8 {
            for message in messages(pattern) {
                let text = pack.sentence(message);
                assert_eq!(pack.read(&text), Ok(message), "{language}: {text}");
                if let Some(other) = seen.insert(text.clone(), message) {
                    panic!("{language}: {text:?} is {message:?} and {other:?}");
                }
            }
        }
        assert_eq!(seen.len(), (0..PATTERN_COUNT as u8).map(|p| messages(p).len()).sum::<usize>(), "{language}");
    }
}
