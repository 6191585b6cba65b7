//! Components.

use super::component_address::{ComponentAddress, SHAPE};
use super::errors::failed;
use super::finder::Finder;
use super::project::Checkout;
use super::reference::is_commit;
use super::settings::OwnProject;
use super::version::{RequestedVersion, Version, highest};
use crate::{ProjectAddress, Question};
use pipeline::include::{
    FileHome, IncludeError, IncludeFailure, IncludeLocation, IncludeRequest, IncludedFile,
};

impl Finder {
    /// Returns the file of a component.
    pub(super) async fn component(
        &self,
        address: &str,
        from: &FileHome,
    ) -> Result<IncludedFile, IncludeError> {
        if *from == FileHome::NoProject {
            return Err(failed(
                IncludeFailure::Invalid,
                "components cannot be included from a file outside of any project",
                "a remote file or a template can include others with `remote` or `project`",
            ));
        }
        let read = ComponentAddress::parse(address, &*self.settings.accounts);
        let address =
            read.map_err(|error| failed(IncludeFailure::Invalid, error.reason, error.help))?;
        if let Some(own) = self.own(&address) {
            return of_working_tree(&address, own);
        }
        let found = self.version(&address).await;
        let (checkout, version) = found.map_err(|error| explained(error, &address))?;
        // Nearly all have the first layout, and GitLab prefers it if both exist.
        for path in layouts(&address.name) {
            let text = self.text_in(&checkout, &path).await?;
            if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
                return Ok(IncludedFile {
                    name: shown(&address),
                    text: text.into(),
                    home: checkout.home(),
                    component: context(&address, &checkout.sha, version.as_deref()),
                });
            }
        }
        Err(no_file(&address))
    }

    /// Returns the pipeline's own project if it has the component, at the commit of the pipeline.
    fn own(&self, address: &ComponentAddress) -> Option<&OwnProject> {
        let own = self.own.get()?;
        let is_at = match &address.version {
            RequestedVersion::Commit(sha) => *sha == own.sha,
            RequestedVersion::Named(name) => *name == own.reference || is_short(name, &own.sha),
            RequestedVersion::Highest { .. } => false,
        };
        let is_own = is_at
            && own.path.eq_ignore_ascii_case(&address.project)
            && self.own_instance().as_ref() == Some(&address.instance);
        is_own.then_some(own)
    }

    /// Finds the commit of a component, and the tag that is its version.
    async fn version(
        &self,
        address: &ComponentAddress,
    ) -> Result<(Checkout, Option<String>), IncludeError> {
        let project = ProjectAddress {
            instance: address.instance.clone(),
            path: address.project.clone(),
        };
        let name = match &address.version {
            RequestedVersion::Commit(sha) | RequestedVersion::Named(sha) => sha,
            RequestedVersion::Highest {
                major,
                minor,
                otherwise,
            } => {
                let tags = self.tags(&project).await?;
                let names = tags.iter().map(|(_, name)| name.as_str());
                if let Some(tag) = highest(names, *major, *minor) {
                    let found = tags.iter().find(|(_, name)| name == tag);
                    let sha = found.map(|(sha, _)| sha.clone()).unwrap_or_default();
                    return Ok((Checkout { project, sha }, Some(tag.to_owned())));
                }
                let unknown = || no_version(address, &tags);
                let name = otherwise.as_ref().ok_or_else(unknown)?;
                let found = self.checkout(project, Some(name)).await;
                return match found {
                    Err(IncludeError::UnknownReference(_)) => Err(unknown()),
                    found => Ok((found?, None)),
                };
            }
        };
        let version = Version::parse(name).map(|_| name.clone());
        Ok((self.checkout(project, Some(name)).await?, version))
    }

    /// Returns the tags of a project with their commits.
    async fn tags(&self, project: &ProjectAddress) -> Result<Vec<(String, String)>, IncludeError> {
        let question = Question::Tags {
            project: project.clone(),
        };
        let listing = self.asker.text(question).await?.unwrap_or_default();
        let tags = listing.lines().filter_map(|line| line.split_once(' '));
        let tags = tags.filter(|(sha, _)| is_commit(sha));
        let tags = tags.map(|(sha, name)| (sha.to_ascii_lowercase(), name.to_owned()));
        Ok(tags.collect())
    }
}

