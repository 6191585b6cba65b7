//! Jobs of the tests, in the cluster that `RUNWRIGHT_TEST_KUBERNETES` names.

use executor_core::job::{Image, Job};
use executor_core::prelude::*;
use executor_core::{RunnerConfig, TraceStream};
use executor_kubernetes::{KubernetesConfig, KubernetesProvider, PullPolicy, provider};
use executor_testkit::{JobBuilder, OptionsBuilder, RecordingTrace, not_tested};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{AttachParams, DeleteParams, ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard, watch};
use tokio::task::JoinSet;

/// A small image with a shell, whose user is root.
pub(crate) const BUSYBOX: &str = "runwright.test/busybox:1";

/// A namespace of one test.
pub(crate) struct Cluster {
    pub(crate) config: KubernetesConfig,
    pub(crate) client: Client,
    namespace: String,
    _peace: Peace,
}

/// Held by each test while it uses the cluster, and alone by those that hurt it.
static PEACE: RwLock<()> = RwLock::const_new(());

/// The share of one test.
enum Peace {
    Shared {
        _guard: RwLockReadGuard<'static, ()>,
    },
    Alone {
        _guard: RwLockWriteGuard<'static, ()>,
    },
}

static COUNT: AtomicU32 = AtomicU32::new(0);

impl Cluster {
    /// Creates a namespace that has these labels; `None`, and a line for the report, without a cluster.
    pub(crate) async fn with_labels(labels: &[(&str, &str)]) -> Option<Self> {
        let peace = Peace::Shared {
            _guard: PEACE.read().await,
        };
        Self::new(labels, peace).await
    }

    /// Creates a namespace for a test that hurts the cluster.
    pub(crate) async fn alone() -> Option<Self> {
        let peace = Peace::Alone {
            _guard: PEACE.write().await,
        };
        Self::new(&[], peace).await
    }

    async fn new(labels: &[(&str, &str)], peace: Peace) -> Option<Self> {
        let Some(file) = std::env::var_os("RUNWRIGHT_TEST_KUBERNETES") else {
            not_tested("jobs in a cluster", "there is no Kubernetes node");
            return None;
        };
        let file = PathBuf::from(file);
        let read = Kubeconfig::read_from(&file).unwrap();
        let options = KubeConfigOptions::default();
        let access = Config::from_custom_kubeconfig(read, &options).await;
        let client = Client::try_from(access.unwrap()).unwrap();
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let namespace = format!("test-{}-{count}", std::process::id());
        let labels = labels
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let own = k8s_openapi::api::core::v1::Namespace {
            metadata: ObjectMeta {
                name: Some(namespace.clone()),
                labels: Some(labels.collect()),
                ..ObjectMeta::default()
            },
            ..Default::default()
        };
        let all: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(client.clone());
        all.create(&PostParams::default(), &own).await.unwrap();
        // Pods are refused before it has its account.
        let accounts: Api<k8s_openapi::api::core::v1::ServiceAccount> =
            Api::namespaced(client.clone(), &namespace);
        while accounts.get_opt("default").await.unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Some(Self {
            config: KubernetesConfig {
                kubeconfig: Some(file),
                namespace: Some(namespace.clone()),
                pull_policy: vec![PullPolicy::IfNotPresent],
                ..KubernetesConfig::default()
            },
            client,
            namespace,
            _peace: peace,
        })
    }

    pub(crate) fn provider(&self) -> Arc<KubernetesProvider> {
        Arc::new(provider(self.config.clone()))
    }

    /// Returns the address of the node.
    pub(crate) fn address(&self) -> String {
        let file = self.config.kubeconfig.as_ref().unwrap();
        let read = Kubeconfig::read_from(file).unwrap();
        let server = read.clusters[0].cluster.as_ref().unwrap().server.clone();
        let server = server.unwrap();
        let host = server.trim_start_matches("https://").split(':').next();
        host.unwrap().to_owned()
    }

    pub(crate) fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Returns the name of the only pod.
    pub(crate) async fn pod(&self) -> String {
        let own = self.pods().list(&ListParams::default()).await.unwrap();
        own.items[0].metadata.name.clone().unwrap()
    }

