//! Runs that are killed, fail or wait, and are then resumed, retried or played.

use crate::project::Project;
use executor_core::{CancelCause, Cancellation};
use executor_shell::ShellConfig;
use parking_lot::Mutex;
use scheduler::event::{EventKind, EventSink, PipelineEvent};
use scheduler::{PipelineReport, RunExit, Status};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{sleep, timeout};
use workstation::{
    Continuation, ContinuationKind, ControlReply, ControlRequest, LocalError, LocalRun, Notices,
    Run, RunOptions, RunState, Runs, StateDir,
};

/// A project whose jobs record that they ran.
struct RecordingProject {
    project: Project,
}

impl RecordingProject {
    /// `OUT` in the file is a directory that all jobs share.
    fn new(file: &str) -> Self {
        let project = Project::new();
        fs::create_dir(project.home().join("out")).unwrap();
        let project = Self { project };
        project.write(file);
        project.project.commit("jobs");
        project
    }

    fn write(&self, file: &str) {
        let out = self.out().display().to_string();
        self.project
            .write(".gitlab-ci.yml", file.replace("OUT", &out));
    }

    fn out(&self) -> PathBuf {
        self.project.home().join("out")
    }

    fn state(&self) -> StateDir {
        StateDir::at(self.project.home().join("state"))
    }

    fn runs(&self) -> Runs {
        let project = self.project.find();
        self.state().project(project.root()).runs()
    }

    async fn prepare(&self, options: RunOptions) -> Result<LocalRun, LocalError> {
        let pipeline = self.project.read(&self.project.options());
        let shell = ShellConfig {
            login: false,
            ..ShellConfig::default()
        };
        LocalRun::builder(&pipeline)
            .state(self.state())
            .options(options)
            .executor(shell)
            .prepare()
            .await
    }

    async fn run(&self, options: RunOptions) -> Result<PipelineReport, LocalError> {
        let run = self.prepare(options).await?;
        execute(run, Arc::new(Silent), &Cancellation::new()).await
    }

    async fn resume(&self, run: u64, kind: ContinuationKind) -> Result<PipelineReport, LocalError> {
        self.run(continuing(run, kind)).await
    }

    /// Returns how often each job ran since the last call.
    fn ran(&self) -> BTreeMap<String, usize> {
        let ran = self.ran_so_far();
        let _ = fs::remove_file(self.out().join("ran"));
        ran
    }

    fn ran_so_far(&self) -> BTreeMap<String, usize> {
        let text = fs::read_to_string(self.out().join("ran")).unwrap_or_default();
        let mut ran = BTreeMap::new();
        for job in text.lines() {
            *ran.entry(job.to_owned()).or_default() += 1;
        }
        ran
    }

    fn only_run(&self) -> Run {
        let runs = self.runs().list().unwrap();
        assert_eq!(runs.len(), 1);
        runs.into_iter().next().unwrap()
    }
}

/// Returns the state of an ended run. A process that another test has just forked also holds the run's lock until
/// it executes its program.
async fn ended_state(run: &Run) -> RunState {
    let history = run.history().unwrap();
    for _ in 0..1000 {
        let state = run.state(&history);
        if !matches!(state, RunState::Running { .. }) {
            return state;
        }
        sleep(Duration::from_millis(10)).await;
    }
    run.state(&history)
}

fn continuing(run: u64, kind: ContinuationKind) -> RunOptions {
    RunOptions {
        continues: Some(Continuation {
            run,
            kind,
            variables: Vec::new(),
        }),
        ..RunOptions::default()
    }
}

async fn execute(
    run: LocalRun,
    sink: Arc<dyn EventSink>,
    cancellation: &Cancellation,
) -> Result<PipelineReport, LocalError> {
    run.execute(sink, cancellation).await
}

#[derive(Debug)]
struct Silent;

impl EventSink for Silent {
    fn event(&self, _: &PipelineEvent) {}
}

