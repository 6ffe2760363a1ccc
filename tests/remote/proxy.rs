//! A line to a server that is slow, is cut, or falls silent, as a test has it.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Bytes that are about to pass.
#[derive(Clone, Copy)]
pub struct Passing {
    /// Of which connection, counted from 0.
    pub connection: usize,
    /// To the server.
    pub up: bool,
    /// Bytes of this connection and direction so far, with these.
    pub bytes: u64,
}

/// What becomes of them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Act {
    Pass,
    /// The connection is cut.
    Cut,
    /// Nothing passes any more, and nobody is told.
    Silence,
}

type Rule = Arc<dyn Fn(Passing) -> Act + Send + Sync>;

struct Line {
    server: Mutex<String>,
    rule: Mutex<Rule>,
    /// Bytes a second of each connection and direction; 0 is as many as can be.
    rate: AtomicU64,
    connections: AtomicUsize,
    up: AtomicU64,
    down: AtomicU64,
}

/// The line; its threads end with the test program.
pub struct Proxy {
    pub address: String,
    line: Arc<Line>,
}

impl Proxy {
    pub fn to(server: &str) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let line = Arc::new(Line {
            server: Mutex::new(server.to_owned()),
            rule: Mutex::new(Arc::new(|_| Act::Pass)),
            rate: AtomicU64::new(0),
            connections: AtomicUsize::new(0),
            up: AtomicU64::new(0),
            down: AtomicU64::new(0),
        });
        let shared = line.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let to = shared.server.lock().unwrap().clone();
                // A server that is dead takes no connection, and neither does the line.
                let Ok(server) = TcpStream::connect(to) else { continue };
                let n = shared.connections.fetch_add(1, Ordering::SeqCst);
                for (up, from, to) in [(true, &client, &server), (false, &server, &client)] {
                    let (from, to, line) = (from.try_clone().unwrap(), to.try_clone().unwrap(), shared.clone());
                    std::thread::spawn(move || line.carry(n, up, from, to));
                }
            }
        });
        Proxy { address, line }
    }

    /// What happens to bytes from now on.
    pub fn rule(&self, rule: impl Fn(Passing) -> Act + Send + Sync + 'static) {
        *self.line.rule.lock().unwrap() = Arc::new(rule);
    }

    /// So many bytes a second of each connection and direction.
    pub fn slow(&self, rate: u64) {
        self.line.rate.store(rate, Ordering::SeqCst);
    }

    /// Where the server is from now on.
    pub fn server(&self, address: &str) {
        *self.line.server.lock().unwrap() = address.to_owned();
    }

    pub fn connections(&self) -> usize {
        self.line.connections.load(Ordering::SeqCst)
    }

    /// Bytes that passed to the server.
    pub fn up(&self) -> u64 {
        self.line.up.load(Ordering::SeqCst)
    }

    /// Bytes that came from it.
    pub fn down(&self) -> u64 {
        self.line.down.load(Ordering::SeqCst)
    }
}

impl Line {
    fn carry(&self, connection: usize, up: bool, mut from: TcpStream, mut to: TcpStream) {
        let mut buffer = vec![0; 1 << 16];
        let mut bytes = 0;
        let total = if up { &self.up } else { &self.down };
        while let Ok(n @ 1..) = from.read(&mut buffer) {
            bytes += n as u64;
            let rule = self.rule.lock().unwrap().clone();
            match rule(Passing { connection, up, bytes }) {
                Act::Pass => {}
                Act::Cut => break,
                Act::Silence => std::thread::sleep(Duration::from_secs(60)),
            }
            if let Some(micros) = (n as u64 * 1_000_000).checked_div(self.rate.load(Ordering::SeqCst)) {
                std::thread::sleep(Duration::from_micros(micros));
            }
            if to.write_all(&buffer[..n]).is_err() {
                break;
            }
            total.fetch_add(n as u64, Ordering::SeqCst);
        }
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    }
}
