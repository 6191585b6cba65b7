//! A driver that notes its calls, and jobs that run through it.

use executor_core::prelude::*;
use executor_core::{
    ActiveJobs, JobAssignment, JobOutcome, JobRunner, JobSlot, JobVariable, RunContext,
};
use executor_custom::{CustomConfig, CustomOptions};
use executor_testkit::{JobBuilder, RecordingObserver, runner_config};
use job_runner::{
    BuildRunner, BuildRunnerOptions, HelperOptions, HelperServer, LocalRepositories, Sources,
};
use process::{Settings, Supervisor};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

pub(crate) const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it");

/// A driver and a runner for one job.
#[derive(Debug)]
pub(crate) struct TestDriver {
    directory: TempDir,
    pub(crate) config: CustomConfig,
    pub(crate) runner: RunnerConfig,
    pub(crate) slot: JobSlot,
    pub(crate) observer: RecordingObserver,
    pub(crate) cancellation: Cancellation,
    pub(crate) output_grace: Duration,
}

/// One call of the driver, as it noted it.
#[derive(Debug)]
pub(crate) struct Call {
    /// The phase, and the stage of a `run` call: `run.build_script`.
    pub(crate) name: String,
    /// The arguments after the phase.
    pub(crate) argv: Vec<String>,
    pub(crate) cwd: String,
    pub(crate) environ: BTreeMap<String, String>,
    /// Paths below the working directory with their modes.
    pub(crate) files: Vec<String>,
    directory: PathBuf,
}

impl Call {
    fn read(directory: PathBuf) -> Self {
        let text = |name: &str| fs::read_to_string(directory.join(name)).unwrap();
        let lines = |name: &str| text(name).lines().map(str::to_owned).collect::<Vec<_>>();
        let argv = lines("argv");
        let stage = argv
            .get(4)
            .map_or(String::new(), |stage| format!(".{stage}"));
        let environ = text("environ");
        let pairs = environ.split_terminator('\0');
        let pairs = pairs.filter_map(|pair| pair.split_once('='));
        Self {
            name: format!("{}{stage}", argv[1]),
            argv: argv[2..].to_vec(),
            cwd: text("cwd").trim_end().to_owned(),
            environ: pairs
                .map(|(key, value)| (key.into(), value.into()))
                .collect(),
            files: lines("files"),
            directory,
        }
    }

    /// Returns what the call noted under this name.
    pub(crate) fn noted(&self, name: &str) -> String {
        fs::read_to_string(self.directory.join(name)).unwrap()
    }
}

impl TestDriver {
    /// Returns a driver with all four programs, which succeed.
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["plan", "calls"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        fs::write(directory.path().join("count"), "0").unwrap();
        let root = directory.path().to_str().unwrap().to_owned();
        let recorder = format!("{FIXTURES}/recorder.sh");
        let arguments = |phase: &str| [&root, phase, "first-arg"].map(str::to_owned).to_vec();
        let config = CustomConfig {
            config_exec: recorder.clone(),
            config_args: arguments("config"),
            prepare_exec: recorder.clone(),
            prepare_args: arguments("prepare"),
            run_exec: recorder.clone(),
            run_args: arguments("run"),
            cleanup_exec: recorder,
            cleanup_args: arguments("cleanup"),
            ..CustomConfig::default()
        };
        let mut runner = runner_config("custom");
        "recorder".clone_into(&mut runner.name);
        runner.token = "glrt-recRunner".into();
        runner.builds_dir = Some(format!("{root}/builds"));
        runner.cache_dir = Some(format!("{root}/cache"));
        Self {
            directory,
            config,
            runner,
            slot: JobSlot::default(),
            observer: RecordingObserver::new(),
            cancellation: Cancellation::new(),
            output_grace: Duration::from_millis(200),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Plans lines of sh for a call: `config`, `run.build_script`, or only its second time, `config.2`.
    pub(crate) fn plan(&self, call: &str, lines: &str) {
        fs::write(self.path().join("plan").join(call), lines).unwrap();
    }

    /// Runs a job, with the attempts to prepare that there are by default and no pause between them.
    pub(crate) async fn run(&self, job: Job) -> JobOutcome {
        let options = BuildRunnerOptions {
            sources: Sources::Git(LocalRepositories::Refused),
            prepare_pause: Duration::ZERO,
            // The stages of caches and artifacts are called too, as for a GitLab.
            helper: HelperOptions {
                server: HelperServer::GitLab,
                ..HelperOptions::default()
            },
            ..BuildRunnerOptions::default()
        };
        let supervisor = Supervisor::start(Settings::default()).unwrap();
        let mut driver = CustomOptions::new(self.config.clone());
        driver.output_grace = self.output_grace;
        driver.supervisor = Some(supervisor.clone());
        let assignment = JobAssignment {
            job: Arc::new(job),
            attempt: 1,
            observer: Arc::new(self.observer.clone()),
            cancellation: self.cancellation.clone(),
        };
        let context = RunContext {
            provider: Arc::new(executor_custom::provider(driver)),
            config: Arc::new(self.runner.clone()),
            data: ExecutorData::new(),
            slot: self.slot,
            active: ActiveJobs::new(),
        };
        BuildRunner::new(options, supervisor)
            .run(assignment, context)
            .await
    }

    /// Returns the calls so far, in order.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.notes().map(Call::read).collect()
    }

    /// Returns the directories with the notes of the calls.
    fn notes(&self) -> impl Iterator<Item = PathBuf> {
        let numbers = 1..;
        let directories = numbers.map(|number: u32| self.path().join(format!("calls/{number}")));
        directories.take_while(|path| path.exists())
    }

    /// Returns the names of the calls so far.
    pub(crate) fn names(&self) -> Vec<String> {
        self.calls().into_iter().map(|call| call.name).collect()
    }

    pub(crate) fn log(&self) -> String {
        String::from_utf8_lossy(&self.observer.output().all()).into_owned()
    }

    /// Fails if a private directory of the driver or a process in one is left.
    pub(crate) fn assert_nothing_left(&self) {
        for notes in self.notes() {
            // A call that was ended at once has noted nothing.
            let noted = fs::read_to_string(notes.join("cwd")).unwrap_or_default();
            let Some(cwd) = noted.lines().next() else {
                continue;
            };
            assert!(!Path::new(cwd).exists(), "{cwd} is left");
            assert_eq!(processes_of(cwd), Vec::<String>::new());
        }
    }
}

/// Returns a job without sources, with a script and an `after_script`.
pub(crate) fn job() -> JobBuilder {
    JobBuilder::new(7)
        .script(["true"])
        .after_script(["true"])
        .variable(JobVariable::public("GIT_STRATEGY", "none"))
}

/// Returns the processes of a driver with this private directory.
pub(crate) fn processes_of(directory: &str) -> Vec<String> {
    let wanted = format!("TMPDIR={directory}");
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let found = processes.filter(|process| {
        // The process may have ended since the listing.
        let environ = fs::read(process.path().join("environ")).unwrap_or_default();
        environ
            .split(|byte| *byte == 0)
            .any(|pair| pair == wanted.as_bytes())
    });
    found
        .map(|process| process.path().display().to_string())
        .collect()
}
