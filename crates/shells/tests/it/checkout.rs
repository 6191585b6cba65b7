//! A job that fetches its sources from a real repository.

use crate::native::Native;
use crate::repository::{Repository, git};
use crate::support::{Feed, JobDirs, Outcome, Shell, scripts};
use executor_core::job::{GitInfo, RefType};
use executor_core::stage::BuildStage;
use executor_core::variable::{JobVariable, JobVariables};
use shells::git::{GitDefaults, GitSettings, LocalSubmodules, PlanError, Remote};
use shells::{GitPlan, JobScripts};
use std::fs;

/// How a plan is performed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Script(Shell),
    Native,
}

pub(crate) const METHODS: [Method; 4] = [
    Method::Script(Shell::Bash),
    Method::Script(Shell::Dash),
    Method::Script(Shell::Busybox),
    Method::Native,
];

/// A job's directories and the repository of its sources.
pub(crate) struct Checkout {
    pub(crate) method: Method,
    pub(crate) dirs: JobDirs,
    pub(crate) origin: Repository,
    pub(crate) variables: JobVariables,
}

impl Checkout {
    pub(crate) fn new(method: Method) -> Self {
        let dirs = JobDirs::new();
        let origin = Repository::new(dirs.root().join("origin"));
        Self {
            method,
            dirs,
            origin,
            variables: JobVariables::new(),
        }
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.variables.push(JobVariable::public(name, value));
    }

    pub(crate) fn plan(&self, info: &GitInfo) -> Result<(GitPlan, Remote), PlanError> {
        let path = self.origin.path().to_str().expect("UTF-8");
        let remote = Remote::local(path, LocalSubmodules::Allowed).expect("a path");
        let defaults = GitDefaults::default();
        let (settings, warnings) = GitSettings::from_variables(&self.variables, defaults);
        assert!(warnings.is_empty(), "{warnings:?}");
        Ok((GitPlan::new(info, &remote, &settings)?, remote))
    }

    /// Fetches `commit` of the branch `branch`.
    pub(crate) fn get(&self, branch: &str, commit: &str) -> Outcome {
        let info = GitInfo {
            ref_name: branch.to_owned(),
            sha: commit.to_owned(),
            ref_type: RefType::Branch,
            ..GitInfo::default()
        };
        let (plan, remote) = self.plan(&info).expect("a plan");
        match self.method {
            Method::Native => Native {
                dirs: &self.dirs,
                plan: &plan,
                remote: &remote,
            }
            .run(),
            Method::Script(shell) => {
                let scripts = sourcing(shell, plan);
                match scripts.script(&BuildStage::GetSources).expect("no NUL") {
                    Some(script) => self.dirs.run(shell, Feed::Stdin, script.text()),
                    None => Outcome {
                        code: Some(0),
                        stdout: String::new(),
                        stderr: String::new(),
                    },
                }
            }
        }
    }

    /// Fetches the sources and expects success.
    pub(crate) fn must_get(&self, branch: &str, commit: &str) -> Outcome {
        let outcome = self.get(branch, commit);
        assert_eq!(outcome.code, Some(0), "{:?} {outcome:#?}", self.method);
        outcome
    }

    pub(crate) fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.dirs.project().join(file)).ok()
    }

    pub(crate) fn write(&self, file: &str, content: &str) {
        let file = self.dirs.project().join(file);
        fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
        fs::write(file, content).expect("a file");
    }

    pub(crate) fn head(&self) -> String {
        git(&self.dirs.project(), &["rev-parse", "HEAD"])
    }

    pub(crate) fn commits(&self) -> String {
        git(&self.dirs.project(), &["rev-list", "--count", "HEAD"])
    }
}

/// Returns scripts that fetch their sources with `plan`.
pub(crate) fn sourcing(shell: Shell, plan: GitPlan) -> JobScripts {
    JobScripts {
        sources: plan,
        ..scripts(shell.dialect(), &[])
    }
}