/// Sends each job's status.
#[derive(Debug)]
struct Statuses(UnboundedSender<(String, Status)>);

impl EventSink for Statuses {
    fn event(&self, event: &PipelineEvent) {
        if let EventKind::JobStatus { job, status, .. } = &event.kind {
            let _ = self.0.send((job.to_string(), *status));
        }
    }
}

async fn wait_for(statuses: &mut UnboundedReceiver<(String, Status)>, job: &str, status: Status) {
    while let Some((name, now)) = statuses.recv().await {
        if name == job && now == status {
            return;
        }
    }
    panic!("{job} did not come to {status}");
}

fn ran_once(jobs: &[&str]) -> BTreeMap<String, usize> {
    jobs.iter().map(|&job| (job.to_owned(), 1)).collect()
}

const FIVE_JOBS: &str = "
stages: [a, b, c]
default: {before_script: ['echo $CI_JOB_NAME >>OUT/ran']}
one: {stage: a, script: ['echo made >made'], artifacts: {paths: [made]}}
two: {stage: a, script: [echo VERSION=1.2 >two.env], artifacts: {reports: {dotenv: two.env}}}
three: {stage: b, script: [cat made]}
four: {stage: b, needs: [two], script: ['test $VERSION = 1.2']}
five: {stage: c, script: ['true']}
";

#[tokio::test(flavor = "multi_thread")]
async fn run_killed_at_any_line_of_its_journal_resumes_without_running_jobs_twice() {
    let project = RecordingProject::new(FIVE_JOBS);
    let report = project.run(RunOptions::default()).await.unwrap();
    assert_eq!(report.exit, RunExit::Success);
    let all = ["one", "two", "three", "four", "five"];
    assert_eq!(project.ran(), ran_once(&all));
    let run = project.only_run();
    let path = run.directory().join("journal.jsonl");
    let whole = fs::read_to_string(&path).unwrap();
    let mut cuts: Vec<usize> = vec![0];
    cuts.extend(whole.match_indices('\n').map(|(at, _)| at + 1));
    // Every other line is cut in the middle.
    let torn: Vec<usize> = cuts
        .windows(2)
        .step_by(2)
        .map(|it| it[0].midpoint(it[1]))
        .collect();
    cuts.pop();
    cuts.extend(torn);
    for cut in cuts {
        let journal = &whole[..cut];
        fs::write(&path, journal).unwrap();
        let whole_lines = journal
            .split_inclusive('\n')
            .filter(|it| it.ends_with('\n'));
        let finished: Vec<&str> = whole_lines
            .filter(|line| line.contains("\"job_finished\""))
            .filter_map(|line| {
                all.into_iter()
                    .find(|job| line.contains(&format!("\"{job}\"")))
            })
            .collect();
        let state = ended_state(&run).await;
        let jobs = if journal.contains('\n') { 5 } else { 0 };
        let killed = RunState::Killed {
            finished: finished.len(),
            jobs,
        };
        assert_eq!(state, killed, "cut at {cut}");

        let report = project
            .resume(run.id(), ContinuationKind::Resume)
            .await
            .unwrap();
        let left: Vec<&str> = all
            .into_iter()
            .filter(|it| !finished.contains(it))
            .collect();
        assert_eq!(project.ran(), ran_once(&left), "cut at {cut}:\n{journal}");
        assert_eq!(report.exit, RunExit::Success, "cut at {cut}");
        let history = run.history().unwrap();
        assert_eq!(history.finished().count(), 5, "cut at {cut}");
        assert_eq!(history.damaged, 0);
        assert_eq!(run.state(&history), RunState::Success);
    }
    assert_eq!(project.only_run().id(), run.id());
}

