use crate::{Answer, Library, LibraryError, ProjectAddress, Question};
use async_trait::async_trait;
use parking_lot::Mutex;
use std::collections::HashSet;

/// Asks a second library for projects that the first has not, or does not show to whoever asks.
///
/// What the second one had is asked of it alone from then on.
#[derive(Debug)]
pub struct Fallback<A, B> {
    first: A,
    second: B,
    /// The projects that the first library does not show.
    hidden: Mutex<HashSet<ProjectAddress>>,
}

impl<A, B> Fallback<A, B> {
    /// Returns one that asks `first`, and then `second`.
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
impl<A: Library, B: Library> Library for Fallback<A, B> {
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
            // It has no way there, which is nothing the user did wrong.
            Err(LibraryError::NoWay) => Err(refused),
            Err(error) => Err(both(refused, &error)),
            answer => {
                self.hide(project);
                answer
            }
        }
    }
}

/// Returns an error of the first one's kind that says what both said.
fn both(first: LibraryError, second: &LibraryError) -> LibraryError {
    let join = |said: String| format!("{said}; {second}");
    // A token for the first way is one for Git too, so what helps there is said.
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
