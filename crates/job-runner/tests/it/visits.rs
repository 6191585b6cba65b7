//! Somebody who enters jobs.

use crate::support::Bench;
use executor_core::prelude::*;
use executor_core::{FailureReason, JobId, JobState};
use executor_testkit::JobBuilder;
use job_runner::{BuildRunnerOptions, Terminals, Visit, VisitPoint, Visitor};
use std::sync::Mutex;
use std::time::Duration;

/// Enters as the test says, and stays for a while.
#[derive(Debug)]
struct Guest {
    in_place: bool,
    commands: Option<Vec<String>>,
    terminals: Terminals,
    seen: Mutex<Vec<(VisitPoint, Vec<String>, bool)>>,
}

impl Guest {
    fn new(in_place: bool, commands: Option<&str>) -> Arc<Self> {
        Arc::new(Self {
            in_place,
            commands: commands.map(|text| vec![text.to_owned()]),
            terminals: Terminals::default(),
            seen: Mutex::default(),
        })
    }

    fn bench(self: &Arc<Self>, root: &std::path::Path) -> Bench {
        let options = BuildRunnerOptions {
            visitor: Some(Arc::clone(self) as Arc<dyn Visitor>),
            terminals: self.terminals.clone(),
            ..BuildRunnerOptions::default()
        };
        Bench::shell(root, options)
    }
}

#[async_trait]
impl Visitor for Guest {
    fn enters(&self, _job: &Job, _attempt: u32, point: &VisitPoint) -> bool {
        self.in_place == (*point == VisitPoint::InPlaceOfScripts)
    }

    fn commands(&self, _job: &Job) -> Option<Vec<String>> {
        self.commands.clone()
    }

    async fn visit(&self, visit: Visit, _cancellation: &Cancellation) -> Result<(), BuildError> {
        let is_listed = self.terminals.of(visit.job.id).is_some();
        let history = visit.terminal.history.clone();
        let entry = (visit.point, history, is_listed);
        self.seen.lock().expect("no panic").push(entry);
        // Longer than the whole job may take.
        tokio::time::sleep(Duration::from_millis(2500)).await;
        Err(BuildError::Script {
            exit_code: ExitCode(9),
        })
    }
}

fn failing() -> JobBuilder {
    JobBuilder::new(7)
        .script(["echo one", "exit 4"])
        .after_script(["echo after-it"])
}

#[tokio::test]
async fn a_visit_takes_the_place_of_the_scripts() {
    let root = tempfile::tempdir().expect("a directory");
    let guest = Guest::new(true, None);
    let bench = guest.bench(root.path());
    let outcome = bench.run(failing().build()).await;
    assert_eq!(outcome.exit_code().map(|code| code.0), Some(9));
    assert_eq!(bench.stdout(), "", "no script ran");
    let seen = guest.seen.lock().expect("no panic");
    let history = vec!["echo one".to_owned(), "exit 4".to_owned()];
    assert_eq!(*seen, [(VisitPoint::InPlaceOfScripts, history, true)]);
    assert_eq!(guest.terminals.open_jobs(), Vec::<JobId>::new());
}

#[tokio::test]
async fn commands_take_the_place_of_the_scripts() {
    let root = tempfile::tempdir().expect("a directory");
    let guest = Guest::new(true, Some("echo instead; exit 3"));
    let bench = guest.bench(root.path());
    let outcome = bench.run(failing().build()).await;
    assert_eq!(outcome.exit_code().map(|code| code.0), Some(3));
    let shown = bench.stdout();
    assert!(shown.contains("instead\n"), "{shown}");
    assert!(!shown.contains("after-it"), "{shown}");
}

#[tokio::test]
async fn the_jobs_clock_stands_still_while_somebody_is_there() {
    let root = tempfile::tempdir().expect("a directory");
    let guest = Guest::new(false, None);
    let bench = guest.bench(root.path());
    let outcome = bench.run(failing().timeout(2).build()).await;
    assert_eq!(outcome.state, JobState::Failed);
    assert_eq!(
        outcome.failure_reason(),
        Some(FailureReason::ScriptFailure),
        "the visit changes nothing of how it ended"
    );
    assert!(bench.stdout().contains("after-it\n"), "{}", bench.log());
    assert!(
        outcome.duration < Duration::from_secs(2),
        "{:?}",
        outcome.duration
    );
    let stay = Duration::from_millis(2500);
    assert!(outcome.visited >= stay, "{:?}", outcome.visited);
    assert_eq!(guest.seen.lock().expect("no panic").len(), 1);
}

#[tokio::test]
async fn nobody_enters_a_job_that_goes_well() {
    let root = tempfile::tempdir().expect("a directory");
    let guest = Guest::new(false, None);
    let bench = guest.bench(root.path());
    let job = JobBuilder::new(7).script(["true"]).build();
    let outcome = bench.run(job).await;
    assert_eq!(outcome.state, JobState::Success);
    assert!(guest.seen.lock().expect("no panic").is_empty());
}
