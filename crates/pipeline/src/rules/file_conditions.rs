use super::error::FileError;
use super::file_list::{self, FileList};
use super::{Changes, Exists, FileVerdict, RuleError};
use crate::context::{expand_existing, referenced};
use crate::expression::{MASKED, Variables};
use crate::pattern::Pattern;
use crate::repository::{Paths, Repository, RepositoryError};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// Evaluates conditions on a repository's files, each at most once.
///
/// Thousands of jobs share a few conditions on files. A condition is evaluated once for all jobs
/// whose variables expand it to the same globs.
#[derive(Debug)]
pub struct FileConditions<'r> {
    repository: &'r dyn Repository,
    known: Mutex<HashMap<FileQuery, Verdict>>,
    lists: Mutex<HashMap<Option<Commit>, Arc<FileList>>>,
}

type Verdict = Result<FileVerdict, FileError>;

/// Another project, and a commit of it.
type Commit = (String, Option<String>);

/// A condition on files after the expansion of its variables.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum FileQuery {
    Changes {
        since: Option<String>,
        criterion: Criterion,
    },
    Exists {
        commit: Option<Commit>,
        criterion: Criterion,
    },
}

/// The globs or the pattern that files must match.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Criterion {
    Globs(Vec<String>),
    Pattern(String, String),
}

impl Criterion {
    fn new(globs: &[String], pattern: Option<&Pattern>, expanded: Option<&dyn Variables>) -> Self {
        if let Some(pattern) = pattern {
            return Self::Pattern(pattern.source().to_owned(), pattern.flags().to_owned());
        }
        let globs = globs.iter().map(|glob| match expanded {
            Some(expanded) => expand(glob, expanded),
            None => glob.clone(),
        });
        Self::Globs(globs.collect())
    }
}

impl<'r> FileConditions<'r> {
    /// Creates conditions on the files of a repository.
    pub fn new(repository: &'r dyn Repository) -> Self {
        Self {
            repository,
            known: Mutex::default(),
            lists: Mutex::default(),
        }
    }

    /// Evaluates `rules:changes`.
    pub(super) fn changes(
        &self,
        changes: &Changes,
        expanded: &dyn Variables,
    ) -> Result<FileVerdict, RuleError> {
        let pattern = changes.regexp.as_deref();
        let since = changes.compare_to.as_ref();
        let query = FileQuery::Changes {
            since: since.map(|reference| expand(&reference.value, expanded)),
            criterion: Criterion::new(&changes.paths, pattern, Some(expanded)),
        };
        let verdict = self.verdict(query, pattern);
        verdict.map_err(|error| match (since, &error) {
            (Some(reference), FileError::Repository(_)) => {
                let named = show(&reference.value, expanded);
                error.of("rules:changes:compare_to", &named, Some(reference.span))
            }
            _ => error.of("rules:changes", "", Some(changes.span)),
        })
    }

    /// Evaluates `only:changes`, whose globs are not expanded.
    pub(super) fn policy_changes(&self, globs: &[String]) -> Result<FileVerdict, RuleError> {
        let query = FileQuery::Changes {
            since: None,
            criterion: Criterion::new(globs, None, None),
        };
        let verdict = self.verdict(query, None);
        verdict.map_err(|error| error.of("changes", "", None))
    }

    /// Evaluates `rules:exists`.
    pub(super) fn exists(
        &self,
        exists: &Exists,
        expanded: &dyn Variables,
    ) -> Result<FileVerdict, RuleError> {
        let pattern = exists.regexp.as_deref();
        let expand = |text: &String| expand(text, expanded);
        let reference = exists.reference.as_ref().map(expand);
        let query = FileQuery::Exists {
            commit: exists
                .project
                .as_ref()
                .map(|name| (expand(name), reference)),
            criterion: Criterion::new(&exists.paths, pattern, Some(expanded)),
        };
        let verdict = self.verdict(query, pattern);
        verdict.map_err(|error| {
            let named = match &error {
                FileError::Repository(RepositoryError::UnknownProject(_)) => &exists.project,
                _ => &exists.reference,
            };
            let named = show(named.as_deref().unwrap_or_default(), expanded);
            error.of("rules:exists", &named, Some(exists.span))
        })
    }

    fn verdict(&self, query: FileQuery, pattern: Option<&Pattern>) -> Verdict {
        let mut known = self.known.lock();
        if let Some(verdict) = known.get(&query) {
            return verdict.clone();
        }
        let verdict = self.find(&query, pattern);
        known.insert(query, verdict.clone());
        verdict
    }

    fn find(&self, query: &FileQuery, pattern: Option<&Pattern>) -> Verdict {
        match query {
            FileQuery::Changes { since, criterion } => {
                let Some(paths) = self.changed(since.as_deref())? else {
                    return Ok(FileVerdict::Unknown);
                };
                match (criterion, pattern) {
                    (Criterion::Globs(globs), _) => file_list::changes(globs, &paths),
                    (Criterion::Pattern(..), Some(pattern)) => {
                        Ok(file_list::matching(pattern, &paths))
                    }
                    (Criterion::Pattern(..), None) => Ok(FileVerdict::NoPattern),
                }
            }
            FileQuery::Exists { commit, criterion } => {
                let list = self.list(commit.as_ref())?;
                match (criterion, pattern) {
                    (Criterion::Globs(globs), _) => list.exists(globs),
                    (Criterion::Pattern(..), Some(pattern)) => Ok(list.matching(pattern)),
                    (Criterion::Pattern(..), None) => Ok(FileVerdict::NoPattern),
                }
            }
        }
    }

    fn changed(&self, since: Option<&str>) -> Result<Option<Paths>, FileError> {
        Ok(match since {
            Some(reference) => Some(self.repository.changed_since(reference)?),
            None => self.repository.changed_files()?,
        })
    }

    /// Returns the files of the pipeline's commit, or of another project's.
    fn list(&self, commit: Option<&Commit>) -> Result<Arc<FileList>, FileError> {
        let mut lists = self.lists.lock();
        if let Some(list) = lists.get(&commit.cloned()) {
            return Ok(Arc::clone(list));
        }
        let paths = match commit {
            Some((project, reference)) => {
                self.repository.files_of(project, reference.as_deref())?
            }
            None => self.repository.files()?,
        };
        let list = Arc::new(FileList::new(paths));
        lists.insert(commit.cloned(), Arc::clone(&list));
        Ok(list)
    }
}

/// Expands a glob or a ref for display.
pub(super) fn show(text: &str, expanded: &dyn Variables) -> String {
    let shown = expand_existing(text, |name| match expanded.get(name) {
        Some(_) if expanded.is_masked(name) => Some(MASKED),
        value => value,
    });
    shown.into_owned()
}

/// Returns whether a text refers to a secret variable.
pub(super) fn names_secret(text: &str, expanded: &dyn Variables) -> bool {
    let mut names = referenced(text).into_iter();
    names.any(|name| expanded.is_masked(name))
}

/// Expands a glob or a ref; references to unknown variables stay.
pub(super) fn expand(text: &str, expanded: &dyn Variables) -> String {
    expand_existing(text, |name| expanded.get(name)).into_owned()
}
