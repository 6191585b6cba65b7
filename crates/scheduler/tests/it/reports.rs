//! Reports of jobs: dotenv variables, coverage and tests.

use crate::fake::{Recorder, driver_of, resolve, try_plan};
use async_trait::async_trait;
use executor_core::job::Job;
use executor_core::variable::JobVariables;
use executor_core::{
    BuildError, Cancellation, ExitCode, FailedTest, JobAssignment, JobOutcome, JobProducts,
    JobRunner, JobVariable, RunContext, TestTotals, TraceStream,
};
use parking_lot::Mutex;
use pipeline::Selection;
use pipeline::context::{ExternalVariable, PipelineContext};
use scheduler::PipelineReport;
use scheduler::event::EventKind;
use std::collections::HashMap;
use std::sync::Arc;

/// Runs jobs with logs and products, and records their payloads.
#[derive(Debug, Default)]
struct ProductRunner {
    logs: HashMap<&'static str, &'static str>,
    dotenv: HashMap<&'static str, Vec<(&'static str, &'static str)>>,
    tests: HashMap<&'static str, TestTotals>,
    fails: Vec<&'static str>,
    seen: Mutex<HashMap<String, Arc<Job>>>,
}

#[async_trait]
impl JobRunner for ProductRunner {
    async fn run(&self, assignment: JobAssignment, _context: RunContext) -> JobOutcome {
        let name = assignment.job.job_info.name.as_str();
        if let Some(log) = self.logs.get(name) {
            let observer = &assignment.observer;
            observer.output(TraceStream::STDOUT, log.as_bytes());
        }
        let variables = self.dotenv.get(name).into_iter().flatten();
        let variables = variables.map(|(key, value)| JobVariable {
            key: (*key).to_owned(),
            value: (*value).to_owned(),
            ..JobVariable::default()
        });
        let products = JobProducts {
            dotenv: variables.collect(),
            tests: self.tests.get(name).cloned(),
            ..JobProducts::default()
        };
        self.seen
            .lock()
            .insert(name.to_owned(), Arc::clone(&assignment.job));
        let outcome = if self.fails.contains(&name) {
            JobOutcome::from_error(BuildError::Script {
                exit_code: ExitCode(1),
            })
        } else {
            JobOutcome::success()
        };
        JobOutcome {
            products: Arc::new(products),
            ..outcome
        }
    }
}

struct Ran {
    report: PipelineReport,
    runner: Arc<ProductRunner>,
    events: Arc<Recorder>,
}

impl Ran {
    /// Returns the value of a variable as the runner of a job gets it.
    fn value(&self, job: &str, name: &str) -> Option<String> {
        let seen = self.runner.seen.lock();
        let variables: JobVariables = seen[job].variables.iter().cloned().collect();
        variables.get(name).map(ToOwned::to_owned)
    }
}

async fn run(text: &str, runner: ProductRunner, given: Vec<ExternalVariable>) -> Ran {
    let context = PipelineContext {
        external: given,
        ..PipelineContext::default()
    };
    let plan = try_plan(&resolve(text), context, &Selection::default()).unwrap();
    let plan = Arc::new(plan);
    let runner = Arc::new(runner);
    let events = Arc::new(Recorder::default());
    let driver = driver_of(Arc::clone(&runner) as _, Arc::clone(&events) as _);
    let report = driver.run(plan, &Cancellation::new()).await;
    Ran {
        report,
        runner,
        events,
    }
}

#[tokio::test(start_paused = true)]
async fn dotenv_variables_reach_jobs_that_fetch_artifacts() {
    const FILE: &str = "
stages: [build, test, deploy]
first: {script: x, stage: build, artifacts: {reports: {dotenv: a.env}}}
second: {script: x, stage: build, artifacts: {reports: {dotenv: a.env}}, allow_failure: true}
later: {script: x, stage: test}
alone: {script: x, stage: test, dependencies: []}
one: {script: x, stage: test, dependencies: [first]}
needs: {script: x, stage: test, needs: [first]}
without: {script: x, stage: test, needs: [{job: first, artifacts: false}, second]}
nothing: {script: x, stage: test, needs: []}
last: {script: x, stage: deploy}
";
    let runner = ProductRunner {
        dotenv: HashMap::from([
            ("first", vec![("V", "first"), ("FIRST", "1")]),
            ("second", vec![("V", "second")]),
        ]),
        // The report of a failed job counts, too.
        fails: vec!["second"],
        ..ProductRunner::default()
    };
    let ran = run(FILE, runner, Vec::new()).await;
    let check = |job: &str, expect: Option<&str>| {
        assert_eq!(ran.value(job, "V").as_deref(), expect, "{job}");
    };
    check("first", None);
    check("later", Some("second"));
    check("alone", None);
    check("one", Some("first"));
    check("needs", Some("first"));
    check("without", Some("second"));
    check("nothing", None);
    check("last", Some("second"));
    assert_eq!(ran.value("last", "FIRST").as_deref(), Some("1"));
}

