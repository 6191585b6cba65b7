//! Reads a commit without git, where its object is a file of its own: that of a commit made here, until git packs it.

use crate::GitDir;
use crate::inspect::Commit;
use flate2::read::ZlibDecoder;
use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};
use std::fs::File;
use std::io::Read;

/// Larger commits are left to git.
const LIMIT: u64 = 1 << 20;

/// Returns the commit `sha`; `None` for git to read it, where it is packed, or unusual in any way.
pub(crate) fn read(git_dir: &GitDir, sha: &str) -> Option<Commit> {
    // The parents that git shows are others there.
    if ["shallow", "info/grafts"]
        .iter()
        .any(|it| git_dir.common.join(it).exists())
    {
        return None;
    }
    let (folder, name) = sha.split_at_checked(2)?;
    let file = File::open(git_dir.common.join("objects").join(folder).join(name)).ok()?;
    let mut object = String::new();
    let decoded = ZlibDecoder::new(file)
        .take(LIMIT)
        .read_to_string(&mut object);
    decoded.ok()?;
    let (kind, content) = object.split_once('\0')?;
    if *kind != *format!("commit {}", content.len()) {
        return None;
    }
    parsed(sha, content)
}

fn parsed(sha: &str, content: &str) -> Option<Commit> {
    let (headers, message) = content.split_once("\n\n")?;
    let header = |name: &str| {
        let mut lines = headers.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
    };
    if header("encoding").is_some() {
        return None;
    }
    let (author_name, author_email, _) = person(header("author")?)?;
    let (_, _, committed) = person(header("committer")?)?;
    Some(Commit {
        sha: sha.to_owned(),
        parent: header("parent").map(str::to_owned),
        author_name: author_name.to_owned(),
        author_email: author_email.to_owned(),
        committer_date: iso_8601(committed)?,
        message: message.trim_end_matches('\n').to_owned(),
    })
}

/// Splits `Name <email> seconds offset` after the email.
fn person(text: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = text.split_once(" <")?;
    let (email, date) = rest.split_once("> ")?;
    let is_plain = |part: &str| part == part.trim() && !part.contains(['<', '>']);
    [name, email, date]
        .into_iter()
        .all(is_plain)
        .then_some((name, email, date))
}

fn iso_8601(date: &str) -> Option<String> {
    let (seconds, offset) = date.split_once(' ')?;
    let (sign, digits) = offset.split_at_checked(1)?;
    let sign = match sign {
        "+" => 1,
        "-" => -1,
        _ => return None,
    };
    let (hours, minutes) = digits.split_at_checked(2)?;
    let minutes: i32 = hours.parse::<i32>().ok()? * 60 + minutes.parse::<i32>().ok()?;
    let offset = Offset::from_seconds(sign * minutes * 60).ok()?;
    let time = Timestamp::from_second(seconds.parse().ok()?).ok()?;
    let time = time.to_zoned(TimeZone::fixed(offset));
    Some(time.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string())
}
