#![expect(
    clippy::disallowed_methods,
    reason = "the test drives the example from outside"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Returns the example's program, which Cargo has built beside this test.
fn example() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let folder = own.parent().and_then(Path::parent).unwrap();
    folder.join("examples/local-pipeline")
}

/// Returns a repository with the example's project after `change` has edited it.
fn repository(change: impl FnOnce(&Path)) -> tempfile::TempDir {
    let scratch = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("word-count/.");
    run(Command::new("cp").arg("-R").arg(source).arg(scratch.path()));
    change(scratch.path());
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command
            .args(["-c", "user.name=T", "-c", "user.email=t@example.com"])
            .args(arguments);
        run(command.current_dir(scratch.path()));
    };
    git(&["init", "-q"]);
    git(&["add", "-A"]);
    git(&["-c", "commit.gpgsign=false", "commit", "-qm", "Count words"]);
    scratch
}

fn run(command: &mut Command) {
    assert!(command.status().unwrap().success(), "{command:?}");
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn example_pipeline_passes() {
    let output = Command::new(example()).output().unwrap();
    let text = text(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("lines and words agree with wc"), "{text}");
    assert!(text.contains("archive"), "{text}");
}

#[test]
fn broken_source_file_fails_only_its_job() {
    let repository = repository(|directory| {
        let file = directory.join("src/main.rs");
        let source = fs::read_to_string(&file).unwrap();
        fs::write(
            file,
            source.replace("wordcount::count(", "wordcount::cuont("),
        )
        .unwrap();
    });
    let output = Command::new(example())
        .arg(repository.path())
        .output()
        .unwrap();
    let text = text(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    let (_log, summary) = text.rsplit_once("\nFAIL program failed").expect(&text);
    assert!(
        summary.contains("cuont"),
        "the compiler's words are in the summary: {text}"
    );
    assert_eq!(
        text.matches(" failed in stage ").count(),
        1,
        "one job failed: {text}"
    );
    let passed = |line: &str| line.starts_with("unit-tests ") && line.contains("| success");
    assert!(
        text.lines().any(passed),
        "jobs that do not need it still run: {text}"
    );
}
