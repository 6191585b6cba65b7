use super::LockFile;
use super::row::{Kind, Row};
use serde::Serialize;
use std::fmt;

/// The comment at the top of the file.
const HEAD: &str = "\
# What this project's includes were when `runwright vendor` was run last.
# The texts are in .runwright/vendor; both belong into the repository. Do not edit.

";

/// The rows of the file, in the order in which they are written.
#[derive(Debug, Serialize)]
struct Document {
    version: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    gitlab: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    commit: Vec<Row>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<Row>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tree: Vec<Row>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    file: Vec<Row>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    page: Vec<Row>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    template: Vec<Row>,
}

/// The text of the file: equal for equal answers.
impl fmt::Display for LockFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut document = Document {
            version: Self::VERSION,
            gitlab: self.own().map(|own| own.address().to_owned()),
            commit: Vec::new(),
            tags: Vec::new(),
            tree: Vec::new(),
            file: Vec::new(),
            page: Vec::new(),
            template: Vec::new(),
        };
        for (subject, answer) in self.entries() {
            let (kind, row) = Row::of(subject, answer);
            let rows = match kind {
                Kind::Commit => &mut document.commit,
                Kind::Tags => &mut document.tags,
                Kind::Tree => &mut document.tree,
                Kind::File => &mut document.file,
                Kind::Page => &mut document.page,
                Kind::Template => &mut document.template,
            };
            rows.push(row);
        }
        let text = toml::to_string(&document).map_err(|_| fmt::Error)?;
        write!(f, "{HEAD}{text}")
    }
}
