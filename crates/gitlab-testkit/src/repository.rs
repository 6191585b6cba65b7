use crate::git;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A bare Git repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repository {
    folder: PathBuf,
}

/// A tag, as Git describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) name: String,
    /// The tag object of an annotated tag, otherwise the commit.
    pub(crate) target: String,
    pub(crate) commit: String,
    pub(crate) date: String,
    pub(crate) title: String,
}

/// A tree entry, as Git describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) mode: String,
    pub(crate) kind: String,
    pub(crate) id: String,
    pub(crate) path: String,
}

/// A change of one file in a commit: its new content, or `None` to remove it.
pub(crate) type Change<'a> = (&'a str, Option<&'a [u8]>);

impl Repository {
    /// Creates an empty repository.
    pub(crate) fn create(folder: PathBuf) -> Self {
        std::fs::create_dir_all(&folder).expect("a folder for a repository can be made");
        let start = ["init", "--quiet", "--bare", "--initial-branch=main", "."];
        git::run(&folder, &start, b"");
        for setting in ["uploadpack.allowAnySHA1InWant", "uploadpack.allowFilter"] {
            git::run(&folder, &["config", setting, "true"], b"");
        }
        Self { folder }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Adds a commit to a branch, creating the branch if needed, and returns the commit id. `time` is in seconds.
    pub(crate) fn commit(&self, branch: &str, changes: &[Change<'_>], time: u64) -> String {
        let reference = format!("refs/heads/{branch}");
        let mut stream = Vec::new();
        let head = format!(
            "commit {reference}\ncommitter Test <test@example.com> {time} +0000\ndata 6\nchange\n"
        );
        stream.extend_from_slice(head.as_bytes());
        if self.commit_of(&reference).is_some() {
            stream.extend_from_slice(format!("from {reference}^0\n").as_bytes());
        }
        for (path, bytes) in changes {
            match bytes {
                Some(bytes) => {
                    let head = format!("M 100644 inline {path}\ndata {}\n", bytes.len());
                    stream.extend_from_slice(head.as_bytes());
                    stream.extend_from_slice(bytes);
                    stream.push(b'\n');
                }
                None => stream.extend_from_slice(format!("D {path}\n").as_bytes()),
            }
        }
        git::run(&self.folder, &["fast-import", "--quiet"], &stream);
        self.commit_of(&reference)
            .expect("the branch was just made")
    }

    /// Adds a commit whose entry `path` is a commit of another repository.
    pub(crate) fn link(&self, branch: &str, path: &str, commit: &str, time: u64) -> String {
        let reference = format!("refs/heads/{branch}");
        let stream = format!(
            "commit {reference}\ncommitter Test <test@example.com> {time} +0000\ndata 6\nchange\nfrom {reference}^0\nM 160000 {commit} {path}\n"
        );
        git::run(&self.folder, &["fast-import", "--quiet"], stream.as_bytes());
        self.commit_of(&reference)
            .expect("the branch was just made")
    }

    /// Points refs at a commit.
    pub(crate) fn point(&self, names: &[String], commit: &str) {
        let mut input = String::new();
        for name in names {
            let _ = writeln!(input, "update {name} {commit}");
        }
        git::run(&self.folder, &["update-ref", "--stdin"], input.as_bytes());
    }

    /// Creates an annotated tag.
    pub(crate) fn annotate(&self, tag: &str, commit: &str, time: u64) {
        let input = format!(
            "object {commit}\ntype commit\ntag {tag}\ntagger Test <test@example.com> {time} +0000\n\nnotes\n"
        );
        let id = git::run(&self.folder, &["mktag"], input.as_bytes());
        self.point(&[format!("refs/tags/{tag}")], &id);
    }

    pub(crate) fn remove(&self, reference: &str) {
        git::run(&self.folder, &["update-ref", "-d", reference], b"");
    }

    /// Resolves a branch, a tag, a commit or `HEAD` to a commit id.
    pub(crate) fn commit_of(&self, name: &str) -> Option<String> {
        let peeled = format!("{name}^{{commit}}");
        let args = [
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &peeled,
        ];
        self.line(&args)
    }

    /// Returns the blob id and content of a file.
    pub(crate) fn file(&self, commit: &str, path: &str) -> Option<(String, Vec<u8>)> {
        let place = format!("{commit}:{path}");
        let id = self.line(&["rev-parse", "--verify", "--quiet", &place])?;
        let bytes = git::ask(&self.folder, &["cat-file", "blob", &id])?;
        Some((id, bytes))
    }

    /// Returns the last commit that changed a file.
    pub(crate) fn last_commit(&self, commit: &str, path: &str) -> Option<String> {
        self.line(&["rev-list", "-1", commit, "--", path])
    }

    /// Returns the date, title and parents of a commit.
    pub(crate) fn describe(&self, commit: &str) -> Option<[String; 3]> {
        let line = self.line(&["show", "-s", "--format=%cI%x00%s%x00%P", commit])?;
        let mut parts = line.split('\0').map(str::to_owned);
        Some([parts.next()?, parts.next()?, parts.next()?])
    }

    /// Returns the tags, sorted by an `order` that `for-each-ref` accepts.
    pub(crate) fn tags(&self, order: &str) -> Vec<Tag> {
        let format = "%(refname:strip=2)%00%(objectname)%00%(*objectname)%00%(creatordate:iso-strict)%00%(contents:subject)";
        let args = [
            "for-each-ref",
            &format!("--sort={order}"),
            &format!("--format={format}"),
            "refs/tags",
        ];
        let printed = git::ask(&self.folder, &args).unwrap_or_default();
        let text = String::from_utf8_lossy(&printed);
        text.lines().filter_map(tag).collect()
    }

    /// Returns the entries of a folder; `None` if there is no such folder.
    pub(crate) fn tree(&self, commit: &str, path: &str, recursive: bool) -> Option<Vec<Entry>> {
        let place = format!("{commit}:{path}");
        let mut args = vec!["ls-tree", "-z"];
        if recursive {
            args.extend(["-r", "-t"]);
        }
        args.push(&place);
        let printed = git::ask(&self.folder, &args)?;
        let text = String::from_utf8_lossy(&printed);
        let entries = text.split_terminator('\0').filter_map(|line| {
            let (head, name) = line.split_once('\t')?;
            let mut words = head.split(' ').map(str::to_owned);
            Some(Entry {
                mode: words.next()?,
                kind: words.next()?,
                id: words.next()?,
                path: if path.is_empty() {
                    name.to_owned()
                } else {
                    format!("{}/{name}", path.trim_end_matches('/'))
                },
            })
        });
        Some(entries.collect())
    }

    fn line(&self, args: &[&str]) -> Option<String> {
        let printed = git::ask(&self.folder, args)?;
        let text = String::from_utf8(printed).ok()?;
        let line = text.trim_end();
        (!line.is_empty()).then(|| line.to_owned())
    }
}

fn tag(line: &str) -> Option<Tag> {
    let parts: Vec<&str> = line.split('\0').collect();
    let [name, target, peeled, date, title] = parts[..] else {
        return None;
    };
    Some(Tag {
        name: name.to_owned(),
        target: target.to_owned(),
        commit: if peeled.is_empty() { target } else { peeled }.to_owned(),
        date: date.to_owned(),
        title: title.to_owned(),
    })
}
