//! Finds the files of includes by asking a library.

mod ask_once;
mod component;
mod component_address;
mod errors;
mod finder;
mod project;
mod reference;
mod remote_file;
mod settings;
mod template;
mod version;

pub use settings::{OwnProject, RemoteSettings, TEMPLATES};

use self::errors::failed;
use self::finder::Finder;
use crate::Library;
use executor_core::{HumanDuration, chain};
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
/// Requests that come together are fetched concurrently. Each question is asked once, and all
/// of them share a time limit.
#[derive(Debug)]
pub struct RemoteIncludes {
    finder: Arc<Finder>,
    /// The remaining time.
    left: Mutex<Duration>,
}

impl RemoteIncludes {
    /// Returns an include source that asks a library.
    pub fn new(library: Arc<dyn Library>, settings: RemoteSettings) -> Self {
        Self {
            left: Mutex::new(settings.time),
            finder: Arc::new(Finder::new(library, settings)),
        }
    }

    /// Sets the pipeline's own project, for its own components. Only the first call counts.
    pub fn set_own(&self, own: OwnProject) {
        let _ = self.finder.own.set(own);
    }

    /// Returns all paths of a project at a branch, tag or commit, by default its default branch
    /// (`exists:project`).
    ///
    /// # Errors
    ///
    /// When the project or the commit does not exist, or its server does not answer.
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

    /// Runs `work` within the remaining time; an error if no time is left, or waiting fails.
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
            let reason = format!("cannot wait for included files: {}", chain(&error));
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
    let time = HumanDuration(time);
    let reason = format!("all included files together took longer than {time}");
    let help = "files fetched so far are kept, so the next run may be faster";
    failed(IncludeFailure::Unreadable, reason, help)
}

impl IncludeSource for RemoteIncludes {
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

/// Finds files concurrently; `None` for those not found in time.
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
