use crate::{Answer, Library, LibraryError, ProjectAddress, Question};
use async_trait::async_trait;
use parking_lot::Mutex;
use std::collections::HashSet;

/// A library that asks a second one for projects that the first lacks or does not show to this user.
///
/// A project that only the second one has is requested from it alone from then on.
#[derive(Debug)]
pub struct LibraryChain<A, B> {
    first: A,
    second: B,
    /// The projects that the first library does not show.
    hidden: Mutex<HashSet<ProjectAddress>>,
}

impl<A, B> LibraryChain<A, B> {
    /// Returns a library that asks `first`, and then `second`.
    pub fn new(first: A, second: B) -> Self {
        Self {
            first,
            second,
            hidden: Mutex::default(),
        }
    }

    fn is_hidden(&self, project: &ProjectAddress) -> bool {
        let hidden = self.hidden.lock();
        hidden.contains(project)
    }

    fn hide(&self, project: &ProjectAddress) {
        let mut hidden = self.hidden.lock();
        hidden.insert(project.clone());
    }
}

#[async_trait]
impl<A: Library, B: Library> Library for LibraryChain<A, B> {
    async fn ask(&self, question: &Question, etag: Option<&str>) -> Result<Answer, LibraryError> {
        let project = match question {
            Question::Commit { project, .. }
            | Question::Tags { project }
            | Question::File { project, .. }
            | Question::Tree { project, .. } => project,
            Question::Page { .. } | Question::Template { .. } => {
                return self.first.ask(question, etag).await;
            }
        };
        if self.is_hidden(project) {
            return self.second.ask(question, etag).await;
        }
        let refused = match self.first.ask(question, etag).await {
            Err(error @ (LibraryError::Denied { .. } | LibraryError::NoProject { .. })) => error,
            answer => return answer,
        };
        match self.second.ask(question, etag).await {
            // It has no route there, which is not the user's mistake.
            Err(LibraryError::NoWay) => Err(refused),
            Err(error) => Err(both(refused, &error)),
            answer => {
                self.hide(project);
                answer
            }
        }
    }
}

/// Returns an error of the first one's kind with the reasons of both.
fn both(first: LibraryError, second: &LibraryError) -> LibraryError {
    let join = |reason: String| format!("{reason}; {second}");
    // A token for the API is one for Git too, so the first help counts.
    let or = |help: Option<String>| help.or_else(|| second.help().map(str::to_owned));
    match first {
        LibraryError::Denied { reason, help } => LibraryError::Denied {
            reason: join(reason),
            help: or(help),
        },
        LibraryError::NoProject { reason, help } => LibraryError::NoProject {
            reason: join(reason),
            help: or(help),
        },
        other => other,
    }
}
