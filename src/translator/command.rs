//! A program that reads what is asked as JSON Lines and writes answers as JSON Lines, in any order.
//!
//! It is started once, with `{"id":1,"source":"en","target":"fr","text":"..","attempt":0,"temperature":0,"max_tokens":0}` or
//! `{"id":2,"prompt":"..","attempt":0,"temperature":500,"max_tokens":0}` a line on its standard input, and answers
//! `{"id":1,"text":".."}` a line. Ids are never used twice. At the end its input is closed, and it should end too.

use super::{Answer, Ask, Engine, EngineName, EngineRecord, Kind, Settings, Taker, cut, read_key, redact};
use crate::error::{Error, Result};
use serde::Deserialize;
use serde_json::json;
use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// The engine.
pub static ENGINE: EngineRecord = EngineRecord {
    name: EngineName::Command,
    word: "command",
    endpoint: "",
    key_env: "",
    key_needed: false,
    batch: (1, 1),
    http: false,
    chat: false,
    completes: true,
    start: |settings| Ok(Box::new(Program { settings: settings.clone(), running: None })),
};

/// A line of the program has at most so many bytes.
const MAX_LINE: u64 = 16 << 20;
/// Last lines of its standard error that are kept, and characters of each.
const LAST_LINES: usize = 10;
const SHOWN: usize = 200;
/// Answers that are written to the journal at once, at most.
const GROUP: usize = 256;
/// How long a program that should end may take to.
const GRACE: Duration = Duration::from_secs(2);

/// The program, started at the first ask.
struct Program {
    settings: Settings,
    running: Option<Running>,
}

struct Running {
    child: Child,
    /// Lines on their way to the program: a thread writes them, since the program may not read before it has written.
    input: Option<Sender<String>>,
    /// Lines from the program; one without a line end is its last word.
    output: Receiver<Vec<u8>>,
    last: Arc<Mutex<VecDeque<String>>>,
    errors: JoinHandle<()>,
    /// Ids below were used.
    next: u64,
}

/// What the program writes.
#[derive(Deserialize)]
struct Said {
    id: u64,
    text: Option<String>,
}

