use super::LockFile;
use super::error::{LockFileError, RENEW};
use super::row::{Kind, Row};
use gitlab_api::Instance;
use serde::Deserialize;
use std::path::Path;
use toml::Spanned;

/// The help for a file of a newer program.
const NEWER: &str = "a newer runwright wrote it, and reads it too";

/// The part of the file that is the same in every version.
#[derive(Debug, Deserialize)]
struct Versioned {
    version: Option<Spanned<toml::Value>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(rename = "version")]
    _version: i64,
    gitlab: Option<Spanned<String>>,
    #[serde(default)]
    commit: Vec<Spanned<Row>>,
    #[serde(default)]
    tags: Vec<Spanned<Row>>,
    #[serde(default)]
    tree: Vec<Spanned<Row>>,
    #[serde(default)]
    file: Vec<Spanned<Row>>,
    #[serde(default)]
    page: Vec<Spanned<Row>>,
    #[serde(default)]
    template: Vec<Spanned<Row>>,
}

impl LockFile {
    /// Parses the text of a lock file; `path` appears in errors.
    ///
    /// # Errors
    ///
    /// When the text differs from what [`Display`](std::fmt::Display) writes, other than in order and layout.
    pub fn parse(path: &Path, text: &str) -> Result<Self, LockFileError> {
        let fail = |reason: String, offset: usize| {
            LockFileError::new(path, reason)
                .with_help(RENEW)
                .at(text, offset)
        };
        if let Some(offset) = conflict(text) {
            let reason = "it has the markers of an unresolved merge".to_owned();
            return Err(fail(reason, offset));
        }
        let syntax = |error: toml::de::Error| {
            let offset = error.span().map_or(0, |span| span.start);
            fail(error.message().to_owned(), offset)
        };
        let versioned: Versioned = toml::from_str(text).map_err(syntax)?;
        match versioned.version {
            None => return Err(fail("it does not say its `version`".to_owned(), 0)),
            Some(version) if version.get_ref().as_integer() != Some(Self::VERSION) => {
                let reason = match version.get_ref() {
                    toml::Value::Integer(number) => format!(
                        "its version is {number}, and this program reads version {}",
                        Self::VERSION
                    ),
                    _ => "its version is not a number".to_owned(),
                };
                let failed = fail(reason, version.span().start);
                let is_newer = version.get_ref().as_integer() > Some(Self::VERSION);
                return Err(if is_newer {
                    failed.with_help(NEWER)
                } else {
                    failed
                });
            }
            Some(_) => {}
        }
        let document: Document = toml::from_str(text).map_err(syntax)?;
        let kinds = [
            (Kind::Commit, document.commit),
            (Kind::Tags, document.tags),
            (Kind::Tree, document.tree),
            (Kind::File, document.file),
            (Kind::Page, document.page),
            (Kind::Template, document.template),
        ];
        let own = match document.gitlab {
            None => None,
            Some(gitlab) => {
                let read = Instance::parse(gitlab.get_ref());
                let read = read.ok().filter(|it| it.address() == gitlab.get_ref());
                let refuse = || {
                    let reason = "`gitlab` is not the address of a GitLab in its normal form";
                    fail(reason.to_owned(), gitlab.span().start)
                };
                Some(read.ok_or_else(refuse)?)
            }
        };
        let mut file = Self::of(own);
        for (kind, rows) in kinds {
            for row in rows {
                let offset = row.span().start;
                let read = row.get_ref().read(kind);
                let (subject, answer) = read.map_err(|reason| fail(reason, offset))?;
                if subject.is_own() && file.own().is_none() {
                    let reason = "it has no `instance`, and the file names no `gitlab`";
                    return Err(fail(reason.to_owned(), offset));
                }
                let what = subject.to_string();
                if !file.insert(subject, answer) {
                    return Err(fail(format!("it has {what} twice"), offset));
                }
            }
        }
        Ok(file)
    }
}

