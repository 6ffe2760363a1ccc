//! Downloads against a small server that drops, stalls, lies and redirects; and archives made to do harm.

use crate::http::{Request, listen};
use crate::support::{Bench, refused};
use nihbuild::hash::Digest;
use nihbuild::source::archive;
use nihbuild::source::fetch::{FetchOptions, Fetcher};
use nihbuild::source::pins::{Md5, Pin, PinnedReader, Pins};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What a request asked for.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) path: String,
    headers: BTreeMap<String, String>,
}

impl Asked {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// First byte asked for.
    fn from(&self) -> Option<usize> {
        self.header("range")?.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok()
    }
}

/// An answer, and how it goes wrong.
#[derive(Clone, Default)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
    /// The connection drops after so many bytes of the body.
    pub(crate) drop_after: Option<usize>,
    /// Nothing more comes after so many bytes of the body.
    pub(crate) stall_after: Option<usize>,
    /// No Content-Length: the body ends with the connection.
    pub(crate) unsized_body: bool,
}

pub(crate) fn status(status: u16) -> Reply {
    Reply { status, ..Reply::default() }
}

/// A sound server's answer: ranges and If-Range are minded.
pub(crate) fn sound(content: &[u8], tag: &str, asked: &Asked) -> Reply {
    let tag = format!("\"{tag}\"");
    let same = asked.header("if-range").is_none_or(|wanted| wanted == tag);
    let headers = vec![("ETag", tag)];
    match asked.from().filter(|_| same) {
        Some(from) if from < content.len() => {
            let range = format!("bytes {from}-{}/{}", content.len() - 1, content.len());
            let headers = [headers, vec![("Content-Range", range)]].concat();
            Reply { status: 206, headers, body: content[from..].to_vec(), ..Reply::default() }
        }
        Some(_) => status(416),
        None => Reply { status: 200, headers, body: content.to_vec(), ..Reply::default() },
    }
}

/// A server of one test; its thread ends with the test program.
pub(crate) struct Server {
    address: String,
    /// Each request with the number of body bytes that were sent for it.
    seen: Arc<Mutex<Vec<(Asked, usize)>>>,
}

