//! Fetches that end early: dropped, or of a program that is killed.

use crate::images::{contents, image};
use crate::registry::Fake;
use crate::support::{Home, fetch, git, text, until};
use gitlab_testkit::GitLab;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;
use step_library::{FunctionCache, StepLibrary, Unused};
use steps::{JobCredentials, Library, Source};

/// The variable with the directory of a program that is to be killed.
const DIRECTORY: &str = "RUNWRIGHT_TEST_LIBRARY_DIRECTORY";

/// A registry with an image, which sends the bytes of its layer once the sender sends or is dropped.
fn slow_registry() -> (Fake, mpsc::Sender<()>) {
    let (digest, layout) = contents();
    let (release, released) = mpsc::channel();
    let fake = Fake::start(move |seen, _| {
        if seen.path.contains("/blobs/") {
            // An error means that the sender was dropped.
            let _ = released.recv();
        }
        let hex = seen.path.rsplit([':', '/']).next().unwrap();
        let hex = if hex == "1" {
            &digest["sha256:".len()..]
        } else {
            hex
        };
        let headers = vec![("docker-content-digest", digest.clone())];
        (200, headers, layout.blobs[hex].clone())
    });
    (fake, release)
}

/// Polls a fetch until a condition holds, and then drops it.
async fn drop_when(library: &StepLibrary, source: &Source, mut look: impl FnMut() -> bool) {
    let asker = JobCredentials::default();
    let mut fetching = library.fetch(source, &asker);
    let mut turns = tokio::time::interval(Duration::from_millis(5));
    while !look() {
        tokio::select! {
            fetched = &mut fetching => panic!("the fetch finished: {fetched:?}"),
            _ = turns.tick() => {}
        }
    }
}

#[tokio::test]
async fn dropped_image_fetch_leaves_nothing() {
    let (fake, release) = slow_registry();
    let home = Home::new();
    let library = home.library(&[&format!("http://{}", fake.host)]);
    let source = image(&fake.host, "1");
    // The configuration of the image is the first blob.
    release.send(()).unwrap();
    drop_when(&library, &source, || !home.names("oci/trees").is_empty()).await;
    assert_eq!(home.names("oci/trees"), [""; 0]);
    drop(release);
    let fetched = fetch(&library, &source).await.unwrap();
    assert_eq!(text(&fetched.directory, "func.yml"), "it");
}

#[tokio::test(flavor = "multi_thread")]
async fn repository_is_kept_while_fetched_and_removed_when_dropped() {
    let gitlab = GitLab::start();
    let project = gitlab.project("g/functions");
    let commit = project.commit(&[("func.yml", "it")]);
    let path = "/g/functions.git/git-upload-pack";
    let home = Home::new();
    let library = home.library(&[&gitlab.url()]);
    // These stand for another program.
    let (other, cache) = (
        home.library(&[&gitlab.url()]),
        FunctionCache::new(home.cache()),
    );
    let held = gitlab.hold(path);
    let source = git(&project.clone_url(), &commit);
    drop_when(&library, &source, || {
        let begun = gitlab.count("POST", path) > 0;
        if begun {
            let cleaned = other.clean(Unused::Since(Duration::ZERO)).unwrap();
            assert_eq!(cleaned.directories, 0);
            assert_eq!(home.names("git/repositories").len(), 1);
        }
        begun
    })
    .await;
    held.release();
    let left = cache.entries().unwrap();
    assert!(left.len() == 1 && left[0].bytes > 0, "{left:?}");
    until("it is removed", || {
        other.clean(Unused::Since(Duration::ZERO)).unwrap();
        home.names("git/repositories").is_empty()
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn next_start_removes_a_killed_programs_unfinished_work() {
    let gitlab = GitLab::start();
    let project = gitlab.project("g/functions");
    project.commit(&[("func.yml", "it")]);
    let path = "/g/functions.git/git-upload-pack";
    let (fake, release) = slow_registry();
    let url = project.clone_url();
    let sources = [git(&url, "main"), image(&fake.host, "1")];
    for (source, line) in sources
        .iter()
        .zip([format!("git {url}"), format!("oci {}", fake.host)])
    {
        let home = Home::new();
        std::fs::write(home.path().join("source"), line).unwrap();
        let trees = if matches!(source, Source::Git { .. }) {
            "git/trees"
        } else {
            "oci/trees"
        };
        let held = gitlab.hold(path);
        gitlab.reset_count();
        let mut child = program(home.path()).spawn().unwrap();
        let is_there = || match source {
            // The list of references is asked for first, by the same path.
            Source::Git { .. } => gitlab.count("POST", path) > 0,
            Source::Oci { .. } => !home.names(trees).is_empty(),
        };
        if trees == "oci/trees" {
            release.send(()).unwrap();
        }
        until("the program begins", is_there);
        if matches!(source, Source::Git { .. }) {
            until("its guardian is there", || is_guarded(&home));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        held.release();
        until("its guardian ends what it left", || {
            let journal = std::fs::read_dir(home.cache().join("journal"));
            journal.is_ok_and(|it| it.count() == 0) || trees == "oci/trees"
        });
        if trees == "oci/trees" {
            // Enough for both programs.
            for _ in 0..4 {
                release.send(()).unwrap();
            }
        }
        let servers = [gitlab.url(), format!("http://{}", fake.host)];
        let library = home.library(&[&servers[0], &servers[1]]);
        let fetched = fetch(&library, source).await.unwrap();
        assert_eq!(text(&fetched.directory, "func.yml"), "it");
        assert_eq!(home.names(trees).len(), 1, "{:?}", home.names(trees));
    }
}

/// Returns whether a guardian was started for something in this home.
fn is_guarded(home: &Home) -> bool {
    let journal = home.cache().join("journal").display().to_string();
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines
        .map(|line| String::from_utf8_lossy(&line).into_owned())
        .any(|line| line.contains(&format!("\0runwright-guardian\0{journal}")))
}

/// Returns this test binary as a program that fetches the source written in a directory.
#[expect(clippy::disallowed_methods, reason = "it is to be killed")]
fn program(directory: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "dropped::acts_as_program"])
        .env(DIRECTORY, directory);
    command
}

/// Not a case of its own.
#[tokio::test]
async fn acts_as_program() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        assert!(Path::new("/").is_dir(), "started by a case only");
        return;
    };
    let directory = Path::new(&directory);
    let written = text(directory, "source");
    let (kind, rest) = written.split_once(' ').unwrap();
    let (source, server) = match kind {
        "git" => (git(rest, "main"), rest.to_owned()),
        _ => (image(rest, "1"), format!("http://{rest}")),
    };
    let library = Home::at(directory).library(&[&server]);
    fetch(&library, &source).await.unwrap();
}
