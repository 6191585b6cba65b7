//! Visitors of jobs.

use crate::support::Bench;
use executor_core::ability::{TerminalRequest, TerminalSession};
use executor_core::prelude::*;
use executor_core::{FailureReason, JobId, JobState};
use executor_testkit::{Directive, JobBuilder, ScriptedAbilities, ScriptedProvider};
use job_runner::{BuildRunnerOptions, ReachableJobs, Visit, VisitPoint, Visitor};
use parking_lot::Mutex;
use std::time::Duration;

/// Enters as the test says, and stays for a while.
#[derive(Debug, Default)]
struct Guest {
    in_place: bool,
    at_end: bool,
    commands: Option<Vec<String>>,
    reachable_jobs: ReachableJobs,
    stay: Duration,
    seen: Mutex<Vec<(VisitPoint, Vec<String>, bool)>>,
}

impl Guest {
    fn new(in_place: bool, commands: Option<&str>) -> Arc<Self> {
        Arc::new(Self {
            in_place,
            commands: commands.map(|text| vec![text.to_owned()]),
            ..Self::default()
        })
    }

    /// Enters failed jobs.
    fn staying(stay: Duration) -> Arc<Self> {
        Arc::new(Self {
            stay,
            ..Self::default()
        })
    }

    fn bench(self: &Arc<Self>, root: &std::path::Path) -> Bench {
        Bench::shell(root, self.options())
    }

    fn options(self: &Arc<Self>) -> BuildRunnerOptions {
        BuildRunnerOptions {
            visitor: Some(Arc::clone(self) as Arc<dyn Visitor>),
            reachable_jobs: self.reachable_jobs.clone(),
            ..BuildRunnerOptions::default()
        }
    }
}

#[async_trait]
impl Visitor for Guest {
    fn enters(&self, _job: &Job, _attempt: u32, point: &VisitPoint) -> bool {
        match point {
            VisitPoint::InPlaceOfScripts => self.in_place,
            VisitPoint::AfterFailure(_) => !self.in_place && !self.at_end,
            _ => self.at_end,
        }
    }

    fn commands(&self, _job: &Job) -> Option<Vec<String>> {
        self.commands.clone()
    }

    async fn visit(&self, visit: Visit, cancellation: &Cancellation) -> Result<(), BuildError> {
        let is_listed = self.reachable_jobs.of(visit.job.id).is_some();
        let history = visit.terminal.history.clone();
        let entry = (visit.point, history, is_listed);
        self.seen.lock().push(entry);
        tokio::select! {
            () = tokio::time::sleep(self.stay) => {}
            _ = cancellation.canceled() => {}
        }
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
async fn visit_replaces_the_scripts() {
    let root = tempfile::tempdir().expect("a directory");
    let guest = Guest::new(true, None);
    let bench = guest.bench(root.path());
    let outcome = bench.run(failing().build()).await;
    assert_eq!(outcome.exit_code().map(|code| code.0), Some(9));
    assert_eq!(bench.stdout(), "", "no script ran");
    let seen = guest.seen.lock();
    let history = vec!["echo one".to_owned(), "exit 4".to_owned()];
    assert_eq!(*seen, [(VisitPoint::InPlaceOfScripts, history, true)]);
    assert_eq!(guest.reachable_jobs.ids(), Vec::<JobId>::new());
}

#[tokio::test]
async fn commands_replace_the_scripts() {
    let root = tempfile::tempdir().expect("a directory");
    let guest = Guest::new(true, Some("echo instead; exit 3"));
    let bench = guest.bench(root.path());
    let outcome = bench.run(failing().build()).await;
    assert_eq!(outcome.exit_code().map(|code| code.0), Some(3));
    let shown = bench.stdout();
    assert!(shown.contains("instead\n"), "{shown}");
    assert!(!shown.contains("after-it"), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn timeouts_stop_during_a_visit() {
    let guest = Guest::staying(Duration::from_hours(2));
    let provider = ScriptedProvider::new();
    provider.set_abilities(ScriptedAbilities {
        terminal: Some(Arc::new(NoTerminal)),
        ..ScriptedAbilities::default()
    });
    provider.on(BuildStage::script(), Directive::exit(4));
    let bench = Bench::scripted(&provider, guest.options());
    let outcome = bench.run(failing().timeout(3600).build()).await;
    assert_eq!(outcome.state, JobState::Failed);
    assert_eq!(
        outcome.failure_reason(),
        Some(FailureReason::ScriptFailure),
        "the visit changes nothing of how it ended"
    );
    let stages = provider.stages();
    assert!(stages.contains(&"after_script".to_owned()), "{stages:?}");
    let (within, visited) = (outcome.duration, outcome.visited);
    assert!(within < Duration::from_hours(1), "{within:?}");
    assert!(visited >= Duration::from_hours(2), "{visited:?}");
    assert_eq!(guest.seen.lock().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn visit_at_the_end_is_canceled_when_the_time_is_up() {
    let guest = Arc::new(Guest {
        at_end: true,
        stay: Duration::from_hours(2),
        ..Guest::default()
    });
    let provider = ScriptedProvider::new();
    provider.set_abilities(ScriptedAbilities {
        terminal: Some(Arc::new(NoTerminal)),
        ..ScriptedAbilities::default()
    });
    let bench = Bench::scripted(&provider, guest.options());
    let job = JobBuilder::new(7).script(["true"]).timeout(3600).build();
    let outcome = bench.run(job).await;
    assert_eq!(outcome.state, JobState::Success, "its work was done");
    assert_eq!(outcome.duration.as_secs(), 3600);
    assert_eq!(outcome.visited, Duration::ZERO);
    let seen = guest.seen.lock();
    assert!(
        matches!(&seen[..], [(VisitPoint::AtEnd { .. }, _, true)]),
        "{seen:?}"
    );
}

/// A terminal that is never opened.
#[derive(Debug)]
struct NoTerminal;

#[async_trait]
impl Terminal for NoTerminal {
    async fn open(
        &self,
        _request: TerminalRequest,
        _cancellation: &Cancellation,
    ) -> Result<Box<dyn TerminalSession>, BuildError> {
        Err(BuildError::config("this terminal is never opened"))
    }
}

#[tokio::test]
async fn successful_job_is_not_entered() {
    let root = tempfile::tempdir().expect("a directory");
    let guest = Guest::new(false, None);
    let bench = guest.bench(root.path());
    let job = JobBuilder::new(7).script(["true"]).build();
    let outcome = bench.run(job).await;
    assert_eq!(outcome.state, JobState::Success);
    assert!(guest.seen.lock().is_empty());
}
