//! `push` and `pull`: releases to a bucket and back, killed midway, and two at once.

use super::proxy::Proxy;
use super::server::{self, SECRET, Server};
use super::{content, place};
use crate::support::{Bench, Outcome, bytes_of, sign};
use nihbuild::remote::{NOTES, Place};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const MIB: u64 = 1 << 20;

/// A small release of long ago.
fn small(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/releases").join(name)
}

fn copy(from: &Path, to: &Path) {
    for (name, bytes) in bytes_of(from) {
        let path = to.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

/// A release with a file of so many bytes more.
fn large(bench: &Bench, bytes: usize) -> PathBuf {
    let release = bench.path("large");
    copy(&small("published-1.0.0"), &release);
    std::fs::write(release.join("packs/large.bin"), content("large", bytes)).unwrap();
    sign(&release);
    release
}

/// The program, to whom the environment says where the server is.
fn command(bench: &Bench, address: &str, args: &[&str]) -> Command {
    let mut command = bench.command(args);
    command.envs(server::variables(address));
    command
}

fn run(bench: &Bench, address: &str, args: &[&str]) -> Outcome {
    Outcome::of(command(bench, address, args).output().unwrap())
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn releases_go_and_come() {
    let bench = Bench::new();
    let server = Server::start(&bench.path("server"));
    let folder = text(&bench.path("there")).to_owned();
    for to in ["s3://suite/published/1.0.0", &folder] {
        let release = small("published-1.0.0");
        let files = bytes_of(&release).len();
        let run = |args: &[&str]| run(&bench, &server.address, args);
        run(&["pull", to, "--out", "came"]).failure(2, &["holds no release", "SHA256SUMS"]);
        let ahead = run(&["push", text(&release), to, "--dry-run"]).success();
        assert!(
            ahead.out.contains(&format!("{files} files")) && ahead.out.contains(&format!("{files} would be sent")),
            "{}",
            ahead.out
        );
        run(&["pull", to, "--out", "came"]).failure(2, &["holds no release"]);
        assert!(run(&["push", text(&release), to]).success().out.contains("sent"));
        assert!(run(&["push", text(&release), to]).success().out.contains("was there before"));
        assert!(run(&["push", text(&release), to, "--dry-run"]).success().out.contains("it is there"));
        run(&["pull", to, "--out", "came", "--dry-run"]).success();
        assert!(!bench.path("came").exists());
        let json = run(&["pull", to, "--out", "came", "--json"]).success().out;
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!((json["files"].as_u64(), json["came"].as_u64()), (Some(files as u64), Some(files as u64)));
        assert_eq!(bytes_of(&bench.path("came")), bytes_of(&release));
        assert!(run(&["pull", to, "--out", "came"]).success().out.contains("was there before"));
        // What is there is whole, so it is neither replaced nor taken back.
        run(&["push", text(&small("needle-1.0.0")), to]).failure(2, &["holds", "never replaced"]);
        run(&["push", text(&release), to, "--undo"]).failure(2, &["whole"]);
        // Another release comes to no folder that is there.
        std::fs::write(bench.path("came/README.md"), "touched").unwrap();
        run(&["pull", to, "--out", "came"]).failure(2, &["is not this release"]);
        std::fs::remove_dir_all(bench.path("came")).unwrap();
        // A file of it is gone, or another.
        let there = match to.strip_prefix("s3://suite") {
            Some(rest) => bench.path("server/suite").join(&rest[1..]),
            None => PathBuf::from(to),
        };
        let readme = there.join("README.md");
        let bytes = std::fs::read(&readme).unwrap();
        std::fs::write(&readme, vec![b'x'; bytes.len()]).unwrap();
        run(&["pull", to, "--out", "came"]).failure(2, &["README.md", "SHA-256"]);
        assert!(!bench.path("came").exists());
        std::fs::remove_file(&readme).unwrap();
        run(&["push", text(&release), to]).failure(2, &["missing", "README.md"]);
        std::fs::write(&readme, bytes).unwrap();
        run(&["pull", to, "--out", "came"]).success();
        std::fs::remove_dir_all(bench.path("came")).unwrap();
    }
    // Where nothing is said the folder is the release's own.
    run(&bench, &server.address, &["pull", "s3://suite/published/1.0.0"]).success();
    let own = nihbuild::verify::read_manifest(&small("published-1.0.0")).unwrap();
    assert!(bench.path("build").join(own.name).join(own.version).join("SHA256SUMS").is_file());
}

#[test]
fn offline_opens_no_socket() {
    let bench = Bench::new();
    let release = small("ledger-1.0.0");
    bench.run(&["push", text(&release), "s3://suite/x", "--offline"]).failure(2, &["s3://suite/x", "--offline"]);
    bench.run(&["pull", "https://127.0.0.1:1/x", "--offline"]).failure(2, &["--offline"]);
    bench.run(&["push", text(&release), "there", "--offline"]).success();
    bench.run(&["pull", "there", "--offline", "--out", "came"]).success();
    bench.run(&["push", text(&release), text(&release.join("inside"))]).failure(2, &["lies in the release"]);
}

/// Starts a push over a slow line and kills it when so many bytes have passed.
fn killed(bench: &Bench, line: &Proxy, args: &[&str], passed: impl Fn() -> u64, bytes: u64) {
    line.slow(16 * MIB);
    let mut child = command(bench, &line.address, args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while passed() < bytes {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    line.slow(0);
}

const LARGE: &str = "s3://suite/large";

/// A push that was killed amid a large file.
fn killed_push() -> (Bench, PathBuf, Server, Proxy) {
    let bench = Bench::new();
    let release = large(&bench, 40 << 20);
    let server = Server::start(&bench.path("server"));
    let line = Proxy::to(&server.address);
    killed(&bench, &line, &["push", text(&release), LARGE], || line.up(), 14 * MIB);
    (bench, release, server, line)
}

#[test]
fn a_killed_push_is_gone_on_with() {
    let (bench, release, server, line) = killed_push();
    assert!(server.unfinished() > 0);
    let run = |args: &[&str]| run(&bench, &line.address, args);
    run(&["pull", LARGE, "--out", "came"]).failure(2, &["no whole release", "on its way"]);
    // Nobody else gets in.
    run(&["push", text(&small("needle-1.0.0")), LARGE]).failure(2, &["claimed by", "--undo"]);
    run(&["push", text(&small("needle-1.0.0")), LARGE, "--dry-run"]).failure(2, &["claimed by"]);
    run(&["push", text(&small("needle-1.0.0")), LARGE, "--undo"]).failure(2, &["claimed by"]);
    let before = line.up();
    let json = run(&["push", text(&release), LARGE, "--json"]).success().out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["undone"], 1);
    assert!(json["sent"].as_u64() < json["files"].as_u64(), "what was there is not sent again: {json}");
    assert!(line.up() - before < 42 * MIB);
    assert_eq!(server.unfinished(), 0);
    let there = place(&server.address, LARGE);
    assert_eq!(there.list(NOTES).unwrap(), []);
    // A pull is killed and gone on with.
    let before = line.down();
    killed(&bench, &line, &["pull", LARGE, "--out", "came"], || line.down() - before, 14 * MIB);
    assert!(!bench.path("came").exists());
    let before = line.down();
    run(&["pull", LARGE, "--out", "came"]).success();
    assert!(line.down() - before < 32 * MIB, "{} bytes came again", line.down() - before);
    assert_eq!(bytes_of(&bench.path("came")), bytes_of(&release));
}

#[test]
fn a_push_that_is_given_up_is_taken_back() {
    let (bench, release, server, line) = killed_push();
    run(&bench, &line.address, &["push", text(&release), LARGE, "--undo"]).success();
    assert_eq!(server.unfinished(), 0);
    let there = place(&server.address, LARGE);
    assert_eq!((there.list("").unwrap(), there.list(NOTES).unwrap()), (vec![], vec![]));
    run(&bench, &line.address, &["push", text(&release), LARGE, "--undo"]).success();
    run(&bench, &line.address, &["push", text(&small("needle-1.0.0")), LARGE]).success();
}

/// Two releases at once for one place: one alone wins, and the other is told.
#[test]
fn of_two_pushes_one_wins() {
    let bench = Bench::new();
    let server = Server::start(&bench.path("server"));
    let releases = [small("needle-1.0.0"), small("ledger-1.0.0")];
    for round in 0..8 {
        let folder = text(&bench.path(&format!("place-{round}"))).to_owned();
        let to = if round % 2 == 1 { folder } else { format!("s3://suite/two/{round}") };
        let start = |release: &PathBuf| {
            let mut command = command(&bench, &server.address, &["push", text(release), &to]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let runs = releases.each_ref().map(start).map(|child| Outcome::of(child.wait_with_output().unwrap()));
        let winner = usize::from(runs[1].code == Some(0));
        let [first, second] = runs;
        let (won, lost) = if winner == 0 { (first, second) } else { (second, first) };
        won.success();
        let lost = lost.failure(2, &["this is"]);
        assert!(lost.err.contains("claimed by") || lost.err.contains("never replaced"), "{}", lost.err);
        let came = format!("came-{round}");
        run(&bench, &server.address, &["pull", &to, "--out", &came]).success();
        assert_eq!(bytes_of(&bench.path(&came)), bytes_of(&releases[winner]));
    }
}

/// The same release twice at once: both are well, and it is there once.
#[test]
fn the_same_push_twice_at_once_is_one() {
    let bench = Bench::new();
    let release = large(&bench, 20 << 20);
    let server = Server::start(&bench.path("server"));
    let folder = text(&bench.path("same")).to_owned();
    for to in ["s3://suite/same", &folder] {
        let start = |_| {
            let mut command = command(&bench, &server.address, &["push", text(&release), to]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        for child in [0, 1].map(start) {
            Outcome::of(child.wait_with_output().unwrap()).success();
        }
        assert_eq!(server.unfinished(), 0);
        assert_eq!(place(&server.address, to).list(NOTES).unwrap(), []);
        run(&bench, &server.address, &["pull", to, "--out", "came"]).success();
        assert_eq!(bytes_of(&bench.path("came")), bytes_of(&release));
        std::fs::remove_dir_all(bench.path("came")).unwrap();
    }
}

#[test]
fn strangers_are_left_alone() {
    let bench = Bench::new();
    let server = Server::start(&bench.path("server"));
    bench.write("server/suite/full/thesis.pdf", "mine");
    let release = small("ledger-1.0.0");
    let run = |args: &[&str]| run(&bench, &server.address, args);
    run(&["push", text(&release), "s3://suite/full"]).failure(2, &["thesis.pdf", "empty"]);
    run(&["push", text(&release), "s3://suite/full", "--dry-run"]).failure(2, &["thesis.pdf", "empty"]);
    assert_eq!(place(&server.address, "s3://suite/full").list(NOTES).unwrap(), [], "the claim is let go");
    // A release that is not sound does not leave.
    copy(&release, &bench.path("spoilt"));
    bench.write("spoilt/README.md", "spoilt");
    run(&["push", "spoilt", "s3://suite/spoilt"]).failure(2, &["not sound", "README.md"]);
    assert_eq!(place(&server.address, "s3://suite/spoilt").list("").unwrap(), []);
    // A page is no bucket.
    run(&["push", text(&release), "http://127.0.0.1:1/x"]).failure(2, &["web server", "only read"]);
    let wrong = command(&bench, &server.address, &["push", text(&release), "s3://suite/x"])
        .env("AWS_SECRET_ACCESS_KEY", "another-secret")
        .output()
        .unwrap();
    let wrong = Outcome::of(wrong).failure(2, &["AWS_SECRET_ACCESS_KEY"]);
    assert!(!wrong.err.contains("another-secret") && !wrong.err.contains(SECRET), "{}", wrong.err);
    assert!(Place::parse("s3://suite/x").unwrap().is_local().is_none());
}
