//! The git hook that runs, before a push, the jobs affected by the pushed changes.

use super::run::run_words;
use super::stdout::print;
use crate::args::{HookAction, HookArgs, PlaceArgs};
use crate::failure::{Exit, Failure};
use anyhow::Context;
use console::{error_line, print_notes, shown_name};
use std::io::Read;
use std::path::Path;
use workstation::{HookState, LocalError, LocalProject, PushHook, Pushed};

/// The most that is read from git, which writes one line for each ref.
const MOST_TOLD: u64 = 16 << 20;

/// Installs or removes the hook, shows its state, or runs it.
pub(crate) fn hook(args: &HookArgs) -> Result<Exit, Failure> {
    match &args.action {
        HookAction::Install(place) => install(&find(place)?),
        HookAction::Uninstall(place) => uninstall(&find(place)?),
        HookAction::Status(place) => status(&find(place)?),
        HookAction::Run(_) => run(),
    }
}

fn find(place: &PlaceArgs) -> Result<PushHook, Failure> {
    let directory = place.cwd.as_deref().unwrap_or(Path::new("."));
    Ok(PushHook::find(directory)?)
}

fn shown(hook: &PushHook) -> String {
    shown_name(&hook.path().display().to_string())
}

fn install(hook: &PushHook) -> Result<Exit, Failure> {
    let before = hook.state().map_err(LocalError::from)?;
    hook.install().map_err(LocalError::from)?;
    let path = shown(hook);
    print(match before {
        HookState::Installed => format!("{path} already runs the jobs that a push touches\n"),
        HookState::Other => {
            format!("{path} runs the jobs that a push touches, and then what it ran before\n")
        }
        HookState::None | HookState::NotExecutable => {
            format!("{path} runs the jobs that a push touches\n")
        }
    })?;
    tell_manager(hook);
    Ok(Exit::Success)
}

fn uninstall(hook: &PushHook) -> Result<Exit, Failure> {
    let path = shown(hook);
    print(if hook.uninstall().map_err(LocalError::from)? {
        format!("removed the hook from {path}\n")
    } else {
        format!("the hook is not installed in {path}\n")
    })?;
    Ok(Exit::Success)
}

fn status(hook: &PushHook) -> Result<Exit, Failure> {
    let state = hook.state().map_err(LocalError::from)?;
    let path = shown(hook);
    print(match state {
        HookState::Installed => format!("installed: {path} runs the jobs that a push touches\n"),
        HookState::NotExecutable => {
            format!("not active: git does not run {path}, which is not executable\n")
        }
        HookState::Other => format!("not installed: {path} is another hook\n"),
        HookState::None => format!("not installed: there is no {path}\n"),
    })?;
    tell_manager(hook);
    Ok(Exit::Success)
}

fn tell_manager(hook: &PushHook) {
    if let Some(manager) = hook.manager() {
        let (name, advice) = (manager.name(), manager.advice());
        print_notes([&format!("{name} manages hooks here: {advice}")]);
    }
}

/// Runs the jobs that a push touches. Git describes the push on standard input.
fn run() -> Result<Exit, Failure> {
    let mut told = Vec::new();
    std::io::stdin()
        .lock()
        .take(MOST_TOLD)
        .read_to_end(&mut told)
        .context("read what is pushed")
        .map_err(Failure::environment)?;
    let pushed = Pushed::read(&String::from_utf8_lossy(&told));
    if pushed.is_empty() {
        return Ok(Exit::Success);
    }
    if !has_pipeline()? {
        error_line("runwright: no pipeline file, so no jobs run before this push");
        return Ok(Exit::Success);
    }
    let hook = PushHook::find(Path::new("."))?;
    let commit = |id: &str| hook.commit(id);
    if hook
        .commit("HEAD")
        .is_some_and(|head| pushed.has_others_than(&head, commit))
    {
        print_notes(["the pushed commit is not checked out; the jobs run with the working tree"]);
    }
    let base = pushed.base(|id| hook.commit(id).is_some());
    let words = words(base);
    let shown = words.join(" ");
    error_line(&format!(
        "runwright {shown}: the jobs that this push touches"
    ));
    let exit = run_words(&words).unwrap_or_else(|failure| {
        failure.report();
        failure.exit()
    });
    if exit != Exit::Success {
        error_line(&format!(
            "the push is stopped: `runwright {shown}` ended with exit code {}; \
             `RUNWRIGHT_SKIP_HOOK=1 git push` pushes anyway",
            exit.code()
        ));
    }
    Ok(exit)
}

fn has_pipeline() -> Result<bool, Failure> {
    let project = LocalProject::find(Path::new("."), None)?;
    Ok(project.root().join(project.file()).exists())
}

/// Returns the words of the command that runs the jobs touched since a commit.
fn words(base: Option<&str>) -> Vec<String> {
    let changed = match base {
        Some(base) => format!("--changed={base}"),
        None => "--changed".to_owned(),
    };
    vec!["run".to_owned(), changed]
}
