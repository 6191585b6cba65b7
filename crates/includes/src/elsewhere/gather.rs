use super::finder::Finder;
use super::refused::failed;
use super::settings::{ElsewhereSettings, OwnProject};
use crate::Library;
use parking_lot::Mutex;
use pipeline::include::{
    FileHome, IncludeError, IncludeFailure, IncludeRequest, IncludeSource, IncludedFile,
};
use pipeline::repository::Paths;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

/// Finds included files of other projects, components, templates, and files at addresses.
///
/// All that is asked for at once is fetched side by side; each question is put to the library once,
/// and all of them have a time in common.
#[derive(Debug)]
pub struct Elsewhere {
    finder: Arc<Finder>,
    /// How much of the time is left.
    left: Mutex<Duration>,
}

impl Elsewhere {
    /// Returns the files that a library knows.
    pub fn new(library: Arc<dyn Library>, settings: ElsewhereSettings) -> Self {
        Self {
            left: Mutex::new(settings.time),
            finder: Arc::new(Finder::new(library, settings)),
        }
    }

    /// Says which project the pipeline is of, for its own components; only the first time counts.
    pub fn know_own(&self, own: OwnProject) {
        let _ = self.finder.own.set(own);
    }

    /// Returns all paths of a project at a branch, tag or commit, by default its default branch
    /// (`exists:project`).
    ///
    /// # Errors
    ///
    /// When the project or the commit is not there, or nobody can say.
    pub fn paths_of(&self, project: &str, reference: Option<&str>) -> Result<Paths, IncludeError> {
        let finder = Arc::clone(&self.finder);
        self.wait(async move { finder.paths_of(project, reference).await })
    }

    /// Waits for one answer.
    fn wait<T: Send>(
        &self,
        answer: impl Future<Output = Result<T, IncludeError>> + Send,
    ) -> Result<T, IncludeError> {
        self.in_time(async |deadline| {
            let answered = timeout_at(deadline, answer).await;
            answered.unwrap_or_else(|_| Err(self.late()))
        })
        .unwrap_or_else(Err)
    }

    /// Waits as long as there is time; the error is that there is none left, or that nothing can wait.
    fn in_time<T: Send, F: Future<Output = T> + Send>(
        &self,
        work: impl FnOnce(Instant) -> F + Send,
    ) -> Result<T, IncludeError> {
        let left = *self.left.lock();
        if left.is_zero() {
            return Err(self.late());
        }
        let waited = self.finder.settings.waiter.wait(async {
            let start = Instant::now();
            let done = work(start + left).await;
            (done, start.elapsed())
        });
        let (done, took) = waited.map_err(|error| {
            let reason = format!("nothing can be waited for: {error}");
            failed(IncludeFailure::Unreadable, reason, None)
        })?;
        let mut left = self.left.lock();
        *left = left.saturating_sub(took);
        Ok(done)
    }

    fn late(&self) -> IncludeError {
        late(self.finder.settings.time)
    }
}

fn late(time: Duration) -> IncludeError {
    let seconds = time.as_secs();
    let reason = format!("all included files together took longer than {seconds} s");
    let help = "what was fetched until now is kept, so the next time may be faster";
    failed(IncludeFailure::Unreadable, reason, help)
}

impl IncludeSource for Elsewhere {
    fn paths(&self, home: &FileHome) -> Result<Paths, IncludeError> {
        self.wait(self.finder.paths(home))
    }

    fn fetch(&self, requests: &[IncludeRequest]) -> Vec<Result<IncludedFile, IncludeError>> {
        if requests.is_empty() {
            return Vec::new();
        }
        let found = self.in_time(|deadline| gather(&self.finder, requests, deadline));
        match found {
            Ok(found) => found
                .into_iter()
                .map(|found| found.unwrap_or_else(|| Err(self.late())))
                .collect(),
            Err(error) => requests.iter().map(|_| Err(error.clone())).collect(),
        }
    }
}

/// Finds files side by side; those that were not found in time are nothing.
async fn gather(
    finder: &Arc<Finder>,
    requests: &[IncludeRequest],
    deadline: Instant,
) -> Vec<Option<Result<IncludedFile, IncludeError>>> {
    let mut found: Vec<Option<Result<IncludedFile, IncludeError>>> = Vec::new();
    found.resize_with(requests.len(), || None);
    let mut finding = JoinSet::new();
    for (at, request) in requests.iter().cloned().enumerate() {
        let finder = Arc::clone(finder);
        finding.spawn(async move { (at, finder.find(&request).await) });
    }
    while let Ok(Some(done)) = timeout_at(deadline, finding.join_next()).await {
        match done {
            Ok((at, file)) => found[at] = Some(file),
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => {}
        }
    }
    found
}
