use crate::shown::Shown;
use crate::{Digest, ProjectAddress, Question};
use std::fmt;

/// The subject of a question, which may be shown and written: it has no secrets.
///
/// Questions with the same meaning have equal subjects, however a project's path is spelled and whatever
/// the age limit is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Subject {
    Commit {
        project: Project,
        reference: Option<String>,
    },
    Tags {
        project: Project,
    },
    File {
        project: Project,
        sha: String,
        path: String,
    },
    Tree {
        project: Project,
        sha: String,
    },
    Page {
        /// The address without user, query and fragment.
        address: String,
        /// The digest of the whole address, if a user or a query was left out.
        whole: Option<Digest>,
    },
    /// A template by name, in a lock file. In a store it is a page.
    Template {
        name: String,
    },
}

/// A project; its path is in lower case, since GitLab ignores case.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Project {
    /// The address of the GitLab; in a lock file its name, empty for the project's own.
    pub(crate) instance: String,
    pub(crate) path: String,
}

impl Project {
    fn of(address: &ProjectAddress) -> Self {
        Self {
            instance: address.instance.address().to_owned(),
            path: address.path.trim_matches('/').to_ascii_lowercase(),
        }
    }
}

impl Subject {
    pub(crate) fn of(question: &Question) -> Self {
        match question {
            Question::Commit { project, reference } => Self::Commit {
                project: Project::of(project),
                reference: reference.clone(),
            },
            Question::Tags { project } => Self::Tags {
                project: Project::of(project),
            },
            Question::File { project, sha, path } => Self::File {
                project: Project::of(project),
                sha: sha.clone(),
                path: path.clone(),
            },
            Question::Tree { project, sha } => Self::Tree {
                project: Project::of(project),
                sha: sha.clone(),
            },
            Question::Page { url, .. } | Question::Template { url, .. } => Self::page(url),
        }
    }

    fn page(url: &web::Url) -> Self {
        let mut whole = url.clone();
        whole.set_fragment(None);
        let mut shown = whole.clone();
        shown.set_query(None);
        // Only an address without a host is rejected, and that has no user.
        let _ = shown.set_username("");
        let _ = shown.set_password(None);
        Self::Page {
            whole: (shown != whole).then(|| Digest::of(whole.as_str().as_bytes())),
            address: shown.into(),
        }
    }

    /// Returns the project, if the subject has one.
    pub(crate) fn project_mut(&mut self) -> Option<&mut Project> {
        match self {
            Self::Commit { project, .. }
            | Self::Tags { project }
            | Self::File { project, .. }
            | Self::Tree { project, .. } => Some(project),
            Self::Page { .. } | Self::Template { .. } => None,
        }
    }

    /// Returns whether it is on the project's own GitLab, in a lock file.
    pub(crate) fn is_own(&self) -> bool {
        match self {
            Self::Commit { project, .. }
            | Self::Tags { project }
            | Self::File { project, .. }
            | Self::Tree { project, .. } => project.instance.is_empty(),
            Self::Page { .. } | Self::Template { .. } => false,
        }
    }

    /// Returns the server that can answer.
    pub(crate) fn server(&self) -> &str {
        match self {
            Self::Commit { project, .. }
            | Self::Tags { project }
            | Self::File { project, .. }
            | Self::Tree { project, .. } => &project.instance,
            Self::Page { address, .. } => {
                let host = address.find("://").map_or(0, |at| at + 3);
                let end = address[host..]
                    .find('/')
                    .map_or(address.len(), |at| host + at);
                &address[..end]
            }
            Self::Template { .. } => "",
        }
    }
}

impl fmt::Display for Project {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.instance.is_empty() {
            write!(f, "{}/", self.instance)?;
        }
        Shown(&self.path).fmt(f)
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Commit {
                project,
                reference: Some(reference),
            } => write!(f, "the commit of `{}` in {project}", Shown(reference)),
            Self::Commit { project, .. } => {
                write!(f, "the commit of the default branch in {project}")
            }
            Self::Tags { project } => write!(f, "the tags of {project}"),
            Self::File { project, sha, path } => {
                write!(f, "`{}` of {project} at {}", Shown(path), Shown(short(sha)))
            }
            Self::Tree { project, sha } => {
                write!(f, "the files of {project} at {}", Shown(short(sha)))
            }
            Self::Page { address, whole } => {
                let rest = if whole.is_some() { "?…" } else { "" };
                write!(f, "{}{rest}", Shown(address))
            }
            Self::Template { name } => write!(f, "the template `{}`", Shown(name)),
        }
    }
}

/// Returns the start of a commit id, and any other text unchanged.
fn short(sha: &str) -> &str {
    let is_id = sha.len() >= 40 && sha.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_id { &sha[..12] } else { sha }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_shown() {
        let check = |url: &str, expect: &str| {
            let url = web::Url::parse(url).expect("an address");
            let subject = Subject::of(&Question::Page { url, age: None });
            assert_eq!(subject.to_string(), expect);
            assert!(!format!("{subject:?}").contains("secret"), "{subject:?}");
            assert_eq!(subject.server(), "https://h");
        };
        check("https://h/a.yml", "https://h/a.yml");
        check("https://h/a.yml#secret", "https://h/a.yml");
        check("https://secret:secret@h/a.yml", "https://h/a.yml?…");
        check("https://h/a.yml?token=secret", "https://h/a.yml?…");
    }
}