/// Returns the possible paths of a component's file, in order of precedence.
fn layouts(name: &str) -> [String; 2] {
    [
        format!("templates/{name}.yml"),
        format!("templates/{name}/template.yml"),
    ]
}

/// Returns the values of `component.*` in the file.
fn context(address: &ComponentAddress, sha: &str, version: Option<&str>) -> Vec<(String, String)> {
    let values = [
        ("name", address.name.as_str()),
        ("sha", sha),
        ("version", version.unwrap_or_default()),
        ("reference", &address.reference),
    ];
    let values = values.map(|(key, value)| (key.to_owned(), value.to_owned()));
    values.to_vec()
}

/// Returns the file of a component of the pipeline's own project.
fn of_working_tree(
    address: &ComponentAddress,
    own: &OwnProject,
) -> Result<IncludedFile, IncludeError> {
    for path in layouts(&address.name) {
        let request = IncludeRequest {
            location: IncludeLocation::Local { path },
            from: FileHome::Own,
        };
        let found = own.files.fetch(std::slice::from_ref(&request)).pop();
        match found.unwrap_or(Err(IncludeError::Missing)) {
            Err(IncludeError::Missing) => {}
            Ok(found) if found.text.trim().is_empty() => {}
            found => {
                let version = Version::parse(&address.reference).map(|_| &*address.reference);
                return Ok(IncludedFile {
                    component: context(address, &own.sha, version),
                    ..found?
                });
            }
        }
    }
    Err(no_file(address))
}

fn no_file(address: &ComponentAddress) -> IncludeError {
    let name = &address.name;
    IncludeError::Failed {
        kind: IncludeFailure::Missing,
        reason: format!("the project has no component `{name}` at this version"),
        help: Some(format!(
            "expected `templates/{name}.yml` or `templates/{name}/template.yml`"
        )),
    }
}

/// Returns whether a text is a short commit id, like `CI_COMMIT_SHORT_SHA`.
fn is_short(text: &str, sha: &str) -> bool {
    text.len() >= 7 && sha.starts_with(&text.to_ascii_lowercase())
}

/// Adds help to the error if the address may be mistaken.
fn explained(error: IncludeError, address: &ComponentAddress) -> IncludeError {
    let is_bare = !address.instance.name().contains(['.', ':']);
    match error {
        IncludeError::UnknownReference(name) if name == "latest" => IncludeError::Failed {
            kind: IncludeFailure::Missing,
            reason: IncludeError::UnknownReference(name).to_string(),
            help: Some("the highest version is called `~latest`".to_owned()),
        },
        IncludeError::Failed {
            kind: kind @ IncludeFailure::Unreadable,
            reason,
            help: None,
        } if is_bare => IncludeError::Failed {
            kind,
            reason,
            help: Some(SHAPE.to_owned()),
        },
        error => error,
    }
}

fn no_version(address: &ComponentAddress, tags: &[(String, String)]) -> IncludeError {
    let names = tags.iter().map(|(_, name)| name.as_str());
    let help = match highest(names, None, None) {
        Some(highest) => format!("the highest version among the tags is `{highest}`"),
        None => "none of its tags is a version such as `1.0.0`; name a branch, a tag or a commit \
                 instead"
            .to_owned(),
    };
    IncludeError::Failed {
        kind: IncludeFailure::Missing,
        reason: format!("the project has no version `{}`", address.reference),
        help: Some(help),
    }
}

fn shown(address: &ComponentAddress) -> String {
    let ComponentAddress {
        instance,
        project,
        name,
        reference,
        ..
    } = address;
    format!("{}/{project}/{name}@{reference}", instance.name())
}