impl Server {
    /// `answer` gets the request and how many came before it.
    pub(crate) fn new(answer: impl Fn(&Asked, usize) -> Reply + Send + Sync + 'static) -> Server {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let shared = seen.clone();
        Server { address: listen(move |request, socket| serve(request, socket, &shared, &answer)), seen }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<(Asked, usize)> {
        self.seen.lock().unwrap().clone()
    }
}

fn serve(
    request: Request,
    mut socket: TcpStream,
    seen: &Mutex<Vec<(Asked, usize)>>,
    answer: &(dyn Fn(&Asked, usize) -> Reply + Sync),
) {
    let asked = Asked { path: request.path, headers: request.headers };
    let (n, reply) = {
        let mut seen = seen.lock().unwrap();
        let n = seen.len();
        let reply = answer(&asked, n);
        let sent = reply.drop_after.or(reply.stall_after).unwrap_or(usize::MAX).min(reply.body.len());
        seen.push((asked, sent));
        (n, reply)
    };
    let sent = seen.lock().unwrap()[n].1;
    let mut head = format!("HTTP/1.1 {} X\r\nConnection: close\r\n", reply.status);
    for (name, value) in &reply.headers {
        head += &format!("{name}: {value}\r\n");
    }
    if !reply.unsized_body {
        head += &format!("Content-Length: {}\r\n", reply.body.len());
    }
    // A client that has enough may be gone by now.
    let _ = socket.write_all(format!("{head}\r\n").as_bytes()).and_then(|()| socket.write_all(&reply.body[..sent]));
    if reply.stall_after.is_some() {
        std::thread::sleep(Duration::from_secs(5));
    }
}

/// Bytes that repeat nowhere, the same each time.
fn content(bytes: usize) -> Vec<u8> {
    (0..bytes.div_ceil(32) as u64).flat_map(|n| Digest::of(n.to_le_bytes()).0).take(bytes).collect()
}

fn pin(id: &str, urls: &[String], bytes: &[u8]) -> Pin {
    Pin { bytes: Some(bytes.len() as u64), sha256: Some(Digest::of(bytes)), ..unpinned(id, urls) }
}

fn unpinned(id: &str, urls: &[String]) -> Pin {
    Pin {
        id: id.to_owned(),
        urls: urls.to_vec(),
        bytes: None,
        sha256: None,
        md5: None,
        licence: "CC0-1.0".to_owned(),
        members: BTreeMap::new(),
    }
}

fn options(bench: &Bench) -> FetchOptions {
    FetchOptions {
        stall: Duration::from_secs(3),
        retries: 3,
        back_off: Duration::from_millis(5),
        ..FetchOptions::new(bench.path("cache"))
    }
}

/// The file came, and it is these bytes.
#[track_caller]
fn got(fetcher: &Fetcher, pin: &Pin, bytes: &[u8]) {
    let path = fetcher.file(pin).unwrap_or_else(|e| panic!("{e}"));
    assert!(std::fs::read(path).unwrap() == bytes, "other bytes than were sent");
}

#[test]
fn a_whole_file_once() {
    let bench = Bench::new();
    let bytes = content(300_000);
    let copy = bytes.clone();
    let server = Server::new(move |asked, _| sound(&copy, "a", asked));
    let pin = pin("x", &[server.url("/folder/name.bin?query=1")], &bytes);
    let fetcher = Fetcher::new(options(&bench));
    got(&fetcher, &pin, &bytes);
    assert_eq!(fetcher.file(&pin).unwrap(), bench.path("cache").join(Digest::of(&bytes).to_string()).join("name.bin"));
    // From the cache, by this fetcher and by one that may not go online.
    got(&fetcher, &pin, &bytes);
    got(&Fetcher::new(FetchOptions { offline: true, ..options(&bench) }), &pin, &bytes);
    let seen = server.seen();
    assert_eq!(seen.len(), 1);
    assert!(seen[0].0.header("user-agent").unwrap().starts_with("nihbuild/"), "{seen:?}");
    assert_eq!((seen[0].0.header("authorization"), seen[0].0.header("referer")), (None, None));
    // Without its note of being verified it is digested anew, not downloaded.
    let note = format!("{}.verified", fetcher.file(&pin).unwrap().display());
    std::fs::remove_file(&note).unwrap();
    got(&fetcher, &pin, &bytes);
    assert!(Path::new(&note).is_file() && server.seen().len() == 1);
}

#[test]
fn an_md5_pin_is_checked_too() {
    let bench = Bench::new();
    let bytes = content(1000);
    let copy = bytes.clone();
    let server = Server::new(move |asked, _| sound(&copy, "a", asked));
    let mut pin = Pin { md5: Some(Md5::of(&bytes)), sha256: None, ..pin("x", &[server.url("/f")], &bytes) };
    got(&Fetcher::new(options(&bench)), &pin, &bytes);
    pin.md5 = Some(Md5::of(b"other"));
    refused(Fetcher::new(options(&bench)).file(&pin), &[&Md5::of(&bytes).to_string(), &Md5::of(b"other").to_string()]);
}

#[test]
fn a_dropped_connection_goes_on_where_it_broke() {
    let bench = Bench::new();
    let bytes = content(500_000);
    let copy = bytes.clone();
    let server =
        Server::new(move |asked, n| Reply { drop_after: (n == 0).then_some(200_000), ..sound(&copy, "a", asked) });
    got(&Fetcher::new(options(&bench)), &pin("x", &[server.url("/f")], &bytes), &bytes);
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    let (asked, sent) = &seen[1];
    let from = asked.from().unwrap();
    assert!(from > 0 && from <= 200_000, "{asked:?}");
    assert_eq!(*sent, bytes.len() - from);
    assert_eq!(asked.header("if-range"), Some("\"a\""));
}

#[test]
fn another_run_goes_on_where_one_was_given_up() {
    let bench = Bench::new();
    let bytes = content(500_000);
    let copy = bytes.clone();
    let server = Server::new(move |asked, n| match n {
        0 => Reply { drop_after: Some(100_000), ..sound(&copy, "a", asked) },
        1..=4 => status(500),
        _ => sound(&copy, "a", asked),
    });
    let pin = pin("x", &[server.url("/f")], &bytes);
    refused(Fetcher::new(options(&bench)).file(&pin), &["4 tries failed in a row", "500"]);
    got(&Fetcher::new(options(&bench)), &pin, &bytes);
    let last = server.seen().pop().unwrap();
    assert_eq!((last.0.from(), last.1), (Some(100_000), 400_000));
    // Nothing is left beside the file but its note and the lock.
    let place = Fetcher::new(options(&bench)).place(&pin);
    let left = nihbuild::store::sorted_dir(place.parent().unwrap()).unwrap();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn a_spoilt_beginning_is_made_good() {
    let bench = Bench::new();
    let bytes = content(500_000);
    let copy = bytes.clone();
    let server = Server::new(move |asked, n| match n {
        0 => Reply { drop_after: Some(100_000), ..sound(&copy, "a", asked) },
        1..=4 => status(500),
        _ => sound(&copy, "a", asked),
    });
    let pin = pin("x", &[server.url("/f")], &bytes);
    let fetcher = Fetcher::new(options(&bench));
    refused(fetcher.file(&pin), &["500"]);
    let partial = format!("{}.partial", fetcher.place(&pin).display());
    let mut spoilt = std::fs::read(&partial).unwrap();
    spoilt[50_000] ^= 1;
    std::fs::write(&partial, spoilt).unwrap();
    got(&fetcher, &pin, &bytes);
    let last = server.seen().pop().unwrap();
    assert_eq!((last.0.from(), last.1), (None, 500_000));
}

#[test]
fn a_server_that_ignores_ranges_starts_again() {
    let bench = Bench::new();
    let bytes = content(500_000);
    let copy = bytes.clone();
    let server = Server::new(move |_, n| Reply {
        status: 200,
        body: copy.clone(),
        drop_after: (n == 0).then_some(200_000),
        ..Reply::default()
    });
    got(&Fetcher::new(options(&bench)), &pin("x", &[server.url("/f")], &bytes), &bytes);
    let seen = server.seen();
    assert!(seen.len() == 2 && seen[1].0.from().is_some() && seen[1].1 == bytes.len());
}

#[test]
fn a_changed_file_starts_again() {
    let bench = Bench::new();
    let (old, new) = (vec![7; 500_000], content(500_000));
    let copy = new.clone();
    let server = Server::new(move |asked, n| match n {
        0 => Reply { drop_after: Some(200_000), ..sound(&old, "old", asked) },
        _ => sound(&copy, "new", asked),
    });
    got(&Fetcher::new(options(&bench)), &pin("x", &[server.url("/f")], &new), &new);
    let seen = server.seen();
    assert_eq!((seen.len(), seen[1].0.header("if-range"), seen[1].1), (2, Some("\"old\""), new.len()));
}

#[test]
fn wrong_bytes_are_not_kept() {
    let bench = Bench::new();
    let (bytes, other) = (content(100_000), vec![1; 100_000]);
    let copy = other.clone();
    let server = Server::new(move |asked, _| sound(&copy, "a", asked));
    let pin = pin("x", &[server.url("/f")], &bytes);
    let fetcher = Fetcher::new(options(&bench));
    let (found, pinned) = (Digest::of(&other).to_string(), Digest::of(&bytes).to_string());
    refused(fetcher.file(&pin), &[&found, &pinned, &server.url("/f")]);
    assert_eq!(server.seen().len(), 1);
    let place = fetcher.place(&pin);
    let left = nihbuild::store::sorted_dir(place.parent().unwrap()).unwrap();
    assert_eq!(left, [place.with_file_name("f.lock")]);
}

#[test]
fn wrong_sizes_are_refused_at_once() {
    let bench = Bench::new();
    let bytes = content(100_000);
    let server = Server::new(move |asked, _| match asked.path.as_str() {
        "/short" => sound(&content(99_999), "a", asked),
        "/long" => sound(&content(100_001), "a", asked),
        // Without a word of its size it would go on for long.
        _ => Reply { unsized_body: true, ..sound(&vec![0; 30_000_000], "a", asked) },
    });
    let fetcher = Fetcher::new(options(&bench));
    for (path, said) in [
        ("/short", "it has 99999 bytes, pinned are 100000"),
        ("/long", "it has 100001 bytes, pinned are 100000"),
        ("/endless", "more than the 100000 bytes"),
    ] {
        let pin = pin("x", &[server.url(path)], &bytes);
        refused(fetcher.file(&pin), &[said, path]);
        assert!(!fetcher.place(&pin).exists());
    }
    assert_eq!(server.seen().len(), 3);
}

#[test]
fn a_range_that_was_not_asked_for_is_refused() {
    let bench = Bench::new();
    let bytes = content(100_000);
    let copy = bytes.clone();
    let server = Server::new(move |asked, n| match n {
        0 => Reply { drop_after: Some(50_000), ..sound(&copy, "a", asked) },
        _ => Reply {
            status: 206,
            headers: vec![("Content-Range", "bytes 10-99999/100000".to_owned())],
            body: copy[10..].to_vec(),
            ..Reply::default()
        },
    });
    let pin = pin("x", &[server.url("/f")], &bytes);
    refused(Fetcher::new(options(&bench)).file(&pin), &["bytes 10-99999/100000"]);
}

#[test]
fn redirects_are_followed_and_end() {
    let bench = Bench::new();
    let bytes = content(10_000);
    let copy = bytes.clone();
    let server = Server::new(move |asked, _| match asked.path.as_str() {
        "/a" => Reply { headers: vec![("Location", "/b".to_owned())], ..status(302) },
        "/b" => sound(&copy, "a", asked),
        _ => Reply { headers: vec![("Location", "/round".to_owned())], ..status(302) },
    });
    let fetcher = Fetcher::new(options(&bench));
    refused(fetcher.file(&pin("x", &[server.url("/round")], &bytes)), &["redirect"]);
    assert_eq!(server.seen().len(), 11);
    got(&fetcher, &pin("x", &[server.url("/a")], &bytes), &bytes);
}

#[test]
fn a_stall_is_given_up_and_tried_again() {
    let bench = Bench::new();
    let bytes = content(100_000);
    let copy = bytes.clone();
    let server =
        Server::new(move |asked, n| Reply { stall_after: (n == 0).then_some(60_000), ..sound(&copy, "a", asked) });
    let fetcher = Fetcher::new(FetchOptions { stall: Duration::from_millis(300), ..options(&bench) });
    got(&fetcher, &pin("x", &[server.url("/f")], &bytes), &bytes);
    assert_eq!(server.seen()[1].0.from(), Some(60_000));
}

#[test]
fn busy_servers_are_asked_again_and_gone_files_elsewhere() {
    let bench = Bench::new();
    let bytes = content(10_000);
    let copy = bytes.clone();
    let server = Server::new(move |asked, n| match (asked.path.as_str(), n) {
        ("/gone", _) => status(404),
        (_, 1) => status(503),
        (_, 2) => status(429),
        _ => sound(&copy, "a", asked),
    });
    let urls = [server.url("/gone"), server.url("/f")];
    got(&Fetcher::new(options(&bench)), &pin("x", &urls, &bytes), &bytes);
    let paths: Vec<String> = server.seen().into_iter().map(|(asked, _)| asked.path).collect();
    assert_eq!(paths, ["/gone", "/f", "/f", "/f"]);
    refused(
        Fetcher::new(options(&bench)).file(&pin("y", &[server.url("/gone")], b"other")),
        &["cannot download y", "404", "/gone", "--sources"],
    );
}

#[test]
fn a_mirror_goes_on_with_what_another_began() {
    let bench = Bench::new();
    let bytes = content(100_000);
    let copy = bytes.clone();
    let server = Server::new(move |asked, n| match (asked.path.as_str(), n) {
        ("/one", 0) => Reply { drop_after: Some(40_000), ..sound(&copy, "one", asked) },
        ("/one", _) => status(403),
        _ => sound(&copy, "two", asked),
    });
    got(&Fetcher::new(options(&bench)), &pin("x", &[server.url("/one"), server.url("/two")], &bytes), &bytes);
    let last = server.seen().pop().unwrap();
    assert_eq!((last.0.path.as_str(), last.0.from(), last.0.header("if-range")), ("/two", Some(40_000), None));
}

#[test]
fn a_corrupted_cache_is_noticed() {
    let bench = Bench::new();
    let bytes = content(10_000);
    let copy = bytes.clone();
    let server = Server::new(move |asked, _| sound(&copy, "a", asked));
    let pin = pin("x", &[server.url("/f")], &bytes);
    let fetcher = Fetcher::new(options(&bench));
    let path = fetcher.file(&pin).unwrap();
    let mut spoilt = bytes.clone();
    spoilt[5] ^= 1;
    std::fs::write(&path, &spoilt).unwrap();
    let offline = Fetcher::new(FetchOptions { offline: true, ..options(&bench) });
    refused(offline.file(&pin), &[&Digest::of(&spoilt).to_string(), &path.display().to_string(), "--offline"]);
    got(&fetcher, &pin, &bytes);
    assert_eq!(server.seen().len(), 2);
    std::fs::write(&path, b"short").unwrap();
    got(&fetcher, &pin, &bytes);
    assert_eq!(server.seen().len(), 3);
}

#[test]
fn offline_opens_no_socket() {
    let bench = Bench::new();
    let server = Server::new(|_, _| status(200));
    let pin = pin("some-id", &[server.url("/f"), server.url("/mirror")], b"bytes");
    let fetcher = Fetcher::new(FetchOptions { offline: true, ..options(&bench) });
    let place = fetcher.place(&pin).display().to_string();
    let said = ["some-id", &server.url("/f"), &server.url("/mirror"), &place, "--data DIR"];
    refused(fetcher.file(&pin), &said);
    refused(fetcher.files(&[&pin]), &said);
    refused(fetcher.stream(&pin), &said);
    assert_eq!(server.seen().len(), 0);
    assert!(!bench.path("cache").exists());
}

#[test]
fn several_at_once_in_order() {
    let bench = Bench::new();
    let server = Server::new(|asked, _| match asked.path.as_str() {
        "/gone" => status(404),
        path => sound(&content(1000 + 40_000 * path[1..].parse::<usize>().unwrap()), "a", asked),
    });
    let pins: Vec<Pin> =
        (0..10).map(|n| pin(&format!("n{n}"), &[server.url(&format!("/{n}"))], &content(1000 + 40_000 * n))).collect();
    let fetcher = Fetcher::new(options(&bench));
    let paths = fetcher.files(&pins.iter().collect::<Vec<_>>()).unwrap_or_else(|e| panic!("{e}"));
    for (n, path) in paths.iter().enumerate() {
        assert_eq!(std::fs::read(path).unwrap().len(), 1000 + 40_000 * n);
    }
    assert_eq!(server.seen().len(), 10);
    // One error tells of all that failed.
    let gone = ["a", "b"].map(|id| pin(id, &[server.url("/gone")], id.as_bytes()));
    refused(fetcher.files(&[&gone[0], &pins[0], &gone[1]]), &["2 of 3", "cannot download a", "cannot download b"]);
    assert!(fetcher.files(&[]).unwrap().is_empty());
}

#[test]
fn two_that_want_the_same_get_it_once() {
    let bench = Bench::new();
    let bytes = content(2_000_000);
    let copy = bytes.clone();
    let server = Server::new(move |asked, _| sound(&copy, "a", asked));
    let pin = pin("x", &[server.url("/f")], &bytes);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| got(&Fetcher::new(options(&bench)), &pin, &bytes));
        }
    });
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn a_stream_over_a_server_that_drops() {
    let bench = Bench::new();
    let bytes = content(1_000_000);
    for ranges in [true, false] {
        let copy = bytes.clone();
        let server = Server::new(move |asked, n| {
            let whole = Asked { headers: BTreeMap::new(), ..asked.clone() };
            let reply = sound(&copy, "a", if ranges { asked } else { &whole });
            // Without ranges each answer begins at the first byte, so each has to come further.
            Reply { drop_after: Some(if ranges { 64 << 10 } else { (64 << 10) * (n + 1) }), ..reply }
        });
        let pin = pin("x", &[server.url("/f")], &bytes);
        let mut reader = PinnedReader::new(Fetcher::new(options(&bench)).stream(&pin).unwrap(), &pin);
        let mut found = Vec::new();
        reader.read_to_end(&mut found).unwrap_or_else(|e| panic!("{e}"));
        assert!(found == bytes);
        assert_eq!(reader.finish().unwrap(), (Digest::of(&bytes), 1_000_000));
        assert_eq!(server.seen().len(), 1_000_000usize.div_ceil(64 << 10));
    }
    assert!(!bench.path("cache").exists());
}