/// Returns the offset of a merge conflict that Git left.
fn conflict(text: &str) -> Option<usize> {
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        if ["<<<<<<< ", ">>>>>>> ", "||||||| "]
            .iter()
            .any(|mark| line.starts_with(mark))
            || line.trim_end() == "======="
        {
            return Some(offset);
        }
        offset += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = "instance = \"h\"\nproject = \"g/p\"\n";

    fn check(text: &str, expect: &str) {
        let read = LockFile::parse(Path::new("lock"), text);
        let read = read.map_or_else(|error| error.to_string(), |file| file.len().to_string());
        assert_eq!(read, expect, "{text}");
    }

    #[test]
    fn valid_file_is_read() {
        check("version = 1", "0");
        check(
            &format!("version = 1\n[[commit]]\n{ROW}sha = \"{}\"", "a".repeat(40)),
            "1",
        );
        check(
            &format!(
                "version = 1\n[[commit]]\n{ROW}no-reference = true\n[[tags]]\n{ROW}absent = true"
            ),
            "2",
        );
        check(
            "version = 1\n[[page]]\naddress = \"https://h/a\"\nabsent = true",
            "1",
        );
    }

    #[test]
    fn other_version_is_reported_first() {
        check("", "lock:1:1: it does not say its `version`");
        check(
            "\nversion = 2\nnew = 1",
            "lock:2:11: its version is 2, and this program reads version 1",
        );
        check("version = \"1\"", "lock:1:11: its version is not a number");
    }

    #[test]
    fn errors_have_a_location() {
        check(
            "version = 1\n[[commit]\n",
            "lock:2:10: unclosed array table, expected `]`",
        );
        check(
            "version = 1\nother = 1",
            "lock:2:1: unknown field `other`, expected one of `version`, `gitlab`, `commit`, `tags`, `tree`, \
             `file`, `page`, `template`",
        );
        check(
            "version = 1\n[[tags]]\ninstance = 1",
            "lock:3:12: invalid type: integer `1`, expected a string",
        );
        check(
            "version = 1\n[[tags]]\nabsent = true",
            "lock:2:1: it has no `project`",
        );
        check(
            &format!("version = 1\n[[file]]\n{ROW}sha = \"a\"\npath = \"b\""),
            "lock:2:1: it has no `text`",
        );
        check(
            &format!("version = 1\n[[tags]]\n{ROW}absent = true\nsha = \"a\""),
            "lock:2:1: it has fields that do not belong together",
        );
        check(
            &format!("version = 1\n[[commit]]\n{ROW}sha = \"main\""),
            "lock:2:1: `sha` is not the id of a commit",
        );
        check(
            &format!("version = 1\n[[tags]]\n{ROW}digest = \"00\""),
            "lock:5:10: expected a digest of 64 hexadecimal digits in lower case",
        );
    }

    #[test]
    fn only_the_normal_form_is_accepted() {
        let tags = |row: &str| format!("version = 1\n[[tags]]\n{row}absent = true");
        check(
            &tags("instance = \"https://h\"\nproject = \"g/p\"\n"),
            "lock:2:1: `instance` must be the host of a GitLab, as in the address of a component",
        );
        check(
            &tags("instance = \"h\"\nproject = \"G/p\"\n"),
            "lock:2:1: `project` must be in lower case",
        );
        for address in [
            "https://u@h/a",
            "https://h/a?b",
            "https://h/a#b",
            "HTTPS://h/a",
        ] {
            check(
                &format!("version = 1\n[[page]]\naddress = \"{address}\"\nabsent = true"),
                "lock:2:1: `address` must be normalized, without user, query and fragment",
            );
        }
    }

    #[test]
    fn own_gitlab_is_named_once() {
        let own = "[[tags]]\nproject = \"g/p\"\nabsent = true";
        check(
            &format!("version = 1\ngitlab = \"http://h:8080/git\"\n{own}"),
            "1",
        );
        check(
            &format!("version = 1\n{own}"),
            "lock:2:1: it has no `instance`, and the file names no `gitlab`",
        );
        for bad in ["h", "https://h/", "https://u:p@h", "file:///h"] {
            check(
                &format!("version = 1\ngitlab = \"{bad}\""),
                "lock:2:10: `gitlab` is not the address of a GitLab in its normal form",
            );
        }
    }

    #[test]
    fn repeated_question_is_rejected() {
        check(
            &format!("version = 1\n[[tags]]\n{ROW}absent = true\n\n[[tags]]\n{ROW}absent = true"),
            "lock:7:1: it has the tags of h/g/p twice",
        );
    }

    #[test]
    fn name_of_a_text_cannot_leave_its_directory() {
        let digest = "0".repeat(64);
        for name in ["../../etc/passwd", "/etc/passwd", "", ".gitattributes"] {
            check(
                &format!(
                    "version = 1\n[[tags]]\n{ROW}digest = \"{digest}\"\nsize = 1\ntext = \"{name}\""
                ),
                "lock:2:1: `text` is not a file name that `runwright vendor` writes",
            );
        }
    }

    #[test]
    fn unresolved_merge_is_reported() {
        check(
            "version = 1\n<<<<<<< HEAD\n[[tags]]\n=======\n>>>>>>> other\n",
            "lock:2:1: it has the markers of an unresolved merge",
        );
        check(
            "version = 1\n=======\r\n",
            "lock:2:1: it has the markers of an unresolved merge",
        );
    }
}
