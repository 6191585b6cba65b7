//! Jobs in a real cluster against `kubectl`: `cargo xtask kubernetes -- cargo bench -p runwright-executor-kubernetes`.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]
#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

use executor_core::job::{Image, Job};
use executor_core::prelude::*;
use executor_core::{CancelCause, RunnerConfig};
use executor_kubernetes::{KubernetesConfig, KubernetesProvider, PullPolicy, WarmConfig, provider};
use executor_testkit::{CommandBuilder, JobBuilder, OptionsBuilder, RecordingTrace};
use futures_util::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::watcher::{self, watcher};
use kube::{Api, Client, Config};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const IMAGE: &str = "runwright.test/busybox:1";
const NAMESPACE: &str = "bench";
const ROUNDS: u32 = 7;
const WAITING: u32 = 200;

/// For how many seconds they wait.
const TIME: u32 = 30;

#[tokio::main]
async fn main() {
    let Some(file) = std::env::var_os("RUNWRIGHT_TEST_KUBERNETES").map(PathBuf::from) else {
        println!("NOT MEASURED: there is no Kubernetes node; use `cargo xtask kubernetes`");
        return;
    };
    let audit = file.parent().unwrap().join("audit.log");
    kubectl(&["create", "namespace", NAMESPACE]);
    let config = KubernetesConfig {
        kubeconfig: Some(file),
        namespace: Some(NAMESPACE.to_owned()),
        pull_policy: vec![PullPolicy::IfNotPresent],
        run_as_user: Some(0),
        ..KubernetesConfig::default()
    };
    let wanted = std::env::args().skip(1).find(|it| !it.starts_with('-'));
    let is_wanted = |name: &str| wanted.as_ref().is_none_or(|it| name.contains(&**it));
    if is_wanted("minimal") {
        minimal_job(&config, &audit).await;
    }
    if is_wanted("stages") {
        stages(&config).await;
    }
    if is_wanted("warm") {
        warm_pods(&config).await;
    }
    if is_wanted("waiting") {
        waiting_jobs(&config, &audit).await;
    }
    kubectl(&["delete", "namespace", NAMESPACE]);
}

/// A job from its first request until its pod is gone.
async fn minimal_job(config: &KubernetesConfig, audit: &Path) {
    let provider = provider(config.clone());
    let (mut ours, mut theirs, mut first) = (Vec::new(), Vec::new(), Vec::new());
    let before = requests(audit);
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let mut job = Opened::new(&provider, Job::default()).await;
        job.run("true").await;
        job.executor.cleanup().await.unwrap();
        ours.push(began.elapsed());
    }
    // The watch is one of them, and ends with the provider.
    let asked = requests(audit) - before;
    let ready = Ready::watch(config).await;
    for _ in 0..ROUNDS {
        let mut job = Opened::new(&provider, Job::default()).await;
        job.run("true").await;
        first.push(ready.of(&job.environment).elapsed());
        job.executor.cleanup().await.unwrap();
    }
    provider.shutdown(Duration::from_secs(10)).await.unwrap();
    for round in 0..ROUNDS {
        let pod = format!("theirs-{round}");
        let began = Instant::now();
        let words = [
            "run",
            &pod,
            "--rm",
            "-i",
            "--restart=Never",
            "--image",
            IMAGE,
        ];
        let more = [
            "--image-pull-policy=IfNotPresent",
            "--grace-period=1",
            "--",
            "true",
        ];
        kubectl(&[&words[..], &more].concat());
        theirs.push(began.elapsed());
    }
    ratio(
        "minimal job / `kubectl run --rm -i`",
        &mut ours,
        &mut theirs,
        1.1,
    );
    println!(
        "pod is ready, to another watch, to end of first command: {:.0?} (goal: at most 100ms)",
        median(&mut first)
    );
    let each = f64::from(asked) / f64::from(ROUNDS);
    println!(
        "API requests of a minimal job: {each:.1} (goal: at most 6; an official runner: about 55)"
    );
}

