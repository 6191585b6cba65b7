//! Short constructors of questions and answers.

use gitlab_api::Instance;
use includes::{Answer, ProjectAddress, Question, StoredAnswer};
use std::time::{Duration, SystemTime};
use web::Url;

pub(crate) const SHA: &str = "0123456789abcdef0123456789abcdef01234567";

pub(crate) fn project(path: &str) -> ProjectAddress {
    ProjectAddress {
        instance: Instance::parse("https://gitlab.example.com").unwrap(),
        path: path.to_owned(),
    }
}

pub(crate) fn commit(reference: &str) -> Question {
    Question::Commit {
        project: project("group/project"),
        reference: Some(reference.to_owned()),
    }
}

pub(crate) fn tags() -> Question {
    Question::Tags {
        project: project("group/project"),
    }
}

pub(crate) fn file(path: &str) -> Question {
    Question::File {
        project: project("group/project"),
        sha: SHA.to_owned(),
        path: path.to_owned(),
    }
}

pub(crate) fn tree() -> Question {
    Question::Tree {
        project: project("group/project"),
        sha: SHA.to_owned(),
    }
}

pub(crate) fn page(url: &str) -> Question {
    Question::Page {
        url: Url::parse(url).unwrap(),
        age: None,
    }
}

pub(crate) fn body(text: &str) -> Answer {
    Answer::Body {
        bytes: text.as_bytes().into(),
        etag: None,
    }
}

pub(crate) fn tagged(text: &str, etag: &str) -> Answer {
    Answer::Body {
        bytes: text.as_bytes().into(),
        etag: Some(etag.to_owned()),
    }
}

pub(crate) fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

pub(crate) fn kept(answer: Answer) -> StoredAnswer {
    StoredAnswer {
        answer,
        fetched: at(1_000),
        checked: at(2_000),
    }
}
