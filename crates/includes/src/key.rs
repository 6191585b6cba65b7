use crate::subject::{Project, Subject};
use crate::{Digest, Question};
use std::fmt;

/// The hash of a question: equal for questions with the same meaning, and for no others.
///
/// No secret can be read in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key(Digest);

impl Key {
    pub(crate) fn of(question: &Question) -> Self {
        Self::of_subject(&Subject::of(question))
    }

    pub(crate) fn of_subject(subject: &Subject) -> Self {
        let (kind, project, rest) = match subject {
            Subject::Commit { project, reference } => match reference {
                Some(reference) => ("commit", project, vec![reference.as_str()]),
                None => ("default", project, vec![]),
            },
            Subject::Tags { project } => ("tags", project, vec![]),
            Subject::File { project, sha, path } => ("file", project, vec![&**sha, &**path]),
            Subject::Tree { project, sha } => ("tree", project, vec![&**sha]),
            Subject::Page { address, whole } => {
                let whole = whole.unwrap_or_else(|| Digest::of(address.as_bytes()));
                return Self(hash(&["page", &whole.to_string()]));
            }
            Subject::Template { name } => return Self(hash(&["template", name])),
        };
        let Project { instance, path } = project;
        Self(hash(&[&[kind, instance, path][..], &rest].concat()))
    }

    pub(crate) fn digest(self) -> Digest {
        self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Returns the hash of a list. The length before each text keeps different lists apart.
fn hash(texts: &[&str]) -> Digest {
    let mut bytes = Vec::new();
    for text in texts {
        bytes.extend_from_slice(&(text.len() as u64).to_be_bytes());
        bytes.extend_from_slice(text.as_bytes());
    }
    Digest::of(&bytes)
}
