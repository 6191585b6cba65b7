use super::error::LockFileError;
use super::file::LockFile;
use super::row::{Kind, Row};
use serde::Deserialize;
use std::path::Path;
use toml::Spanned;

/// What the user can do about a file that cannot be read.
const HELP: &str = "`runwright vendor` writes it anew";

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
                .with_help(HELP)
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
                let reason = format!(
                    "its version is {}, and this program reads version {}",
                    version.get_ref(),
                    Self::VERSION
                );
                return Err(fail(reason, version.span().start));
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
        ];
        let mut file = Self::default();
        for (kind, rows) in kinds {
            for row in rows {
                let offset = row.span().start;
                let read = row.get_ref().read(kind);
                let (subject, answer) = read.map_err(|reason| fail(reason, offset))?;
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