#[tokio::test(start_paused = true)]
async fn dotenv_variables_override_the_file_but_not_given_ones() {
    const FILE: &str = "
stages: [build, test]
variables: {ROOT: root, BUILT: 'x-$NEW'}
workflow: {rules: [{variables: {FLOW: flow}}]}
build: {stage: build, script: x, artifacts: {reports: {dotenv: a.env}}}
deploy:
  stage: test
  script: x
  variables: {JOB: job}
  rules: [{if: '$NEW == null', variables: {RULE: rule}}, {when: never}]
  environment: {name: prod, url: 'https://$NEW.example.com/$PIPELINE'}
";
    let names = [
        "ROOT",
        "FLOW",
        "JOB",
        "RULE",
        "PIPELINE",
        "NEW",
        "CI_JOB_NAME",
        "CI_JOB_TOKEN",
        "CI_COMMIT_SHA",
        "GITLAB_USER_LOGIN",
        "CI_ENVIRONMENT_URL",
    ];
    let runner = ProductRunner {
        dotenv: HashMap::from([(
            "build",
            names
                .map(|name| (name, "reported"))
                .into_iter()
                .chain([("SUM", "$ROOT-$JOB")])
                .collect(),
        )]),
        ..ProductRunner::default()
    };
    let given = ExternalVariable::of_pipeline(JobVariable::public("PIPELINE", "given"));
    let ran = run(FILE, runner, vec![given]).await;
    let check = |name: &str, expect: &str| {
        assert_eq!(ran.value("deploy", name).as_deref(), Some(expect), "{name}");
    };
    for name in [
        "ROOT",
        "FLOW",
        "JOB",
        "RULE",
        "NEW",
        "CI_JOB_NAME",
        "CI_JOB_TOKEN",
        "CI_COMMIT_SHA",
        "GITLAB_USER_LOGIN",
    ] {
        check(name, "reported");
    }
    check("PIPELINE", "given");
    check("BUILT", "x-reported");
    check("SUM", "reported-reported");
    check("CI_ENVIRONMENT_URL", "https://reported.example.com/given");
}

#[tokio::test(start_paused = true)]
async fn coverage_and_tests_are_in_the_last_event_and_the_report() {
    const FILE: &str = "
one: {script: x, coverage: '/total: (\\d+)%/'}
two: {script: x}
three: {script: x, coverage: '/none/'}
";
    let tests = TestTotals {
        total: 3,
        failed: 1,
        failures: vec![FailedTest {
            name: "t".to_owned(),
            ..FailedTest::default()
        }],
        ..TestTotals::default()
    };
    let runner = ProductRunner {
        logs: HashMap::from([
            ("one", "total: 10%\ntotal: \x1b[32m87%\x1b[0m"),
            ("two", "total: 10%\n"),
            ("three", "total: 10%\n"),
        ]),
        tests: HashMap::from([("one", tests.clone())]),
        ..ProductRunner::default()
    };
    let ran = run(FILE, runner, Vec::new()).await;
    let found: Vec<_> = ran
        .report
        .jobs
        .iter()
        .map(|job| (&*job.name, job.products.coverage))
        .collect();
    assert_eq!(found, [("one", Some(87.0)), ("two", None), ("three", None)]);
    assert_eq!(ran.report.jobs[0].products.tests.as_ref(), Some(&tests));
    let mut reported = 0;
    for kind in ran.events.kinds() {
        if let EventKind::JobFinished {
            job,
            tests: found,
            coverage,
            ..
        } = kind
        {
            let is_one = &*job == "one";
            assert_eq!(found.is_some(), is_one, "{job}");
            assert_eq!(coverage, is_one.then_some(87.0), "{job}");
            reported += 1;
        }
    }
    assert_eq!(reported, 3);
}
