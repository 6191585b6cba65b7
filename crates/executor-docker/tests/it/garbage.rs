//! Which images and volumes of jobs are collected, and which are kept.

use crate::support::engine;
use crate::support::registry::{Auth, Registry, remove};
use crate::support::runner::{BUSYBOX, Run, job, settings};
use crate::support::scratch::{unique, with_container};
use bollard::models::ContainerCreateBody;
use bollard::query_parameters::{CreateImageOptionsBuilder, TagImageOptionsBuilder};
use executor_core::Cancellation;
use executor_docker::config::DockerConfig;
use executor_docker::config::policy::Pattern;
use executor_docker::garbage::{
    Budget, Collection, Collector, ItemKind, JobLeases, KeepReason, Ledger, RemovalReason, Verdict,
};
use executor_docker::image::{ImageReference, Images, PullPolicy};
use executor_docker::{DockerOptions, Engine};
use executor_testkit::RecordingTrace;
use futures_util::TryStreamExt;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::Mutex;
use tokio::time::timeout;

/// The size of each test image in bytes.
const SIZE: usize = 100_000;
const DAY: u64 = 24 * 60 * 60;

/// Serializes disk usage requests: an engine refuses concurrent ones, and one test sends them repeatedly.
static DISK_USAGE: Mutex<()> = Mutex::const_new(());

/// A registry, and the state of a user whose jobs use its images.
struct CollectorSetup {
    engine: Engine,
    registry: Registry,
    state: TempDir,
    ledger: Ledger,
    trace: RecordingTrace,
    pushed: Vec<String>,
}

impl CollectorSetup {
    async fn new() -> Self {
        let (engine, state) = (engine().await, tempfile::tempdir().unwrap());
        Self {
            ledger: Ledger::open(state.path(), &engine).await.unwrap(),
            registry: Registry::start(Auth::Anonymous),
            engine,
            state,
            trace: RecordingTrace::new(),
            pushed: Vec::new(),
        }
    }

    /// Pushes a new image to the registry.
    async fn push(&mut self, path: &str) -> ImageReference {
        let architecture = self.engine.version().architecture.clone();
        self.registry.push(path, SIZE, &architecture).await;
        let name = format!("127.0.0.1:{}/{path}:1", self.registry.port);
        self.pushed.push(name.clone());
        ImageReference::parse(&name).unwrap()
    }

    /// Pushes a new image and pulls it for a job that ended this many days ago.
    async fn push_used(&mut self, path: &str, days: u64) -> ImageReference {
        let image = self.push(path).await;
        self.job(&image).await;
        self.age(&image.to_string(), days);
        image
    }

    /// Starts a job with an image, pulling it if it is missing.
    async fn job(&self, image: &ImageReference) -> JobLeases {
        let leases = JobLeases::new(self.ledger.clone(), "build");
        let images = Images::new(self.engine.clone()).with_leases(Some(leases.clone()));
        let policies = [PullPolicy::IfNotPresent];
        let none = Cancellation::new();
        let ensured = images.ensure(image, &policies, None, &self.trace, &none);
        ensured.await.unwrap();
        leases
    }

    /// Pulls an image without recording it, as `docker pull` does.
    async fn pull_by_hand(&self, image: &ImageReference) {
        let name = image.to_string();
        let options = CreateImageOptionsBuilder::default()
            .from_image(&name)
            .build();
        let steps = self.engine.api().create_image(Some(options), None, None);
        steps.try_collect::<Vec<_>>().await.unwrap();
    }

    /// Moves the last use of an image or volume this many days into the past.
    fn age(&self, name: &str, days: u64) {
        let file = self.engine_directory().join("ledger.json");
        let mut notes: serde_json::Value =
            serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        for kind in ["images", "volumes"] {
            if let Some(note) = notes[kind].get_mut(name) {
                let used = note["used"].as_u64().unwrap();
                note["used"] = (used - days * DAY).into();
            }
        }
        fs::write(&file, serde_json::to_vec(&notes).unwrap()).unwrap();
    }

    /// Returns the directory of the engine within the state directory.
    fn engine_directory(&self) -> PathBuf {
        let mut engines = fs::read_dir(self.state.path().join("engines")).unwrap();
        engines.next().unwrap().unwrap().path()
    }

    fn collector(&self, budget: Budget) -> Collector {
        Collector::new(self.engine.clone(), self.ledger.clone(), budget)
    }

    async fn collect(&self, budget: Budget) -> Collection {
        let _alone = DISK_USAGE.lock().await;
        self.collect_concurrently(budget).await
    }

