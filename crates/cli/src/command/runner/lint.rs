//! `lint-config` and `list`: what a config.toml says.

use super::super::stdout::print;
use super::known::known;
use super::{settings, strictness, unusable};
use crate::args::{RunnerConfigArg, RunnerLintArgs};
use crate::failure::{Exit, Failure};
use console::strip_controls;
use runner::config::{ConfigFile, Strictness};
use std::fmt::Write as _;

/// Prints the problems of a file, and its differences from GitLab Runner.
pub(super) fn lint(args: &RunnerLintArgs) -> Result<Exit, Failure> {
    let path = args.config.path();
    let file = ConfigFile::read(&path, &known(strictness(args.lenient))).map_err(unusable)?;
    let mut text = String::new();
    for problem in &file.problems {
        let _ = writeln!(text, "{problem}");
    }
    let known: Vec<String> = file.problems.iter().map(ToString::to_string).collect();
    for line in file
        .explain()
        .lines()
        .filter(|it| !known.iter().any(|known| known == it))
    {
        let _ = writeln!(text, "{line}");
    }
    let errors = file.errors().count();
    if errors > 0 {
        let count = executor_core::counted(errors, "error");
        let _ = writeln!(text, "{}: {count}; the file cannot be used", path.display());
    } else {
        let count = file.settings.runners.len();
        let _ = writeln!(
            text,
            "{}: {} can be used",
            path.display(),
            executor_core::counted(count, "runner")
        );
    }
    print(shown(&text))?;
    Ok(if errors == 0 {
        Exit::Success
    } else {
        Exit::Usage
    })
}

/// Prints the runners of a file.
pub(super) fn list(args: &RunnerConfigArg) -> Result<Exit, Failure> {
    let settings = settings(&args.path(), Strictness::Lenient)?;
    let mut text = String::new();
    for runner in &settings.runners {
        let config = &runner.config;
        let token = config.short_token();
        let _ = writeln!(
            text,
            "{}  {token}  {}  {}",
            config.name, config.executor, runner.url
        );
    }
    print(shown(&text))?;
    Ok(Exit::Success)
}

/// Returns lines without what would act on a terminal.
fn shown(text: &str) -> Vec<u8> {
    let lines = text.lines().map(|line| strip_controls(line) + "\n");
    lines.collect::<String>().into_bytes()
}
