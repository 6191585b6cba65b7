//! The subjects of entries: the same for all users, whatever their settings are.

use crate::Question;
use crate::subject::{Project, Subject};
use gitlab_api::Instance;

/// The name of the project's own GitLab.
const OWN: &str = "";

/// Returns the subject of a question; `own` is the project's own GitLab.
pub(super) fn subject(question: &Question, own: Option<&Instance>) -> Subject {
    match instance(question) {
        Some(asked) if is_same(asked, own) => at(question, OWN),
        Some(asked) => at(question, asked.name()),
        None => at(question, OWN),
    }
}

/// Returns the possible subjects of a question, the likeliest first. `own` is the project's own GitLab
/// for this user, and `written` for the writer of the file.
pub(super) fn subjects(
    question: &Question,
    own: Option<&Instance>,
    written: Option<&Instance>,
) -> Vec<Subject> {
    match instance(question) {
        Some(asked) => {
            let is_own = is_same(asked, own) || is_same(asked, written);
            let names = [OWN, asked.name()];
            let names = names[usize::from(!is_own)..].iter();
            names.map(|name| at(question, name)).collect()
        }
        None => vec![at(question, OWN)],
    }
}

/// Returns whether two GitLabs are the same, by name: a component's address has no more.
fn is_same(one: &Instance, other: Option<&Instance>) -> bool {
    other.is_some_and(|other| one.name() == other.name())
}

fn at(question: &Question, name: &str) -> Subject {
    if let Question::Template { name, .. } = question {
        return Subject::Template { name: name.clone() };
    }
    let mut subject = Subject::of(question);
    if let Some(Project { instance, .. }) = subject.project_mut() {
        name.clone_into(instance);
    }
    subject
}

fn instance(question: &Question) -> Option<&Instance> {
    match question {
        Question::Commit { project, .. }
        | Question::Tags { project }
        | Question::File { project, .. }
        | Question::Tree { project, .. } => Some(&project.instance),
        Question::Page { .. } | Question::Template { .. } => None,
    }
}
