//! A job in a pod, as the executor runs it, and how long each part takes.

use super::{Target, Verdict, failed};
use crate::config::{KubernetesConfig, NAME};
use crate::pod::OWNER;
use crate::provider::provider;
use crate::state::PodState;
use executor_core::job::{Image, JobId};
use executor_core::{
    BuildError, BuildStage, CancelCause, Cancellation, Executor, ExecutorProvider, HumanDuration,
    Job, JobOutcome, JobSlot, JobTrace, Placement, PrepareOptions, RunnerConfig, StageCommand,
    TraceStream, chain,
};
use futures_util::StreamExt;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::Api;
use kube::api::ListParams;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event as Change, watcher};
use parking_lot::Mutex;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long the agent and the script may take, beside the start of the pod.
const WORK: Duration = Duration::from_mins(2);

/// How long the provider may take to end.
const SHUTDOWN: Duration = Duration::from_secs(5);

/// The lowest id of a probe: no job has it, so a namespace for each job is that of no other.
const FIRST_ID: u64 = 1 << 52;

const SCRIPT: &str = "uname -sm; id -u";

/// Runs a job that shows its system and user.
pub(super) async fn run(target: &Target<'_>) -> Verdict {
    let image = target.config.image.as_deref();
    let Some(image) = image.filter(|image| !image.is_empty()) else {
        let hint = "no image: name one with `--image`, or as `image` in the settings";
        return Verdict::Skipped(hint.to_owned());
    };
    let job = Job {
        id: JobId(FIRST_ID + u64::from(fastrand::u32(..))),
        image: Image::named(image),
        ..Job::default()
    };
    let owner = format!("check-{:016x}", fastrand::u64(..));
    let config = KubernetesConfig {
        // It measures the start of a pod.
        warm: Vec::new(),
        ..target.config.clone()
    };
    let provider = provider(config).with_owner(&owner);
    let pods: Api<Pod> = match target.namespace() {
        Some(namespace) => Api::namespaced(target.client.clone(), namespace),
        None => Api::all(target.client.clone()),
    };
    let times = Mutex::new(Times::default());
    let stop = target.stop.child();
    let deadline = target.config.patience() + WORK;
    let ran = tokio::select! {
        ran = run_job(&provider, job, &stop) => ran,
        never = observe(&pods, &owner, &times) => match never {},
        never = end_at(deadline, &stop) => match never {},
    };
    // It has nothing left to wait for.
    let _ = provider.shutdown(SHUTDOWN).await;
    match ran {
        Ok(Ran { output, ended }) => {
            let times = times.into_inner();
            let pulled = pulled(target, &times).await;
            let lines: Vec<_> = output.lines().collect();
            let [system, user] = lines[..] else {
                return failed(format!("unexpected output of `{SCRIPT}`: {output:?}"), None);
            };
            Verdict::Passed(format!(
                "{}; {system}, user {user}",
                times.shown(pulled.as_deref(), ended)
            ))
        }
        Err(error) => {
            let found = chain(&error);
            let help = help(&found);
            failed(found, help)
        }
    }
}

async fn end_at(deadline: Duration, stop: &Cancellation) -> Infallible {
    sleep(deadline).await;
    stop.cancel(CancelCause::Timeout);
    std::future::pending().await
}

/// A job that ran.
struct Ran {
    output: String,
    ended: Instant,
}

/// Runs a job with all stages of its executor.
async fn run_job(
    provider: &dyn ExecutorProvider,
    job: Job,
    stop: &Cancellation,
) -> Result<Ran, BuildError> {
    let config = RunnerConfig::new("check", NAME);
    let acquired = provider.acquire(&config, stop).await;
    let data = acquired.map_err(|error| BuildError::system(NAME, "start the job", error))?;
    let mut executor = provider.create(&data)?;
    let ran = run_stages(&mut *executor, &config, job, stop).await;
    executor.finish(&JobOutcome::success()).await;
    let cleaned = executor.cleanup().await;
    provider.release(&config, data).await;
    match ran {
        Err(error) if !matches!(error, BuildError::Canceled(_)) => Err(error),
        // A pod that remains matters more than the stop.
        ran => cleaned.and(ran),
    }
}

async fn run_stages(
    executor: &mut dyn Executor,
    config: &RunnerConfig,
    job: Job,
    stop: &Cancellation,
) -> Result<Ran, BuildError> {
    let log = Arc::new(Log::default());
    let options = PrepareOptions {
        config: Arc::new(config.clone()),
        job: Arc::new(job),
        variables: Arc::default(),
        trace: Arc::clone(&log) as Arc<dyn JobTrace>,
        slot: JobSlot::default(),
        project_dir: None,
        planned: None,
    };
    executor.prepare(options, stop).await?;
    let command = StageCommand {
        stage: BuildStage::script(),
        script: SCRIPT.to_owned(),
        placement: Placement::User,
        variables: Arc::default(),
        working_dir: "/".to_owned(),
    };
    executor.run(command, stop).await?;
    let output = String::from_utf8_lossy(&log.0.lock()).into_owned();
    Ok(Ran {
        output,
        ended: Instant::now(),
    })
}

/// The output of the script.
#[derive(Debug, Default)]
struct Log(Mutex<Vec<u8>>);

