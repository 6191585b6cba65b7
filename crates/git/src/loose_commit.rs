//! Reads a commit without git, where its object is a file of its own: that of a commit made here, until git packs it.

use crate::GitDir;
use crate::inspect::Commit;
use flate2::read::ZlibDecoder;
use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};
use std::fs::{self, File};
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
    let path = git_dir.common.join("objects").join(folder).join(name);
    // Reading a pipe would never end; git has a deadline.
    if !fs::metadata(&path).ok()?.is_file() {
        return None;
    }
    let file = File::open(path).ok()?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use std::io::Write;

    #[test]
    fn commit_in_a_file_of_its_own_is_read_and_any_other_is_left_to_git() {
        let directory = tempfile::tempdir().expect("a directory");
        let common = directory.path().join(".git");
        let objects = common.join("objects/ab");
        fs::create_dir_all(&objects).expect("made");
        fs::write(common.join("HEAD"), "ref: refs/heads/main\n").expect("written");
        let git_dir = GitDir::at(directory.path()).expect("a repository");
        let found = |kind: &str, content: &str| {
            let file = File::create(objects.join("cd")).expect("a file");
            let mut encoder = ZlibEncoder::new(file, Compression::fast());
            write!(encoder, "{kind} {}\0{content}", content.len()).expect("written");
            encoder.finish().expect("written");
            read(&git_dir, "abcd")
        };
        let content = "tree 12\nparent 34\nparent 56\nauthor Ada B. <a@b> 1700000000 +0100\n\
                       committer C <c@d> 1700000000 -0930\ngpgsig x\n y\n\ntitle\n\nbody\n";
        let commit = found("commit", content).expect("a commit");
        assert_eq!(commit.parent.as_deref(), Some("34"));
        assert_eq!(
            (&*commit.author_name, &*commit.author_email),
            ("Ada B.", "a@b")
        );
        assert_eq!(commit.committer_date, "2023-11-14T12:43:20-09:30");
        assert_eq!(commit.message, "title\n\nbody");
        assert_eq!(found("tag", content), None);
        let encoded = content.replace("gpgsig x", "encoding latin-1");
        assert_eq!(found("commit", &encoded), None);
        assert!(found("commit", content).is_some());
        fs::write(common.join("shallow"), "").expect("written");
        assert_eq!(read(&git_dir, "abcd"), None);
        assert_eq!(read(&git_dir, "cdab"), None);
    }
}