#[test]
fn a_stream_does_not_mix_versions_nor_go_on_for_ever() {
    let bench = Bench::new();
    let bytes = content(200_000);
    let copy = bytes.clone();
    let server = Server::new(move |asked, n| match asked.path.as_str() {
        "/changed" if n == 0 => Reply { drop_after: Some(64 << 10), ..sound(&copy, "old", asked) },
        "/changed" => sound(&copy, "new", asked),
        "/long" => Reply { unsized_body: true, ..sound(&[copy.as_slice(), b"more"].concat(), "a", asked) },
        "/gone" => status(404),
        _ => {
            Reply { drop_after: Some(1000), ..sound(&copy, "a", &Asked { headers: BTreeMap::new(), ..asked.clone() }) }
        }
    });
    let fetcher = Fetcher::new(options(&bench));
    for (path, said) in [
        ("/changed", "was changed while it was read"),
        ("/long", "more than the 200000 bytes"),
        ("/gone", "404"),
        // Each try brings the same first bytes: no progress.
        ("/stuck", "4 tries failed in a row"),
    ] {
        let pin = pin("x", &[server.url(path)], &bytes);
        let mut found = Vec::new();
        let error = fetcher.stream(&pin).unwrap().read_to_end(&mut found).unwrap_err().to_string();
        assert!(error.contains(said) && error.contains(path), "{error}");
        assert!(bytes.starts_with(&found));
    }
}

