//! What bAbI's files hold, measured over their 40,000 questions (train and test): story
//! lengths, the mix of events, vocabularies and the spread of answers.

use super::{Answer, Direction, SourceTask, Way};

/// Facts before a question: 40 quantiles of a task.
pub(super) fn lengths(task: SourceTask) -> &'static [u8; 40] {
    const EVEN: [u8; 40] = [
        2, 2, 2, 2, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 4, 4, 6, 6, 6, 6, 6, 6, 6, 6, 8, 8, 8, 8, 8, 8, 8, 8, 10, 10, 10, 10,
        10, 10, 10, 10,
    ];
    match task.number() {
        2 => &[
            4, 4, 6, 6, 6, 8, 8, 8, 10, 10, 10, 10, 12, 12, 12, 12, 12, 14, 14, 14, 14, 16, 16, 16, 16, 18, 18, 18, 18,
            20, 20, 20, 22, 22, 22, 24, 26, 28, 30, 38,
        ],
        3 => &[
            6, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 30, 32, 34, 36, 38, 40, 40, 42, 44, 46, 48, 48, 50, 52, 56,
            58, 62, 64, 68, 72, 76, 80, 86, 92, 98, 110, 122, 152,
        ],
        4 => &[2; 40],
        5 => &[
            2, 4, 6, 6, 6, 8, 8, 8, 10, 10, 10, 10, 12, 12, 12, 14, 14, 14, 16, 16, 16, 18, 18, 18, 20, 20, 22, 22, 24,
            24, 26, 28, 28, 30, 32, 34, 36, 42, 50, 64,
        ],
        6 => &[
            2, 2, 2, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 4, 4, 6, 6, 6, 6, 6, 6, 6, 6, 8, 8, 8, 8, 8, 8, 8, 8, 10, 10, 10,
            10, 10, 10, 10, 10, 12,
        ],
        7 => &[
            2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 6, 6, 6, 6, 6, 6, 6, 8, 8, 8, 8, 8, 8, 10, 10, 10, 10, 10, 10, 10, 10, 12,
            12, 12, 14, 14, 14, 16, 18, 26,
        ],
        8 => &[
            2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 6, 6, 6, 6, 6, 6, 8, 8, 8, 8, 8, 8, 8, 10, 10, 10, 10, 10, 10, 10, 12, 12,
            12, 12, 14, 14, 16, 16, 18, 24,
        ],
        14 => &[
            2, 4, 4, 4, 4, 4, 4, 4, 6, 6, 6, 6, 6, 6, 6, 6, 8, 8, 8, 8, 8, 8, 8, 8, 10, 10, 10, 10, 10, 10, 10, 10, 12,
            12, 12, 12, 12, 12, 12, 14,
        ],
        15 => &[8; 40],
        16 => &[9; 40],
        17 => &[2; 40],
        18 => &[
            5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 10, 10, 10,
            10, 10, 10, 10, 10, 15,
        ],
        19 => &[5; 40],
        20 => &[
            1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7, 8, 8, 8, 8, 9, 9, 9, 10,
            10, 10, 10, 11, 11,
        ],
        _ => &EVEN,
    }
}

/// How often each event occurs in a task's stories.
pub(super) struct Mix {
    /// move, take, drop, give, is in, is not in, is no longer in, either
    pub events: [u32; 8],
    /// Takes of 100 that say "there".
    pub take_there: usize,
    /// Drops of 100 that say "there".
    pub drop_there: usize,
}

/// The mix of a task; qa4 has none, its facts are relations.
pub(super) fn mix(task: SourceTask) -> Mix {
    let (events, take_there, drop_there) = match task.number() {
        2 => ([5649, 1744, 1343, 0, 0, 0, 0, 0], 100, 20),
        3 => ([18800, 5555, 5204, 0, 0, 0, 0, 0], 19, 21),
        5 => ([5716, 1730, 1162, 1720, 0, 0, 0, 0], 100, 19),
        6 => ([2761, 883, 472, 0, 0, 0, 0, 0], 100, 20),
        7 => ([3002, 963, 498, 645, 0, 0, 0, 0], 100, 22),
        8 => ([3556, 1118, 670, 0, 0, 0, 0, 0], 100, 17),
        9 => ([1980, 0, 0, 0, 972, 518, 530, 0], 0, 0),
        10 => ([1993, 0, 0, 0, 1035, 0, 0, 972], 0, 0),
        _ => ([1, 0, 0, 0, 0, 0, 0, 0], 0, 0),
    };
    Mix { events, take_there, drop_there }
}

