//! A program that is asked in JSON Lines on its standard input and answers in JSON Lines, in any order.
//!
//! It is started once. Ids are never used twice. At the end its input is closed, and it should end too.

use super::{cut, redact};
use crate::error::{Error, Result};
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// A line of the program has at most so many bytes.
const MAX_LINE: u64 = 16 << 20;
/// Last lines of its standard error that are kept, and characters of each.
const LAST_LINES: usize = 10;
const SHOWN: usize = 200;
/// Answers that are handed on at once, at most.
const GROUP: usize = 256;
/// How long a program that should end may take to.
const GRACE: Duration = Duration::from_secs(2);

/// What is said to a program, and how its lines are understood. What is wrong with a line is told without its subject:
/// the error begins with the program's name.
pub trait Talk {
    /// A line of the program, read but not yet put to what was asked.
    type Said;
    /// What comes of it.
    type Answer;

    /// Number of things asked.
    fn count(&self) -> usize;

    /// What they are called: `texts`.
    fn noun(&self) -> &'static str;

    /// The n-th as a line, with its id.
    fn line(&self, n: usize, id: u64) -> Value;

    /// Reads a line: its id and the rest.
    fn read(&self, line: &[u8]) -> std::result::Result<(u64, Self::Said), String>;

    /// Puts what was said to the n-th thing asked.
    fn understand(&self, n: usize, said: Self::Said) -> std::result::Result<Self::Answer, String>;
}

/// A running program.
pub struct Program {
    /// Errors begin with it.
    who: &'static str,
    name: String,
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

/// What to say of a line that is not as it should be.
pub fn unlike(shape: &str, line: &[u8]) -> String {
    format!("wrote a line that is not {shape}: {}", cut(&String::from_utf8_lossy(line), SHOWN))
}

impl Program {
    /// Starts a program with its arguments. `who` begins its errors, and `key` is taken out of what it says on standard error.
    pub fn start(who: &'static str, command: &[String], key: Option<String>) -> Result<Program> {
        let wrong = |what: String| Error::new(format!("{who}: {what}"));
        let (program, arguments) = command.split_first().ok_or_else(|| wrong("no program".to_owned()))?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| wrong(format!("cannot start {program:?}: {e}")).help("see the key `command`"))?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(mut stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(wrong(format!("{program:?} has no pipes")));
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
        Ok(Program { who, name: program.clone(), child, input: Some(input), output, last, errors, next: 1 })
    }

    /// Asks all, and hands the answers to `take` as they come, each with the number of what was asked. The program may be
    /// silent for as long as `limit`. After an error it is of no more use; what was taken before holds.
    pub fn talk<T: Talk>(
        &mut self,
        talk: &T,
        limit: Duration,
        take: &mut dyn FnMut(Vec<(usize, T::Answer)>) -> Result<()>,
    ) -> Result<()> {
        let mut pending = BTreeMap::new();
        for n in 0..talk.count() {
            pending.insert(self.next, n);
            if let Some(input) = &self.input {
                // A dead program shows at its output.
                let _ = input.send(format!("{}\n", talk.line(n, self.next)));
            }
            self.next += 1;
        }
        while !pending.is_empty() {
            let left = format!("with {} {} unanswered", pending.len(), talk.noun());
            let first = match self.output.recv_timeout(limit) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => {
                    let _ = self.child.kill();
                    return Err(self.fault(format!("was silent for {} s {left}", limit.as_secs())));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let how = self.end().map_or("closed its output".to_owned(), |status| format!("ended ({status})"));
                    return Err(self.fault(format!("{how} {left}")));
                }
            };
            // What is there already is handed on with it.
            let lines = std::iter::once(first).chain(self.output.try_iter()).take(GROUP);
            let mut answers = Vec::new();
            let mut wrong = None;
            for line in lines {
                match understand(talk, &line, &mut pending, self.next) {
                    Ok(answer) => answers.push(answer),
                    Err(what) => {
                        wrong = Some(what);
                        break;
                    }
                }
            }
            take(answers)?;
            if let Some(what) = wrong {
                let _ = self.child.kill();
                return Err(self.fault(what));
            }
        }
        Ok(())
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
    fn fault(&self, what: String) -> Error {
        let mut error = Error::new(format!("{}: {:?} {what}", self.who, self.name));
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

impl Drop for Program {
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

/// Puts one line of the program to what was asked.
fn understand<T: Talk>(
    talk: &T,
    line: &[u8],
    pending: &mut BTreeMap<u64, usize>,
    next: u64,
) -> std::result::Result<(usize, T::Answer), String> {
    let (id, said) = talk.read(line)?;
    match pending.remove(&id) {
        Some(n) => Ok((n, talk.understand(n, said)?)),
        None if id > 0 && id < next => Err(format!("answered id {id} twice")),
        None => Err(format!("answered id {id}, which was not asked")),
    }
}
