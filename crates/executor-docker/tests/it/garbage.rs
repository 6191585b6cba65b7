//! What of the images and volumes that jobs brought goes, and what stays.

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

/// The bytes of an image of these tests.
const SIZE: usize = 100_000;
const DAY: u64 = 24 * 60 * 60;

/// Who asks what takes room: an engine refuses all but one at a time, and one test may go on asking for long.
static ALONE: Mutex<()> = Mutex::const_new(());

/// A registry, and somebody whose jobs use its images.
struct World {
    engine: Engine,
    registry: Registry,
    state: TempDir,
    ledger: Ledger,
    trace: RecordingTrace,
    pushed: Vec<String>,
}

impl World {
    async fn new() -> Self {
        let (engine, state) = (engine().await, tempfile::tempdir().unwrap());
        Self {
            ledger: Ledger::open(state.path(), &engine).await.unwrap(),
            registry: Registry::start(Auth::Everybody),
            engine,
            state,
            trace: RecordingTrace::new(),
            pushed: Vec::new(),
        }
    }

    /// Makes an image in the registry.
    async fn push(&mut self, path: &str) -> ImageReference {
        let architecture = self.engine.version().architecture.clone();
        self.registry.push(path, SIZE, &architecture).await;
        let name = format!("127.0.0.1:{}/{path}:1", self.registry.port);
        self.pushed.push(name.clone());
        ImageReference::parse(&name).unwrap()
    }

    /// Makes an image, and has a job pull it that ends at once; so long ago.
    async fn used(&mut self, path: &str, days: u64) -> ImageReference {
        let image = self.push(path).await;
        self.job(&image).await;
        self.age(&image.to_string(), days);
        image
    }

    /// Begins a job with an image, which it may have pulled.
    async fn job(&self, image: &ImageReference) -> JobLeases {
        let leases = JobLeases::new(self.ledger.clone(), "build");
        let images = Images::new(self.engine.clone()).with_leases(Some(leases.clone()));
        let policies = [PullPolicy::IfNotPresent];
        let none = Cancellation::new();
        let ensured = images.ensure(image, &policies, None, &self.trace, &none);
        ensured.await.unwrap();
        leases
    }

    /// Pulls as somebody does who knows nothing of us.
    async fn pull_by_hand(&self, image: &ImageReference) {
        let name = image.to_string();
        let options = CreateImageOptionsBuilder::default()
            .from_image(&name)
            .build();
        let steps = self.engine.api().create_image(Some(options), None, None);
        steps.try_collect::<Vec<_>>().await.unwrap();
    }

    /// Lets the last use of a thing be so many days earlier.
    fn age(&self, name: &str, days: u64) {
        let file = self.place().join("ledger.json");
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

    /// Returns the directory of the engine in the state.
    fn place(&self) -> PathBuf {
        let mut engines = fs::read_dir(self.state.path().join("engines")).unwrap();
        engines.next().unwrap().unwrap().path()
    }

    fn collector(&self, budget: Budget) -> Collector {
        Collector::new(self.engine.clone(), self.ledger.clone(), budget)
    }

    async fn collect(&self, budget: Budget) -> Collection {
        let _alone = ALONE.lock().await;
        self.collect_beside_others(budget).await
    }

    async fn collect_beside_others(&self, budget: Budget) -> Collection {
        let collector = self.collector(budget);
        collector.collect(Duration::from_mins(1)).await.unwrap()
    }

    async fn look(&self, budget: Budget) -> Collection {
        let _alone = ALONE.lock().await;
        self.collector(budget).preview().await.unwrap()
    }

    async fn has(&self, image: &ImageReference) -> bool {
        let images = Images::new(self.engine.clone());
        images.find(image).await.unwrap().is_some()
    }

    async fn end(self) {
        for name in &self.pushed {
            remove(&self.engine, name).await;
        }
    }
}

fn room(bytes: usize) -> Budget {
    Budget {
        disk: Some(bytes.try_into().unwrap()),
        ..Budget::default()
    }
}

/// Returns what became of a thing.
fn verdict<'c>(collection: &'c Collection, name: &str) -> &'c Verdict {
    let item = collection.items.iter().find(|item| item.name == name);
    &item
        .unwrap_or_else(|| panic!("{name} is not in {collection:?}"))
        .verdict
}

#[tokio::test]
async fn over_budget_the_least_recently_used_is_removed() {
    let mut world = World::new().await;
    let middle = world.used("middle", 5).await;
    let old = world.used("old", 9).await;
    let new = world.used("new", 1).await;
    let looked = world.look(room(SIZE * 5 / 2)).await;
    assert!(looked.held >= 3 * SIZE as u64, "{looked:?}");
    assert_eq!(
        *verdict(&looked, &old.to_string()),
        Verdict::Remove(RemovalReason::OverBudget)
    );
    assert!(world.has(&old).await, "who looks removes nothing");

    let found = world.collect(room(SIZE * 5 / 2)).await;
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
            world.has(&old).await,
            world.has(&middle).await,
            world.has(&new).await
        ),
        (false, true, true)
    );
    // A job that uses it makes it young.
    world.job(&middle).await;
    let found = world.collect(room(SIZE * 3 / 2)).await;
    assert_eq!(
        *verdict(&found, &new.to_string()),
        Verdict::Removed(RemovalReason::OverBudget)
    );
    let unused = Budget {
        unused_for: Some(Duration::from_secs(3 * DAY)),
        ..Budget::default()
    };
    world.age(&middle.to_string(), 4);
    let found = world.collect(unused).await;
    let gone = verdict(&found, &middle.to_string());
    assert!(
        matches!(gone, Verdict::Removed(RemovalReason::Unused(_))),
        "{gone:?}"
    );
    assert!(!world.has(&middle).await);
    let rest = world.collect(room(0)).await;
    assert_eq!(rest, Collection::default());
    world.end().await;
}

