//! Text that wants to be markup, or to turn the page around.

use super::support::*;
use crate::support::*;

/// What a passage of a public collection may hold.
pub const HOSTILE: [&str; 5] = [
    "</script><script>window.owned=1</script>",
    "<img src=x onerror=window.owned=1>",
    "</p></div></article><style>*{display:none}</style>",
    "<context> &lt;b&gt; ]]> <!-- --> \" ' & \u{2028}x",
    "</title></svg><b>",
];

/// A release whose questions, passages and answers hold it.
pub fn release(bench: &Bench) -> std::path::PathBuf {
    crate::mlneedle::world(bench);
    for code in ["en", "de", "zh"] {
        let path = bench.path(&format!("data/made-{code}.json"));
        let mut json: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        for (n, article) in json["data"][0]["paragraphs"].as_array_mut().unwrap().iter_mut().enumerate() {
            let hostile = HOSTILE[n % HOSTILE.len()];
            let context = article["context"].as_str().unwrap().to_owned() + " " + hostile;
            article["context"] = context.into();
            let question = article["qas"][0]["question"].as_str().unwrap().to_owned();
            article["qas"][0]["question"] = question.replace('?', &format!(" {hostile}?")).into();
        }
        std::fs::write(&path, json.to_string()).unwrap();
    }
    for name in ["english", "german", "chinese"] {
        let path = bench.path(&format!("data/{name}_collection.tsv"));
        let text = std::fs::read_to_string(&path).unwrap();
        let lines =
            text.lines().enumerate().map(|(n, line)| format!("{line} {}\n", HOSTILE[n % 5].replace('\u{2028}', "")));
        std::fs::write(&path, lines.collect::<String>()).unwrap();
    }
    let recipe = crate::mlneedle::recipe(
        "[grid]\nlanguages = [\"en\", \"de\", \"zh\"]\nlengths = [\"0k\", \"2k\"]\nsamples = 4\n",
    );
    crate::mlneedle::build(bench, &recipe, &[]).success().release(bench)
}

/// A name of a model that holds it.
pub const NAME: &str = "<img src=x onerror=window.owned=1>\"'</svg>";

#[test]
fn hostile_text_stays_text() {
    let bench = Bench::new();
    let release = release(&bench);
    let ids: String = data_files(&release)
        .iter()
        .flat_map(|file| rows(&release.join(file)))
        .map(|(batch, row)| format!("{{\"id\": {:?}, \"exact\": true}}\n", nihbuild::table::text(&batch, "id", row)))
        .collect();
    bench.write("a.jsonl", &ids);
    let html = page(&bench, &release, &["--scores", &format!("{NAME}=a.jsonl"), "--plots", "p", "--format", "svg,png"]);
    assert_eq!(html.matches("<script").count(), 1);
    assert_eq!(html.matches("<style").count(), 1);
    assert_eq!(html.matches("</svg>").count(), html.matches("<svg ").count());
    assert_eq!(html.matches("</article>").count(), html.matches("<article ").count());
    assert!(!html.contains("<img") && !html.contains("<b>") && !html.contains("<context"));
    assert!(!html.contains('\u{2028}'));
    // It is shown for what it is.
    let shown = between(&html, "<article ", "</article>").iter().map(|article| plain(article)).collect::<String>();
    assert!(HOSTILE.iter().any(|hostile| shown.contains(hostile)), "{shown}");
    assert!(
        bytes_of(&bench.path("p"))
            .iter()
            .all(|(name, _)| name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b)))
    );
}
