//! Images, volumes and containers that jobs create in a real engine, and their removal.

use crate::docker::{docker, runwright, start};
use crate::project::{Project, wait_until};
use crate::registry::Registry;
use std::fs;

/// An image that no other test uses, in a registry of its own.
struct Pushed {
    image: String,
    _registry: Registry,
}

impl Pushed {
    fn start() -> Self {
        let registry = Registry::start();
        let image = format!("{}/app:1", registry.host);
        push(&image);
        Self {
            image,
            _registry: registry,
        }
    }

    fn is_pulled(&self) -> bool {
        !docker(&["images", "-q", &self.image]).is_empty()
    }
}

/// Builds an image, pushes it, and removes it from the engine.
fn push(image: &str) {
    let container = format!("runwright-test-garbage-{}", image.replace([':', '/'], "-"));
    let script = "head -c 300000 /dev/urandom > /content";
    let busybox = "runwright-test/busybox:1";
    docker(&["run", "--name", &container, busybox, "sh", "-c", script]);
    docker(&["commit", &container, image]);
    docker(&["rm", &container]);
    docker(&["push", "-q", image]);
    docker(&["rmi", image]);
}

fn settings(project: &Project, lines: &str) {
    fs::create_dir_all(project.home()).unwrap();
    let text = format!("[docker]\nvolumes = [\"/cache\"]\n{lines}\n");
    fs::write(project.home().join("config.toml"), text).unwrap();
}

/// Edits the record of the objects in the engine.
fn change_ledger(project: &Project, change: impl FnOnce(&mut serde_json::Value)) {
    let mut engines = fs::read_dir(project.home().join("engines")).unwrap();
    let file = engines.next().unwrap().unwrap().path().join("ledger.json");
    let mut notes = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    change(&mut notes);
    fs::write(&file, notes.to_string()).unwrap();
}

/// Returns the table with the values that differ between runs replaced.
fn timeless(table: &str, registry: &Pushed) -> String {
    let table = table.replace(&registry.image, "REGISTRY/app:1");
    let lines = table.lines().map(|line| {
        let words = line.split_whitespace().map(|word| {
            let is_volume = word.starts_with("runwright-cache-");
            if is_volume { "VOLUME" } else { word }
        });
        let line = words.collect::<Vec<_>>().join(" ");
        let ago = line.split_once(" ago ");
        match ago.filter(|(before, _)| before.ends_with(['s', 'm'])) {
            Some((before, after)) => {
                let (before, _) = before.rsplit_once(' ').unwrap();
                format!("{before} now {after}\n")
            }
            None => line + "\n",
        }
    });
    let mut lines: Vec<String> = lines.collect();
    // Rows of the same second come in no fixed order.
    lines[1..].sort();
    lines.concat()
}

#[test]
fn created_objects_are_listed_and_removed_when_space_is_short() {
    let registry = Pushed::start();
    let project = Project::with_pipeline(&format!(
        "job:\n  image: {}\n  script:\n    - echo it begins\n\
        \x20   - 'if test -n \"$GO\"; then for i in $(seq 1200); do test -e go && break; sleep 0.05; done; fi'\n",
        registry.image
    ));
    settings(&project, "");
    runwright(&project, &["run", "--executor", "docker"]).expect_code(0);
    assert!(registry.is_pulled());
    let output = runwright(&project, &["clean", "--docker"]).expect_code(0);
    assert_eq!(
        timeless(&output.stdout, &registry),
        "kind name size last used why\n\
         0 things removed, 0 B; jobs brought 300.0 kB\n\
         stays image REGISTRY/app:1 300.0 kB now there is no limit\n\
         stays volume VOLUME 0 B now there is no limit\n"
    );
    output.expect_text("nothing is removed without --older-than");

    settings(&project, "disk-budget = \"1 kB\"");
    let output = runwright(&project, &["clean", "--docker", "--dry-run"]).expect_code(0);
    let output = timeless(&output.stdout, &registry);
    assert!(
        output.contains("would go image REGISTRY/app:1 300.0 kB now over the budget\n"),
        "{output}"
    );
    assert!(
        output.contains("1 thing could go, 300.0 kB; jobs brought 300.0 kB of 1.0 kB\n"),
        "{output}"
    );
    assert!(registry.is_pulled());

    // A running job keeps its objects.
    let mut child = start(
        &project,
        &["run", "--executor", "docker", "--variable", "GO=1"],
    );
    project.wait_for("it begins");
    let output = runwright(&project, &["clean", "--docker"]).expect_code(0);
    let output = timeless(&output.stdout, &registry);
    assert!(
        output.contains("stays image REGISTRY/app:1 300.0 kB now a container uses it\n"),
        "{output}"
    );
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(registry.is_pulled());

    // The owner is dead: the next run removes the container, and at its end the objects that exceed the limit.
    change_ledger(&project, |notes| notes["collected"] = 0.into());
    runwright(&project, &["run", "--executor", "docker"])
        .expect_code(0)
        .expect_text(
            "removed from the container engine: 1 thing that no job used lately, 300.0 kB",
        );
    assert!(!registry.is_pulled());
    change_ledger(&project, |notes| {
        let volumes = notes["volumes"].as_object_mut().unwrap();
        volumes.values_mut().for_each(|it| it["used"] = 1.into());
    });
    // The engine releases volumes shortly after it removes the container.
    wait_until("nobody to have the volume", || {
        let output = runwright(&project, &["clean", "--docker", "--dry-run"]).expect_code(0);
        !output.stdout.contains("a container uses it")
    });
    let rest = runwright(&project, &["clean", "--docker", "--older-than", "1 week"]);
    rest.expect_code(0)
        .expect_text("no job has used it lately\n")
        .expect_text("1 thing removed, 0 B; jobs brought 0 B\n");
    let empty = runwright(&project, &["clean", "--docker", "--dry-run"]).expect_code(0);
    assert_eq!(
        empty.stdout,
        "0 things could go, 0 B; jobs brought 0 B of 1.0 kB\n"
    );
}

#[test]
fn missing_engine_is_reported() {
    let project = Project::with_pipeline("job: {script: make}\n");
    let mut command = project.command(&["clean", "--docker"]);
    command.env("DOCKER_HOST", "unix:///nowhere/docker.sock");
    let done: crate::project::Done = command.output().unwrap().into();
    done.expect_code(3).expect_text("the socket does not exist");
    settings(&project, "keep-images = [\"a[\"]");
    runwright(&project, &["clean", "--docker"])
        .expect_code(2)
        .expect_text("docker.keep-images: `a[` is not a pattern");
    settings(&project, "disk-budget = \"much\"");
    runwright(&project, &["clean", "--docker"])
        .expect_code(2)
        .expect_text("`disk-budget` is a size");
}
