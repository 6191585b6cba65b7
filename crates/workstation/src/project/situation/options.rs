use super::error::SituationError;
use std::path::{Component, Path};

/// The sources of pipelines, as in `CI_PIPELINE_SOURCE`.
pub const SOURCES: [&str; 18] = [
    "push",
    "web",
    "trigger",
    "schedule",
    "api",
    "external",
    "pipeline",
    "chat",
    "webide",
    "merge_request_event",
    "external_pull_request_event",
    "parent_pipeline",
    "ondemand_dast_scan",
    "ondemand_dast_validation",
    "security_orchestration_policy",
    "container_registry_push",
    "duo_workflow",
    "pipeline_execution_policy_schedule",
];

/// The default source of branches and tags.
pub(super) const PUSH: &str = "push";

/// The source of merge requests.
pub(super) const MERGE_REQUEST: &str = "merge_request_event";

/// The source of pull requests on another server.
pub(super) const EXTERNAL_PULL_REQUEST: &str = "external_pull_request_event";

/// The source of child pipelines, which have the situation of their parent.
pub(crate) const PARENT: &str = "parent_pipeline";

/// The source of pipelines that another project starts.
pub(crate) const UPSTREAM: &str = "pipeline";

/// The options of the situation. The default is a push of the branch or tag that is checked out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SituationOptions {
    /// The branch (`--branch`); for a merge request, its source branch.
    pub branch: Option<String>,
    /// The tag (`--tag`).
    pub tag: Option<String>,
    /// Whether it is a merge request pipeline (`--mr`).
    pub merge_request: bool,
    /// The target branch of a merge request (`--target`); default: the default branch.
    pub target: Option<String>,
    /// The source (`--source`), one of [`SOURCES`]; default: `push`, or `merge_request_event`.
    pub source: Option<String>,
    /// The changed files (`--changes`), instead of those of Git.
    pub changes: Option<Vec<String>>,
    /// The default branch (`--default-branch`), instead of that of Git.
    pub default_branch: Option<String>,
}

/// A valid situation, from [`SituationOptions`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Situation {
    /// The branch, tag or merge request.
    pub reference: SituationRef,
    /// The source of the pipeline.
    pub source: String,
    /// The changed files, instead of those of Git.
    pub changes: Option<Vec<String>>,
    /// The default branch, instead of that of Git.
    pub default_branch: Option<String>,
}

/// The branch, tag or merge request that a pipeline is for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SituationRef {
    /// The branch or tag that is checked out.
    #[default]
    CheckedOut,
    /// A branch.
    Branch(String),
    /// A tag.
    Tag(String),
    /// A merge request.
    MergeRequest {
        /// The source branch; `None` means the one that is checked out.
        branch: Option<String>,
        /// The target branch; `None` means the default branch.
        target: Option<String>,
    },
}

impl Default for Situation {
    fn default() -> Self {
        Self {
            reference: SituationRef::CheckedOut,
            source: PUSH.to_owned(),
            changes: None,
            default_branch: None,
        }
    }
}

impl SituationOptions {
    /// Returns the situation of the options. `--source merge_request_event` implies `--mr`.
    ///
    /// # Errors
    ///
    /// When they contradict each other, or a name or path is invalid.
    pub fn situation(&self) -> Result<Situation, SituationError> {
        self.check_names()?;
        let source = self.source.as_deref();
        if let Some(source) = source
            && !SOURCES.contains(&source)
        {
            return Err(SituationError::UnknownSource(source.to_owned()));
        }
        let is_merge_request = self.merge_request || source == Some(MERGE_REQUEST);
        let reference = self.reference(is_merge_request)?;
        let default = if is_merge_request {
            MERGE_REQUEST
        } else {
            PUSH
        };
        let source = source.unwrap_or(default);
        check_source(&reference, source)?;
        let changes = self.changes.as_deref().map(in_project).transpose()?;
        Ok(Situation {
            reference,
            source: source.to_owned(),
            changes,
            default_branch: self.default_branch.clone(),
        })
    }

    fn reference(&self, is_merge_request: bool) -> Result<SituationRef, SituationError> {
        let merge_request = if self.merge_request {
            "--mr"
        } else {
            "--source merge_request_event"
        };
        match (&self.branch, &self.tag) {
            (Some(_), Some(_)) => Err(SituationError::Contradiction("--branch", "--tag")),
            (None, Some(_)) if is_merge_request => {
                Err(SituationError::Contradiction("--tag", merge_request))
            }
            (branch, None) if is_merge_request => Ok(SituationRef::MergeRequest {
                branch: branch.clone(),
                target: self.target.clone(),
            }),
            _ if self.target.is_some() => Err(SituationError::Alone("--target", "--mr")),
            (Some(branch), None) => Ok(SituationRef::Branch(branch.clone())),
            (None, Some(tag)) => Ok(SituationRef::Tag(tag.clone())),
            (None, None) => Ok(SituationRef::CheckedOut),
        }
    }

