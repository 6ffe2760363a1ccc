//! Lines that are slow, cut and silent; servers and programs that are killed; credentials that are wrong.

use super::proxy::{Act, Proxy};
use super::server::{self, KEY, SECRET, Server};
use super::{QUICK, file, place};
use crate::support::{Bench, refused};
use nihbuild::hash::Digest;
use nihbuild::remote::{NOTES, Patience, Place};
use std::time::Duration;

const MIB: u64 = 1 << 20;

struct Far {
    bench: Bench,
    server: Server,
    line: Proxy,
    place: Place,
}

fn far() -> Far {
    let bench = Bench::new();
    let server = Server::start(&bench.path("server"));
    let line = Proxy::to(&server.address);
    let place = place(&line.address, "s3://suite/far");
    Far { bench, server, line, place }
}

impl Far {
    /// What is there is the file, and nothing is left of how it came there.
    #[track_caller]
    fn holds(&self, name: &str, digest: Digest) {
        assert_eq!(Digest::of(self.server.object(&format!("far/{name}")).expect("it is there")), digest);
        assert_eq!((self.server.unfinished(), self.server.parts()), (0, 0));
        assert_eq!(self.place.list(NOTES).unwrap(), []);
    }
}

#[test]
fn uploads_go_on_over_a_line_that_is_cut() {
    let far = far();
    let digest = file(&far.bench.path("f"), "f", 30 << 20);
    // The first connections are cut, each a little later.
    far.line.rule(|p| {
        if p.up && p.connection < 6 && p.bytes > (1 + p.connection as u64) * MIB { Act::Cut } else { Act::Pass }
    });
    far.place.upload("f", &far.bench.path("f"), digest).unwrap();
    assert!(far.line.connections() > 6);
    far.holds("f", digest);
}

#[test]
fn downloads_go_on_where_the_line_was_cut() {
    let far = far();
    let digest = file(&far.bench.path("f"), "f", 24 << 20);
    far.place.upload("f", &far.bench.path("f"), digest).unwrap();
    let before = far.line.down();
    // More cuts than failures are borne: each brings something.
    far.line.rule(|p| if !p.up && p.bytes > 3 * MIB { Act::Cut } else { Act::Pass });
    let to = far.bench.path("to");
    assert_eq!(far.place.fetch("f", &to, Some(digest)).unwrap(), (digest, 24 * MIB));
    let came = far.line.down() - before;
    assert!(came < 26 * MIB, "{came} bytes came");
}

/// A slow line is no fault, a silent one is.
#[test]
fn slow_is_borne_and_silence_is_not() {
    let far = far();
    let digest = file(&far.bench.path("f"), "f", 12 << 20);
    let brisk = Patience { stall: Duration::from_millis(1500), ..QUICK };
    let place = Place::with("s3://suite/far", brisk, Some(&server::variables(&far.line.address))).unwrap();
    far.line.slow(4 * MIB);
    // Three seconds, in one request.
    place.upload("f", &far.bench.path("f"), digest).unwrap();
    place.fetch("f", &far.bench.path("to"), Some(digest)).unwrap();
    far.line.slow(0);
    // The connections that are there, and the next one.
    let silent = || {
        let n = far.line.connections();
        far.line.rule(move |p| if p.connection <= n && p.bytes > MIB { Act::Silence } else { Act::Pass });
    };
    silent();
    place.upload("g", &far.bench.path("f"), digest).unwrap();
    silent();
    place.fetch("g", &far.bench.path("to2"), Some(digest)).unwrap();
    far.holds("g", digest);
}

/// The server is killed amid an upload and comes again.
#[test]
fn a_server_that_comes_again_is_gone_on_with() {
    let mut far = far();
    let digest = file(&far.bench.path("f"), "f", 40 << 20);
    far.line.slow(16 * MIB);
    let patient = Patience { retries: 20, ..QUICK };
    let place = Place::with("s3://suite/far", patient, Some(&server::variables(&far.line.address))).unwrap();
    let path = far.bench.path("f");
    std::thread::scope(|scope| {
        let upload = scope.spawn(|| place.upload("f", &path, digest));
        while far.line.up() < 12 * MIB {
            std::thread::sleep(Duration::from_millis(5));
        }
        let root = far.bench.path("server");
        drop(std::mem::replace(&mut far.server, Server::start(&far.bench.path("other"))));
        std::thread::sleep(Duration::from_millis(300));
        far.server = Server::start(&root);
        far.line.server(&far.server.address);
        upload.join().unwrap().unwrap();
    });
    far.holds("f", digest);
}

/// What could not be undone, since the server is dead, is noted and undone by whoever comes next.
#[test]
fn what_a_dead_server_keeps_is_undone_later() {
    let mut far = far();
    let digest = file(&far.bench.path("f"), "f", 40 << 20);
    far.line.slow(16 * MIB);
    let path = far.bench.path("f");
    let root = far.bench.path("server");
    std::thread::scope(|scope| {
        let upload = scope.spawn(|| far.place.upload("f", &path, digest));
        while far.line.up() < 12 * MIB {
            std::thread::sleep(Duration::from_millis(5));
        }
        far.line.rule(|_| Act::Cut);
        refused(upload.join().unwrap(), &["cannot send s3://suite/far/f", "run the same command again"]);
    });
    assert!(far.server.unfinished() > 0);
    drop(std::mem::replace(&mut far.server, Server::start(&far.bench.path("other"))));
    far.server = Server::start(&root);
    far.line.server(&far.server.address);
    far.line.rule(|_| Act::Pass);
    assert_eq!(far.place.undo_uploads().unwrap(), 1);
    assert_eq!((far.server.unfinished(), far.place.undo_uploads().unwrap()), (0, 0));
    far.place.upload("f", &path, digest).unwrap();
    far.holds("f", digest);
}

