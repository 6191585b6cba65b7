//! Volumes that outlive their job, and those that do not.

use crate::support::engine;
use crate::support::scratch::{unique, with_container};
use bollard::query_parameters::{ListVolumesOptions, RemoveVolumeOptions};
use executor_core::job::Job;
use executor_core::{Cancellation, JobId, JobVariables};
use executor_docker::Engine;
use executor_docker::config::DockerConfig;
use executor_docker::config::policy::RealPath;
use executor_docker::engine::labels::{KEEP, Labels, OWNER};
use executor_docker::engine::names::Names;
use executor_docker::job::create::{ContainerPlan, NetworkPlan, build_container};
use executor_docker::volume::{CacheKey, JobVolumes, VolumeContext, VolumePlan, sockets};

const NONROOT: &str = "runwright-test/nonroot:1";

/// A project on a runner that no other test uses.
struct Project {
    engine: Engine,
    key: CacheKey,
    owner: String,
}

impl Project {
    async fn new() -> Self {
        let owner = unique("volume");
        Self {
            engine: engine().await,
            key: CacheKey {
                runner: owner.clone(),
                project: "group/app".to_owned(),
                slot: 0,
                protected: false,
            },
            owner,
        }
    }

    fn plan(&self, config: &DockerConfig) -> VolumePlan {
        let context = VolumeContext {
            project_dir: "/builds/group/app",
            key: &self.key,
            names: &Names::new(&self.owner, JobId(1), 0),
            variables: &JobVariables::new(),
            sockets: &sockets(&self.engine),
            real_path: RealPath::resolve,
        };
        VolumePlan::new(config, &context).unwrap()
    }

    async fn volumes(&self, config: &DockerConfig) -> JobVolumes {
        let labels = Labels::of(&Job::default(), &self.owner, 0);
        let plan = self.plan(config);
        let none = Cancellation::new();
        let mut volumes = JobVolumes::planned(&self.engine, plan);
        volumes.make(config, &labels, &none).await.unwrap();
        volumes
    }

    /// Runs a job as the image's user and returns its output.
    async fn job(&self, config: &DockerConfig, script: &str) -> String {
        let mut volumes = self.volumes(config).await;
        let plan = ContainerPlan {
            image: NONROOT.to_owned(),
            command: ["sh", "-c", script].map(str::to_owned).to_vec(),
            binds: volumes.binds().to_vec(),
            network: NetworkPlan {
                mode: Some("none".to_owned()),
                aliases: Vec::new(),
            },
            ..ContainerPlan::default()
        };
        let body = build_container(config, &plan);
        let (_, output) = with_container(&self.engine, body, async |container| {
            volumes
                .open(&container.id, Some("1000:1000"))
                .await
                .unwrap();
            container.run().await
        })
        .await;
        volumes.remove().await.unwrap();
        output
    }

    /// Returns the names of the existing volumes of this project.
    async fn leftovers(&self) -> Vec<String> {
        let volumes = self
            .engine
            .api()
            .list_volumes(None::<ListVolumesOptions>)
            .await
            .unwrap();
        let ours = volumes.volumes.unwrap_or_default().into_iter();
        let ours = ours.filter(|it| it.labels.get(OWNER) == Some(&self.owner));
        ours.map(|it| it.name).collect()
    }

    async fn clean(self) {
        for name in self.leftovers().await {
            let options = RemoveVolumeOptions { force: true };
            self.engine
                .api()
                .remove_volume(&name, Some(options))
                .await
                .unwrap();
        }
    }
}

fn config(text: &str) -> DockerConfig {
    toml::from_str(text).unwrap()
}

const WRITE: &str = "cat /cache/deep/a 2>/dev/null; echo $((1)) >> /cache/deep/a && id -u";

#[tokio::test]
async fn a_cache_volume_outlives_jobs_and_is_writable_for_every_user() {
    let project = Project::new().await;
    let config = config("volumes = [\"/cache/deep\"]");
    assert_eq!(project.job(&config, WRITE).await, "1000\n");
    assert_eq!(project.job(&config, WRITE).await, "1\n1000\n");
    let left = project.leftovers().await;
    assert_eq!(left, [project.key.volume("/cache/deep")]);
    let volume = project.engine.api().inspect_volume(&left[0]).await.unwrap();
    assert_eq!(volume.labels.get(KEEP).map(String::as_str), Some("true"));
    project.clean().await;
}

#[tokio::test]
async fn without_a_cache_no_volume_is_kept() {
    // R-EXEC-68
    let project = Project::new().await;
    let config = config("volumes = [\"/cache/deep\"]\ndisable_cache = true");
    assert_eq!(project.job(&config, WRITE).await, "1000\n");
    assert_eq!(project.leftovers().await, Vec::<String>::new());
    assert_eq!(project.job(&config, WRITE).await, "1000\n");
    project.clean().await;
}

#[tokio::test]
async fn protected_and_other_refs_share_nothing() {
    // R-EXEC-61
    let mut project = Project::new().await;
    let config = config("volumes = [\"/cache/deep\"]");
    assert_eq!(project.job(&config, WRITE).await, "1000\n");
    project.key.protected = true;
    assert_eq!(project.job(&config, WRITE).await, "1000\n");
    assert_eq!(project.leftovers().await.len(), 2);
    project.clean().await;
}

#[tokio::test]
async fn directories_of_the_host_are_mounted_by_their_real_paths() {
    let project = Project::new().await;
    let directory = tempfile::tempdir().unwrap();
    let real = directory.path().canonicalize().unwrap();
    std::fs::create_dir(real.join("data")).unwrap();
    std::fs::write(real.join("data/file"), "hello\n").unwrap();
    std::os::unix::fs::symlink(real.join("data"), real.join("link")).unwrap();
    let link = real.join("link").display().to_string();
    let config = DockerConfig {
        volumes: vec![format!("{link}:/data:ro")],
        ..DockerConfig::default()
    };
    let plan = project.plan(&config);
    assert_eq!(plan.binds, [format!("{}/data:/data:ro", real.display())]);
    let output = project
        .job(&config, "cat /data/file; touch /data/x 2>&1")
        .await;
    assert_eq!(output, "hello\ntouch: /data/x: Read-only file system\n");
    project.clean().await;
}

#[tokio::test]
async fn a_failed_volume_leaves_nothing() {
    let project = Project::new().await;
    let good = config("volumes = [\"/a\", \"/b\"]\ndisable_cache = true");
    let bad = DockerConfig {
        volume_driver: Some("no-such-driver".to_owned()),
        ..good.clone()
    };
    let labels = Labels::of(&Job::default(), &project.owner, 0);
    let plan = project.plan(&bad);
    let none = Cancellation::new();
    let mut volumes = JobVolumes::planned(&project.engine, plan);
    let made = volumes.make(&bad, &labels, &none).await;
    let error = made.unwrap_err().to_string();
    assert!(error.contains("no-such-driver"), "{error}");
    volumes.remove().await.unwrap();
    assert_eq!(project.leftovers().await, Vec::<String>::new());

    let cancellation = Cancellation::new();
    cancellation.cancel(executor_core::CancelCause::User);
    let plan = project.plan(&good);
    let mut volumes = JobVolumes::planned(&project.engine, plan);
    let made = volumes.make(&good, &labels, &cancellation).await;
    assert!(made.is_err());
    volumes.remove().await.unwrap();
    assert_eq!(project.leftovers().await, Vec::<String>::new());
    project.clean().await;
}