#[tokio::test(flavor = "multi_thread")]
async fn retry_runs_failed_jobs_and_those_skipped_after_them() {
    let project = RecordingProject::new(
        "
stages: [a, b, c]
default: {before_script: ['echo $CI_JOB_NAME >>OUT/ran']}
good: {stage: a, script: [echo the-first-log]}
bad: {stage: b, script: [test -e OUT/flag]}
behind: {stage: c, script: ['true']}
after: {stage: c, script: ['true'], when: always}
",
    );
    let report = project.run(RunOptions::default()).await.unwrap();
    assert_eq!(report.exit, RunExit::JobFailed);
    assert_eq!(project.ran(), ran_once(&["good", "bad", "after"]));
    let refused = project
        .resume(1, ContinuationKind::Resume)
        .await
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "run 1 failed: there is nothing to resume"
    );

    let report = project.resume(1, ContinuationKind::Retry).await.unwrap();
    assert_eq!(report.exit, RunExit::JobFailed);
    assert_eq!(project.ran(), ran_once(&["bad"]));

    fs::write(project.out().join("flag"), "").unwrap();
    let run = project
        .prepare(continuing(1, ContinuationKind::Retry))
        .await
        .unwrap();
    let logs = run.logs();
    assert_eq!(run.notes(), Vec::<String>::new());
    let report = execute(run, Arc::new(Silent), &Cancellation::new())
        .await
        .unwrap();
    assert_eq!((report.exit, report.id.0), (RunExit::Success, 1));
    assert_eq!(project.ran(), ran_once(&["bad", "behind"]));
    for job in &report.jobs {
        assert!(logs.of(report.id, job).is_some(), "{} has a log", job.name);
    }
    let run = project.only_run();
    let history = run.history().unwrap();
    assert_eq!(history.attempts, 3);
    assert_eq!(run.logs(history.job("bad").unwrap()).len(), 3);
    let good = &run.logs(history.job("good").unwrap())[..];
    assert!(
        fs::read_to_string(&good[0])
            .unwrap()
            .contains("the-first-log")
    );
    assert_eq!(run.report(&history).exit, RunExit::Success);
    let refused = project
        .resume(1, ContinuationKind::Retry)
        .await
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "run 1 ended with success: there is nothing to retry"
    );
    let refused = project
        .resume(9, ContinuationKind::Retry)
        .await
        .unwrap_err();
    assert!(
        refused.to_string().starts_with("there is no run 9 of "),
        "{refused}"
    );
    assert!(
        project.runs().find(9).is_err(),
        "looking for it made nothing"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn manual_job_is_played_later_with_a_note_about_changes() {
    let file = "
stages: [a, b]
default: {before_script: ['echo $CI_JOB_NAME >>OUT/ran']}
make: {stage: a, script: ['true']}
ship: {stage: b, script: ['true'], when: manual, allow_failure: false}
";
    let project = RecordingProject::new(file);
    let report = project.run(RunOptions::default()).await.unwrap();
    assert_eq!(report.status, Status::Manual);
    assert_eq!(project.ran(), ran_once(&["make"]));
    assert_eq!(project.runs().take_killed(), []);

    project.write(&file.replace(
        "stage: b, script: ['true']",
        "stage: b, script: [echo shipped]",
    ));
    let play = ContinuationKind::Play(vec!["ship".to_owned()]);
    let run = project.prepare(continuing(1, play)).await.unwrap();
    assert_eq!(run.notes(), ["changed since then: the job \"ship\""]);
    let second = project
        .prepare(continuing(1, ContinuationKind::Resume))
        .await;
    let refused = second.unwrap_err().to_string();
    let own = std::process::id();
    assert_eq!(refused, format!("run 1 is running, by process {own}"));
    let report = execute(run, Arc::new(Silent), &Cancellation::new())
        .await
        .unwrap();
    assert_eq!(report.status, Status::Success);
    assert_eq!(project.ran(), ran_once(&["ship"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_run_is_reported_once() {
    let project = RecordingProject::new(FIVE_JOBS);
    let command = workstation::RunCommand {
        words: vec!["run".to_owned(), "--login".to_owned()],
        directory: project.project.dir(),
    };
    let options = RunOptions {
        command: command.clone(),
        ..RunOptions::default()
    };
    project.run(options).await.unwrap();
    let run = project.only_run();
    assert_eq!(run.record().command, command);
    assert_eq!(run.record().situation.reference, "main");
    for file in ["run.json", "journal.jsonl", "lock"] {
        let mode = fs::metadata(run.directory().join(file))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    assert_eq!(project.runs().take_killed(), []);
    let path = run.directory().join("journal.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let done = text.find("{\"v\":1,\"seq\"").unwrap();
    fs::write(&path, &text[..done]).unwrap();
    let told = project.runs().take_killed();
    let words = "run 1 was killed while 0 of 5 jobs had finished";
    assert_eq!(
        told.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [words]
    );
    assert_eq!(project.runs().take_killed(), []);
    // A resumed run that is killed again is reported again.
    project.resume(1, ContinuationKind::Resume).await.unwrap();
    fs::write(&path, &text[..done]).unwrap();
    assert_eq!(project.runs().take_killed().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn running_run_plays_jobs_and_is_canceled_by_requests() {
    // R-GLCI-123
    let project = RecordingProject::new(
        "
default: {before_script: ['echo $CI_JOB_NAME >>OUT/ran']}
long: {script: ['until test -e OUT/enough; do sleep 0.05; done']}
ship: {script: ['true'], when: manual}
",
    );
    let run = project.prepare(RunOptions::default()).await.unwrap();
    let (sender, mut statuses) = unbounded_channel();
    let tell = async {
        wait_for(&mut statuses, "long", Status::Running).await;
        let run = project.only_run();
        let control = run.control();
        let play = |job: &str| ControlRequest::Play {
            job: job.to_owned(),
            variables: Vec::new(),
        };
        let unknown = control.send(&play("shop")).await.unwrap_err().to_string();
        assert!(unknown.contains("no job \"shop\""), "{unknown}");
        assert_eq!(
            control.send(&play("ship")).await.unwrap(),
            ControlReply::Done
        );
        wait_for(&mut statuses, "ship", Status::Success).await;
        let reply = control.send(&ControlRequest::Status).await.unwrap();
        let ControlReply::Status(standing) = reply else {
            panic!("{reply:?}");
        };
        assert_eq!(standing.status, Status::Running);
        let running = standing
            .jobs
            .iter()
            .filter(|job| job.status == Status::Running);
        assert_eq!(running.map(|job| &*job.name).collect::<Vec<_>>(), ["long"]);
        let state = run.state(&run.history().unwrap());
        let pid = Some(std::process::id());
        assert_eq!(state, RunState::Running { pid });
        // The status is sent before the script runs.
        let begun = async {
            while !project.ran_so_far().contains_key("long") {
                sleep(Duration::from_millis(10)).await;
            }
        };
        let begun = timeout(Duration::from_mins(1), begun).await;
        begun.expect("the script begins");
        assert_eq!(
            control.send(&ControlRequest::Cancel).await.unwrap(),
            ControlReply::Done
        );
    };
    let cancellation = Cancellation::new();
    let (report, ()) = tokio::join!(
        execute(run, Arc::new(Statuses(sender)), &cancellation),
        tell
    );
    assert_eq!(report.unwrap().exit, RunExit::Interrupted);
    let run = project.only_run();
    assert!(!run.directory().join("control").exists());
    let history = run.history().unwrap();
    assert_eq!(run.state(&history), RunState::Canceled);
    assert_eq!(project.ran(), ran_once(&["long", "ship"]));
    // A canceled job has not finished.
    fs::write(project.out().join("enough"), "").unwrap();
    let report = project.resume(1, ContinuationKind::Resume).await.unwrap();
    assert_eq!(report.exit, RunExit::Success);
    assert_eq!(project.ran(), ran_once(&["long"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn newer_commit_cancels_interruptible_runs() {
    let file = |interruptible: bool| {
        format!(
            "
default: {{before_script: ['echo $CI_JOB_NAME >>OUT/ran'], interruptible: {interruptible}}}
long: {{script: ['until test -e OUT/enough; do sleep 0.05; done']}}
"
        )
    };
    let check = async |interruptible: bool, is_new: bool, exit: RunExit, told: &[&str]| {
        let project = RecordingProject::new(&file(interruptible));
        let lines = Arc::new(Mutex::new(Vec::new()));
        let notices = |name: &'static str| {
            let lines = Arc::clone(&lines);
            Notices::new(move |line| lines.lock().push(format!("{name}: {line}")))
        };
        let older = RunOptions {
            notices: notices("older"),
            ..RunOptions::default()
        };
        let older = project.prepare(older).await.unwrap();
        let (sender, mut statuses) = unbounded_channel();
        let then = async {
            wait_for(&mut statuses, "long", Status::Running).await;
            if is_new {
                project.project.commit("newer");
            }
            let newer = RunOptions {
                notices: notices("newer"),
                ..RunOptions::default()
            };
            let newer = project.prepare(newer).await.unwrap();
            let stop = Cancellation::new();
            let (second, mut later) = unbounded_channel();
            let newer = execute(newer, Arc::new(Statuses(second)), &stop);
            let ends = async {
                wait_for(&mut later, "long", Status::Running).await;
                if exit == RunExit::Success {
                    // The notices come before the jobs end.
                    fs::write(project.out().join("enough"), "").unwrap();
                } else {
                    wait_for(&mut statuses, "long", Status::Canceled).await;
                    stop.cancel(CancelCause::User);
                }
            };
            tokio::join!(newer, ends).0.unwrap()
        };
        let stop = Cancellation::new();
        let older = execute(older, Arc::new(Statuses(sender)), &stop);
        let (older, _) = tokio::join!(older, then);
        assert_eq!(older.unwrap().exit, exit, "{interruptible} {is_new}");
        let mut lines = lines.lock().clone();
        lines.sort();
        assert_eq!(lines, told, "{interruptible} {is_new}");
    };
    let told = [
        "newer: run 1 is for an older commit of main, and is canceled",
        "older: canceled: run 2 is for a newer commit of main",
    ];
    Box::pin(check(true, true, RunExit::Interrupted, &told)).await;
    Box::pin(check(false, true, RunExit::Success, &[])).await;
    Box::pin(check(true, false, RunExit::Success, &[])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn child_pipelines_are_resumed() {
    let project = RecordingProject::new(
        "
default: {before_script: ['echo $CI_JOB_NAME >>OUT/ran']}
stages: [a, b]
first: {stage: a, script: ['true']}
below: {stage: a, trigger: {include: child.yml, strategy: depend}}
last: {stage: b, script: ['true']}
",
    );
    let child = "
default: {before_script: ['echo $CI_JOB_NAME >>OUT/ran']}
stages: [a, b]
good: {stage: a, script: ['true']}
bad: {stage: b, script: [test -e OUT/flag]}
";
    let out = project.out().display().to_string();
    project
        .project
        .write("child.yml", child.replace("OUT", &out));
    project.project.commit("child");
    let report = project.run(RunOptions::default()).await.unwrap();
    assert_eq!(report.exit, RunExit::JobFailed);
    assert_eq!(project.ran(), ran_once(&["first", "good", "bad"]));
    fs::write(project.out().join("flag"), "").unwrap();
    let report = project.resume(1, ContinuationKind::Retry).await.unwrap();
    assert_eq!(report.exit, RunExit::Success);
    assert_eq!(project.ran(), ran_once(&["bad", "last"]));
    let runs = project.runs().list().unwrap();
    assert_eq!(runs.iter().map(Run::id).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(
        project.runs().latest().unwrap().id(),
        1,
        "a child is no run of its own"
    );
}