    /// Waits until the namespace has no pod.
    pub(crate) async fn pods_are_gone(&self) {
        let all = ListParams::default();
        while !self.pods().list(&all).await.unwrap().items.is_empty() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Runs a command in the container of the only pod's job and returns its output.
    pub(crate) async fn in_pod(&self, script: &str) -> String {
        self.in_container("build", script).await
    }

    /// Runs a command in a container of the only pod and returns its output.
    pub(crate) async fn in_container(&self, container: &str, script: &str) -> String {
        let (pods, name) = (self.pods(), self.pod().await);
        let params = AttachParams::default().container(container);
        let started = pods.exec(&name, ["sh", "-c", script], &params).await;
        let mut started = started.unwrap();
        let mut output = String::new();
        let mut stdout = started.stdout().unwrap();
        stdout.read_to_string(&mut output).await.unwrap();
        let ended = started.take_status().unwrap().await;
        assert_eq!(ended.unwrap().status.as_deref(), Some("Success"));
        output
    }

    /// Returns what is in the namespace beside what Kubernetes puts there.
    pub(crate) async fn left(&self) -> Vec<String> {
        let all = ListParams::default();
        let namespaced = |kind| (self.client.clone(), kind);
        let mut left = Vec::new();
        let (client, _) = namespaced("pods");
        for pod in Api::<Pod>::namespaced(client, &self.namespace)
            .list(&all)
            .await
            .unwrap()
        {
            left.push(format!("pod {}", pod.metadata.name.unwrap_or_default()));
        }
        let secrets = Api::<Secret>::namespaced(self.client.clone(), &self.namespace);
        for it in secrets.list(&all).await.unwrap() {
            left.push(format!("secret {}", it.metadata.name.unwrap_or_default()));
        }
        let services = Api::<Service>::namespaced(self.client.clone(), &self.namespace);
        for it in services.list(&all).await.unwrap() {
            left.push(format!("service {}", it.metadata.name.unwrap_or_default()));
        }
        let maps = Api::<ConfigMap>::namespaced(self.client.clone(), &self.namespace);
        for it in maps.list(&all).await.unwrap() {
            let name = it.metadata.name.unwrap_or_default();
            if name != "kube-root-ca.crt" {
                left.push(format!("config map {name}"));
            }
        }
        left
    }

    /// Removes the namespace with all that is there.
    pub(crate) async fn end(self) {
        let all: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(self.client.clone());
        all.delete(&self.namespace, &DeleteParams::default())
            .await
            .unwrap();
    }
}

/// Returns whether tests may wait for minutes, and reports it if not.
pub(crate) fn is_long(what: &str) -> bool {
    let is_set = std::env::var_os("RUNWRIGHT_TEST_LONG_OUTAGE").is_some();
    if !is_set {
        not_tested(what, "RUNWRIGHT_TEST_LONG_OUTAGE is not set");
    }
    is_set
}

pub(crate) fn runner_config() -> RunnerConfig {
    let mut config = RunnerConfig::new("test", executor_kubernetes::NAME);
    config.graceful_kill_timeout = Duration::from_secs(1);
    config
}

pub(crate) fn job(image: &str) -> Job {
    let mut job = JobBuilder::new(u64::from(COUNT.fetch_add(1, Ordering::Relaxed)) + 1).build();
    job.image = Image::named(image);
    job
}

/// A job whose environment is there.
pub(crate) struct Opened {
    pub(crate) executor: Box<dyn Executor>,
    pub(crate) trace: Arc<RecordingTrace>,
}

/// Prepares a job.
pub(crate) async fn open(
    provider: &KubernetesProvider,
    job: Job,
) -> Result<Opened, (BuildError, Box<dyn Executor>)> {
    let data = ExecutorData::default();
    open_with(provider, job, data).await
}

/// Prepares a job with these data, for example those of a job to resume.
pub(crate) async fn open_with(
    provider: &KubernetesProvider,
    job: Job,
    data: ExecutorData,
) -> Result<Opened, (BuildError, Box<dyn Executor>)> {
    let trace = Arc::new(RecordingTrace::new());
    let config = runner_config();
    let mut executor = provider.create(&data).unwrap();
    let options = OptionsBuilder::new()
        .config(config)
        .job(job)
        .trace(Arc::clone(&trace) as Arc<dyn JobTrace>)
        .build();
    match executor.prepare(options, &Cancellation::new()).await {
        Ok(_) => Ok(Opened { executor, trace }),
        Err(error) => Err((error, executor)),
    }
}

impl Opened {
    pub(crate) fn stdout(&self) -> String {
        self.trace.text(TraceStream::STDOUT)
    }
}

/// Passes the connections of a provider on to the API server, until it is dropped.
pub(crate) struct Relay {
    cut: watch::Sender<()>,
    _task: JoinSet<()>,
}

impl Relay {
    /// Starts one for the providers that are created from now on.
    pub(crate) async fn before(cluster: &mut Cluster) -> Self {
        let name = cluster.address();
        let file = cluster.config.kubeconfig.as_ref().unwrap();
        let mut kubeconfig = Kubeconfig::read_from(file).unwrap();
        let access = kubeconfig.clusters[0].cluster.as_mut().unwrap();
        let server = access.server.take().unwrap();
        let server = server.trim_start_matches("https://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        access.server = Some(format!("https://{}", listener.local_addr().unwrap()));
        access.tls_server_name = Some(name);
        let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(&cluster.namespace);
        std::fs::write(&file, serde_json::to_vec(&kubeconfig).unwrap()).unwrap();
        cluster.config.kubeconfig = Some(file);
        let (cut, mut is_cut) = watch::channel(());
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                tokio::select! {
                    accepted = listener.accept() => {
                        let (mut near, _) = accepted.unwrap();
                        let server = server.clone();
                        connections.spawn(async move {
                            let mut far = TcpStream::connect(server).await.unwrap();
                            let _ = copy_bidirectional(&mut near, &mut far).await;
                        });
                    }
                    Ok(()) = is_cut.changed() => connections.abort_all(),
                }
            }
        });
        Self { cut, _task: task }
    }

    /// Ends all connections.
    pub(crate) fn cut(&self) {
        self.cut.send_replace(());
    }
}

/// Returns a process of the node that runs this program. The node starts it again after its end.
pub(crate) fn node_program(name: &str) -> u32 {
    let file = std::env::var_os("RUNWRIGHT_TEST_KUBERNETES").unwrap();
    let directory = PathBuf::from(file).parent().unwrap().to_owned();
    let is_it = |process: &PathBuf| {
        let read = |file: &str| std::fs::read_to_string(process.join(file)).unwrap_or_default();
        read("comm").trim() == &name[..name.len().min(15)]
            && std::fs::read_link(process.join("cwd")).is_ok_and(|it| it == directory)
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let process = processes.map(|it| it.path()).find(is_it);
    let process = process.unwrap_or_else(|| panic!("{name} does not run"));
    process
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .parse()
        .unwrap()
}