#[test]
fn an_unpinned_source_prints_its_pin_and_is_kept() {
    let bench = Bench::new();
    let bytes = content(10_000);
    let copy = bytes.clone();
    let server = Server::new(move |asked, _| sound(&copy, "a", asked));
    let loose = unpinned("some/model.onnx", &[server.url("/onnx/model.onnx")]);
    let fetcher = Fetcher::new(options(&bench));
    let error = fetcher.file(&loose).unwrap_err().to_string();
    let digest = Digest::of(&bytes);
    for said in
        ["not pinned", "checksums/sources.toml", "--sources", "bytes = 10000\n", &format!("sha256 = \"{digest}\"\n")]
    {
        assert!(error.contains(said), "{error}");
    }
    // What it prints is an entry, and with it the file is there already.
    let entry = &error[error.find("[[source]]").unwrap()..];
    let pins = Pins::load(Some(&bench.write("sources.toml", entry))).unwrap_or_else(|e| panic!("{e}"));
    got(&fetcher, pins.find("some/model.onnx").unwrap(), &bytes);
    assert_eq!(server.seen().len(), 1);
    let offline = Fetcher::new(FetchOptions { offline: true, ..options(&bench) });
    refused(offline.file(&loose), &["some/model.onnx", "no digest"]);
}