impl JobTrace for Log {
    fn write(&self, stream: TraceStream, data: &[u8]) {
        if stream == TraceStream::STDOUT {
            self.0.lock().extend_from_slice(data);
        }
    }

    fn idle(&self, _stream: TraceStream) {}

    fn add_mask(&self, _secret: &str) {}
}

/// When the pod was first seen in each state.
#[derive(Debug, Default)]
struct Times {
    /// Its namespace and its name.
    pod: Option<(String, String)>,
    created: Option<Instant>,
    scheduled: Option<Instant>,
    running: Option<Instant>,
}

/// Notes the times of the pod until it is dropped.
async fn observe(pods: &Api<Pod>, owner: &str, times: &Mutex<Times>) -> Infallible {
    let config = watcher::Config::default().labels(&format!("{OWNER}={owner}"));
    let mut changes = std::pin::pin!(watcher(pods.clone(), config).default_backoff());
    while let Some(change) = changes.next().await {
        if let Ok(Change::Apply(pod) | Change::InitApply(pod)) = change {
            times.lock().note(&pod, Instant::now());
        }
    }
    std::future::pending().await
}

impl Times {
    fn note(&mut self, pod: &Pod, now: Instant) {
        if self.pod.is_none() {
            let (namespace, name) = (&pod.metadata.namespace, &pod.metadata.name);
            self.pod = namespace.clone().zip(name.clone());
        }
        self.created.get_or_insert(now);
        let status = pod.status.as_ref();
        let conditions = status.and_then(|it| it.conditions.as_deref());
        let mut conditions = conditions.unwrap_or_default().iter();
        if conditions.any(|it| it.type_ == "PodScheduled" && it.status == "True") {
            self.scheduled.get_or_insert(now);
        }
        if matches!(PodState::of(pod), PodState::Running(_)) {
            self.running.get_or_insert(now);
        }
    }

    /// Returns the times since the creation of the pod.
    fn shown(&self, pulled: Option<&str>, ended: Instant) -> String {
        let since = |time: Instant| {
            let duration = time.saturating_duration_since(self.created.unwrap_or(time));
            format!("after {:.1}", HumanDuration(duration))
        };
        let parts = [
            self.scheduled.map(|it| format!("scheduled {}", since(it))),
            pulled.map(str::to_owned),
            self.running.map(|it| format!("running {}", since(it))),
            Some(format!("first command {}", since(ended))),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// Returns how long the image was pulled, if the login may read the events of the pod.
async fn pulled(target: &Target<'_>, times: &Times) -> Option<String> {
    let (namespace, name) = times.pod.as_ref()?;
    let events: Api<Event> = Api::namespaced(target.client.clone(), namespace);
    let fields = format!("involvedObject.name={name},reason=Pulled");
    let of_pod = ListParams::default().fields(&fields);
    let events = target.answer(events.list(&of_pod)).await.ok()?;
    let messages = events.items.iter().filter_map(|it| it.message.as_deref());
    messages.map(pull_time).next()
}

/// Returns the duration from the message of the kubelet: `Successfully pulled image "i" in 1.2s (1.2s including waiting)`.
fn pull_time(message: &str) -> String {
    let time = message.rsplit_once("\" in ").map(|(_, rest)| rest);
    match time.and_then(|it| it.split_whitespace().next()) {
        Some(time) => format!("image pulled in {time}"),
        None => "image already on the node".to_owned(),
    }
}

fn help(found: &str) -> Option<&'static str> {
    let has = |text: &str| found.contains(text);
    if has("ErrImage") || has("ImagePull") || has("InvalidImageName") {
        Some(
            "name an image that the nodes can pull, and in the settings the secret with the login of its registry",
        )
    } else if has("Unschedulable") {
        Some(
            "compare the node selector, tolerations and requests of the settings with `kubectl describe nodes`",
        )
    } else if has("runAsNonRoot") || has("runAsUser") {
        Some("let the settings name the user by its number; 0 is root")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pull_times_are_those_of_the_kubelet() {
        let message = "Successfully pulled image \"a/b:1\" in 1.2s (1.3s including waiting). Image size: 7 bytes.";
        assert_eq!(pull_time(message), "image pulled in 1.2s");
        let message = "Container image \"a/b:1\" already present on machine";
        assert_eq!(pull_time(message), "image already on the node");
    }

    #[test]
    fn times_begin_with_the_creation() {
        let created = Instant::now();
        let at = |millis| created + Duration::from_millis(millis);
        let mut times = Times::default();
        let mut note = |status: serde_json::Value, now| {
            let pod = serde_json::json!({ "metadata": { "namespace": "n", "name": "p" }, "status": status });
            times.note(&serde_json::from_value(pod).unwrap(), now);
        };
        note(serde_json::json!({}), created);
        let scheduled = serde_json::json!({
            "conditions": [{ "type": "PodScheduled", "status": "True" }],
        });
        note(scheduled.clone(), at(200));
        note(scheduled, at(300));
        assert_eq!(times.pod, Some(("n".to_owned(), "p".to_owned())));
        assert_eq!(
            times.shown(None, at(1500)),
            "scheduled after 0.2s, first command after 1.5s"
        );
    }
}
