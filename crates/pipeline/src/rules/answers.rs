use super::error::FileError;
use super::file_list::{self, FileList};
use super::{Changes, Exists, FileVerdict, RuleContext, RuleError};
use crate::pattern::Pattern;
use crate::repository::{Paths, Repository, RepositoryError};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// What was asked of a repository's files, and the answers.
///
/// Thousands of jobs share a few conditions on files. Each is compared once, whatever variables the
/// jobs come with, as long as these make the same globs of it.
#[derive(Debug)]
pub struct FileAnswers<'r> {
    repository: &'r dyn Repository,
    known: Mutex<HashMap<Question, Answer>>,
    lists: Mutex<HashMap<Option<Commit>, Arc<FileList>>>,
}

type Answer = Result<FileVerdict, FileError>;

/// Another project, and a commit of it.
type Commit = (String, Option<String>);

/// A condition on files, its variables replaced.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Question {
    Changes {
        since: Option<String>,
        asked: Asked,
    },
    Exists {
        commit: Option<Commit>,
        asked: Asked,
    },
}

/// What files are asked to fit.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Asked {
    Globs(Vec<String>),
    Pattern(String, String),
}

impl Asked {
    fn new(globs: &[String], pattern: Option<&Pattern>, context: Option<&RuleContext<'_>>) -> Self {
        if let Some(pattern) = pattern {
            return Self::Pattern(pattern.source().to_owned(), pattern.flags().to_owned());
        }
        let globs = globs.iter().map(|glob| match context {
            Some(context) => context.expand(glob),
            None => glob.clone(),
        });
        Self::Globs(globs.collect())
    }
}

impl<'r> FileAnswers<'r> {
    /// Makes ready to ask a repository.
    pub fn new(repository: &'r dyn Repository) -> Self {
        Self {
            repository,
            known: Mutex::default(),
            lists: Mutex::default(),
        }
    }

    /// Answers `rules:changes`.
    pub(super) fn changes(
        &self,
        changes: &Changes,
        context: &RuleContext<'_>,
    ) -> Result<FileVerdict, RuleError> {
        let pattern = changes.regexp.as_deref();
        let since = changes.compare_to.as_deref();
        let question = Question::Changes {
            since: since.map(|reference| context.expand(reference)),
            asked: Asked::new(&changes.paths, pattern, Some(context)),
        };
        let (keyword, named) = match since {
            Some(reference) => ("rules:changes:compare_to", context.show(reference)),
            None => ("rules:changes", String::new()),
        };
        let answer = self.answer(question, pattern);
        answer.map_err(|error| error.of(keyword, &named, Some(changes.span)))
    }

    /// Answers `only:changes`, whose globs name no variables.
    pub(super) fn policy_changes(&self, globs: &[String]) -> Result<FileVerdict, RuleError> {
        let question = Question::Changes {
            since: None,
            asked: Asked::new(globs, None, None),
        };
        let answer = self.answer(question, None);
        answer.map_err(|error| error.of("changes", "", None))
    }

    /// Answers `rules:exists`.
    pub(super) fn exists(
        &self,
        exists: &Exists,
        context: &RuleContext<'_>,
    ) -> Result<FileVerdict, RuleError> {
        let pattern = exists.regexp.as_deref();
        let expand = |text: &String| context.expand(text);
        let reference = exists.reference.as_ref().map(expand);
        let question = Question::Exists {
            commit: exists
                .project
                .as_ref()
                .map(|name| (expand(name), reference)),
            asked: Asked::new(&exists.paths, pattern, Some(context)),
        };
        let answer = self.answer(question, pattern);
        answer.map_err(|error| {
            let named = match &error {
                FileError::Repository(RepositoryError::UnknownProject(_)) => &exists.project,
                _ => &exists.reference,
            };
            let named = context.show(named.as_deref().unwrap_or_default());
            error.of("rules:exists", &named, Some(exists.span))
        })
    }

    fn answer(&self, question: Question, pattern: Option<&Pattern>) -> Answer {
        let mut known = self.known.lock();
        if let Some(answer) = known.get(&question) {
            return answer.clone();
        }
        let answer = self.find(&question, pattern);
        known.insert(question, answer.clone());
        answer
    }

    fn find(&self, question: &Question, pattern: Option<&Pattern>) -> Answer {
        match question {
            Question::Changes { since, asked } => {
                let Some(paths) = self.changed(since.as_deref())? else {
                    return Ok(FileVerdict::Unknown);
                };
                match (asked, pattern) {
                    (Asked::Globs(globs), _) => file_list::changes(globs, &paths),
                    (Asked::Pattern(..), Some(pattern)) => Ok(file_list::fitting(pattern, &paths)),
                    (Asked::Pattern(..), None) => Ok(FileVerdict::NoPattern),
                }
            }
            Question::Exists { commit, asked } => {
                let list = self.list(commit.as_ref())?;
                match (asked, pattern) {
                    (Asked::Globs(globs), _) => list.exists(globs),
                    (Asked::Pattern(..), Some(pattern)) => Ok(list.fitting(pattern)),
                    (Asked::Pattern(..), None) => Ok(FileVerdict::NoPattern),
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