    async fn collect_concurrently(&self, budget: Budget) -> Collection {
        let collector = self.collector(budget);
        collector.collect(Duration::from_mins(1)).await.unwrap()
    }

    async fn preview(&self, budget: Budget) -> Collection {
        let _alone = DISK_USAGE.lock().await;
        self.collector(budget).preview().await.unwrap()
    }

    async fn has(&self, image: &ImageReference) -> bool {
        let images = Images::new(self.engine.clone());
        images.find(image).await.unwrap().is_some()
    }

    async fn remove_images(self) {
        for name in &self.pushed {
            remove(&self.engine, name).await;
        }
    }
}

fn disk_budget(bytes: usize) -> Budget {
    Budget {
        disk: Some(bytes.try_into().unwrap()),
        ..Budget::default()
    }
}

/// Returns the verdict on an image or volume.
fn verdict<'c>(collection: &'c Collection, name: &str) -> &'c Verdict {
    let item = collection.items.iter().find(|item| item.name == name);
    &item
        .unwrap_or_else(|| panic!("{name} is not in {collection:?}"))
        .verdict
}

#[tokio::test]
async fn over_budget_the_least_recently_used_is_removed() {
    let mut setup = CollectorSetup::new().await;
    let middle = setup.push_used("middle", 5).await;
    let old = setup.push_used("old", 9).await;
    let new = setup.push_used("new", 1).await;
    let preview = setup.preview(disk_budget(SIZE * 5 / 2)).await;
    assert!(preview.held >= 3 * SIZE as u64, "{preview:?}");
    assert_eq!(
        *verdict(&preview, &old.to_string()),
        Verdict::Remove(RemovalReason::OverBudget)
    );
    assert!(setup.has(&old).await, "who looks removes nothing");

    let found = setup.collect(disk_budget(SIZE * 5 / 2)).await;
    assert_eq!(
        *verdict(&found, &old.to_string()),
        Verdict::Removed(RemovalReason::OverBudget)
    );
    assert_eq!(
        *verdict(&found, &new.to_string()),
        Verdict::Keep(KeepReason::WithinBudget)
    );
    assert_eq!(
        (
            setup.has(&old).await,
            setup.has(&middle).await,
            setup.has(&new).await
        ),
        (false, true, true)
    );
    // A job that uses the image makes it recent.
    setup.job(&middle).await;
    let found = setup.collect(disk_budget(SIZE * 3 / 2)).await;
    assert_eq!(
        *verdict(&found, &new.to_string()),
        Verdict::Removed(RemovalReason::OverBudget)
    );
    let unused = Budget {
        unused_for: Some(Duration::from_secs(3 * DAY)),
        ..Budget::default()
    };
    setup.age(&middle.to_string(), 4);
    let found = setup.collect(unused).await;
    let gone = verdict(&found, &middle.to_string());
    assert!(
        matches!(gone, Verdict::Removed(RemovalReason::Unused(_))),
        "{gone:?}"
    );
    assert!(!setup.has(&middle).await);
    let rest = setup.collect(disk_budget(0)).await;
    assert_eq!(rest, Collection::default());
    setup.remove_images().await;
}

