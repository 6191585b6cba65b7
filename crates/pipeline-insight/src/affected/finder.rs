use super::file_index::FileIndex;
use super::reads::Reads;
use super::{Cause, InputPattern};
use pipeline::create::CreatedJob;
use pipeline::pattern::Pattern;
use serde_json::Value;
use std::collections::HashMap;

/// The maximum number of comparisons of a path with a pattern for one pipeline. Beyond it, jobs
/// count as affected.
const MOST_COMPARISONS: usize = 10_000_000;

/// Finds the changed files that jobs read. Results are cached, since many jobs share patterns.
#[derive(Debug)]
pub(super) struct Finder<'f> {
    index: FileIndex<'f>,
    /// Directories in which unknown files changed.
    directories: Vec<&'f str>,
    /// The first changed file.
    first: Option<&'f str>,
    /// The first changed file that may be part of another pipeline.
    yaml: Option<&'f str>,
    /// The results by pattern.
    patterns: HashMap<String, Found<'f>>,
    /// The results by regular expression with its flags.
    expressions: HashMap<(String, String), Found<'f>>,
    comparisons: usize,
}

/// The result of a search for a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found<'f> {
    Path(&'f str),
    Nothing,
    TooMany,
}

impl<'f> Finder<'f> {
    pub(super) fn new(files: &'f [String]) -> Self {
        let paths = || files.iter().map(String::as_str);
        let is_directory = |path: &&str| path.ends_with('/');
        let is_yaml = |path: &&str| {
            let name = path.to_ascii_lowercase();
            is_directory(path) || [".yml", ".yaml"].iter().any(|end| name.ends_with(end))
        };
        Self {
            index: FileIndex::new(paths().filter(|path| !is_directory(path))),
            directories: paths().filter(is_directory).collect(),
            first: paths().min(),
            yaml: paths().filter(is_yaml).min(),
            patterns: HashMap::new(),
            expressions: HashMap::new(),
            comparisons: 0,
        }
    }

    /// Returns the cause of a job that reads these files.
    pub(super) fn find(&mut self, reads: &Reads) -> Option<Cause> {
        let cause = |found: Found<'_>, pattern: &str| match found {
            Found::Path(path) => Some(Cause::Input {
                path: path.to_owned(),
                pattern: pattern.to_owned(),
            }),
            Found::TooMany => Some(Cause::TooMany),
            Found::Nothing => None,
        };
        match reads {
            Reads::Unknown => self.first.map(|path| Cause::UnknownInputs {
                path: path.to_owned(),
            }),
            Reads::Patterns(patterns) => patterns
                .iter()
                .find_map(|it| cause(self.of_pattern(&it.pattern), &it.written)),
            Reads::Expression(expression) => {
                cause(self.of_expression(expression), &expression.to_string())
            }
        }
    }

    /// Returns the cause of a job that triggers a pipeline from files of the project: the files
    /// that those include are unknown until they are read.
    pub(super) fn child(&self, job: &CreatedJob) -> Option<Cause> {
        let trigger = job.definition.trigger.as_deref()?;
        let path = self.yaml.filter(|_| reads_own_files(trigger))?;
        Some(Cause::ChildPipeline {
            path: path.to_owned(),
        })
    }

    fn of_pattern(&mut self, text: &str) -> Found<'f> {
        if let Some(found) = self.patterns.get(text) {
            return *found;
        }
        let found = self.search(text);
        self.patterns.insert(text.to_owned(), found);
        found
    }

    fn search(&mut self, text: &str) -> Found<'f> {
        // A pattern with too many alternatives must not exclude jobs.
        let Ok(pattern) = InputPattern::new(text) else {
            return Found::TooMany;
        };
        let mut found: Option<&str> = None;
        for affixes in pattern.affixes() {
            let candidates = self.index.candidates(&affixes);
            self.comparisons = self.comparisons.saturating_add(candidates.len());
            if self.comparisons > MOST_COMPARISONS {
                return Found::TooMany;
            }
            let matching = candidates
                .iter()
                .filter(|path| pattern.is_match(path))
                .min();
            found = found.into_iter().chain(matching.copied()).min();
        }
        let mut directories = self.directories.iter().copied();
        let found = found.or_else(|| directories.find(|directory| pattern.is_match(directory)));
        found.map_or(Found::Nothing, Found::Path)
    }

    fn of_expression(&mut self, expression: &Pattern) -> Found<'f> {
        let key = (
            expression.source().to_owned(),
            expression.flags().to_owned(),
        );
        if let Some(found) = self.expressions.get(&key) {
            return *found;
        }
        let all = self.index.all();
        self.comparisons = self.comparisons.saturating_add(all.len());
        let found = if self.comparisons > MOST_COMPARISONS {
            Found::TooMany
        } else {
            let mut matching = all.iter().filter(|path| expression.is_match(path));
            let found = matching.next().or(self.directories.first());
            found.map_or(Found::Nothing, |path| Found::Path(path))
        };
        self.expressions.insert(key, found);
        found
    }
}

/// Returns whether a job triggers a pipeline that files of the project define.
fn reads_own_files(trigger: &Value) -> bool {
    trigger.get("include").is_some()
}
