//! The guide shows the real output of commands: each `console` block of its chapters on commands is run in the project
//! they describe, `examples/pipelines/shop`.
//!
//! A file that a chapter shows by its path is written to the project.
//!
//! A line `[..]` in a block stands for any lines. With `RUNWRIGHT_TEST_UPDATE=1`, blocks without such a line are
//! rewritten.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests drive the binary from outside"
)]

use crate::project::{Project, files_below, is_of_slow_stage};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const CHAPTERS: [&str; 8] = [
    "lint.md",
    "show.md",
    "plan.md",
    "settings.md",
    "explain.md",
    "list.md",
    "situations.md",
    "variables.md",
];

/// Chapters that share one project, built up from the files and commands they show.
const OF_FUNCTIONS: [&str; 2] = ["functions.md", "functions-language.md"];

/// Chapters that each have their own project, which starts from the first pipeline they show.
const OF_RUNS: [&str; 6] = [
    "custom.md",
    "getting-started.md",
    "second-pipeline.md",
    "runs.md",
    "environments.md",
    "drivers.md",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the guide's project as a separate repository with one commit on `main`.
fn shop() -> Project {
    let project = Project::empty_directory();
    let shop = root().join("examples/pipelines/shop");
    for file in files_below(&shop).into_iter().filter(|file| file.is_file()) {
        let path = file.strip_prefix(&shop).unwrap().to_str().unwrap();
        project.write(path, &fs::read_to_string(&file).unwrap());
    }
    project.git(&["init", "-q", "-b", "main"]);
    project.commit();
    project
}

/// Returns a project with the first file that a chapter shows.
fn project_of(chapter: &str) -> Project {
    let (_, rest) = chapter.split_once("```yaml\n").expect("a file");
    let (file, _) = rest.split_once("```\n").expect("the file ends");
    let project = Project::with_pipeline(file);
    if chapter.contains("host.py") {
        let driver = root().join("examples/drivers/host.py");
        fs::create_dir_all(project.home()).unwrap();
        for directory in [project.dir(), project.home()] {
            fs::copy(&driver, directory.join("host.py")).unwrap();
        }
    }
    project
}

/// Writes the files that a part of a chapter shows: the blocks whose first line is a comment with a path, and programs of
/// sh, where it is the second. `config.toml` is the user's own.
fn write_shown(project: &Project, part: &str) {
    const FIRST_LINE: &str = "#!/bin/sh\n";
    for block in part.split(&format!("```sh\n{FIRST_LINE}# ")).skip(1) {
        let (path, rest) = block.split_once('\n').expect("a second line");
        let (file, _) = rest.split_once("```\n").expect("the file ends");
        project.write(path, &format!("{FIRST_LINE}# {path}\n{file}"));
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(project.dir().join(path), executable).unwrap();
    }
    for start in ["```yaml\n# ", "```python\n# ", "```toml\n# "] {
        for block in part.split(start).skip(1) {
            let (path, rest) = block.split_once('\n').expect("a first line");
            let (file, _) = rest.split_once("```\n").expect("the file ends");
            let file = format!("# {path}\n{file}");
            match path {
                "config.toml" => {
                    fs::create_dir_all(project.home()).unwrap();
                    fs::write(project.home().join(path), file).unwrap();
                }
                path if path.contains(' ') => {}
                path => project.write(path, &file),
            }
        }
    }
}

/// Returns the text with all times replaced by the same one, since they differ between runs.
fn timeless(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, number) = rest.split_at(at);
        let end = number.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (number, after) = number.split_at(end.unwrap_or(number.len()));
        out.push_str(before);
        let is_time = after.starts_with('s') && !after[1..].starts_with(char::is_alphanumeric);
        out.push_str(match (is_time, number.contains('.')) {
            (false, _) => number,
            (true, true) => "0.1",
            (true, false) => "1",
        });
        rest = after;
    }
    out + rest
}

/// Returns the output of a command line of a chapter, both streams.
fn printed(project: &Project, line: &str) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_runwright"));
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", binary.parent().unwrap().display());
    let output = Command::new("sh")
        .args(["-c", &format!("{{ {line}\n}} 2>&1")])
        .current_dir(project.dir())
        .env_clear()
        .env("PATH", path)
        .env("HOME", project.home())
        .env("RUNWRIGHT_HOME", project.home())
        .output()
        .unwrap();
    let text = timeless(&String::from_utf8(output.stdout).unwrap());
    // These lines appear only on a slow machine.
    let lines = text.split_inclusive('\n');
    lines.filter(|line| !is_of_slow_stage(line)).collect()
}