#[test]
fn pins_and_those_that_add_to_them() {
    let bench = Bench::new();
    let pins = Pins::load(None).unwrap();
    for language in ["ar", "zh", "de", "hi", "es", "vi"] {
        let pin = pins.find(&format!("mmarco-v2-{language}")).unwrap();
        assert!(pin.md5.is_some() && pin.bytes.is_some() && pin.licence == "LicenseRef-MS-MARCO");
    }
    assert!(!pins.find("paraphrase-multilingual-mpnet-base-v2/model.onnx").unwrap().is_pinned());
    refused(pins.find("mlqa"), &["\"mlqa\" has no pin", "mlqa-v1", "xquad-vi"]);
    let entry = |id: &str, more: &str| {
        format!("[[source]]\nid = \"{id}\"\nurls = [\"https://a.example/x\"]\nlicence = \"MIT\"\n{more}")
    };
    let extra = bench.write("extra.toml", &(entry("mlqa-v1", "bytes = 3\n") + &entry("own", "")));
    let pins = Pins::load(Some(&extra)).unwrap();
    assert_eq!((pins.find("mlqa-v1").unwrap().bytes, pins.find("own").unwrap().bytes), (Some(3), None));
    assert!(pins.find("mlqa-v1").unwrap().sha256.is_none() && pins.find("babi-v1.2").is_ok());
    for (text, said) in [
        (entry("own", "size = 3\n"), vec!["unknown field `size`", "line 5"]),
        (entry("own", "") + &entry("own", ""), vec!["\"own\" stands here twice", "line 5"]),
        (entry("own", "md5 = \"12\"\n"), vec!["expected 32 hexadecimal digits", "line 5"]),
        (entry("own", "sha256 = \"+1\"\n"), vec!["expected 64 hexadecimal digits"]),
        (entry("own", "").replace("https:", "ftp:"), vec!["only http, https, s3", "line 1"]),
        (entry("", ""), vec!["is no id", "line 1"]),
        (entry("own", "").replace("\"https://a.example/x\"", ""), vec!["has no urls"]),
    ] {
        let path = bench.write("faulty.toml", &text);
        refused(Pins::load(Some(&path)), &[said, vec!["faulty.toml"]].concat());
    }
    refused(Pins::load(Some(&bench.path("none.toml"))), &["none.toml"]);
}

