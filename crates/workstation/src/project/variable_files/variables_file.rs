use super::dotenv;
use super::value_reader::ValueReader;
use pipeline::Diagnostics;
use pipeline::context::{ExternalVariable, Level};
use std::path::Path;
use yaml::diagnostic::Checked;
use yaml::load_values;

/// A file with variables, as YAML or as lines of `NAME=value`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VariablesFile<'a> {
    /// Its name in messages.
    pub(crate) name: &'a str,
    pub(crate) text: &'a str,
    /// The level of its variables.
    pub(crate) level: Level,
    /// The directory for `~`.
    pub(crate) home: Option<&'a Path>,
    /// The root of the project that the file is in: it names no other files.
    pub(crate) root: Option<&'a Path>,
}

impl VariablesFile<'_> {
    /// Parses the variables.
    pub(crate) fn read(self) -> Checked<Vec<ExternalVariable>> {
        if is_dotenv(self.text) {
            return self.read_dotenv();
        }
        load_values(self.name, self.text).and_then(|root, diagnostics| {
            let mut reader = self.reader(diagnostics);
            reader.read_hash(&root);
            Some(reader.variables)
        })
    }

    fn read_dotenv(self) -> Checked<Vec<ExternalVariable>> {
        let (mut diagnostics, file) = Diagnostics::of_private_file(self.name, self.text);
        let (assignments, errors) = dotenv::parse(file, self.text);
        for error in errors {
            diagnostics.push(error);
        }
        let mut reader = self.reader(&mut diagnostics);
        for assignment in assignments {
            reader.add_text(&assignment.name, assignment.value, assignment.span);
        }
        Checked {
            value: Some(reader.variables),
            diagnostics,
        }
    }

    fn reader<'r>(&self, diagnostics: &'r mut Diagnostics) -> ValueReader<'r>
    where
        Self: 'r,
    {
        ValueReader {
            file: self.name,
            level: self.level,
            home: self.home,
            root: self.root,
            diagnostics,
            variables: Vec::new(),
        }
    }
}

/// Returns whether the first line, without blanks and comments, is a `NAME=value`.
fn is_dotenv(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    let Some(first) = first else {
        return false;
    };
    let first = first.strip_prefix("export ").unwrap_or(first);
    first.split_once('=').is_some_and(|(name, _)| {
        let name = name.trim();
        // An invalid name is reported as one.
        let is_valid = |c: char| c.is_ascii_alphanumeric() || "_.- ".contains(c);
        name.starts_with(|c: char| c != '-' && is_valid(c)) && name.chars().all(is_valid)
    })
}