/// Returns lines without the padding of columns.
fn loose(text: &str) -> String {
    let lines = text.split_inclusive('\n').map(|line| {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let (indent, rest) = line.split_at(indent);
        let words: Vec<&str> = rest.split(' ').filter(|word| !word.is_empty()).collect();
        format!("{indent}{}", words.join(" "))
    });
    lines.collect()
}

/// Returns whether `printed` matches `shown`, in which `[..]` stands for any lines.
fn fits(shown: &str, printed: &str) -> bool {
    let parts: Vec<&str> = shown.split("[..]\n").collect();
    let [first, between @ .., last] = parts.as_slice() else {
        return shown == printed;
    };
    let Some(mut rest) = printed.strip_prefix(first) else {
        return false;
    };
    for part in between {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// Returns the chapter with the real output of its commands, and the blocks that differ from it.
fn checked(project: &Project, chapter: &str) -> (String, Vec<String>) {
    let mut text = String::new();
    let mut wrong = Vec::new();
    let mut rest = chapter;
    while let Some(at) = rest.find("```console\n") {
        let (before, block) = rest.split_at(at + "```console\n".len());
        let end = block.find("```\n").expect("the block ends");
        text.push_str(before);
        write_shown(project, before);
        for command in block[..end]
            .split_inclusive('\n')
            .collect::<Vec<_>>()
            .chunk_by(|_, next| !next.starts_with("$ "))
        {
            let line = command[0].strip_prefix("$ ").expect("a command").trim_end();
            let shown = command[1..].concat();
            let printed = printed(project, line);
            if fits(&loose(&shown), &loose(&printed)) {
                let _ = write!(text, "$ {line}\n{shown}");
            } else {
                wrong.push(format!("$ {line}\n{printed}\nis shown as\n{shown}"));
                let _ = write!(text, "$ {line}\n{printed}");
            }
        }
        rest = &block[end..];
    }
    (text + rest, wrong)
}

#[test]
fn guide_shows_the_output_of_the_commands() {
    let (project, of_functions) = (shop(), Project::with_pipeline(""));
    let mut wrong = Vec::new();
    for chapter in CHAPTERS.into_iter().chain(OF_RUNS).chain(OF_FUNCTIONS) {
        let path = root().join("docs/book/src").join(chapter);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("```console\n$ "), "{chapter} shows nothing");
        let (right, found) = if OF_RUNS.contains(&chapter) {
            checked(&project_of(&text), &text)
        } else if OF_FUNCTIONS.contains(&chapter) {
            checked(&of_functions, &text)
        } else {
            checked(&project, &text)
        };
        if std::env::var_os("RUNWRIGHT_TEST_UPDATE").is_some() {
            fs::write(&path, right).unwrap();
        } else {
            wrong.extend(found);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn every_command_is_in_the_reference() {
    let help = Project::empty_directory().runwright(&["--help"]);
    let (_, commands) = help.stdout.split_once("Commands:\n").expect("commands");
    let commands = commands.lines().take_while(|line| line.starts_with("  "));
    let page = root().join("docs/book/src/command-line.md");
    let page = fs::read_to_string(page).unwrap();
    let headings: Vec<&str> = page.lines().filter(|it| it.starts_with("## ")).collect();
    let mut count = 0;
    for command in commands.filter_map(|line| line.split_whitespace().next()) {
        let name = format!("`runwright {command}");
        let is_there = headings.iter().any(|it| {
            let mut ends = it
                .match_indices(&name)
                .map(|(at, _)| &it[at + name.len()..]);
            ends.any(|end| end.starts_with(['`', ' ']))
        });
        assert!(is_there, "command-line.md has no heading for {command}");
        count += 1;
    }
    assert!(count > 15, "{}", help.stdout);
}

#[test]
fn shown_output_may_omit_lines() {
    assert!(fits("a\nb\n", "a\nb\n"));
    assert!(fits("a\n[..]\nc\n[..]\n", "a\nb\nc\nd\n"));
    assert!(!fits("a\n[..]\nx\n", "a\nb\nc\n"));
    assert!(!fits("a\n", "a\nb\n"));
}