/// bAbI's own actors, places and objects of a task.
pub(super) fn vocabulary(task: SourceTask) -> ([u8; 4], [u8; 6], [u8; 3]) {
    let actors = match task.number() {
        5 => [0, 4, 5, 7],
        10 | 14 => [0, 4, 5, 6],
        _ => [0, 1, 2, 3],
    };
    let places = if matches!(task.number(), 10 | 14) { [1, 4, 5, 6, 7, 8] } else { [0, 1, 2, 3, 4, 5] };
    (actors, places, [0, 1, 2])
}

/// bAbI's own spread of answers: each answer and how often it is the label.
pub(super) fn official(task: SourceTask) -> Vec<(Answer, u32)> {
    let places = |counts: [u32; 6]| (0..6u8).map(|p| (Answer::Place(p), counts[p as usize])).collect();
    // In the order bathroom, bedroom, garden, hallway, kitchen, office.
    match task.number() {
        1 => places([303, 326, 364, 329, 330, 348]),
        2 => places([320, 325, 397, 298, 312, 348]),
        3 => places([383, 298, 386, 350, 292, 291]),
        4 => places([336, 316, 329, 345, 351, 323]),
        5 => vec![
            (Answer::Actor(0), 360),
            (Answer::Actor(4), 355),
            (Answer::Actor(5), 315),
            (Answer::Actor(7), 273),
            (Answer::Object(0), 273),
            (Answer::Object(1), 231),
            (Answer::Object(2), 193),
        ],
        6 => vec![(Answer::Yes, 1005), (Answer::No, 995)],
        7 => vec![(Answer::Count(0), 936), (Answer::Count(1), 976), (Answer::Count(2), 85), (Answer::Count(3), 3)],
        8 => [(0, 680), (1, 398), (2, 374), (4, 405), (3, 51), (5, 47), (6, 37), (7, 8)]
            .map(|(set, n)| (Answer::Objects(set), n))
            .to_vec(),
        9 => vec![(Answer::Yes, 729), (Answer::No, 1271)],
        11 => places([300, 354, 317, 383, 328, 318]),
        12 => places([343, 320, 334, 349, 329, 325]),
        13 => places([335, 341, 331, 354, 316, 323]),
        14 => [(1, 340), (4, 349), (5, 349), (6, 311), (7, 321), (8, 330)].map(|(p, n)| (Answer::Place(p), n)).to_vec(),
        15 => [491, 557, 503, 449].iter().zip(0..).map(|(n, kind)| (Answer::Animal(kind), *n)).collect(),
        16 => [504, 503, 516, 477].iter().zip(0..).map(|(n, colour)| (Answer::Colour(colour), *n)).collect(),
        17 => vec![(Answer::Yes, 1025), (Answer::No, 975)],
        18 => vec![(Answer::Yes, 974), (Answer::No, 1026)],
        // In the order of `ways`.
        19 => ways().into_iter().zip([177, 164, 178, 150, 166, 180, 179, 164, 173, 150, 174, 145]).collect(),
        20 => [(4, 366), (1, 188), (2, 192)]
            .map(|(p, n)| (Answer::Place(p), n))
            .into_iter()
            .chain([308, 310, 313, 323].iter().zip(0..).map(|(n, motive)| (Answer::Motive(motive), *n)))
            .collect(),
        _ => vec![(Answer::Yes, 825), (Answer::No, 903), (Answer::Maybe, 272)],
    }
}

/// Ways of two steps that do not turn back.
pub(super) fn ways() -> Vec<Answer> {
    let all = Direction::ALL.into_iter().flat_map(|first| Direction::ALL.map(|second| [first, second]));
    all.filter(|[first, second]| *second != first.opposite())
        .filter_map(|steps| Way::of(&steps).map(Answer::Path))
        .collect()
}
