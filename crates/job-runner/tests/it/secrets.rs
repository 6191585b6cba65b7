//! Secrets of a job, from a store of the test.

use crate::support::{Bench, local_workspace, note};
use async_trait::async_trait;
use executor_core::job::{Job, SecretString};
use executor_core::variable::JobVariable;
use executor_core::{BuildStage, Cancellation, FailureReason, JobState};
use executor_testkit::{Directive, JobBuilder, ScriptedProvider};
use job_runner::{BuildRunnerOptions, SecretError, SecretStore};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

type Answer = Result<Option<&'static str>, SecretError>;

/// Gives these answers in turn, and stays silent afterwards.
#[derive(Debug, Default)]
struct Store {
    answers: Mutex<VecDeque<Answer>>,
    definitions: Mutex<Vec<Value>>,
}

impl Store {
    fn with(answers: impl IntoIterator<Item = Answer>) -> Arc<Self> {
        Arc::new(Self {
            answers: Mutex::new(answers.into_iter().collect()),
            definitions: Mutex::default(),
        })
    }
}

#[async_trait]
impl SecretStore for Store {
    async fn resolve(
        &self,
        definition: &Value,
        cancellation: &Cancellation,
    ) -> Result<Option<SecretString>, SecretError> {
        self.definitions.lock().push(definition.clone());
        let answer = self.answers.lock().pop_front();
        let Some(answer) = answer else {
            cancellation.canceled().await;
            return Err(SecretError::Stopped);
        };
        Ok(answer?.map(SecretString::new))
    }
}

fn bench(provider: &ScriptedProvider, store: &Arc<Store>) -> Bench {
    let options = BuildRunnerOptions {
        secrets: Some(Arc::clone(store) as _),
        ..BuildRunnerOptions::default()
    };
    Bench::scripted(provider, options)
}

fn job(attempts: &str) -> Job {
    JobBuilder::new(7)
        .script(["make"])
        .variable(JobVariable::public("SECRETS_RETRIEVAL_ATTEMPTS", attempts))
        .variable(JobVariable::public("PLACE", "vault.example"))
        .variable(JobVariable::public("USES", "-$DB-"))
        .with(|job| {
            let definition = json!({"vault": {"url": "https://$PLACE/$$"}, "file": false});
            job.secrets.insert("DB".to_owned(), definition);
        })
        .build()
}

fn unavailable() -> Answer {
    Err(SecretError::Unavailable("it is away".to_owned()))
}

#[tokio::test(start_paused = true)]
async fn unavailable_store_is_asked_again() {
    let store = Store::with([unavailable(), unavailable(), Ok(Some("tiger $USES"))]);
    let provider = ScriptedProvider::new();
    let bench = bench(&provider, &store);
    let began = Instant::now();
    let outcome = bench.run(job("3")).await;
    let log = bench.log();
    assert_eq!(outcome.state, JobState::Success, "{log}");
    assert!(began.elapsed() >= Duration::from_secs(15));
    let expect = "failed to resolve secret \"DB\": it is away";
    assert_eq!(log.matches(expect).count(), 2, "{log}");
    let expected = json!({"vault": {"url": "https://vault.example/$"}, "file": false});
    assert_eq!(*store.definitions.lock(), vec![expected; 3]);
    // The environment has it as it is prepared, and so has each stage.
    let prepared = &provider.prepared()[0].variables;
    let variable = prepared.variable("DB").expect("the secret");
    assert!(variable.masked && variable.raw && !variable.file && !variable.public);
    let commands = provider.commands();
    assert_eq!(commands[0].variables.get("DB"), Some("tiger $USES"));
    assert_eq!(commands[0].variables.get("USES"), Some("-tiger $USES-"));
    let stages = bench.observer.reports();
    assert_eq!(stages[0].stage.name(), "resolve_secrets");
    provider.assert_obeyed();
}

#[tokio::test(start_paused = true)]
async fn attempts_are_limited_and_a_refusal_is_final() {
    let check =
        async |attempts: &str, answers: Vec<Answer>, reason: FailureReason, expect: &str| {
            let calls = answers.len();
            let store = Store::with(answers);
            let provider = ScriptedProvider::new();
            let bench = bench(&provider, &store);
            let outcome = bench.run(job(attempts)).await;
            assert_eq!(outcome.failure_reason(), Some(reason));
            let log = bench.log();
            assert!(log.contains(expect), "{log}");
            assert_eq!(store.definitions.lock().len(), calls);
            assert_eq!(provider.counts().create, 0);
        };
    let system = FailureReason::RunnerSystemFailure;
    let config = FailureReason::RunnerConfigurationError;
    let failed = "resolve \"DB\": it is away";
    check("", vec![unavailable()], system, failed).await;
    check("2", vec![unavailable(), unavailable()], system, failed).await;
    let refusal = || Err(SecretError::Refused("no access".to_owned()));
    let refused = "secret \"DB\": no access";
    check("3", vec![unavailable(), refusal()], config, refused).await;
    let missing = "secret \"DB\" is not found in its store";
    check("3", vec![Ok(None)], config, missing).await;
}

#[tokio::test(start_paused = true)]
async fn silent_store_has_the_time_of_the_job() {
    let store = Store::with([]);
    let provider = ScriptedProvider::new();
    let bench = bench(&provider, &store);
    let mut job = job("");
    job.runner_info.timeout = 60;
    let outcome = bench.run(job).await;
    let reason = outcome.failure_reason();
    assert_eq!(reason, Some(FailureReason::JobExecutionTimeout));
    assert_eq!(provider.counts().create, 0);
}

#[tokio::test]
async fn resumed_job_resolves_its_secrets_again_for_its_masks() {
    let root = tempfile::tempdir().expect("a directory");
    std::fs::create_dir_all(root.path().join("builds/project")).expect("a directory");
    let note = note(json!({"headed": ["resolve_secrets"]}));
    let run = async |answer: Answer| {
        let provider = ScriptedProvider::new();
        provider.set_workspace(local_workspace(root.path()));
        let output = Directive::succeed().stdout("it is tiger\n");
        provider.on(BuildStage::script(), output);
        let options = BuildRunnerOptions {
            secrets: Some(Store::with([answer])),
            resumed: vec![note.clone()],
            starts_over: false,
            ..BuildRunnerOptions::default()
        };
        let bench = Bench::scripted(&provider, options);
        let outcome = bench.run(job("")).await;
        provider.assert_obeyed();
        (provider, outcome.state, bench.log())
    };
    let refusal = Err(SecretError::Refused("it expired".to_owned()));
    let (provider, state, log) = run(refusal).await;
    assert_eq!(state, JobState::Failed);
    // Its environment does not outlive it.
    assert_eq!(provider.counts().create, 1);
    assert_eq!(provider.stages(), Vec::<String>::new());
    std::fs::create_dir_all(root.path().join("builds/project")).expect("a directory");
    assert!(log.contains("secret \"DB\": it expired"), "{log}");
    let (provider, state, log) = run(Ok(Some("tiger"))).await;
    assert_eq!(state, JobState::Success, "{log}");
    assert!(log.contains("it is [MASKED]"), "{log}");
    assert!(!log.contains("Resolving secret"), "{log}");
    assert!(!provider.stages().contains(&"get_sources".to_owned()));
}
