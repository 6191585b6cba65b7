use super::error::{LockFileError, RENEW};
use super::file::LockFile;
use super::row::{Kind, Row};
use gitlab_api::Instance;
use serde::Deserialize;
use std::path::Path;
use toml::Spanned;

/// What the user can do about a file of a newer program.
const NEWER: &str = "a newer runwright wrote it, and reads it too";

/// The file, as far as every version of it has the same shape.
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
    /// Reads the text of a lock file; `path` is for the words of errors.
    ///
    /// # Errors
    ///
    /// When it is not what [`Display`](std::fmt::Display) writes, but for order and layout.
    pub fn parse(path: &Path, text: &str) -> Result<Self, LockFileError> {
        let fail = |reason: String, offset: usize| {
            LockFileError::new(path, reason)
                .with_help(RENEW)
                .at(text, offset)
        };
        if let Some(offset) = conflict(text) {
            let reason = "it has the marks of a merge that is not resolved".to_owned();
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
                    _ => "its version is no number".to_owned(),
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
                    let reason = "`gitlab` is no address of a GitLab as it is written here";
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

/// Returns where Git has left both sides of a conflict.
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
    fn a_file_is_read() {
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
    fn another_version_is_told_before_all_else() {
        check("", "lock:1:1: it does not say its `version`");
        check(
            "\nversion = 2\nnew = 1",
            "lock:2:11: its version is 2, and this program reads version 1",
        );
        check("version = \"1\"", "lock:1:11: its version is no number");
    }

    #[test]
    fn a_mistake_has_a_place() {
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
            "lock:2:1: `sha` is no id of a commit",
        );
        check(
            &format!("version = 1\n[[tags]]\n{ROW}digest = \"00\""),
            "lock:5:10: a digest is 64 hexadecimal digits in lower case",
        );
    }

    #[test]
    fn what_means_the_same_is_written_in_one_way() {
        let tags = |row: &str| format!("version = 1\n[[tags]]\n{row}absent = true");
        check(
            &tags("instance = \"https://h\"\nproject = \"g/p\"\n"),
            "lock:2:1: `instance` is to be the host of a GitLab, as components name it",
        );
        check(
            &tags("instance = \"h\"\nproject = \"G/p\"\n"),
            "lock:2:1: `project` is to be written in lower case",
        );
        for address in [
            "https://u@h/a",
            "https://h/a?b",
            "https://h/a#b",
            "HTTPS://h/a",
        ] {
            check(
                &format!("version = 1\n[[page]]\naddress = \"{address}\"\nabsent = true"),
                "lock:2:1: `address` is written without user, query and fragment, as browsers do",
            );
        }
    }

    #[test]
    fn the_own_gitlab_of_a_project_is_named_once() {
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
                "lock:2:10: `gitlab` is no address of a GitLab as it is written here",
            );
        }
    }

    #[test]
    fn one_question_has_one_answer() {
        check(
            &format!("version = 1\n[[tags]]\n{ROW}absent = true\n\n[[tags]]\n{ROW}absent = true"),
            "lock:7:1: it has the tags of h/g/p twice",
        );
    }

    #[test]
    fn the_name_of_a_text_leads_nowhere_else() {
        let digest = "0".repeat(64);
        for name in ["../../etc/passwd", "/etc/passwd", "", ".gitattributes"] {
            check(
                &format!(
                    "version = 1\n[[tags]]\n{ROW}digest = \"{digest}\"\nsize = 1\ntext = \"{name}\""
                ),
                "lock:2:1: `text` is no name of a file that `runwright vendor` writes",
            );
        }
    }

    #[test]
    fn a_merge_that_is_not_resolved_is_told() {
        check(
            "version = 1\n<<<<<<< HEAD\n[[tags]]\n=======\n>>>>>>> other\n",
            "lock:2:1: it has the marks of a merge that is not resolved",
        );
        check(
            "version = 1\n=======\r\n",
            "lock:2:1: it has the marks of a merge that is not resolved",
        );
    }
}