impl Running {
    fn start(settings: &Settings) -> Result<Running> {
        let (program, arguments) = settings.command.split_first().ok_or_else(|| settings.error("no program"))?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| settings.error(format!("cannot start {program:?}: {e}")).help("see the key `command`"))?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(mut stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(settings.error(format!("{program:?} has no pipes")));
        };
        let (input, lines) = mpsc::channel::<String>();
        std::thread::spawn(move || {
            // That nobody reads any more shows at the other end.
            for line in lines {
                if stdin.write_all(line.as_bytes()).is_err() {
                    break;
                }
            }
        });
        let (sender, output) = mpsc::channel();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stdout);
            while let Some(line) = read_line(&mut reader) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let last = Arc::new(Mutex::new(VecDeque::new()));
        let kept = last.clone();
        let key = read_key(settings.key_variable());
        let errors = std::thread::spawn(move || {
            let mut reader = BufReader::new(stderr);
            while let Some(line) = read_line(&mut reader) {
                let line = cut(&redact(&String::from_utf8_lossy(&line), key.as_deref()), SHOWN);
                let mut kept = kept.lock().unwrap_or_else(|e| e.into_inner());
                kept.push_back(line);
                if kept.len() > LAST_LINES {
                    kept.pop_front();
                }
            }
        });
        Ok(Running { child, input: Some(input), output, last, errors, next: 1 })
    }

    /// Waits until the program has ended, or it is enough. Says how it ended.
    fn end(&mut self) -> Option<std::process::ExitStatus> {
        let step = Duration::from_millis(10);
        for _ in 0..GRACE.as_millis() / step.as_millis() {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(step),
                Ok(status) => return status,
                Err(_) => break,
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        None
    }

    /// An error with the last lines of the program's standard error.
    fn fault(&self, settings: &Settings, what: String) -> Error {
        let name = settings.command.first().map_or("", String::as_str);
        let mut error = settings.error(format!("{name:?} {what}"));
        // The other thread may not have read all yet; a child of the program may hold the pipe open.
        for _ in 0..50 {
            if self.errors.is_finished() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        for line in self.last.lock().unwrap_or_else(|e| e.into_inner()).iter() {
            error = error.at(format!("stderr: {line}"));
        }
        error.help("what was answered is kept: mend the program and run the same command again to go on")
    }
}

impl Drop for Running {
    /// Closes the program's input and waits a little for its end.
    fn drop(&mut self) {
        self.input = None;
        let _ = self.end();
    }
}

/// The next line, without its end; nothing at the end or after a fault.
fn read_line(reader: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    match reader.take(MAX_LINE).read_until(b'\n', &mut line) {
        Ok(n) if n > 0 => {
            if line.ends_with(b"\n") {
                line.pop();
            }
            Some(line)
        }
        _ => None,
    }
}

fn line_of(id: u64, settings: &Settings, ask: &Ask) -> String {
    let temperature = ask.temperature.unwrap_or(settings.temperature);
    let mut line = json!({
        "id": id, "attempt": ask.attempt, "temperature": temperature, "max_tokens": settings.max_tokens,
    });
    match ask.kind {
        Kind::Complete => line["prompt"] = json!(ask.text),
        Kind::Translate => {
            line["source"] = json!(ask.from);
            line["target"] = json!(ask.to);
            line["text"] = json!(ask.text);
        }
    }
    format!("{line}\n")
}

/// Puts one line of the program to its ask.
fn understand(
    line: &[u8],
    pending: &mut BTreeMap<u64, usize>,
    next: u64,
) -> std::result::Result<(usize, Answer), String> {
    let said: Said = serde_json::from_slice(line).map_err(|_| {
        let shown = cut(&String::from_utf8_lossy(line), SHOWN);
        format!("wrote a line that is not {{\"id\":..,\"text\":\"..\"}}: {shown}")
    })?;
    match pending.remove(&said.id) {
        Some(n) => Ok((n, Answer::new(said.text.as_deref().unwrap_or_default()))),
        None if said.id > 0 && said.id < next => Err(format!("answered id {} twice", said.id)),
        None => Err(format!("answered id {}, which was not asked", said.id)),
    }
}

impl Program {
    fn talk(&self, running: &mut Running, asks: &[Ask], take: &mut Taker<'_>) -> Result<()> {
        let settings = &self.settings;
        let limit = Duration::from_secs(settings.timeout_seconds.into());
        let mut pending = BTreeMap::new();
        for (n, ask) in asks.iter().enumerate() {
            pending.insert(running.next, n);
            if let Some(input) = &running.input {
                // A dead program shows at its output.
                let _ = input.send(line_of(running.next, settings, ask));
            }
            running.next += 1;
        }
        while !pending.is_empty() {
            let first = match running.output.recv_timeout(limit) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => {
                    let _ = running.child.kill();
                    let what = format!("was silent for {} s with {} texts unanswered", limit.as_secs(), pending.len());
                    return Err(running.fault(settings, what));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let how =
                        running.end().map_or("closed its output".to_owned(), |status| format!("ended ({status})"));
                    return Err(running.fault(settings, format!("{how} with {} texts unanswered", pending.len())));
                }
            };
            // What is there already goes to the journal with it.
            let lines = std::iter::once(first).chain(running.output.try_iter()).take(GROUP);
            let mut answers = Vec::new();
            let mut wrong = None;
            for line in lines {
                match understand(&line, &mut pending, running.next) {
                    Ok(answer) => answers.push(answer),
                    Err(what) => {
                        wrong = Some(what);
                        break;
                    }
                }
            }
            take(&answers)?;
            if let Some(what) = wrong {
                let _ = running.child.kill();
                return Err(running.fault(settings, what));
            }
        }
        Ok(())
    }
}

impl Engine for Program {
    fn ask(&mut self, asks: &[Ask], take: &mut Taker<'_>) -> Result<()> {
        let mut running = match self.running.take() {
            Some(running) => running,
            None => Running::start(&self.settings)?,
        };
        // After a fault the program is not asked again.
        self.talk(&mut running, asks, take)?;
        self.running = Some(running);
        Ok(())
    }
}