/// An upload that another run undoes is begun anew.
#[test]
fn an_upload_that_is_undone_is_begun_anew() {
    let far = far();
    let digest = file(&far.bench.path("f"), "f", 40 << 20);
    far.line.slow(16 * MIB);
    let path = far.bench.path("f");
    std::thread::scope(|scope| {
        let upload = scope.spawn(|| far.place.upload("f", &path, digest));
        while far.line.up() < 12 * MIB {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(place(&far.server.address, "s3://suite/far").undo_uploads().unwrap(), 1);
        far.line.slow(0);
        upload.join().unwrap().unwrap();
    });
    assert_eq!(Digest::of(far.server.object("far/f").unwrap()), digest);
    // (The server keeps parts that were under way when their upload was undone.)
    assert_eq!(far.server.unfinished(), 0);
    assert_eq!(far.place.list(NOTES).unwrap(), []);
}

/// What another run has fetched of a file is gone on with; what it has of another version is not.
#[test]
fn downloads_of_another_run_are_gone_on_with() {
    let far = far();
    let digest = file(&far.bench.path("f"), "f", 20 << 20);
    far.place.upload("f", &far.bench.path("f"), digest).unwrap();
    let to = far.bench.path("to");
    let n = far.line.connections();
    far.line.rule(move |p| if !p.up && (p.connection > n || p.bytes > 14 * MIB) { Act::Cut } else { Act::Pass });
    let fresh = || place(&far.line.address, "s3://suite/far");
    refused(fresh().fetch("f", &to, Some(digest)), &["cannot read s3://suite/far/f"]);
    assert!(!to.exists());
    far.line.rule(|_| Act::Pass);
    let before = far.line.down();
    fresh().fetch("f", &to, Some(digest)).unwrap();
    let came = far.line.down() - before;
    assert!(came < 8 * MIB, "{came} bytes came");
    assert_eq!(Digest::of_file(&to).unwrap().0, digest);
    // A beginning of something else.
    std::fs::write(far.bench.path(".other.partial"), vec![7; 5 << 20]).unwrap();
    fresh().fetch("f", &far.bench.path("other"), Some(digest)).unwrap();
    // A beginning that is too long.
    std::fs::write(far.bench.path(".long.partial"), vec![7; 25 << 20]).unwrap();
    fresh().fetch("f", &far.bench.path("long"), Some(digest)).unwrap();
    // A beginning that is all of it.
    std::fs::copy(far.bench.path("f"), far.bench.path(".whole.partial")).unwrap();
    fresh().fetch("f", &far.bench.path("whole"), Some(digest)).unwrap();
}

/// Errors say what is wrong and where, and hold no secret.
#[test]
fn wrong_credentials_are_said_without_them() {
    let far = far();
    let path = far.bench.path("f");
    let digest = file(&path, "f", 100);
    let with = |name: &str, value: &str| {
        let mut all = server::variables(&far.server.address);
        all.retain(|(known, _)| known != name);
        if !value.is_empty() {
            all.push((name.to_owned(), value.to_owned()));
        }
        move |text: &str| Place::with(text, QUICK, Some(&all)).unwrap()
    };
    let said = |error: String| {
        for secret in [SECRET, KEY, "another secret", "ANOTHERKEY", "Signature="] {
            assert!(!error.contains(secret), "{error}");
        }
    };
    let wrong = with("AWS_SECRET_ACCESS_KEY", "another secret")("s3://suite/x");
    said(refused(
        wrong.upload("f", &path, digest),
        &["cannot send s3://suite/x/f", "SignatureDoesNotMatch", "AWS_SECRET_ACCESS_KEY"],
    ));
    said(refused(wrong.get("f"), &["cannot read s3://suite/x/f"]));
    said(refused(wrong.list(""), &["cannot list s3://suite/x", "see whether AWS_ACCESS_KEY_ID"]));
    said(refused(wrong.create("f", b""), &["cannot create"]));
    let unknown = with("AWS_ACCESS_KEY_ID", "ANOTHERKEY")("s3://suite/x");
    said(refused(unknown.list(""), &["AWS_ACCESS_KEY_ID"]));
    let half = with("AWS_SECRET_ACCESS_KEY", "")("s3://suite/x");
    said(refused(half.list(""), &["AWS_SECRET_ACCESS_KEY"]));
    let secure = with("AWS_ALLOW_HTTP", "")("s3://suite/x");
    said(refused(secure.list(""), &["not encrypted", "AWS_ALLOW_HTTP=true"]));
    let right = with("", "")("s3://nowhere/x");
    said(refused(right.list(""), &["NoSuchBucket", "make nowhere first"]));
    let odd = with("AWS_ENDPOINT_URL", "http://me:another secret@[")("s3://suite/x");
    said(refused(odd.list(""), &["cannot"]));
    // Nobody is there.
    let nobody = with("AWS_ENDPOINT_URL", "http://127.0.0.1:1")("s3://suite/x");
    said(refused(nobody.list(""), &["cannot list s3://suite/x", "127.0.0.1:1", "AWS_ENDPOINT_URL"]));
}
