//! What a person writes for a place, and what is said of it: never a secret.

use crate::support::refused;
use nihbuild::remote::{Place, is_address, is_object, is_remote};
use std::path::Path;

#[test]
fn addresses_are_read() {
    let shown = |text: &str| Place::parse(text).unwrap().to_string();
    for text in ["s3://bucket/a/b", "gs://bucket", "az://container/a", "https://host:8443/a", "http://host"] {
        assert_eq!(shown(text), text);
        assert!(is_remote(text) && is_address(text), "{text}");
    }
    assert_eq!(shown("s3a://bucket/a/"), "s3://bucket/a");
    assert_eq!(shown("S3://bucket/a"), "s3://bucket/a");
    assert_eq!(Place::parse("file:///a%20b/c").unwrap().is_local(), Some(Path::new("/a b/c")));
    assert_eq!(Place::parse("out/1.0.0").unwrap().is_local(), Some(Path::new("out/1.0.0")));
    assert_eq!(shown("s3://bucket") + "/x/y", Place::parse("s3://bucket").unwrap().join("x").join("y").to_string());
    assert!(is_object("s3://b/k") && is_object("gs://b/k") && !is_object("https://h/k") && !is_object("b/k"));
}

#[test]
fn addresses_that_cannot_be_are_refused_without_their_secrets() {
    let cases = [
        ("", vec!["no name", "s3://BUCKET"]),
        ("ftp://host/a", vec!["ftp://", "not known"]),
        ("s3:///a", vec!["no bucket"]),
        ("file://host/a", vec!["the machine host"]),
        ("file:///a%zz", vec!["begins no escape"]),
        ("s3://bucket/a//b", vec!["empty part"]),
        ("s3://bucket/../a", vec!["dots"]),
        ("https://me:hidden@host/a", vec!["name or password", "https://...@host"]),
        ("s3://hidden:hidden@bucket/a", vec!["AWS_ACCESS_KEY_ID"]),
        ("https://host/a?X-Amz-Signature=hidden", vec!["https://host/a", "signature"]),
        ("https://host/a#hidden", vec!["fragment"]),
    ];
    for (text, said) in cases {
        let error = refused(Place::parse(text), &said);
        assert!(!error.contains("hidden"), "{error}");
    }
}

#[test]
fn names_stay_inside_the_place() {
    let place = Place::of(Path::new("/nowhere"));
    for name in ["", "..", "a/../b", "/a", "a//b", "a/", "./a", "a\\b"] {
        refused(place.get(name), &["no name of a file inside"]);
        refused(place.create(name, b""), &["no name of a file inside"]);
        refused(place.remove(name), &["no name of a file inside"]);
    }
}

#[test]
fn offline_forbids_what_needs_a_socket() {
    refused(Place::parse("s3://bucket/a").unwrap().allowed(true), &["s3://bucket/a", "--offline"]);
    Place::parse("s3://bucket/a").unwrap().allowed(false).unwrap();
    Place::parse("a").unwrap().allowed(true).unwrap();
}
