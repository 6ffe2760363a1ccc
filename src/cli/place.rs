//! The verbs `push` and `pull`: a release to a place and from one.

use super::{print, print_json};
use crate::error::Result;
use crate::remote::{Place, ahead, pull, push};
use crate::report::size;
use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
pub(super) struct PushArgs {
    /// Folder of the release, full or compact
    release: PathBuf,
    /// Where it goes, an address of its own: s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, or a folder
    place: String,
    /// Say what would be sent; change nothing
    #[arg(long)]
    dry_run: bool,
    /// Take back what was sent of this release and is not whole, when no push of it is at work any more
    #[arg(long, conflicts_with = "dry_run")]
    undo: bool,
    /// Never open a socket: the place must be a folder
    #[arg(long)]
    offline: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(super) struct PullArgs {
    /// Where the release lies: s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, https://HOST/PATH, or a folder
    place: String,
    /// Folder of the release [default: build/NAME/VERSION]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Say what would come; change nothing
    #[arg(long)]
    dry_run: bool,
    /// Never open a socket: the place must be a folder
    #[arg(long)]
    offline: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Sends a release, or takes back what was sent of one.
pub(super) fn push(args: PushArgs) -> Result<bool> {
    let place = Place::parse(&args.place)?;
    place.allowed(args.offline)?;
    if args.undo {
        let removed = push::undo(&args.release, &place)?;
        return match args.json {
            true => print_json(&serde_json::json!({ "place": place.to_string(), "removed": removed })),
            false => print(&format!("{place}\n  {removed} files of this release were taken back\n")),
        }
        .map(|()| true);
    }
    if args.dry_run {
        let would = ahead::to_push(&args.release, &place)?;
        if args.json {
            return print_json(&would).map(|()| true);
        }
        let (release, files, send) = (&would.release, would.files, would.send);
        let said = match would.is_there {
            true => "it is there, whole".to_owned(),
            false => format!("{send} would be sent, {}", size(would.send_bytes)),
        };
        return print(&format!("{place}\n  {release}, {files} files, {}: {said}\n", size(would.bytes))).map(|()| true);
    }
    let pushed = push::push(&args.release, &place)?;
    if args.json {
        return print_json(&pushed).map(|()| true);
    }
    let said = match (pushed.was_there, pushed.sent, pushed.files) {
        (true, ..) => "was there before, whole".to_owned(),
        (_, sent, files) if sent == files => "sent".to_owned(),
        (_, sent, _) => format!("{sent} sent now, the others were there"),
    };
    let undone = match pushed.undone {
        0 => String::new(),
        n => format!("; {n} unfinished uploads of an earlier run undone"),
    };
    let (release, files) = (&pushed.release, pushed.files);
    print(&format!("{place}\n  {release}, {files} files, {}: {said}{undone}\n", size(pushed.bytes))).map(|()| true)
}

/// Brings a release.
pub(super) fn pull(args: PullArgs) -> Result<bool> {
    let place = Place::parse(&args.place)?;
    place.allowed(args.offline)?;
    let folder = args.out.map_or_else(|| ahead::usual_folder(&place), Ok)?;
    if args.dry_run {
        let would = ahead::to_pull(&place, &folder)?;
        if args.json {
            return print_json(&would).map(|()| true);
        }
        let said = match would.is_there {
            true => "it is there, whole".to_owned(),
            false => format!("{} would come", would.come),
        };
        let (release, files) = (&would.release, would.files);
        return print(&format!("{}\n  {release}, {files} files, {}: {said}\n", folder.display(), size(would.bytes)))
            .map(|()| true);
    }
    let pulled = pull::pull(&place, &folder)?;
    if args.json {
        return print_json(&pulled).map(|()| true);
    }
    let said = match (pulled.was_there, pulled.came, pulled.files) {
        (true, ..) => "was there before, and every file is as SHA256SUMS says".to_owned(),
        (_, came, files) if came == files => "every file is as SHA256SUMS says".to_owned(),
        (_, came, _) => format!("{came} came now, the others were there; every file is as SHA256SUMS says"),
    };
    let (release, files) = (&pulled.release, pulled.files);
    print(&format!("{}\n  {release}, {files} files, {}: {said}\n", folder.display(), size(pulled.bytes))).map(|()| true)
}