#[tokio::test]
async fn the_users_own_items_are_kept() {
    let mut world = World::new().await;
    // Pulled by him before any job.
    let first = world.push("first").await;
    world.pull_by_hand(&first).await;
    world.job(&first).await;
    // Pulled by a job, and later by him.
    let again = world.used("again", 1).await;
    let looked = world.look(room(0)).await;
    assert_eq!(
        *verdict(&looked, &again.to_string()),
        Verdict::Remove(RemovalReason::OverBudget)
    );
    let by_hand = async {
        loop {
            world.pull_by_hand(&again).await;
            let looked = world.look(room(0)).await;
            if *verdict(&looked, &again.to_string()) == Verdict::Keep(KeepReason::NotOurs) {
                break;
            }
        }
    };
    // Clocks tell times in seconds, so a pull in the same one may still be ours.
    let noticed = timeout(Duration::from_mins(1), by_hand).await;
    noticed.expect("a pull by hand is noticed");
    // Pulled by a job, and given another name by him.
    let named = world.used("named", 1).await;
    let mine = unique("mine");
    let tag = TagImageOptionsBuilder::default()
        .repo(&mine)
        .tag("1")
        .build();
    let name = named.to_string();
    let tagged = world.engine.api().tag_image(&name, Some(tag)).await;
    tagged.unwrap();
    // Pulled by a job, and made anew by him.
    let built = world.used("built", 1).await;
    let built_name = built.to_string();
    let (repository, _) = built_name.rsplit_once(':').unwrap();
    let tag = TagImageOptionsBuilder::default()
        .repo(repository)
        .tag("1")
        .build();
    world
        .engine
        .api()
        .tag_image(BUSYBOX, Some(tag))
        .await
        .unwrap();
    // What the settings say is to stay.
    let kept = world.used("kept", 1).await;

    let budget = Budget {
        keep_images: vec![Pattern::parse("127.0.0.1:*/kept:*").unwrap()],
        unused_for: Some(Duration::ZERO),
        ..room(0)
    };
    let found = world.collect(budget).await;
    let stays = |image: &ImageReference| match verdict(&found, &image.to_string()) {
        Verdict::Keep(stays) => stays.clone(),
        other => panic!("{image}: {other:?}"),
    };
    assert_eq!(stays(&first), KeepReason::NotOurs);
    assert_eq!(stays(&again), KeepReason::NotOurs);
    assert_eq!(stays(&named), KeepReason::OtherName(format!("{mine}:1")));
    assert_eq!(stays(&kept), KeepReason::Kept);
    for image in [&first, &again, &named, &built, &kept] {
        assert!(world.has(image).await, "{image}");
    }
    remove(&world.engine, &format!("{mine}:1")).await;
    world.end().await;
}

