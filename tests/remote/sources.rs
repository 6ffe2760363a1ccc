//! Pinned files that lie in a bucket.

use super::proxy::{Act, Proxy};
use super::server::{self, Server};
use crate::mlneedle::{GRID, passage, recipe, world};
use crate::support::{Bench, Outcome, refused};
use nihbuild::hash::Digest;
use nihbuild::source::pins::Pins;

fn entry(id: &str, url: &str, text: &str) -> String {
    format!(
        "[[source]]\nid = \"{id}\"\nurls = [\"{url}\"]\nbytes = {}\nsha256 = \"{}\"\nlicence = \"CC0-1.0\"\n",
        text.len(),
        Digest::of(text)
    )
}

/// Collections in a bucket: cut midway they are gone on with, wrong or absent they are refused, and offline nobody asks for them.
#[test]
fn a_recipe_reads_from_a_bucket() {
    let bench = Bench::new();
    world(&bench);
    let server = Server::start(&bench.path("server"));
    let line = Proxy::to(&server.address);
    let mut pins = String::new();
    for (code, name) in [("en", "english"), ("de", "german"), ("zh", "chinese")] {
        let path = bench.path(&format!("data/{name}_collection.tsv"));
        let mut text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        if code == "de" {
            (1000..9000).for_each(|n| text += &format!("{n}\t{}\n", passage(1, 5000 + n, 24)));
        }
        bench.write(&format!("server/suite/texts/{name}_collection.tsv"), &text);
        pins += &entry(&format!("c-{code}"), &format!("s3://suite/texts/{name}_collection.tsv"), &text);
    }
    let more = "\n[haystack]\narchive = \"c-{language}\"\nfiles = [\"{name}_collection.tsv\"]\n";
    bench.write("r.toml", &recipe(&format!("{GRID}{more}")));
    let run = |verb: &str, pins: &str, more: &[&str]| {
        bench.write("pins.toml", pins);
        let args = [&[verb, "r.toml", "--sources", "pins.toml", "--data", "data"], more].concat();
        Outcome::of(bench.command(&args).envs(server::variables(&line.address)).output().unwrap())
    };
    run("recipe", &pins, &["--offline"]).failure(2, &["--offline", "s3://suite/texts/"]);
    assert_eq!(line.connections(), 0);
    let wrong = entry("c-de", "s3://suite/texts/german_collection.tsv", "other");
    let [before, after] =
        [pins.find("c-de").unwrap(), pins.find("c-zh").unwrap()].map(|at| pins[..at].rfind("[[source]]").unwrap());
    let wrong = format!("{}{wrong}{}", &pins[..before], &pins[after..]);
    run("fetch", &wrong, &[]).failure(2, &["c-de", "pinned are 5"]);
    run("fetch", &pins.replace("german_collection", "lost_collection"), &[])
        .failure(2, &["s3://suite/texts/lost_collection.tsv"]);
    line.rule(|p| if !p.up && p.connection % 2 == 0 && p.bytes > 400_000 { Act::Cut } else { Act::Pass });
    let fetched = run("fetch", &pins, &[]).success();
    assert!(fetched.out.contains("german_collection.tsv"), "{}", fetched.out);
    let n = line.connections();
    run("recipe", &pins, &["--offline"]).success();
    assert_eq!(line.connections(), n);
}

#[test]
fn addresses_of_pins_are_checked() {
    let bench = Bench::new();
    let load = |url: &str| {
        let path = bench.write("p.toml", &entry("x", url, "text"));
        Pins::load(Some(&path))
    };
    for url in ["s3://bucket/a/b", "gs://bucket/a", "az://container/a"] {
        load(url).unwrap();
    }
    refused(load("s3://bucket"), &["no file in a bucket", "line 1"]);
    refused(load("s3://bucket/a/"), &["no file in a bucket"]);
    refused(load("s3://me:hidden@bucket/a"), &["password"]);
    refused(load("ftp://host/a"), &["only http, https, s3"]);
}
