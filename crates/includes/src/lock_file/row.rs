use super::locked_answer::{LockedAnswer, LockedText};
use super::text_name::is_text_name;
use crate::Digest;
use crate::question::is_commit;
use crate::subject::{Project, Subject};
use gitlab_api::Instance;
use serde::{Deserialize, Serialize};
use web::Url;

/// The kind of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Commit,
    Tags,
    File,
    Tree,
    Page,
    Template,
}

/// A row of the file: a question and its answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Row {
    #[serde(skip_serializing_if = "Option::is_none")]
    instance: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address_digest: Option<Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    absent: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    no_reference: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

impl Row {
    pub(super) fn of(subject: &Subject, answer: &LockedAnswer) -> (Kind, Self) {
        let mut row = Self::default();
        let kind = row.set_subject(subject);
        match answer {
            LockedAnswer::Commit(id) => row.sha = Some(id.clone()),
            LockedAnswer::Absent => row.absent = Some(true),
            LockedAnswer::NoReference => row.no_reference = Some(true),
            LockedAnswer::Text(text) => {
                row.digest = Some(text.digest);
                row.size = Some(text.size);
                row.text = Some(text.name.clone());
            }
        }
        (kind, row)
    }

    fn set_subject(&mut self, subject: &Subject) -> Kind {
        let kind = match subject {
            Subject::Commit { .. } => Kind::Commit,
            Subject::Tags { .. } => Kind::Tags,
            Subject::File { .. } => Kind::File,
            Subject::Tree { .. } => Kind::Tree,
            Subject::Page { .. } => Kind::Page,
            Subject::Template { .. } => Kind::Template,
        };
        match subject {
            Subject::Commit { project, reference } => {
                self.set_project(project);
                self.reference.clone_from(reference);
            }
            Subject::Tags { project } => self.set_project(project),
            Subject::File { project, sha, path } => {
                self.set_project(project);
                self.sha = Some(sha.clone());
                self.path = Some(path.clone());
            }
            Subject::Tree { project, sha } => {
                self.set_project(project);
                self.sha = Some(sha.clone());
            }
            Subject::Page { address, whole } => {
                self.address = Some(address.clone());
                self.address_digest = *whole;
            }
            Subject::Template { name } => self.name = Some(name.clone()),
        }
        kind
    }

    fn set_project(&mut self, project: &Project) {
        let instance = &project.instance;
        self.instance = (!instance.is_empty()).then(|| instance.clone());
        self.project = Some(project.path.clone());
    }

    /// Returns the content of a row, or what is wrong with it.
    pub(super) fn read(&self, kind: Kind) -> Result<(Subject, LockedAnswer), String> {
        let subject = self.subject(kind)?;
        let answer = self.answer(kind)?;
        // A field that was not read above does not belong to this kind of row.
        let (_, expected) = Self::of(&subject, &answer);
        if expected != *self {
            return Err("it has fields that do not belong together".to_owned());
        }
        Ok((subject, answer))
    }

    fn subject(&self, kind: Kind) -> Result<Subject, String> {
        Ok(match kind {
            Kind::Commit => Subject::Commit {
                project: self.project()?,
                reference: self.reference.clone(),
            },
            Kind::Tags => Subject::Tags {
                project: self.project()?,
            },
            Kind::File => Subject::File {
                project: self.project()?,
                sha: required(self.sha.as_ref(), "sha")?,
                path: required(self.path.as_ref(), "path")?,
            },
            Kind::Tree => Subject::Tree {
                project: self.project()?,
                sha: required(self.sha.as_ref(), "sha")?,
            },
            Kind::Page => self.page()?,
            Kind::Template => Subject::Template {
                name: required(self.name.as_ref(), "name")?,
            },
        })
    }

    fn project(&self) -> Result<Project, String> {
        let instance = self.instance.clone();
        if instance.as_deref().is_some_and(|name| !is_name(name)) {
            return Err(
                "`instance` must be the host of a GitLab, as in the address of a component"
                    .to_owned(),
            );
        }
        let path = required(self.project.as_ref(), "project")?;
        if path.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Err("`project` must be in lower case".to_owned());
        }
        Ok(Project {
            instance: instance.unwrap_or_default(),
            path,
        })
    }

    fn page(&self) -> Result<Subject, String> {
        let address = required(self.address.as_ref(), "address")?;
        let url = Url::parse(&address).map_err(|_| "`address` cannot be read".to_owned())?;
        let read = Subject::of(&crate::Question::Page { url, age: None });
        let plain = Subject::Page {
            address: address.clone(),
            whole: None,
        };
        if read != plain {
            return Err(
                "`address` must be normalized, without user, query and fragment".to_owned(),
            );
        }
        Ok(Subject::Page {
            address,
            whole: self.address_digest,
        })
    }

    fn answer(&self, kind: Kind) -> Result<LockedAnswer, String> {
        if self.absent == Some(true) {
            return Ok(LockedAnswer::Absent);
        }
        if self.no_reference == Some(true) {
            return Ok(LockedAnswer::NoReference);
        }
        if kind == Kind::Commit
            && let Some(sha) = &self.sha
        {
            let is_id = is_commit(sha);
            let id = is_id.then(|| LockedAnswer::Commit(sha.clone()));
            return id.ok_or_else(|| "`sha` is not the id of a commit".to_owned());
        }
        let name = required(self.text.as_ref(), "text")?;
        if !is_text_name(&name) {
            return Err("`text` is not a file name that `runwright vendor` writes".to_owned());
        }
        Ok(LockedAnswer::Text(LockedText {
            digest: required(self.digest.as_ref(), "digest")?,
            size: required(self.size.as_ref(), "size")?,
            name,
        }))
    }
}

/// Returns whether a GitLab can have this name. The scheme decides which port is left out.
fn is_name(name: &str) -> bool {
    let schemes = ["https", "http"].iter();
    let mut read = schemes.filter_map(|it| Instance::parse(&format!("{it}://{name}")).ok());
    read.any(|instance| instance.name() == name)
}

fn required<T: Clone>(value: Option<&T>, name: &str) -> Result<T, String> {
    value.cloned().ok_or_else(|| format!("it has no `{name}`"))
}