#[tokio::test]
async fn the_users_own_items_are_kept() {
    let mut setup = CollectorSetup::new().await;
    // Pulled by the user before any job.
    let first = setup.push("first").await;
    setup.pull_by_hand(&first).await;
    setup.job(&first).await;
    // Pulled by a job, and later by the user.
    let again = setup.push_used("again", 1).await;
    let preview = setup.preview(disk_budget(0)).await;
    assert_eq!(
        *verdict(&preview, &again.to_string()),
        Verdict::Remove(RemovalReason::OverBudget)
    );
    let by_hand = async {
        loop {
            setup.pull_by_hand(&again).await;
            let preview = setup.preview(disk_budget(0)).await;
            if *verdict(&preview, &again.to_string()) == Verdict::Keep(KeepReason::NotOurs) {
                break;
            }
        }
    };
    // Times have a resolution of one second, so a pull within the same second may still count as ours.
    let noticed = timeout(Duration::from_mins(1), by_hand).await;
    noticed.expect("a pull by hand is noticed");
    // Pulled by a job, then tagged with another name by the user.
    let named = setup.push_used("named", 1).await;
    let mine = unique("mine");
    let tag = TagImageOptionsBuilder::default()
        .repo(&mine)
        .tag("1")
        .build();
    let name = named.to_string();
    let tagged = setup.engine.api().tag_image(&name, Some(tag)).await;
    tagged.unwrap();
    // Pulled by a job, then replaced by the user.
    let built = setup.push_used("built", 1).await;
    let built_name = built.to_string();
    let (repository, _) = built_name.rsplit_once(':').unwrap();
    let tag = TagImageOptionsBuilder::default()
        .repo(repository)
        .tag("1")
        .build();
    setup
        .engine
        .api()
        .tag_image(BUSYBOX, Some(tag))
        .await
        .unwrap();
    // Kept by the settings.
    let kept = setup.push_used("kept", 1).await;

    let budget = Budget {
        keep_images: vec![Pattern::parse("127.0.0.1:*/kept:*").unwrap()],
        unused_for: Some(Duration::ZERO),
        ..disk_budget(0)
    };
    let found = setup.collect(budget).await;
    let stays = |image: &ImageReference| match verdict(&found, &image.to_string()) {
        Verdict::Keep(stays) => stays.clone(),
        other => panic!("{image}: {other:?}"),
    };
    assert_eq!(stays(&first), KeepReason::NotOurs);
    assert_eq!(stays(&again), KeepReason::NotOurs);
    assert_eq!(stays(&named), KeepReason::OtherName(format!("{mine}:1")));
    assert_eq!(stays(&kept), KeepReason::Kept);
    for image in [&first, &again, &named, &built, &kept] {
        assert!(setup.has(image).await, "{image}");
    }
    remove(&setup.engine, &format!("{mine}:1")).await;
    setup.remove_images().await;
}

