//! A translation service on this machine, which keeps account of what it is asked, and the language that it speaks.

use crate::http::{Request, listen};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

/// A text that is to be translated.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Ask {
    pub from: String,
    pub to: String,
    pub text: String,
}

/// What comes back.
pub enum Reply {
    /// A translation each.
    Texts(Vec<String>),
    /// A status, and the seconds to wait.
    Status(u16, Option<u32>),
    /// The connection is cut.
    Cut,
}

/// A request: its texts, and its number, from 0.
pub type Answer = dyn Fn(&[Ask], usize) -> Reply + Send + Sync;

#[derive(Default)]
struct Log {
    requests: usize,
    asked: Vec<Ask>,
    answered: Vec<Ask>,
    /// Headers and bodies, where a key might stand.
    raw: Vec<String>,
}

/// The service. It speaks the protocols of all engines over HTTP, by path.
pub struct Service {
    address: String,
    log: Arc<Mutex<Log>>,
}

impl Service {
    pub fn new(answer: impl Fn(&[Ask], usize) -> Reply + Send + Sync + 'static) -> Service {
        let log = Arc::new(Mutex::new(Log::default()));
        let shared = log.clone();
        Service { address: listen(move |request, socket| serve(&request, socket, &shared, &answer)), log }
    }

    /// Text by text; `answer` is told how often a text was asked for before.
    pub fn by_text(answer: impl Fn(&Ask, usize) -> String + Send + Sync + 'static) -> Service {
        let times: Mutex<BTreeMap<Ask, usize>> = Mutex::default();
        Service::new(move |asks, _| {
            let mut times = times.lock().unwrap();
            let one = |ask: &Ask| {
                let n = times.entry(ask.clone()).or_default();
                *n += 1;
                answer(ask, *n - 1)
            };
            Reply::Texts(asks.iter().map(one).collect())
        })
    }

    /// It makes no mistakes.
    pub fn sound() -> Service {
        Service::by_text(|ask, _| speak(ask))
    }

    /// The keys of `[translation.service]`.
    pub fn keys(&self, engine: &str) -> String {
        let mut keys = format!(
            "engine = \"{engine}\"\nendpoint = \"http://{}/base\"\nkey_env = \"MT_TEST_KEY\"\nback_off = 1\n",
            self.address
        );
        if engine == "openai" {
            keys += "model = \"small\"\nprompt = \"{source_language}|{target_language}|{text}\"\n";
        }
        keys
    }

    pub fn requests(&self) -> usize {
        self.log.lock().unwrap().requests
    }

    /// All texts that came, in their order.
    pub fn asked(&self) -> Vec<Ask> {
        self.log.lock().unwrap().asked.clone()
    }

    /// All texts that were answered.
    pub fn answered(&self) -> Vec<Ask> {
        self.log.lock().unwrap().answered.clone()
    }

    /// Texts out of English into a language, with how often each came.
    pub fn sent_to(&self, language: &str) -> BTreeMap<String, usize> {
        let mine = |ask: &Ask| ask.from == "en" && ask.to == language;
        let mut all = BTreeMap::new();
        for ask in self.asked().into_iter().filter(mine) {
            *all.entry(ask.text).or_default() += 1;
        }
        all
    }

    /// Did a word come in any header or body?
    pub fn heard(&self, word: &str) -> bool {
        self.log.lock().unwrap().raw.iter().any(|raw| raw.contains(word))
    }
}

/// Asks that are there more than once.
pub fn repeated(asks: &[Ask]) -> Vec<Ask> {
    let mut sorted = asks.to_vec();
    sorted.sort();
    sorted.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0].clone()).collect()
}

/// The texts of a request, by its protocol.
fn asks(path: &str, body: &Value) -> Vec<Ask> {
    if path.ends_with("/chat/completions") {
        let prompt = body["messages"][0]["content"].as_str().unwrap();
        let parts: Vec<&str> = prompt.splitn(3, '|').collect();
        let code = |name: &str| if name == "English" { "en".to_owned() } else { name.to_owned() };
        return vec![Ask { from: code(parts[0]), to: code(parts[1]), text: parts[2].to_owned() }];
    }
    let text = |key: &str| body[key].as_str().unwrap().to_owned();
    let ask = |q: &Value| Ask { from: text("source"), to: text("target"), text: q.as_str().unwrap().to_owned() };
    body["q"].as_array().unwrap().iter().map(ask).collect()
}

fn body_of(path: &str, texts: &[String]) -> Value {
    if path.ends_with("/chat/completions") {
        return json!({ "choices": [{ "message": { "content": texts[0] }, "finish_reason": "stop" }] });
    }
    if path.ends_with("/language/translate/v2") {
        let all: Vec<Value> = texts.iter().map(|text| json!({ "translatedText": text })).collect();
        return json!({ "data": { "translations": all } });
    }
    json!({ "translatedText": texts })
}

fn serve(request: &Request, mut socket: TcpStream, log: &Mutex<Log>, answer: &Answer) {
    let asks = asks(&request.path, &serde_json::from_slice(&request.body).unwrap());
    let n = {
        let mut log = log.lock().unwrap();
        log.asked.extend_from_slice(&asks);
        log.raw.push(format!("{} {:?}\n{}", request.path, request.headers, String::from_utf8_lossy(&request.body)));
        log.requests += 1;
        log.requests - 1
    };
    let (status, wait, body) = match answer(&asks, n) {
        Reply::Texts(texts) => (200, None, body_of(&request.path, &texts).to_string()),
        Reply::Status(status, wait) => (status, wait, String::new()),
        Reply::Cut => return,
    };
    let mut head = format!("HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
    if let Some(seconds) = wait {
        head += &format!("Retry-After: {seconds}\r\n");
    }
    if status == 200 {
        log.lock().unwrap().answered.extend(asks);
    }
    let _ = socket.write_all(format!("{head}\r\n{body}").as_bytes());
}

/// A text with each of its words replaced; tokens are no words.
pub fn each_word(text: &str, with: impl Fn(&str) -> String) -> String {
    let mut made = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let token = rest.starts_with("[[").then(|| rest.find("]]").map(|end| end + 2)).flatten();
        let word = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let length = token.unwrap_or_else(|| if word > 0 { word } else { c.len_utf8() });
        let piece = &rest[..length];
        made += &if token.is_none() && word > 0 { with(piece) } else { piece.to_owned() };
        rest = &rest[length..];
    }
    made
}

/// English as the service's language: each word backwards, with a u behind.
pub fn mirror(text: &str) -> String {
    each_word(text, |word| word.chars().rev().collect::<String>().to_lowercase() + "u")
}

/// The way back, but for capitals.
pub fn unmirror(text: &str) -> String {
    each_word(text, |word| word.strip_suffix('u').unwrap_or(word).chars().rev().collect())
}

/// A sound translation.
pub fn speak(ask: &Ask) -> String {
    if ask.from == "en" { mirror(&ask.text) } else { unmirror(&ask.text) }
}
