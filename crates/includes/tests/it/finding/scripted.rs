use async_trait::async_trait;
use gitlab_api::{Accounts, Instance, Token};
use includes::{Answer, Library, LibraryError, Question, RemoteIncludes, RemoteSettings};
use parking_lot::Mutex;
use pipeline::include::{
    FileHome, IncludeError, IncludeLocation, IncludeRequest, IncludeSource, IncludedFile,
};
use std::collections::HashMap;
use std::sync::Arc;

/// A library with fixed answers that records its questions.
#[derive(Debug, Default)]
pub(super) struct Scripted {
    answers: HashMap<String, Result<Answer, LibraryError>>,
    asked: Mutex<Vec<String>>,
    busy: Mutex<Busy>,
}

/// The number of questions in progress.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Busy {
    now: usize,
    pages: usize,
    /// The maximum.
    pub(super) most: usize,
    /// The maximum for addresses.
    pub(super) most_pages: usize,
}

/// Returns a commit id that starts with this text.
pub(super) fn sha(start: &str) -> String {
    format!("{start:0<40}")
}

impl Scripted {
    /// Returns a library with these answers, by the description of the question. All others are absent.
    pub(super) fn new(answers: &[(&str, &str)]) -> Self {
        let answers = answers.iter().map(|(question, text)| {
            let bytes = text.as_bytes().into();
            (
                (*question).to_owned(),
                Ok(Answer::Body { bytes, etag: None }),
            )
        });
        Self {
            answers: answers.collect(),
            ..Self::default()
        }
    }

    pub(super) fn with_error(mut self, question: &str, error: LibraryError) -> Self {
        self.answers.insert(question.to_owned(), Err(error));
        self
    }

    pub(super) fn with_answer(mut self, question: &str, answer: Answer) -> Self {
        self.answers.insert(question.to_owned(), Ok(answer));
        self
    }

    /// Returns the questions since the last call.
    pub(super) fn take_asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock())
    }

    pub(super) fn busy(&self) -> Busy {
        *self.busy.lock()
    }

    fn count(&self, is_page: bool, is_begin: bool) {
        let mut busy = self.busy.lock();
        let change = |count: usize| if is_begin { count + 1 } else { count - 1 };
        busy.now = change(busy.now);
        if is_page {
            busy.pages = change(busy.pages);
        }
        busy.most = busy.most.max(busy.now);
        busy.most_pages = busy.most_pages.max(busy.pages);
    }
}

/// Returns the description of a question; the user's own GitLab is left out.
fn words(question: &Question) -> String {
    let short = |sha: &str| sha.trim_end_matches('0').to_owned();
    let text = match question {
        Question::Commit { project, reference } => {
            let reference = reference.as_deref().unwrap_or("HEAD");
            format!("commit {}/{}@{reference}", project.instance, project.path)
        }
        Question::Tags { project } => format!("tags {}/{}", project.instance, project.path),
        Question::File { project, sha, path } => {
            format!(
                "file {}/{}@{} {path}",
                project.instance,
                project.path,
                short(sha)
            )
        }
        Question::Tree { project, sha } => {
            format!("tree {}/{}@{}", project.instance, project.path, short(sha))
        }
        Question::Page { url, age: None } | Question::Template { url, .. } => {
            format!("page {url}")
        }
        Question::Page {
            url,
            age: Some(age),
        } => format!("page {url} for {age} s"),
    };
    text.replace("https://own/", "")
}

#[async_trait]
impl Library for Scripted {
    async fn ask(&self, question: &Question, etag: Option<&str>) -> Result<Answer, LibraryError> {
        assert_eq!(etag, None, "nothing is known before");
        let words = words(question);
        self.asked.lock().push(words.clone());
        let is_page = matches!(question, Question::Page { .. } | Question::Template { .. });
        self.count(is_page, true);
        // Others may start meanwhile.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        if words.ends_with("/never.yml") {
            std::future::pending::<()>().await;
        }
        self.count(is_page, false);
        self.answers
            .get(&words)
            .cloned()
            .unwrap_or(Ok(Answer::Absent))
    }
}

/// A user whose project is on `https://own`, and who also uses `https://other/git`.
#[derive(Debug)]
pub(super) struct User;

impl Accounts for User {
    fn own(&self) -> Option<Instance> {
        Instance::parse("https://own").ok()
    }

    fn instance(&self, name: &str) -> Option<Instance> {
        let known = ["https://own", "https://other/git"].map(|it| Instance::parse(it).ok());
        known.into_iter().flatten().find(|it| it.name() == name)
    }

    fn token(&self, _instance: &Instance) -> Option<Token> {
        None
    }

    fn places(&self, _instance: &Instance) -> Vec<String> {
        Vec::new()
    }
}

pub(super) fn remote_includes(library: &Arc<Scripted>) -> RemoteIncludes {
    let library = Arc::clone(library) as Arc<dyn Library>;
    RemoteIncludes::new(library, RemoteSettings::new(Arc::new(User)))
}

pub(super) fn request(location: IncludeLocation) -> IncludeRequest {
    IncludeRequest {
        location,
        from: FileHome::Own,
    }
}

pub(super) fn project(path: &str, file: &str, reference: Option<&str>) -> IncludeRequest {
    request(IncludeLocation::Project {
        project: path.to_owned(),
        file: file.to_owned(),
        reference: reference.map(str::to_owned),
    })
}

pub(super) fn component(address: &str) -> IncludeRequest {
    request(IncludeLocation::Component {
        address: address.to_owned(),
    })
}

pub(super) fn remote(url: &str) -> IncludeRequest {
    request(IncludeLocation::Remote {
        url: url.to_owned(),
        integrity: None,
        cache: None,
    })
}

/// Returns the one file that is asked for.
pub(super) fn one(
    remote_includes: &RemoteIncludes,
    request: IncludeRequest,
) -> Result<IncludedFile, IncludeError> {
    let mut found = remote_includes.fetch(&[request]);
    assert_eq!(found.len(), 1);
    found.remove(0)
}