#[test]
fn pinned_sizes_and_digests_are_those_of_real_files() {
    let Some(data) = crate::support::real_data("the pins of XQuAD") else { return };
    let pins = Pins::load(None).unwrap();
    for language in ["ar", "de", "en", "es", "hi", "vi", "zh"] {
        let file = data.join(format!("xquad/xquad.{language}.json"));
        pins.find(&format!("xquad-{language}")).unwrap().check_file(&file).unwrap();
    }
}

pub(crate) fn zipped(path: &Path, members: &[(&str, &[u8])]) {
    let mut zip = zip::ZipWriter::new(std::fs::File::create(path).unwrap());
    for (name, bytes) in members {
        zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap();
}

/// Writes one name over another of the same length everywhere.
fn renamed(path: &Path, from: &str, to: &str) {
    assert_eq!(from.len(), to.len());
    let mut bytes = std::fs::read(path).unwrap();
    let places: Vec<usize> =
        (0..bytes.len() - from.len()).filter(|&n| bytes[n..].starts_with(from.as_bytes())).collect();
    assert_eq!(places.len(), 2, "in the member's own head and in the directory");
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn zip_members_in_order() {
    let bench = Bench::new();
    let path = bench.path("a.zip");
    let long = content(100_000);
    zipped(&path, &[("d/b.json", &long), ("d/a.json", b"a"), ("d/other.txt", b"no")]);
    let members = archive::zip_members(&path, |name| name.ends_with(".json"), 100_000).unwrap();
    assert_eq!(members, [("d/a.json".to_owned(), b"a".to_vec()), ("d/b.json".to_owned(), long)]);
}

#[test]
fn harmful_zips_are_refused() {
    let bench = Bench::new();
    let path = bench.path("a.zip");
    let all = |max| archive::zip_members(&path, |_| true, max);
    for name in ["../evil", "a/../../evil", "/evil", "a\\evil", "C:evil"] {
        let plain = "x".repeat(name.len());
        zipped(&path, &[(&plain, b"bytes")]);
        renamed(&path, &plain, name);
        refused(all(100), &["a.zip", "leads out of it"]);
    }
    zipped(&path, &[("one", b"1"), ("two", b"2")]);
    renamed(&path, "two", "one");
    refused(all(100), &["a.zip", "twice"]);
    // A bomb: a hundred megabytes in a hundred kilobytes, and one that lies about its size.
    zipped(&path, &[("bomb", &vec![0; 100_000_000])]);
    assert!(std::fs::metadata(&path).unwrap().len() < 200_000);
    refused(all(1_000_000), &["bomb", "larger than 1000000 bytes"]);
    let mut bytes = std::fs::read(&path).unwrap();
    let size = 100_000_000u32.to_le_bytes();
    let at: Vec<usize> = (0..bytes.len() - 4).filter(|&n| bytes[n..].starts_with(&size)).collect();
    for at in at {
        bytes[at..at + 4].copy_from_slice(&10u32.to_le_bytes());
    }
    std::fs::write(&path, bytes).unwrap();
    refused(all(1_000_000), &["a.zip"]);
    let mut zip = zip::ZipWriter::new(std::fs::File::create(&path).unwrap());
    zip.add_symlink("link", "/etc/hosts", zip::write::SimpleFileOptions::default()).unwrap();
    zip.finish().unwrap();
    refused(all(100), &["link as a link"]);
    zipped(&path, &[("one", &content(10_000))]);
    let bytes = std::fs::read(&path).unwrap();
    for end in [0, 100, 5000, bytes.len() - 1] {
        std::fs::write(&path, &bytes[..end]).unwrap();
        refused(all(10_000), &["cannot read the archive", "a.zip", "truncated"]);
    }
    let mut spoilt = bytes.clone();
    spoilt[5000] ^= 1;
    std::fs::write(&path, &spoilt).unwrap();
    refused(all(10_000), &["cannot read the archive", "one"]);
}

/// A tar.gz of members: name, type, bytes.
pub(crate) fn tarred(members: &[(&str, tar::EntryType, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    for (path, kind, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.as_gnu_mut().unwrap().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_entry_type(*kind);
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        tar.append(&header, *bytes).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

#[test]
fn one_member_of_a_tar_and_the_digest_of_all() {
    use tar::EntryType::Regular;
    let long = content(1_000_000);
    let packed =
        tarred(&[("a.tsv", Regular, b"a"), ("./b.tsv", Regular, &long), ("c.tsv", Regular, &content(300_000))]);
    let whole = pin("x", &["http://a.example/x".to_owned()], &packed);
    // Whether the member is read to its end or not, the whole archive passes.
    for part in [u64::MAX, 10, 0] {
        let mut reader = PinnedReader::new(packed.as_slice(), &whole);
        let found = archive::with_tar_gz_member("x", &mut reader, "b.tsv", |member| {
            let mut bytes = Vec::new();
            member.take(part).read_to_end(&mut bytes).unwrap();
            Ok(bytes)
        })
        .unwrap();
        assert!(found == long[..long.len().min(part.min(1 << 40) as usize)]);
        assert_eq!(reader.finish().unwrap(), (Digest::of(&packed), packed.len() as u64));
    }
    let none = archive::with_tar_gz_member("x", packed.as_slice(), "d.tsv", |_| Ok(()));
    refused(none, &["no member d.tsv", "a.tsv, b.tsv, c.tsv"]);
    let cut = archive::with_tar_gz_member("x", &packed[..packed.len() / 3], "b.tsv", |member| {
        let error = member.read_to_end(&mut Vec::new()).unwrap_err();
        Err::<(), _>(nihbuild::error::Error::new(error.to_string()))
    });
    assert!(cut.is_err());
    let cut = archive::with_tar_gz_member("x", &packed[..packed.len() / 3], "c.tsv", |_| Ok(()));
    refused(cut, &["cannot read the archive x", "truncated"]);
}

#[test]
fn harmful_tars_are_refused() {
    use tar::EntryType::{GNULongName, Link, Regular, Symlink};
    let all = |packed: &[u8]| archive::tar_gz_members("x", packed, |_| true, 1000);
    for kind in [Link, Symlink] {
        let packed = tarred(&[("link", kind, b"")]);
        refused(all(&packed), &["link as a link"]);
        refused(archive::with_tar_gz_member("x", packed.as_slice(), "link", |_| Ok(())), &["link as a link"]);
    }
    for name in ["../evil", "/evil", "a/../evil", "a\\evil"] {
        refused(all(&tarred(&[(name, Regular, b"")])), &["leads out of it"]);
    }
    refused(all(&tarred(&[("a", Regular, b""), ("./a", Regular, b"")])), &["twice"]);
    refused(all(&tarred(&[("a", Regular, &[0; 1001])])), &["larger than 1000 bytes"]);
    // A name of many megabytes, a few kilobytes packed.
    let packed = tarred(&[("l", GNULongName, &vec![b'a'; 50_000_000]), ("a", Regular, b"")]);
    refused(all(&packed), &["bytes of headers"]);
    let many: Vec<String> = (0..10_001).map(|n| n.to_string()).collect();
    let many: Vec<_> = many.iter().map(|name| (name.as_str(), Regular, &b""[..])).collect();
    refused(all(&tarred(&many)), &["more than 10000 entries"]);
    refused(all(b"no gzip"), &["cannot read the archive x"]);
    let sound = all(&tarred(&[("b", Regular, b"2"), ("a", Regular, b"1")])).unwrap();
    assert_eq!(sound, [("a".to_owned(), b"1".to_vec()), ("b".to_owned(), b"2".to_vec())]);
}
