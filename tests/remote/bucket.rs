//! A bucket and a folder do the same.

use super::proxy::{Act, Proxy};
use super::server::Server;
use super::{file, place};
use crate::support::{Bench, refused};
use nihbuild::hash::Digest;
use nihbuild::remote::{Creation, NOTES, Place};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Both kinds of places, empty.
fn places(bench: &Bench) -> (Server, [Place; 2]) {
    let server = Server::start(&bench.path("server"));
    let bucket = place(&server.address, "s3://suite/some/where");
    (server, [bucket, Place::of(&bench.path("folder"))])
}

#[test]
fn files_come_and_go() {
    let bench = Bench::new();
    let (_server, places) = places(&bench);
    let (small, large) = (bench.path("small"), bench.path("large"));
    let (of_small, of_large) = (file(&small, "small", 1000), file(&large, "large", 17 << 20));
    for place in places {
        assert_eq!(place.list("").unwrap(), []);
        assert_eq!(
            (place.get("a").unwrap(), place.size("a").unwrap(), place.exists("a").unwrap()),
            (None, None, false)
        );
        assert!(!place.holds("a", of_small, 1000).unwrap());
        place.upload("a", &small, of_small).unwrap();
        place.upload("b c/d+e.f%g", &large, of_large).unwrap();
        place.upload("b c/empty", &bench.write("none", ""), Digest::of("")).unwrap();
        assert_eq!(place.get("a").unwrap().unwrap(), std::fs::read(&small).unwrap());
        assert_eq!(place.size("b c/d+e.f%g").unwrap(), Some(17 << 20));
        assert!(place.holds("a", of_small, 1000).unwrap());
        assert!(place.holds("b c/d+e.f%g", of_large, 17 << 20).unwrap());
        assert!(!place.holds("a", of_large, 1000).unwrap() && !place.holds("a", of_small, 1001).unwrap());
        let all = [("a", 1000), ("b c/d+e.f%g", 17 << 20), ("b c/empty", 0)].map(|(name, n)| (name.to_owned(), n));
        assert_eq!(place.list("").unwrap(), all);
        assert_eq!(place.list("b c").unwrap(), all[1..]);
        assert_eq!(place.join("b c").list("").unwrap()[0].0, "d+e.f%g");
        let to = bench.path("come/down");
        assert_eq!(place.fetch("b c/d+e.f%g", &to, Some(of_large)).unwrap(), (of_large, 17 << 20));
        assert_eq!(Digest::of_file(&to).unwrap().0, of_large);
        assert_eq!(place.fetch("a", &to, None).unwrap(), (of_small, 1000));
        assert_eq!(place.fetch("b c/empty", &to, Some(Digest::of(""))).unwrap().1, 0);
        // Another file takes the place of the first.
        place.upload("a", &large, of_large).unwrap();
        assert_eq!(place.size("a").unwrap(), Some(17 << 20));
        for (name, _) in &all {
            place.remove(name).unwrap();
            place.remove(name).unwrap();
        }
        assert_eq!(place.list("").unwrap(), []);
        assert_eq!(place.list(NOTES).unwrap(), []);
        assert_eq!(nihbuild::store::sorted_dir(&bench.path("come")).unwrap().len(), 1, "nothing is left beside it");
        std::fs::remove_dir_all(bench.path("come")).unwrap();
    }
    assert!(nihbuild::store::sorted_dir(&bench.path("folder")).unwrap().is_empty(), "no folder is left");
}

#[test]
fn what_is_not_as_expected_is_refused() {
    let bench = Bench::new();
    let (server, places) = places(&bench);
    let path = bench.path("f");
    let digest = file(&path, "f", 20 << 20);
    for place in places {
        refused(place.upload("f", &path, Digest::of("another")), &["SHA-256", "expected is"]);
        assert_eq!(place.size("f").unwrap(), None);
        place.upload("f", &path, digest).unwrap();
        let to = bench.path("to");
        refused(place.fetch("f", &to, Some(Digest::of("another"))), &["SHA-256", "expected is"]);
        assert!(!to.exists());
        refused(place.fetch("g", &to, None), &["g"]);
        assert_eq!(place.undo_uploads().unwrap(), 0);
    }
    assert_eq!(server.unfinished(), 0);
}

/// Of many at once one alone makes a file, and it is whole.
#[test]
fn one_alone_creates() {
    let bench = Bench::new();
    let (_server, places) = places(&bench);
    for place in places {
        let created = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for n in 0..8 {
                let (place, created) = (&place, &created);
                scope.spawn(move || {
                    if place.create("claims/one", format!("{n}").repeat(1000).as_bytes()).unwrap() == Creation::Created
                    {
                        created.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(created.into_inner(), 1);
        let text = place.get("claims/one").unwrap().unwrap();
        assert!(text.len() == 1000 && text.iter().all(|b| *b == text[0]));
        assert_eq!(place.list("").unwrap(), [("claims/one".to_owned(), 1000)]);
    }
}

/// The answer to a creation is lost: it is asked again, and what is there is one's own.
#[test]
fn a_lost_answer_to_a_creation_is_found_out() {
    let bench = Bench::new();
    let server = Server::start(&bench.path("server"));
    let line = Proxy::to(&server.address);
    line.rule(|passing| if passing.connection == 0 && !passing.up { Act::Cut } else { Act::Pass });
    let place = place(&line.address, "s3://suite");
    assert_eq!(place.create("one", b"mine").unwrap(), Creation::There);
    assert_eq!(place.get("one").unwrap().unwrap(), b"mine");
}

/// More objects than one answer lists.
#[test]
fn long_lists_are_whole() {
    let bench = Bench::new();
    let server = Server::start(&bench.path("server"));
    for n in 0..1203 {
        bench.write(&format!("server/suite/many/{n:04}"), "x");
    }
    let listed = place(&server.address, "s3://suite").list("many").unwrap();
    assert_eq!(listed.len(), 1203);
    assert!(listed.is_sorted());
}
