//! What the servers of the tests have in common: a port of this machine, and requests that are read whole.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

/// A request. Names of headers are in lower case.
pub struct Request {
    pub path: String,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

/// Listens until the test program ends. Each request is handed to `serve` in a thread of its own, with the connection that
/// its answer goes to. Gives host and port.
pub fn listen(serve: impl Fn(Request, TcpStream) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let serve = serve.clone();
            std::thread::spawn(move || {
                if let Some(request) = read(&socket) {
                    serve(request, socket);
                }
            });
        }
    });
    address
}

/// Nothing if the client is gone before its request is whole.
fn read(socket: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(socket);
    let mut lines = reader.by_ref().lines().map_while(Result::ok);
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let headers: BTreeMap<String, String> = lines
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned())))
        .collect();
    let mut body = vec![0; headers.get("content-length").map_or(0, |length| length.parse().unwrap())];
    reader.read_exact(&mut body).ok()?;
    Some(Request { path, headers, body })
}