/// When pods were ready, as a watch of its own sees it.
struct Ready {
    pods: Arc<Mutex<HashMap<String, Instant>>>,
    _task: JoinSet<()>,
}

impl Ready {
    async fn watch(config: &KubernetesConfig) -> Self {
        let file = config.kubeconfig.as_ref().unwrap();
        let read = Kubeconfig::read_from(file).unwrap();
        let access = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await;
        let client = Client::try_from(access.unwrap()).unwrap();
        let api: Api<Pod> = Api::namespaced(client, NAMESPACE);
        let pods = Arc::<Mutex<HashMap<String, Instant>>>::default();
        let (mut task, seen) = (JoinSet::new(), Arc::clone(&pods));
        task.spawn(async move {
            let mut changes = pin!(watcher(api, watcher::Config::default()));
            while let Some(change) = changes.next().await {
                let Ok(watcher::Event::Apply(pod)) = change else {
                    continue;
                };
                let conditions = pod.status.and_then(|it| it.conditions).unwrap_or_default();
                let mut conditions = conditions.iter();
                if conditions.any(|it| it.type_ == "Ready" && it.status == "True") {
                    let name = pod.metadata.name.unwrap();
                    seen.lock().entry(name).or_insert_with(Instant::now);
                }
            }
        });
        Self { pods, _task: task }
    }

    fn of(&self, pod: &str) -> Instant {
        // The first command may have ended before this watch has seen the pod.
        self.pods
            .lock()
            .get(pod)
            .copied()
            .unwrap_or_else(Instant::now)
    }
}

/// Stages of a pod that runs, and a large log.
async fn stages(config: &KubernetesConfig) {
    let provider = provider(config.clone());
    let mut job = Opened::new(&provider, Job::default()).await;
    job.run("true").await;
    let pod = job.environment.clone();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..5 * ROUNDS {
        let began = Instant::now();
        job.run("true").await;
        ours.push(began.elapsed());
        let began = Instant::now();
        kubectl(&["exec", &pod, "-c", "build", "--", "true"]);
        theirs.push(began.elapsed());
    }
    ratio("stage / `kubectl exec`", &mut ours, &mut theirs, 0.1);
    let script = "yes 0123456789012345678901234567890123456789012345678901234567890123456789012345678 | head -c 100000000";
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let began = Instant::now();
        job.run(script).await;
        ours.push(began.elapsed());
        let began = Instant::now();
        kubectl(&["exec", &pod, "-c", "build", "--", "sh", "-c", script]);
        theirs.push(began.elapsed());
    }
    ratio(
        "100 MB of log / `kubectl exec`",
        &mut ours,
        &mut theirs,
        1.3,
    );
    job.executor.cleanup().await.unwrap();
    provider.shutdown(Duration::from_secs(10)).await.unwrap();
}

/// Jobs that find a warm pod, against jobs that do not.
async fn warm_pods(config: &KubernetesConfig) {
    let cold = provider(config.clone());
    let warm = provider(KubernetesConfig {
        warm: vec![WarmConfig {
            image: IMAGE.to_owned(),
            count: 1,
        }],
        ..config.clone()
    });
    // It begins to start them.
    let runner = RunnerConfig::new("bench", executor_kubernetes::NAME);
    let never = Cancellation::new();
    let data = warm.acquire(&runner, &never).await.unwrap();
    warm.release(&runner, data).await;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        while !kubectl(&["get", "pods"]).contains("runwright-warm-") {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        tokio::time::sleep(Duration::from_secs(4)).await;
        for (provider, times) in [(&warm, &mut ours), (&cold, &mut theirs)] {
            let began = Instant::now();
            let mut job = Opened::new(provider, Job::default()).await;
            job.run("true").await;
            times.push(began.elapsed());
            job.executor.cleanup().await.unwrap();
        }
    }
    ratio(
        "warm pod to end of first command / cold",
        &mut ours,
        &mut theirs,
        0.1,
    );
    for provider in [warm, cold] {
        provider.shutdown(Duration::from_secs(30)).await.unwrap();
    }
}

