//! Writes a first pipeline file for a project, by its build tool.

mod make;
mod node;
mod python;
mod templates;

use std::path::Path;
use std::{fs, io};

/// The most that is read of a file, in bytes.
const MOST_READ: u64 = 1 << 20;

/// The kind of a project, as far as a first pipeline depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Cargo,
    Node,
    Python,
    Go,
    Make,
    Plain,
}

/// The files that identify the kind of a project, by precedence.
const SIGNS: [(&str, Kind); 6] = [
    ("Cargo.toml", Kind::Cargo),
    ("package.json", Kind::Node),
    ("pyproject.toml", Kind::Python),
    ("setup.py", Kind::Python),
    ("go.mod", Kind::Go),
    ("Makefile", Kind::Make),
];

/// The files of a project that the text of a pipeline depends on.
pub(crate) trait Files {
    /// Returns the text of a file in the root directory; `None` if there is no readable file.
    fn text(&self, name: &str) -> Option<String>;
    /// Returns whether the root directory has a file or directory of this name.
    fn has(&self, name: &str) -> bool;
}

impl Files for Path {
    fn text(&self, name: &str) -> Option<String> {
        let file = fs::File::open(self.join(name)).ok()?;
        let mut text = Vec::new();
        io::Read::read_to_end(&mut io::Read::take(file, MOST_READ), &mut text).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    fn has(&self, name: &str) -> bool {
        self.join(name).exists()
    }
}

/// A first pipeline file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Starter {
    /// The file that identified the project; `None` if there was none.
    pub(crate) sign: Option<&'static str>,
    /// Files of other kinds, for which the pipeline has no jobs.
    pub(crate) others: Vec<&'static str>,
    /// The pipeline file.
    pub(crate) text: String,
}

/// Writes a pipeline for these files.
pub(crate) fn starter(files: &(impl Files + ?Sized)) -> Starter {
    let mut found = SIGNS.iter().filter(|(name, _)| files.has(name));
    let first = found.next();
    let kind = first.map_or(Kind::Plain, |&(_, kind)| kind);
    let others = found.filter(|&&(_, other)| other != kind);
    let text = match kind {
        Kind::Cargo => templates::CARGO.to_owned(),
        Kind::Go => templates::GO.to_owned(),
        Kind::Plain => templates::PLAIN.to_owned(),
        Kind::Node => node::pipeline(files),
        Kind::Python => python::pipeline(files),
        Kind::Make => make::pipeline(&files.text("Makefile").unwrap_or_default()),
    };
    Starter {
        sign: first.map(|&(name, _)| name),
        others: others.map(|&(name, _)| name).collect(),
        text: format!("{}{text}", templates::HEAD),
    }
}

#[cfg(test)]
mod tests;
