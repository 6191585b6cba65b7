//! Pipelines of ten thousand jobs: the changes are counted, not timed.

use crate::fake::try_plan;
use executor_core::job::{ArtifactsDefinition, JobDefinition, Need, When};
use pipeline::context::PipelineContext;
use pipeline::{Plan, ResolvedJob, ResolvedPipeline, Selection};
use scheduler::Status;
use scheduler::{Finish, Machine, StatusChange};
use yaml::diagnostic::Severity;

const MANY: usize = 10_000;

/// Plans jobs without the limit of fifty needs.
fn plan(jobs: impl IntoIterator<Item = JobDefinition>) -> Plan {
    let resolved = ResolvedPipeline {
        stages: vec!["one".to_owned(), "two".to_owned()],
        jobs: jobs.into_iter().map(ResolvedJob::from).collect(),
        ..ResolvedPipeline::default()
    };
    let context = PipelineContext {
        most_needs: usize::MAX,
        ..PipelineContext::default()
    };
    try_plan(&resolved, context, &Selection::default()).unwrap()
}

fn job(name: String, stage: &str, needs: Option<Vec<Need>>) -> JobDefinition {
    JobDefinition {
        name,
        stage: stage.to_owned(),
        needs,
        ..JobDefinition::default()
    }
}

fn name(at: usize) -> String {
    format!("j{at}")
}

const FAILED: Finish<'static> = Finish::Failed {
    exit_code: Some(1),
    reason: Some("script_failure"),
};

/// Many roots, a job that needs all of them, one behind that, and a pair beside them.
fn fan_in() -> Plan {
    let roots = (0..MANY).map(|at| job(name(at), "one", None));
    let all = (0..MANY).map(|at| Need::of(name(at))).collect();
    let rest = [
        job("all".to_owned(), "two", Some(all)),
        job("behind".to_owned(), "two", Some(vec![Need::of("all")])),
        job("beside".to_owned(), "two", Some(vec![Need::of(name(1))])),
    ];
    plan(roots.chain(rest))
}

fn statuses(changes: &[StatusChange]) -> Vec<(usize, Status)> {
    let changes = changes.iter();
    changes.map(|change| (change.job, change.status)).collect()
}

#[test]
fn failure_skips_only_the_jobs_that_need_it() {
    let plan = fan_in();
    let mut machine = Machine::new(&plan);
    assert_eq!(machine.start().len(), MANY);
    // Only jobs that can start change; the other needs are counted.
    assert_eq!(
        statuses(&machine.finished(1, Finish::Success)),
        [(1, Status::Success), (MANY + 2, Status::Pending)]
    );
    for root in 2..MANY {
        assert_eq!(machine.finished(root, Finish::Success).len(), 1);
    }
    assert_eq!(
        statuses(&machine.finished(0, FAILED)),
        [
            (0, Status::Failed),
            (MANY, Status::Skipped),
            (MANY + 1, Status::Skipped)
        ]
    );
    assert_eq!(machine.status(MANY + 2), Status::Pending);
}

#[test]
fn long_chain_of_needs_is_skipped_without_recursion() {
    let needs = |at: usize| at.checked_sub(1).map(|before| vec![Need::of(name(before))]);
    let plan = plan((0..MANY).map(|at| job(name(at), "one", needs(at))));
    // A stack too small for a recursion of ten thousand calls.
    let thread = std::thread::Builder::new().stack_size(256 << 10);
    let chain = thread.spawn(move || {
        let mut machine = Machine::new(&plan);
        assert_eq!(machine.start().len(), 1);
        let changes = machine.finished(0, FAILED);
        assert_eq!(changes.len(), MANY);
        let last = changes.last().unwrap();
        assert_eq!((last.job, last.status), (MANY - 1, Status::Skipped));
        assert!(machine.is_finished());
    });
    chain.unwrap().join().unwrap();
}

#[test]
fn dependencies_are_the_jobs_with_artifacts() {
    let few = |at: usize| {
        at.is_multiple_of(1000)
            .then(Box::<ArtifactsDefinition>::default)
    };
    let roots = (0..MANY).map(|at| JobDefinition {
        artifacts: few(at),
        ..job(name(at), "one", None)
    });
    let all = (0..MANY).map(|at| Need::of(name(at))).collect();
    let by_name = JobDefinition {
        dependencies: Some(vec![name(3000), name(1), name(1000)]),
        ..job("named".to_owned(), "two", None)
    };
    let narrowed = JobDefinition {
        dependencies: Some(vec![name(2000)]),
        ..job(
            "narrowed".to_owned(),
            "two",
            Some(vec![Need::of(name(2000)), Need::of(name(0))]),
        )
    };
    let rest = [
        job("stage".to_owned(), "two", None),
        job("needs".to_owned(), "two", Some(all)),
        by_name,
        narrowed,
    ];
    let plan = plan(roots.chain(rest));
    let of = |job: &str| plan.dependencies(plan.position(job).unwrap());
    let producers: Vec<usize> = (0..MANY).step_by(1000).collect();
    assert_eq!(of("stage"), producers);
    assert_eq!(of("needs"), producers);
    assert_eq!(of("named"), [1000, 3000]);
    assert_eq!(of("narrowed"), [2000]);
    assert!(of("j5").is_empty());
}

#[test]
fn play_changes_only_skipped_jobs_behind_it() {
    let gate = JobDefinition {
        when: When::Manual,
        allow_failure: true,
        ..job("gate".to_owned(), "one", None)
    };
    let others = (0..MANY).map(|at| job(name(at), "one", None));
    let near = job("near".to_owned(), "two", Some(vec![Need::of("gate")]));
    let plan = plan([gate].into_iter().chain(others).chain([near]));
    let mut machine = Machine::new(&plan);
    machine.start();
    assert_eq!(
        statuses(&machine.play(0)),
        [(0, Status::Pending), (MANY + 1, Status::Created)]
    );
}

#[test]
fn all_unknown_needs_are_reported_and_the_first_get_help() {
    let line = |at: usize| format!("job{at}: {{script: x, needs: [jbo{}]}}\n", at + 1);
    let text: String = (0..MANY).map(line).collect();
    let errors = ResolvedPipeline::from_text("ci.yml", &text).into_result();
    let records = errors.unwrap_err().records(Severity::Error);
    assert_eq!(records.len(), MANY);
    let advised = records.iter().filter(|record| record.help.is_some());
    assert_eq!(advised.count(), 50);
    assert!(records[0].help.as_deref().unwrap().contains("job1"));
}