/// Requests while many jobs wait for a node.
async fn waiting_jobs(config: &KubernetesConfig, audit: &Path) {
    let provider = Arc::new(provider(KubernetesConfig {
        node_selector: [("never".to_owned(), "there".to_owned())].into(),
        ..config.clone()
    }));
    let stop = Cancellation::new();
    let mut jobs = JoinSet::new();
    for _ in 0..WAITING {
        let (provider, stop) = (Arc::clone(&provider), stop.clone());
        jobs.spawn(async move {
            let mut executor = create(&provider).await;
            let options = OptionsBuilder::new().job(job(Job::default())).build();
            executor.prepare(options, &stop).await.unwrap_err();
            executor.cleanup().await.unwrap();
        });
    }
    while kubectl(&["get", "pods", "--no-headers"]).lines().count() < WAITING as usize {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let before = requests(audit);
    tokio::time::sleep(Duration::from_secs(TIME.into())).await;
    let asked = requests(audit) - before;
    let polls = WAITING * TIME / 3;
    println!(
        "API requests in {TIME} s of {WAITING} waiting jobs: {asked}, against {polls} of polling each 3 s (goal: 1/20)"
    );
    stop.cancel(CancelCause::User);
    jobs.join_all().await;
    provider.shutdown(Duration::from_secs(10)).await.unwrap();
}

/// A job whose environment is there.
struct Opened {
    executor: Box<dyn Executor>,
    environment: String,
}

impl Opened {
    async fn new(provider: &KubernetesProvider, of: Job) -> Self {
        let trace: Arc<dyn JobTrace> = Arc::new(RecordingTrace::new());
        let mut executor = create(provider).await;
        let options = OptionsBuilder::new().job(job(of)).trace(trace).build();
        let prepared = executor.prepare(options, &Cancellation::new()).await;
        let environment = prepared.map_err(|error| error.chain()).unwrap().hostname;
        Self {
            executor,
            environment,
        }
    }

    async fn run(&mut self, script: &str) {
        let command = CommandBuilder::new(script).working_dir("/").build();
        let ran = self.executor.run(command, &Cancellation::new()).await;
        assert_eq!(ran.unwrap().status.exit_code().0, 0);
    }
}

async fn create(provider: &KubernetesProvider) -> Box<dyn Executor> {
    let runner = RunnerConfig::new("bench", executor_kubernetes::NAME);
    let data = provider.acquire(&runner, &Cancellation::new()).await;
    provider.create(&data.unwrap()).unwrap()
}

fn job(of: Job) -> Job {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    let made = JobBuilder::new(NUMBER.fetch_add(1, Ordering::Relaxed)).build();
    Job {
        id: made.id,
        image: Image::named(IMAGE),
        ..of
    }
}

/// Returns how many requests of a runner the API server has answered in the namespace.
fn requests(audit: &Path) -> u32 {
    let namespace = format!("\"namespace\":\"{NAMESPACE}\"");
    let log = std::fs::read_to_string(audit).unwrap();
    let is_ours = |it: &&str| it.contains("\"userAgent\":\"runwright/") && it.contains(&namespace);
    log.lines().filter(is_ours).map(|_| 1).sum()
}

fn kubectl(words: &[&str]) -> String {
    #[expect(clippy::disallowed_methods, reason = "the peer of the measurement")]
    let done = Command::new("kubectl")
        .args(["--namespace", NAMESPACE])
        .args(words)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    String::from_utf8_lossy(&done.unwrap().stdout).into_owned()
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn ratio(what: &str, ours: &mut [Duration], theirs: &mut [Duration], goal: f64) {
    let (ours, theirs) = (median(ours), median(theirs));
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    println!("{what}: {ours:.1?} / {theirs:.1?} = {ratio:.2} (goal: at most {goal})");
}