#[tokio::test]
async fn items_in_use_are_kept() {
    let mut setup = CollectorSetup::new().await;
    let image = setup.push("app").await;
    let name = image.to_string();
    let leases = setup.job(&image).await;
    let found = setup.collect(disk_budget(0)).await;
    let in_use = Verdict::Keep(KeepReason::Leased("build".to_owned()));
    assert_eq!(*verdict(&found, &name), in_use);
    drop(leases);
    // Another job uses the image by its digest, so it is ours by one name and in use by another.
    let images = Images::new(setup.engine.clone());
    let digest = images.find(&image).await.unwrap().unwrap().digest.unwrap();
    let leases = setup.job(&ImageReference::parse(&digest).unwrap()).await;
    let found = setup.collect(disk_budget(0)).await;
    let stays = found.items.iter().map(|it| &it.verdict);
    assert_eq!(stays.collect::<Vec<_>>(), [&in_use]);
    drop(leases);
    setup.age(&digest, 1);

    let body = ContainerCreateBody {
        image: Some(name.clone()),
        cmd: Some(vec!["x".to_owned()]),
        ..ContainerCreateBody::default()
    };
    with_container(&setup.engine, body, async |_| {
        let found = setup.collect(disk_budget(0)).await;
        assert_eq!(
            *verdict(&found, &name),
            Verdict::Keep(KeepReason::InContainer)
        );
    })
    .await;
    let found = setup.collect(disk_budget(0)).await;
    assert_eq!(
        *verdict(&found, &name),
        Verdict::Removed(RemovalReason::OverBudget)
    );
    assert!(!setup.has(&image).await);
    setup.remove_images().await;
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a process that is killed")]
async fn the_lease_of_a_killed_process_is_released() {
    let mut setup = CollectorSetup::new().await;
    let image = setup.push_used("app", 1).await;
    let leases = fs::read_dir(setup.engine_directory().join("leases")).unwrap();
    let files: Vec<PathBuf> = leases.map(|entry| entry.unwrap().path()).collect();
    let [file] = files.as_slice() else {
        panic!("one thing was used: {files:?}");
    };
    let mut other = Command::new("flock")
        .args(["--shared", "--close"])
        .arg(file)
        .args(["sh", "-c", "echo has it; read end"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut reader = BufReader::new(other.stdout.take().unwrap());
    reader.read_line(&mut line).unwrap();
    assert_eq!(line, "has it\n");
    let found = setup.collect(disk_budget(0)).await;
    let stays = verdict(&found, &image.to_string());
    assert!(
        matches!(stays, Verdict::Keep(KeepReason::Leased(_))),
        "{stays:?}"
    );
    other.kill().unwrap();
    other.wait().unwrap();
    setup.collect(disk_budget(0)).await;
    assert!(!setup.has(&image).await);
    setup.remove_images().await;
}

#[tokio::test]
async fn nothing_is_removed_during_pulls() {
    let mut setup = CollectorSetup::new().await;
    let image = setup.push_used("app", 1).await;
    let pulling = fs::File::create(setup.engine_directory().join("pulling")).unwrap();
    pulling.lock_shared().unwrap();
    let found = setup.collect(disk_budget(0)).await;
    let stays = Verdict::Keep(KeepReason::PullsGoOn);
    assert_eq!(*verdict(&found, &image.to_string()), stays);
    // Unlocked explicitly: a child that is being spawned inherits the file and would hold the lock for a moment.
    pulling.unlock().unwrap();
    let collector = setup.collector(disk_budget(0));
    let late = collector.collect(Duration::ZERO).await.unwrap();
    let stays = Verdict::Keep(KeepReason::NoTime);
    assert_eq!(*verdict(&late, &image.to_string()), stays);
    assert!(setup.has(&image).await);
    setup.collect(disk_budget(0)).await;
    assert!(!setup.has(&image).await);
    setup.remove_images().await;
}

#[tokio::test]
async fn two_collectors_at_once_leave_nothing() {
    let mut setup = CollectorSetup::new().await;
    for path in ["a", "b", "c", "d"] {
        setup.push_used(path, 1).await;
    }
    let (one, two) = tokio::join!(
        setup.collect_concurrently(disk_budget(0)),
        setup.collect_concurrently(disk_budget(0))
    );
    let gone = |found: &Collection| {
        let gone = |verdict: &Verdict| matches!(verdict, Verdict::Removed(_));
        found.items.iter().filter(|it| gone(&it.verdict)).count()
    };
    assert!(gone(&one) + gone(&two) >= 4, "{one:?} {two:?}");
    for name in &setup.pushed {
        let image = ImageReference::parse(name).unwrap();
        assert!(!setup.has(&image).await, "{name}");
    }
    setup.remove_images().await;
}

#[tokio::test]
async fn a_job_that_starts_during_a_collection_keeps_its_image() {
    let mut setup = CollectorSetup::new().await;
    let image = setup.push("app").await;
    let jobs = async {
        let mut pulls = 0;
        for round in 0..26 {
            // Each job starts at a different moment of a collection, and some after it.
            for _ in 0..round * 2 {
                if !setup.has(&image).await {
                    pulls += 1;
                    break;
                }
            }
            let leases = setup.job(&image).await;
            assert!(setup.has(&image).await, "it went under a job");
            drop(leases);
        }
        // On a busy machine the rounds may miss the removals, so this continues until the image was removed twice.
        while pulls < 2 {
            if !setup.has(&image).await {
                pulls += 1;
                setup.job(&image).await;
            }
        }
    };
    let collect = async {
        loop {
            setup.collect(disk_budget(0)).await;
        }
    };
    tokio::select! {
        gone = timeout(Duration::from_mins(5), jobs) => gone.expect("it is removed between jobs"),
        () = collect => unreachable!("it goes on for ever"),
    }
    setup.remove_images().await;
}

#[tokio::test]
async fn unused_cache_volumes_are_removed() {
    let setup = CollectorSetup::new().await;
    let settings = DockerConfig {
        volumes: vec!["/cache/deep".to_owned()],
        ..settings()
    };
    let options = DockerOptions::new().with_ledger(setup.ledger.clone());
    let mut run = Run::with_options(settings, options);
    run.config.name = unique("garbage");
    let mut opened = run.open(job(BUSYBOX)).await;
    opened.print("echo kept > /cache/deep/file").await;
    let preview = setup.preview(disk_budget(0)).await;
    let volume = preview.items.iter().find(|it| it.kind == ItemKind::Volume);
    let volume = volume.unwrap_or_else(|| panic!("{preview:?}"));
    assert_eq!(volume.verdict, Verdict::Keep(KeepReason::InContainer));
    assert_eq!(
        *verdict(&preview, BUSYBOX),
        Verdict::Keep(KeepReason::NotOurs)
    );
    let found = setup.collect(disk_budget(0)).await;
    assert_eq!(
        *verdict(&found, &volume.name),
        Verdict::Keep(KeepReason::InContainer)
    );
    assert_eq!(opened.print("cat /cache/deep/file").await, "kept\n");
    opened.executor.cleanup().await.unwrap();
    assert_eq!(run.leftovers().await, [format!("volume {}", volume.name)]);
    let found = setup.collect(disk_budget(0)).await;
    assert_eq!(
        *verdict(&found, &volume.name),
        Verdict::Removed(RemovalReason::OverBudget)
    );
    assert_eq!(run.leftovers().await, Vec::<String>::new());
    setup.remove_images().await;
}
