//! One job that takes its sources from a real repository.

use crate::native::Native;
use crate::repository::{Repository, git};
use crate::support::{Feed, Outcome, Place, Shell, scripts};
use executor_core::job::{GitInfo, RefType};
use executor_core::stage::BuildStage;
use executor_core::variable::{JobVariable, JobVariables};
use shells::git::{GitDefaults, GitSettings, LocalSubmodules, PlanError, Remote};
use shells::{GitPlan, JobScripts};
use std::fs;

/// How a plan is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Script(Shell),
    Native,
}

pub(crate) const WAYS: [Way; 4] = [
    Way::Script(Shell::Bash),
    Way::Script(Shell::Dash),
    Way::Script(Shell::Busybox),
    Way::Native,
];

/// One job's place and the repository it takes its sources from.
pub(crate) struct Checkout {
    pub(crate) way: Way,
    pub(crate) place: Place,
    pub(crate) origin: Repository,
    pub(crate) variables: JobVariables,
}

impl Checkout {
    pub(crate) fn new(way: Way) -> Self {
        let place = Place::new();
        let origin = Repository::new(place.root().join("origin"));
        Self {
            way,
            place,
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

    /// Brings `commit` of the branch `branch`.
    pub(crate) fn get(&self, branch: &str, commit: &str) -> Outcome {
        let info = GitInfo {
            ref_name: branch.to_owned(),
            sha: commit.to_owned(),
            ref_type: RefType::Branch,
            ..GitInfo::default()
        };
        let (plan, remote) = self.plan(&info).expect("a plan");
        match self.way {
            Way::Native => Native {
                place: &self.place,
                plan: &plan,
                remote: &remote,
            }
            .run(),
            Way::Script(shell) => {
                let scripts = sourcing(shell, plan);
                match scripts.script(&BuildStage::GetSources).expect("no NUL") {
                    Some(script) => self.place.run(shell, Feed::Stdin, script.text()),
                    None => Outcome {
                        code: Some(0),
                        stdout: String::new(),
                        stderr: String::new(),
                    },
                }
            }
        }
    }

    /// Brings the sources and expects success.
    pub(crate) fn must_get(&self, branch: &str, commit: &str) -> Outcome {
        let outcome = self.get(branch, commit);
        assert_eq!(outcome.code, Some(0), "{:?} {outcome:#?}", self.way);
        outcome
    }

    pub(crate) fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.place.project().join(file)).ok()
    }

    pub(crate) fn write(&self, file: &str, content: &str) {
        let file = self.place.project().join(file);
        fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
        fs::write(file, content).expect("a file");
    }

    pub(crate) fn head(&self) -> String {
        git(&self.place.project(), &["rev-parse", "HEAD"])
    }

    pub(crate) fn commits(&self) -> String {
        git(&self.place.project(), &["rev-list", "--count", "HEAD"])
    }
}

/// Returns scripts whose sources come by `plan`.
pub(crate) fn sourcing(shell: Shell, plan: GitPlan) -> JobScripts {
    JobScripts {
        sources: plan,
        ..scripts(shell.dialect(), &[])
    }
}
