//! The papers' metrics on the papers' own numbers.

use nihbuild::score::metrics::{Curve, Rate, samples, tokens};
use nihbuild::score::paired::mcnemar;

/// Accuracies in thousandths, as the papers print them.
fn curve(lengths: &[&str], thousandths: &[u64]) -> Curve {
    let rates = lengths.iter().zip(thousandths).map(|(l, n)| ((*l).to_owned(), Rate { right: *n, of: 1000 }));
    Curve::new(rates.collect())
}

const MLRBENCH: [&str; 8] = ["0k", "2k", "4k", "8k", "16k", "32k", "64k", "128k"];

/// Table 1 of MLRBench: method, accuracies from 0k (of RAG that of the same prompts without it), printed mean of the long contexts in
/// thousandths, drop in hundredths of a point, and window; then the window by the stated rule, "within 30% of its performance
/// without distractors".
type Line = (&'static str, [u64; 8], u64, i64, &'static str, &'static str);
const TABLE: [Line; 12] = [
    ("zero-shot", [513, 406, 405, 366, 357, 325, 311, 317], 318, 889, "4k", "8k"),
    ("translation", [540, 414, 403, 384, 368, 331, 316, 323], 324, 903, "4k", "8k"),
    ("chain of thought", [598, 481, 477, 439, 448, 382, 285, 253], 307, 2277, "16k", "16k"),
    ("few-shot", [521, 468, 433, 408, 423, 348, 333, 334], 338, 1343, "16k", "16k"),
    ("JinaAI zero-shot", [513, 429, 397, 381, 340, 334, 330, 300], 321, 1291, "8k", "8k"),
    ("JinaAI translation", [540, 435, 390, 388, 364, 368, 349, 342], 353, 931, "8k", "8k"),
    ("JinaAI chain of thought", [598, 473, 455, 443, 446, 438, 412, 400], 417, 726, "32k", "32k"),
    ("JinaAI few-shot", [521, 473, 455, 443, 440, 431, 403, 393], 409, 797, "32k", "128k"),
    ("MpNet zero-shot", [513, 424, 405, 388, 378, 366, 339, 337], 347, 874, "8k", "32k"),
    ("MpNet translation", [540, 435, 412, 387, 401, 393, 357, 349], 366, 857, "8k", "32k"),
    ("MpNet chain of thought", [598, 473, 462, 449, 445, 439, 416, 414], 423, 583, "32k", "32k"),
    ("MpNet few-shot", [521, 473, 462, 449, 449, 432, 409, 401], 414, 714, "32k", "128k"),
];

/// Means and drops of the table follow from its numbers, so our formulas are the paper's. Six of its windows do not follow from its
/// rule: those of zero-shot and translation without RAG, where 8k is printed as 4k, and four with RAG (if their baseline is that of
/// the same prompts at 0k; the table has no other).
#[test]
fn table_of_mlrbench() {
    let mut differ = Vec::new();
    for (method, accuracies, mean, drop, printed, by_rule) in TABLE {
        let curve = curve(&MLRBENCH, &accuracies);
        let ours = (curve.mean_long().unwrap() * 1000.0).round() as u64;
        assert!(ours.abs_diff(mean) <= 1, "{method}: mean {ours}, printed {mean}");
        let lost = curve.drop().unwrap();
        assert_eq!((lost.from.as_str(), lost.to.as_str()), ("2k", "128k"));
        // The table was made of more digits than it prints.
        assert!(
            ((lost.points * 100.0).round() as i64 - drop).abs() <= 11,
            "{method}: drop {}, printed {drop}",
            lost.points
        );
        assert_eq!(curve.effective(70), Some(Some(by_rule)), "{method}");
        if printed != by_rule {
            differ.push(method);
        }
    }
    assert_eq!(
        differ,
        ["zero-shot", "translation", "JinaAI few-shot", "MpNet zero-shot", "MpNet translation", "MpNet few-shot"]
    );
}

/// Table 1 of MLNeedle, whose rule is a loss of at most 25% of the baseline. Of Aya 4K is printed, though its own underlines (within
/// 25%) end at the baseline: 0.460 of 0.700 is a loss of 34%.
#[test]
fn table_of_mlneedle() {
    let lengths = ["0k", "4k", "8k", "16k", "32k"];
    let rows: [(&str, &[u64], Option<&str>, Option<&str>); 4] = [
        ("Llama2-7B-Chat", &[335, 171], None, None),
        ("Llama3-8B-Instruct", &[622, 479, 295], Some("4k"), Some("4k")),
        ("Cohere-Aya-23-8B", &[700, 460, 449], Some("4k"), None),
        ("Mistral-7B-Instruct-v0.2", &[579, 485, 455, 427, 397], Some("8k"), Some("8k")),
    ];
    for (model, accuracies, printed, by_rule) in rows {
        let found = curve(&lengths, accuracies);
        assert_eq!(found.effective(75), Some(by_rule), "{model}");
        assert_eq!(printed == by_rule, model != "Cohere-Aya-23-8B");
    }
}

#[test]
fn bounds_are_exact() {
    // 70% of 513 of 1000 is 359.1: no rounding makes 359 of it.
    let of = |right| Rate { right, of: 1000 };
    assert!(!of(359).within(70, of(513)) && of(360).within(70, of(513)));
    assert!(Rate { right: 3, of: 4 }.within(75, Rate { right: 8, of: 8 }));
    assert!(!Rate { right: 0, of: 0 }.within(75, of(500)));
    let none = curve(&["2k", "4k"], &[500, 400]);
    assert_eq!(none.effective(70), None, "there is no baseline");
    let drop = none.drop().unwrap();
    assert_eq!((drop.from.as_str(), drop.to.as_str()), ("2k", "4k"));
    assert!((drop.points - 10.0).abs() < 1e-9);
    assert_eq!(none.mean_long(), None);
    assert_eq!((tokens("0k"), tokens("128k"), tokens("400")), (0, 128_000, 400));
}

#[test]
fn standard_errors() {
    let error = |right, of| Rate { right, of }.error().unwrap();
    assert!((error(50, 100) - 0.05).abs() < 1e-12);
    assert!((error(250, 500) - 0.022_360_679).abs() < 1e-8);
    assert_eq!(error(7, 7), 0.0);
    assert_eq!(Rate::default().error(), None);
    let right: Vec<bool> = (0..730).map(|n| n % 3 == 0).collect();
    let curve = samples(&right, "all");
    let sizes: Vec<u64> = curve.iter().map(|s| s.samples).collect();
    assert_eq!(sizes, (1..=50).map(|n| n * 10).collect::<Vec<u64>>());
    assert_eq!(curve, samples(&right, "all"), "the same draw each time");
    assert_ne!(curve, samples(&right, "en"), "another draw by another name");
    for s in &curve {
        let p = s.right as f64 / s.samples as f64;
        assert!((s.accuracy - p).abs() < 1e-12);
        assert!((s.standard_error - (p * (1.0 - p) / s.samples as f64).sqrt()).abs() < 1e-12);
    }
    // It settles near the accuracy of all.
    assert!((curve[49].accuracy - 1.0 / 3.0).abs() < 0.06);
    assert_eq!(samples(&right[..25], "few").len(), 2);
}

/// By hand: twice the lower tail of a fair coin.
#[test]
fn exact_mcnemar() {
    let near = |b, c, p: f64| assert!((mcnemar(b, c) - p).abs() < 1e-9 * p.max(1e-3), "{b} {c}: {}", mcnemar(b, c));
    near(10, 2, 2.0 * 79.0 / 4096.0);
    near(2, 10, 2.0 * 79.0 / 4096.0);
    near(5, 0, 2.0 / 32.0);
    near(1, 0, 1.0);
    near(6, 5, 1.0);
    near(0, 0, 1.0);
    near(30, 30, 1.0);
    assert!(mcnemar(20_000, 10_000) < 1e-100 && mcnemar(20_000, 10_000) >= 0.0);
    assert!((0.31..0.33).contains(&mcnemar(5050, 4950)), "{}", mcnemar(5050, 4950));
}
