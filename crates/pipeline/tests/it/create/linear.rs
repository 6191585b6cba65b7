//! Ten thousand jobs: requests are counted, not timed.

use super::push;
use crate::plans::resolve;
use pipeline::create::CreatedJob;
use pipeline::repository::{KnownRepository, Paths, Repository, RepositoryError};
use pipeline::{Plan, Selection, create};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const MANY: usize = 10_000;

/// Counts the requests.
#[derive(Debug, Default)]
struct Counting {
    inner: KnownRepository,
    asked: AtomicUsize,
}

impl Counting {
    fn count(&self) -> &KnownRepository {
        self.asked.fetch_add(1, Ordering::Relaxed);
        &self.inner
    }
}

impl Repository for Counting {
    fn changed_files(&self) -> Result<Option<Paths>, RepositoryError> {
        self.count().changed_files()
    }

    fn changed_since(&self, reference: &str) -> Result<Paths, RepositoryError> {
        self.count().changed_since(reference)
    }

    fn files(&self) -> Result<Paths, RepositoryError> {
        self.count().files()
    }

    fn files_of(&self, project: &str, reference: Option<&str>) -> Result<Paths, RepositoryError> {
        self.count().files_of(project, reference)
    }

    fn blob_id(&self, path: &str) -> Result<Option<String>, RepositoryError> {
        self.count().blob_id(path)
    }

    fn last_commit_of(&self, path: &str) -> Result<Option<String>, RepositoryError> {
        self.count().last_commit_of(path)
    }
}

#[test]
fn equal_conditions_share_results_and_jobs_share_definitions() {
    let job = |at: usize| {
        format!(
            "j{at}: {{script: x, cache: {{key: {{files: [a.lock]}}, paths: [p]}}, \
             rules: [{{changes: [src/**/*], exists: [a.lock]}}]}}\n\
             k{at}: {{script: x, variables: {{N: '{at}'}}, rules: [{{if: $N}}]}}\n"
        )
    };
    let text: String = (0..MANY / 2).map(job).collect();
    let resolved = resolve(&text);
    let repository = Counting {
        inner: KnownRepository {
            changed: Some(["src/a/b".to_owned()].into()),
            files: ["a.lock".to_owned()].into(),
            blob_ids: vec![("a.lock".to_owned(), "1".to_owned())],
            ..KnownRepository::default()
        },
        ..Counting::default()
    };
    let creation = create(&resolved, &push(), &repository);
    assert_eq!(creation.included().len(), MANY);
    assert_eq!(repository.asked.load(Ordering::Relaxed), 3);
    // A job whose rule changes nothing is not copied.
    let is_shared = |job: &&CreatedJob| Arc::ptr_eq(&job.definition, &job.resolved.definition);
    assert_eq!(creation.jobs.iter().filter(is_shared).count(), MANY / 2);
    let plan = Plan::new(&creation, push(), &Selection::default()).unwrap();
    let is_shared = |at: &usize| {
        let planned = &plan.jobs()[*at].definition;
        Arc::ptr_eq(planned, &creation.jobs[*at].definition)
    };
    assert_eq!((0..MANY).filter(is_shared).count(), MANY);
}