    fn check_names(&self) -> Result<(), SituationError> {
        let names = [
            ("--branch", &self.branch),
            ("--tag", &self.tag),
            ("--target", &self.target),
            ("--default-branch", &self.default_branch),
        ];
        for (option, name) in names {
            if let Some(name) = name
                && !is_ref_name(name)
            {
                let name = name.clone();
                return Err(SituationError::InvalidName { option, name });
            }
        }
        Ok(())
    }
}

/// Refuses a source that a merge request or tag cannot have.
fn check_source(reference: &SituationRef, source: &str) -> Result<(), SituationError> {
    let with = match reference {
        SituationRef::MergeRequest { .. } if ![MERGE_REQUEST, PARENT].contains(&source) => "--mr",
        SituationRef::Tag(_) if source == EXTERNAL_PULL_REQUEST => "--tag",
        _ => return Ok(()),
    };
    Err(SituationError::WrongSource {
        given: source.to_owned(),
        with,
    })
}

/// Returns whether Git accepts `name` for a branch or tag.
///
/// A name is only compared, or passed on after `refs/heads/`, so a leading dash is harmless.
fn is_ref_name(name: &str) -> bool {
    let is_odd = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    let is_part = |part: &str| {
        let is_lock = part.strip_suffix(".lock").is_some();
        !part.is_empty() && !part.starts_with('.') && !is_lock
    };
    !name.contains(is_odd)
        && !name.contains("..")
        && !name.contains("@{")
        && !name.ends_with('.')
        && name != "@"
        && name.split('/').all(is_part)
}

/// Returns the paths in Git's form.
fn in_project(changes: &[String]) -> Result<Vec<String>, SituationError> {
    let plain = |change: &String| {
        let mut parts = Vec::new();
        for component in Path::new(change).components() {
            match component {
                Component::Normal(part) => parts.push(part.to_string_lossy()),
                Component::CurDir => {}
                _ => return Err(SituationError::OutsideChange(change.clone())),
            }
        }
        if parts.is_empty() {
            return Err(SituationError::OutsideChange(change.clone()));
        }
        Ok(parts.join("/"))
    };
    changes.iter().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> SituationOptions {
        let mut options = SituationOptions::default();
        let mut words = line.split(' ').filter(|word| !word.is_empty());
        while let Some(word) = words.next() {
            let mut value = || words.next().map(str::to_owned);
            match word {
                "--branch" => options.branch = value(),
                "--tag" => options.tag = value(),
                "--target" => options.target = value(),
                "--source" => options.source = value(),
                "--changes" => options.changes = value().map(|change| vec![change]),
                _ => options.merge_request = true,
            }
        }
        options
    }

    #[test]
    fn options_describe_a_situation() {
        let check = |line: &str, reference: SituationRef, source: &str| {
            let situation = options(line).situation().expect(line);
            assert_eq!(situation.reference, reference, "of {line}");
            assert_eq!(situation.source, source, "of {line}");
        };
        let merge_request = |branch: Option<&str>, target: Option<&str>| {
            let (branch, target) = (branch.map(str::to_owned), target.map(str::to_owned));
            SituationRef::MergeRequest { branch, target }
        };
        check("", SituationRef::CheckedOut, "push");
        check(
            "--branch a --source web",
            SituationRef::Branch("a".to_owned()),
            "web",
        );
        check("--tag v1", SituationRef::Tag("v1".to_owned()), "push");
        check("--mr", merge_request(None, None), "merge_request_event");
        check(
            "--source merge_request_event --target t",
            merge_request(None, Some("t")),
            "merge_request_event",
        );
        check(
            "--mr --branch a --source parent_pipeline",
            merge_request(Some("a"), None),
            "parent_pipeline",
        );
    }

    #[test]
    fn contradictions_are_refused_with_help() {
        let check = |line: &str, expect: &str| {
            let error = options(line).situation().expect_err(line);
            assert_eq!(error.to_string(), expect, "of {line}");
            assert!(error.help().is_some() || line.contains(".."), "of {line}");
        };
        check(
            "--branch a --tag v1",
            "--branch and --tag cannot be combined",
        );
        check("--tag v1 --mr", "--tag and --mr cannot be combined");
        check("--target main", "--target needs --mr");
        check(
            "--mr --source web",
            "--source web cannot be combined with --mr",
        );
        check("--source cron", "unknown --source \"cron\"");
        check(
            "--branch a..b",
            "invalid --branch \"a..b\": expected the name of a branch or tag",
        );
        check(
            "--changes ../x",
            "invalid --changes \"../x\": expected a path in the project",
        );
    }

    #[test]
    fn names_may_look_like_options_or_commands() {
        for name in [
            "-x",
            "--upload-pack=touch",
            ";curl${IFS}x|sh",
            "refs/heads/-h",
        ] {
            let options = SituationOptions {
                branch: Some(name.to_owned()),
                ..SituationOptions::default()
            };
            assert!(options.situation().is_ok(), "{name}");
        }
    }

    #[test]
    fn changes_are_in_gits_form() {
        let situation = options("--changes ./src//main.rs").situation();
        assert_eq!(
            situation.expect("a situation").changes,
            Some(vec!["src/main.rs".to_owned()])
        );
    }
}