#[tokio::test]
async fn items_in_use_are_kept() {
    let mut world = World::new().await;
    let image = world.push("app").await;
    let name = image.to_string();
    let leases = world.job(&image).await;
    let found = world.collect(room(0)).await;
    let in_use = Verdict::Keep(KeepReason::Leased("build".to_owned()));
    assert_eq!(*verdict(&found, &name), in_use);
    drop(leases);
    // Another job names it by its digest, so the image is ours by one name and used by another.
    let images = Images::new(world.engine.clone());
    let digest = images.find(&image).await.unwrap().unwrap().digest.unwrap();
    let leases = world.job(&ImageReference::parse(&digest).unwrap()).await;
    let found = world.collect(room(0)).await;
    let stays = found.items.iter().map(|it| &it.verdict);
    assert_eq!(stays.collect::<Vec<_>>(), [&in_use]);
    drop(leases);
    world.age(&digest, 1);

    let body = ContainerCreateBody {
        image: Some(name.clone()),
        cmd: Some(vec!["x".to_owned()]),
        ..ContainerCreateBody::default()
    };
    with_container(&world.engine, body, async |_| {
        let found = world.collect(room(0)).await;
        assert_eq!(
            *verdict(&found, &name),
            Verdict::Keep(KeepReason::InContainer)
        );
    })
    .await;
    let found = world.collect(room(0)).await;
    assert_eq!(
        *verdict(&found, &name),
        Verdict::Removed(RemovalReason::OverBudget)
    );
    assert!(!world.has(&image).await);
    world.end().await;
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a process that is killed")]
async fn the_lease_of_a_killed_process_is_released() {
    let mut world = World::new().await;
    let image = world.used("app", 1).await;
    let leases = fs::read_dir(world.place().join("leases")).unwrap();
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
    let mut said = String::new();
    let mut reader = BufReader::new(other.stdout.take().unwrap());
    reader.read_line(&mut said).unwrap();
    assert_eq!(said, "has it\n");
    let found = world.collect(room(0)).await;
    let stays = verdict(&found, &image.to_string());
    assert!(
        matches!(stays, Verdict::Keep(KeepReason::Leased(_))),
        "{stays:?}"
    );
    other.kill().unwrap();
    other.wait().unwrap();
    world.collect(room(0)).await;
    assert!(!world.has(&image).await);
    world.end().await;
}

#[tokio::test]
async fn nothing_is_removed_during_pulls() {
    let mut world = World::new().await;
    let image = world.used("app", 1).await;
    let pulling = fs::File::create(world.place().join("pulling")).unwrap();
    pulling.lock_shared().unwrap();
    let found = world.collect(room(0)).await;
    let stays = Verdict::Keep(KeepReason::PullsGoOn);
    assert_eq!(*verdict(&found, &image.to_string()), stays);
    // A child that is being made has the file too, and would keep the lock for a moment.
    pulling.unlock().unwrap();
    let collector = world.collector(room(0));
    let late = collector.collect(Duration::ZERO).await.unwrap();
    let stays = Verdict::Keep(KeepReason::NoTime);
    assert_eq!(*verdict(&late, &image.to_string()), stays);
    assert!(world.has(&image).await);
    world.collect(room(0)).await;
    assert!(!world.has(&image).await);
    world.end().await;
}

#[tokio::test]
async fn two_collectors_at_once_leave_nothing() {
    let mut world = World::new().await;
    for path in ["a", "b", "c", "d"] {
        world.used(path, 1).await;
    }
    let (one, two) = tokio::join!(
        world.collect_beside_others(room(0)),
        world.collect_beside_others(room(0))
    );
    let gone = |found: &Collection| {
        let gone = |verdict: &Verdict| matches!(verdict, Verdict::Removed(_));
        found.items.iter().filter(|it| gone(&it.verdict)).count()
    };
    assert!(gone(&one) + gone(&two) >= 4, "{one:?} {two:?}");
    for name in &world.pushed {
        let image = ImageReference::parse(name).unwrap();
        assert!(!world.has(&image).await, "{name}");
    }
    world.end().await;
}

#[tokio::test]
async fn a_job_that_starts_during_a_collection_keeps_its_image() {
    let mut world = World::new().await;
    let image = world.push("app").await;
    let jobs = async {
        let mut pulls = 0;
        for round in 0..26 {
            // Each job begins at another moment of a collection, and some after it.
            for _ in 0..round * 2 {
                if !world.has(&image).await {
                    pulls += 1;
                    break;
                }
            }
            let leases = world.job(&image).await;
            assert!(world.has(&image).await, "it went under a job");
            drop(leases);
        }
        // Where the machine is too busy for that, until it has gone twice.
        while pulls < 2 {
            if !world.has(&image).await {
                pulls += 1;
                world.job(&image).await;
            }
        }
    };
    let collect = async {
        loop {
            world.collect(room(0)).await;
        }
    };
    tokio::select! {
        gone = timeout(Duration::from_mins(5), jobs) => gone.expect("it is removed between jobs"),
        () = collect => unreachable!("it goes on for ever"),
    }
    world.end().await;
}

#[tokio::test]
async fn unused_cache_volumes_are_removed() {
    let world = World::new().await;
    let settings = DockerConfig {
        volumes: vec!["/cache/deep".to_owned()],
        ..settings()
    };
    let options = DockerOptions::new().with_ledger(world.ledger.clone());
    let mut run = Run::with_options(settings, options);
    run.config.name = unique("garbage");
    let mut opened = run.open(job(BUSYBOX)).await;
    opened.print("echo kept > /cache/deep/file").await;
    let looked = world.look(room(0)).await;
    let volume = looked.items.iter().find(|it| it.kind == ItemKind::Volume);
    let volume = volume.unwrap_or_else(|| panic!("{looked:?}"));
    assert_eq!(volume.verdict, Verdict::Keep(KeepReason::InContainer));
    assert_eq!(
        *verdict(&looked, BUSYBOX),
        Verdict::Keep(KeepReason::NotOurs)
    );
    let found = world.collect(room(0)).await;
    assert_eq!(
        *verdict(&found, &volume.name),
        Verdict::Keep(KeepReason::InContainer)
    );
    assert_eq!(opened.print("cat /cache/deep/file").await, "kept\n");
    opened.executor.cleanup().await.unwrap();
    assert_eq!(run.left().await, [format!("volume {}", volume.name)]);
    let found = world.collect(room(0)).await;
    assert_eq!(
        *verdict(&found, &volume.name),
        Verdict::Removed(RemovalReason::OverBudget)
    );
    assert_eq!(run.left().await, Vec::<String>::new());
    world.end().await;
}
