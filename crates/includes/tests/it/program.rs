//! This test binary as a program: tests start it again with one task.

#![expect(clippy::disallowed_methods, reason = "the tests kill processes")]

use crate::questions::{body, commit, file, kept, page};
use includes::{Library, Record, Store, Vendored};
use std::path::Path;
use std::process::Command;

/// Names the task.
const WORK: &str = "INCLUDES_TEST_WORK";

/// Names the directory of the task.
const DIR: &str = "INCLUDES_TEST_DIR";

/// Returns a command that does a task in a directory.
pub(crate) fn program(work: &str, dir: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "program::acts_as_program", "--nocapture"])
        .env(WORK, work)
        .env(DIR, dir);
    command
}

/// Not a test of its own.
#[test]
fn acts_as_program() {
    let Some(work) = std::env::var_os(WORK) else {
        assert!(std::env::var_os(DIR).is_none(), "only tests start it");
        return;
    };
    let dir = std::env::var_os(DIR).expect("it is set with the task");
    let dir = Path::new(&dir);
    let done = match work.to_str().unwrap() {
        "keep" => keep(dir),
        "crowd" => crowd(dir),
        "vendor" => vendor(dir),
        "ask git" => ask_git(dir),
        other => panic!("{other}"),
    };
    if let Err(error) = done {
        std::fs::write(dir.join("error"), error).unwrap();
    }
}

/// Stores two answers, so that another is removed, and replaces one.
fn keep(dir: &Path) -> Result<(), String> {
    let store = Store::at(dir.join("cache")).with_budget(64 << 10);
    for (name, text) in [("a", "a"), ("b", "b"), ("a", "a changed")] {
        let answer = kept(body(&text.repeat(10_000 / text.len())));
        let put = store.put(&commit(name), &answer);
        put.map_err(|error| error.to_string())?;
    }
    store
        .forget(&commit("b"))
        .map_err(|error| error.to_string())
}

/// Writes and reads the same answers as other processes.
fn crowd(dir: &Path) -> Result<(), String> {
    let store = Store::at(dir.join("cache")).with_budget(1 << 20);
    for round in 0..200 {
        let number = (round * 7 + std::process::id()) % 20;
        let question = page(&format!("https://example.com/{number}"));
        // Many sizes, and a text that shows where it was cut.
        let answer = kept(body(
            &format!("{number} {round:03};").repeat(round as usize * 20 + 1),
        ));
        store
            .put(&question, &answer)
            .map_err(|error| error.to_string())?;
        let Some(read) = store.get(&question).map_err(|error| error.to_string())? else {
            continue;
        };
        let includes::Answer::Body { bytes, .. } = read.answer else {
            return Err("a body was put".to_owned());
        };
        let text = std::str::from_utf8(&bytes).map_err(|error| error.to_string())?;
        let (first, _) = text.split_once(';').ok_or("a text has a semicolon")?;
        let parts: u32 = first[first.len() - 3..].parse().map_err(|_| "no round")?;
        let whole = format!("{first};").repeat(parts as usize * 20 + 1);
        if text != whole || !first.starts_with(&format!("{number} ")) {
            return Err(format!("torn: {} bytes of {}", text.len(), whole.len()));
        }
    }
    Ok(())
}

/// The answers that are vendored; those of an earlier run if `new` is false.
pub(crate) fn records(new: bool) -> Vec<Record> {
    let record = |question, text: &str| Record {
        question,
        answer: Some(Ok(body(text))),
    };
    let (sha, text) = if new {
        ("1".repeat(40), "new")
    } else {
        ("0".repeat(40), "old")
    };
    vec![
        record(commit("main"), &sha),
        record(file("same.yml"), "same"),
        record(page("https://example.com/page.yml"), text),
    ]
}

/// Asks a GitLab through an SSH command that never answers.
fn ask_git(dir: &Path) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let servers = crate::git::silent_servers(dir);
    let answer = runtime.block_on(servers.ask(&commit("main"), None));
    Err(format!("{answer:?}"))
}

fn vendor(dir: &Path) -> Result<(), String> {
    let written = Vendored::write(&dir.join("project"), &records(true), None);
    written.map(|_| ()).map_err(|error| error.to_string())
}
