use crate::shown::Shown;
use crate::{Digest, ProjectAddress, Question};
use std::fmt;

/// What a question asks for, as it may be shown and written down: without secrets.
///
/// Questions that mean the same have equal subjects, however a project's path is spelled and
/// however old an answer may be.
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
    /// A template, wherever it is: so it stands in a lock file. In a store it is a page.
    Template {
        name: String,
    },
}

/// A project, its path in lower case: GitLab does not tell them apart otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Project {
    /// The GitLab's address; in a lock file its name, and nothing for the project's own.
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
        // Only an address without a host refuses, and has no user either.
        let _ = shown.set_username("");
        let _ = shown.set_password(None);
        Self::Page {
            whole: (shown != whole).then(|| Digest::of(whole.as_str().as_bytes())),
            address: shown.into(),
        }
    }

    /// Returns the project that is asked for, if it is one's.
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

    /// Returns the server that knows the answer.
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

/// Returns the beginning of a commit's id, and anything else whole.
fn short(sha: &str) -> &str {
    let is_id = sha.len() >= 40 && sha.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_id { &sha[..12] } else { sha }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_secret_is_not_shown() {
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
