//! The engines over HTTP.

use super::{journal, open};
use crate::http::{Request, listen};
use crate::support::{Bench, refused};
use nihbuild::translator::{EngineName, Settings};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex};

/// A request that came.
#[derive(Clone, Debug)]
struct Asked {
    path: String,
    headers: BTreeMap<String, String>,
    body: Value,
}

impl Asked {
    /// Its texts, or the one message.
    fn texts(&self) -> Vec<String> {
        match &self.body["q"] {
            Value::Array(list) => list.iter().map(|text| text.as_str().unwrap().to_owned()).collect(),
            _ => vec![self.body["messages"][0]["content"].as_str().unwrap().to_owned()],
        }
    }
}

/// An answer: status, further headers, body. None drops the connection.
type Reply = Option<(u16, Vec<(&'static str, String)>, String)>;

fn fine(body: Value) -> Reply {
    Some((200, vec![], body.to_string()))
}

fn status(status: u16, body: &str) -> Reply {
    Some((status, vec![], body.to_owned()))
}

struct Server {
    address: String,
    seen: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    /// `answer` gets the request and how many came before it.
    fn new(answer: impl Fn(&Asked, usize) -> Reply + Send + Sync + 'static) -> Server {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let shared = seen.clone();
        Server { address: listen(move |request, socket| serve(request, socket, &shared, &answer)), seen }
    }

    fn seen(&self) -> Vec<Asked> {
        self.seen.lock().unwrap().clone()
    }

    /// All texts it was asked, in the order they came.
    fn texts(&self) -> Vec<String> {
        self.seen().iter().flat_map(Asked::texts).collect()
    }

    fn settings(&self, engine: EngineName) -> Settings {
        Settings {
            engine,
            endpoint: format!("http://{}/base", self.address),
            model: if engine == EngineName::OpenAi { "small".to_owned() } else { String::new() },
            prompt: if engine == EngineName::OpenAi {
                "{target_language}: {text}".to_owned()
            } else {
                Settings::default().prompt
            },
            // A variable that is set wherever tests run.
            key_env: "PATH".to_owned(),
            parallel: 1,
            retries: 2,
            back_off: 1,
            timeout_seconds: 60,
            ..Settings::default()
        }
    }
}

fn serve(
    request: Request,
    mut socket: TcpStream,
    seen: &Mutex<Vec<Asked>>,
    answer: &(dyn Fn(&Asked, usize) -> Reply + Sync),
) {
    let body = serde_json::from_slice(&request.body).unwrap();
    let asked = Asked { path: request.path, headers: request.headers, body };
    let n = {
        let mut seen = seen.lock().unwrap();
        seen.push(asked.clone());
        seen.len() - 1
    };
    let Some((status, headers, body)) = answer(&asked, n) else { return };
    let mut head = format!("HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    let _ = socket.write_all(format!("{head}\r\n{body}").as_bytes());
}

fn google(asked: &Asked) -> Reply {
    let texts = asked.texts();
    let list: Vec<Value> = texts.iter().map(|text| json!({ "translatedText": text.to_uppercase() })).collect();
    fine(json!({ "data": { "translations": list } }))
}

fn chat(content: &str) -> Reply {
    fine(json!({ "choices": [{ "message": { "content": content }, "finish_reason": "stop" }] }))
}

#[allow(clippy::disallowed_methods, reason = "a value that must not leak")]
fn key() -> String {
    std::env::var("PATH").unwrap().trim().to_owned()
}

const TEXTS: [&str; 5] = ["a", "b", "c", "d", "e"];

#[test]
fn google_asks_in_batches() {
    let bench = Bench::new();
    let server = Server::new(|asked, _| google(asked));
    let settings = Settings { batch: 2, ..server.settings(EngineName::Google) };
    let answers = open(&bench, &settings).translate("en", "fr", &TEXTS, 0, "x").unwrap();
    assert_eq!(answers, ["A", "B", "C", "D", "E"]);
    let seen = server.seen();
    assert_eq!(seen.len(), 3);
    assert_eq!(seen[0].path, "/base/language/translate/v2");
    assert_eq!(seen[0].body, json!({ "q": ["a", "b"], "source": "en", "target": "fr", "format": "text" }));
    assert_eq!(seen[0].headers["x-goog-api-key"], key());
    // Neither the journal nor its name knows the key.
    assert!(!std::fs::read_to_string(journal(&bench, &settings)).unwrap().contains(&key()));
    // Long texts go alone.
    let long = ["x".repeat(3000), "y".repeat(3000), "z".to_owned()];
    let long: Vec<&str> = long.iter().map(String::as_str).collect();
    let other = Bench::new();
    open(&other, &server.settings(EngineName::Google)).translate("en", "fr", &long, 0, "x").unwrap();
    assert_eq!(server.seen()[3..].iter().map(|asked| asked.texts().len()).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn libretranslate_answers_lists_and_texts() {
    let bench = Bench::new();
    let server = Server::new(|asked, _| match asked.texts().as_slice() {
        [one] => fine(json!({ "translatedText": one.to_uppercase() })),
        more => fine(json!({ "translatedText": more.iter().map(|text| text.to_uppercase()).collect::<Vec<_>>() })),
    });
    let settings = Settings { batch: 4, ..server.settings(EngineName::LibreTranslate) };
    assert_eq!(open(&bench, &settings).translate("en", "fr", &TEXTS, 0, "x").unwrap(), ["A", "B", "C", "D", "E"]);
    let seen = server.seen();
    assert_eq!((seen.len(), seen[0].path.as_str()), (2, "/base/translate"));
    assert_eq!(seen[0].body["api_key"], key());
    refused(open(&bench, &settings).complete(&[("x", 0)]), &["writes no free text", "openai or command"]);
}

#[test]
fn chat_answers_arrive_in_any_order() {
    let bench = Bench::new();
    // The first request is answered after all others.
    let gate = Arc::new((Mutex::new(0), Condvar::new()));
    let server = Server::new(move |asked, _| {
        let text = asked.texts().remove(0);
        let (count, changed) = &*gate;
        let mut count = count.lock().unwrap();
        if text.ends_with('a') {
            while *count < 4 {
                count = changed.wait(count).unwrap();
            }
        }
        *count += 1;
        changed.notify_all();
        chat(&format!("<think>\nhm\n</think>\n\n{} ", text.to_uppercase()))
    });
    let settings = Settings { parallel: 3, temperature: 300, max_tokens: 50, ..server.settings(EngineName::OpenAi) };
    let mut translator = open(&bench, &settings);
    let answers = translator.translate("en", "fr", &TEXTS, 0, "x").unwrap();
    assert_eq!(answers, ["FRENCH: A", "FRENCH: B", "FRENCH: C", "FRENCH: D", "FRENCH: E"]);
    let seen = server.seen();
    let first = seen.iter().find(|asked| asked.texts()[0].ends_with('a')).unwrap();
    assert_eq!(first.path, "/base/chat/completions");
    assert_eq!(first.headers["authorization"], format!("Bearer {}", key()));
    assert_eq!(
        first.body,
        json!({ "model": "small", "temperature": 0.3, "max_tokens": 50, "messages": [{ "role": "user", "content": "French: a" }] })
    );
    // Free text with its own temperature; a further attempt at a translation is warmer.
    assert_eq!(translator.complete(&[("write", 1200), ("write", 0)]).unwrap(), ["WRITE", "WRITE"]);
    translator.complete_again(&[("write", 0)], 1).unwrap();
    translator.translate("en", "fr", &["b"], 1, "x").unwrap();
    let seen = server.seen()[5..].iter().map(|asked| asked.body["temperature"].clone()).collect::<Vec<_>>();
    assert!(seen[..2] == [json!(1.2), json!(0.0)] || seen[..2] == [json!(0.0), json!(1.2)], "{seen:?}");
    assert_eq!(seen[2..], [json!(0.0), json!(0.5)]);
}

#[test]
fn without_a_key_none_is_sent() {
    let bench = Bench::new();
    let server = Server::new(|_, _| chat("x"));
    let unset = "NIHBUILD_TEST_UNSET".to_owned();
    let settings = Settings { key_env: unset.clone(), ..server.settings(EngineName::OpenAi) };
    open(&bench, &settings).translate("en", "fr", &["a"], 0, "x").unwrap();
    assert!(!server.seen()[0].headers.contains_key("authorization"));
    let settings = Settings { key_env: unset, ..server.settings(EngineName::Google) };
    refused(open(&bench, &settings).translate("en", "fr", &["a"], 0, "x"), &["NIHBUILD_TEST_UNSET, which is not set"]);
    // Nor is one sent in the open to another machine.
    let settings = Settings { endpoint: "http://192.0.2.1".to_owned(), ..server.settings(EngineName::Google) };
    refused(open(&bench, &settings).translate("en", "fr", &["a"], 0, "x"), &["where others can read it"]);
}

#[test]
fn a_limit_is_waited_out() {
    let bench = Bench::new();
    let server = Server::new(|asked, n| match n {
        0 => Some((429, vec![("Retry-After", "1".to_owned())], "slow down".to_owned())),
        1 => status(503, ""),
        2 => google(asked),
        3 => None,
        4 => status(200, "<html>a gateway</html>"),
        _ => google(asked),
    });
    let settings = Settings { batch: 3, ..server.settings(EngineName::Google) };
    assert_eq!(open(&bench, &settings).translate("en", "fr", &TEXTS, 0, "x").unwrap(), ["A", "B", "C", "D", "E"]);
    assert_eq!(server.seen().len(), 6);
    // Nothing is left of that in the journal.
    assert_eq!(std::fs::read_to_string(journal(&bench, &settings)).unwrap().lines().count(), 5);
}

#[test]
fn a_service_that_never_answers_is_given_up() {
    let bench = Bench::new();
    let server = Server::new(|_, _| status(500, "{\"error\":\"out of memory\"}"));
    let settings = server.settings(EngineName::LibreTranslate);
    let told = refused(
        open(&bench, &settings).translate("en", "fr", &TEXTS, 0, "x"),
        &["3 tries failed in a row", "500", "out of memory", "run the same command again"],
    );
    assert!(!told.contains(&key()));
    assert_eq!(server.seen().len(), 3);
}

#[test]
fn what_was_answered_before_a_failure_is_not_asked_again() {
    let bench = Bench::new();
    let mended = Arc::new(Mutex::new(false));
    let shared = mended.clone();
    let server = Server::new(move |asked, n| if n < 2 || *shared.lock().unwrap() { google(asked) } else { None });
    let settings = Settings { batch: 2, ..server.settings(EngineName::Google) };
    let mut translator = open(&bench, &settings);
    refused(translator.translate("en", "fr", &TEXTS, 0, "x"), &["tries failed in a row"]);
    // Killed: the last answer reached the disk in part.
    drop(translator);
    let path = journal(&bench, &settings);
    let text = std::fs::read(&path).unwrap();
    std::fs::write(&path, &text[..text.len() - 3]).unwrap();
    *mended.lock().unwrap() = true;
    let before = server.seen().len();
    let mut translator = open(&bench, &settings);
    assert_eq!(translator.estimate("en", "fr", &TEXTS, 0).texts, 2);
    assert_eq!(translator.translate("en", "fr", &TEXTS, 0, "x").unwrap(), ["A", "B", "C", "D", "E"]);
    let again: Vec<String> = server.seen()[before..].iter().flat_map(Asked::texts).collect();
    assert_eq!(again, ["d", "e"]);
    // With everything known, no server is needed.
    drop(translator);
    let count = server.seen().len();
    open(&bench, &settings).translate("en", "fr", &TEXTS, 0, "x").unwrap();
    assert_eq!(server.seen().len(), count);
}

#[test]
fn answers_under_way_are_kept_when_another_fails() {
    let bench = Bench::new();
    let gate = Arc::new((Mutex::new(false), Condvar::new()));
    let server = Server::new(move |asked, _| {
        let (failed, changed) = &*gate;
        if asked.texts()[0].ends_with('a') {
            *failed.lock().unwrap() = true;
            changed.notify_all();
            return status(400, "{\"error\":{\"message\":\"bad\"}}");
        }
        let mut failed = failed.lock().unwrap();
        while !*failed {
            failed = changed.wait(failed).unwrap();
        }
        chat("later")
    });
    let settings = Settings { parallel: 2, ..server.settings(EngineName::OpenAi) };
    refused(open(&bench, &settings).translate("en", "fr", &TEXTS[..2], 0, "x"), &["400", "bad"]);
    let kept = std::fs::read_to_string(journal(&bench, &settings)).unwrap();
    // The second request may not have been sent before the first had failed.
    assert_eq!(kept.lines().count(), server.seen().len() - 1);
}

#[test]
fn a_key_that_comes_back_is_not_shown() {
    for engine in [EngineName::Google, EngineName::OpenAi, EngineName::LibreTranslate] {
        let bench = Bench::new();
        // Whole, and cut as some servers do; of a short key the beginning alone says little.
        let begin: String = if key().len() < 16 { "x".repeat(12) } else { key().chars().take(12).collect() };
        let message = format!("invalid key {} in {begin}...", key());
        let echo = json!({ "error": { "message": message } }).to_string();
        let server = Server::new(move |_, _| status(403, &echo));
        let settings = server.settings(engine);
        let told = refused(
            open(&bench, &settings).translate("en", "fr", &["a"], 0, "x"),
            &["403", "invalid key ***", "the key in PATH", &server.address],
        );
        assert!(!told.contains(&key()) && (key().len() < 16 || !told.contains(&begin)), "{told}");
        assert_eq!(server.seen().len(), 1, "a refusal is final");
    }
}

#[test]
fn a_redirect_is_not_followed() {
    let bench = Bench::new();
    let elsewhere = Server::new(|asked, _| google(asked));
    let to = format!("http://{}/", elsewhere.address);
    let server = Server::new(move |_, _| Some((307, vec![("Location", to.clone())], String::new())));
    let settings = server.settings(EngineName::Google);
    refused(open(&bench, &settings).translate("en", "fr", &["a"], 0, "x"), &["307", "endpoint"]);
    assert!(elsewhere.seen().is_empty());
}

#[test]
fn what_is_no_answer_is_a_failed_one() {
    let bench = Bench::new();
    let server = Server::new(|asked, n| match n {
        // One too few, then one that is empty.
        0 => fine(json!({ "data": { "translations": [{ "translatedText": "A" }] } })),
        1 => fine(json!({ "data": { "translations": [{ "translatedText": " \n" }, { "other": 1 }] } })),
        _ => google(asked),
    });
    let settings = Settings { batch: 2, ..server.settings(EngineName::Google) };
    let mut translator = open(&bench, &settings);
    assert_eq!(translator.translate("en", "fr", &TEXTS, 0, "x").unwrap(), ["", "", "", "", "E"]);
    // It is remembered as such, and another attempt asks anew.
    assert_eq!(translator.translate("en", "fr", &TEXTS[..1], 0, "x").unwrap(), [""]);
    assert_eq!(server.texts(), TEXTS);
    assert_eq!(translator.translate("en", "fr", &TEXTS[..4], 1, "x").unwrap(), ["A", "B", "C", "D"]);

    let bench = Bench::new();
    let server = Server::new(|_, n| match n {
        0 => fine(json!({ "choices": [{ "message": { "content": null } }] })),
        1 => fine(json!({ "choices": [{ "message": { "content": "half a" }, "finish_reason": "length" }] })),
        2 => fine(json!({ "choices": [{ "message": { "content": "<think> no end" } }] })),
        3 => fine(json!({ "choices": [{ "message": { "content": "half a" }, "finish_reason": "length" }] })),
        _ => fine(json!({ "error": { "message": "no such model" } })),
    });
    let mut translator = open(&bench, &server.settings(EngineName::OpenAi));
    assert_eq!(translator.translate("en", "fr", &TEXTS[..3], 0, "x").unwrap(), ["", "", ""]);
    assert_eq!(translator.complete(&[("write", 0)]).unwrap(), ["half a"]);
    refused(translator.translate("en", "fr", &["z"], 0, "x"), &["another form than expected", "no such model"]);
}

#[test]
fn costs_of_chat_count_both_ways() {
    let bench = Bench::new();
    let server = Server::new(|_, _| chat("12345"));
    let settings = Settings { price: 1_000_000, ..server.settings(EngineName::OpenAi) };
    let mut translator = open(&bench, &settings);
    // "French: " and the text; an answer as long as the text.
    assert_eq!(translator.estimate("en", "fr", &["abc"], 0).cost, 8 + 3 + 3);
    translator.translate("en", "fr", &["abc"], 0, "x").unwrap();
    assert_eq!(translator.spent(), 8 + 3 + 5);
}
