//! What a web server shows.

use super::QUICK;
use crate::fetching::{Reply, Server, sound, status};
use crate::support::{Bench, bytes_of, refused};
use nihbuild::hash::Digest;
use nihbuild::remote::Place;
use std::collections::BTreeMap;
use std::path::Path;

fn place(server: &Server, path: &str) -> Place {
    Place::with(&server.url(path), QUICK, None).unwrap()
}

#[test]
fn a_release_is_brought_from_a_web_server() {
    let bench = Bench::new();
    let release = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/releases/needle-1.0.0");
    let files: BTreeMap<String, Vec<u8>> = bytes_of(&release).into_iter().collect();
    let server =
        Server::new(move |asked, _| match asked.path.strip_prefix("/hub/1.0.0/").and_then(|name| files.get(name)) {
            Some(bytes) => sound(bytes, "v1", asked),
            None => status(404),
        });
    let url = server.url("/hub/1.0.0");
    bench.run(&["pull", &url, "--out", "came"]).success();
    assert_eq!(bytes_of(&bench.path("came")), bytes_of(&release));
    bench.run(&["pull", &server.url("/hub"), "--out", "other"]).failure(2, &["holds no release"]);
}

#[test]
fn files_are_read_and_nothing_else() {
    let bench = Bench::new();
    let bytes: Vec<u8> = super::content("web", 3 << 20);
    let digest = Digest::of(&bytes);
    let served = bytes.clone();
    let server = Server::new(move |asked, n| match asked.path.as_str() {
        "/a/f" => sound(&served, "v1", asked),
        // It drops each connection, and minds ranges.
        "/a/drops" => Reply { drop_after: Some(700_000), ..sound(&served, "v1", asked) },
        // It knows no ranges, and drops the first connection.
        "/a/plain" => {
            Reply { status: 200, body: served.clone(), drop_after: (n < 2).then_some(100_000), ..Reply::default() }
        }
        "/a/busy" if n % 3 != 2 => status(503),
        "/a/busy" => sound(&served, "v1", asked),
        "/a/forbidden" => status(403),
        _ => status(404),
    });
    let place = place(&server, "/a");
    assert_eq!(place.get("f").unwrap().unwrap(), bytes);
    assert_eq!((place.size("f").unwrap(), place.size("none").unwrap()), (Some(3 << 20), None));
    assert_eq!(place.get("none").unwrap(), None);
    for name in ["f", "drops", "plain", "busy"] {
        let to = bench.path(name);
        assert_eq!(place.fetch(name, &to, Some(digest)).unwrap(), (digest, 3 << 20), "{name}");
        assert_eq!(std::fs::read(&to).unwrap(), bytes);
    }
    refused(place.get("forbidden"), &["/a/forbidden", "403"]);
    refused(place.list(""), &["web server", "cannot say"]);
    refused(place.create("x", b""), &["web server", "only read"]);
    refused(place.upload("x", &bench.path("f"), digest), &["only read"]);
    refused(place.remove("f"), &["only read"]);
}
