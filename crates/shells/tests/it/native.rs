//! A plan performed without a shell, as the job runner does.

use crate::support::{JobDirs, Outcome, new_command, require};
use shells::GitPlan;
use shells::git::{
    Condition, GIT_DIR_LEFTOVERS, GitAction, GitCommand, GitStep, OnFailure, Remote,
};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub(crate) struct Native<'n> {
    pub(crate) dirs: &'n JobDirs,
    pub(crate) plan: &'n GitPlan,
    pub(crate) remote: &'n Remote,
}

impl Native<'_> {
    /// Performs every step; returns the exit code of the one that failed.
    pub(crate) fn run(&self) -> Outcome {
        require("git", "git");
        let mut outcome = Outcome {
            code: Some(0),
            stdout: String::new(),
            stderr: String::new(),
        };
        for step in &self.plan.steps {
            if let Err(code) = self.step(step, &mut outcome) {
                outcome.code = Some(code);
                break;
            }
        }
        outcome
    }

    fn step(&self, step: &GitStep, outcome: &mut Outcome) -> Result<(), i32> {
        if !self.is_met(&step.condition) {
            return Ok(());
        }
        outcome
            .stdout
            .extend(step.note.iter().flat_map(|note| [note.as_str(), "\n"]));
        let first = self.action(&step.action, outcome);
        match (first, &step.on_failure) {
            (Ok(()), _) | (Err(_), OnFailure::Ignore) => Ok(()),
            (Err(code), OnFailure::Fail) => Err(code),
            (Err(_), OnFailure::Recover(steps)) => {
                steps.iter().try_for_each(|step| self.step(step, outcome))?;
                self.action(&step.action, outcome)
            }
        }
    }

    fn is_met(&self, condition: &Condition) -> bool {
        let exists = |path: &str| self.dirs.project().join(path).is_file();
        let mut unseen = Outcome {
            code: None,
            stdout: String::new(),
            stderr: String::new(),
        };
        match condition {
            Condition::Always => true,
            Condition::Shallow => exists(".git/shallow"),
            Condition::NotShallow => !exists(".git/shallow"),
            Condition::Submodules => exists(".gitmodules"),
            Condition::CommitMissing(commit) => self
                .git(&GitPlan::commit_check(commit), &mut unseen)
                .is_err(),
            Condition::Lfs => self.git(&GitPlan::lfs_check(), &mut unseen).is_ok(),
        }
    }

    fn action(&self, action: &GitAction, outcome: &mut Outcome) -> Result<(), i32> {
        let project = self.dirs.project();
        let done = match action {
            GitAction::Git(command) => return self.git(command, outcome),
            GitAction::EnterProject => fs::create_dir_all(project),
            GitAction::EmptyProject => {
                fs::remove_dir_all(&project).and_then(|()| fs::create_dir(project))
            }
            GitAction::CleanGitDir => clean(&project.join(".git")),
        };
        done.map_err(|_| 1)
    }

    fn git(&self, command: &GitCommand, outcome: &mut Outcome) -> Result<(), i32> {
        let argv = self.plan.argv(command);
        let mut process = new_command(&argv[0]);
        self.dirs.equip(&mut process);
        process.args(&argv[1..]).current_dir(self.dirs.project());
        process.envs(self.plan.env().iter().copied());
        process.envs(command.env.iter().map(|(key, value)| (key, value)));
        process.envs(
            self.remote
                .variables()
                .iter()
                .map(|one| (one.key.clone(), one.value.clone())),
        );
        let output = process.output().expect("git starts");
        outcome.stdout += &String::from_utf8_lossy(&output.stdout);
        outcome.stderr += &String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            Ok(())
        } else {
            Err(output.status.code().unwrap_or(1))
        }
    }
}

fn clean(git_dir: &Path) -> io::Result<()> {
    match fs::symlink_metadata(git_dir) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return fs::remove_file(git_dir),
        Err(_) => return Ok(()),
    }
    let modules = files_below(&git_dir.join("modules")).into_iter();
    let heads = modules.filter(|file| file.ends_with("HEAD"));
    let dirs = heads.map(|head| head.parent().expect("a parent").to_owned());
    let dirs = dirs.filter(|dir| dir.join("objects").is_dir());
    for dir in dirs.chain([git_dir.to_owned()]) {
        for name in GIT_DIR_LEFTOVERS {
            let path = dir.join(name);
            drop(fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path)));
        }
        let locks = files_below(&dir.join("refs")).into_iter();
        for lock in locks.filter(|file| file.extension().is_some_and(|end| end == "lock")) {
            fs::remove_file(lock)?;
        }
    }
    Ok(())
}

fn files_below(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Vec::new();
    };
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    paths
        .flat_map(|path| {
            if path.is_dir() {
                files_below(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}
