//! Counts the requests that reach a server.

use gitlab_api::{Instance, NoAccounts};
use gitlab_testkit::GitLab;
use includes::{
    Answer, Cached, FetchPolicy, Library, Note, Notes, ProjectAddress, Question, Servers, Store,
};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use web::{Origin, Url, Web, WebOptions};

/// Returns the library of a new process.
fn process(gitlab: &GitLab, home: &Path, fetching: FetchPolicy, notes: &Notes) -> Cached<Servers> {
    let mut options = WebOptions::default();
    let url = Url::parse(&gitlab.url()).unwrap();
    options.reach.named.insert(Origin::of(&url).unwrap());
    options.limits.attempts = 1;
    // Requests are counted, so none may time out.
    options.limits.deadline = Duration::from_mins(1);
    options.limits.overall = Duration::from_mins(4);
    let web = Web::new(options).unwrap();
    let servers = Servers::new(web, Arc::new(NoAccounts));
    Cached::new(servers, Store::at(home), fetching, notes.clone())
}

#[tokio::test]
async fn server_is_asked_once_for_constant_answers_and_again_for_old_ones() {
    // R-GLCI-153
    let gitlab = GitLab::start();
    let templates = gitlab.project("group/templates");
    let sha = templates.commit(&[("a.yml", "job: {script: make}")]);
    let project = ProjectAddress {
        instance: Instance::parse(&gitlab.url()).unwrap(),
        path: "group/templates".to_owned(),
    };
    let commit = Question::Commit {
        project: project.clone(),
        reference: Some("main".to_owned()),
    };
    let file = Question::File {
        project,
        sha: sha.clone(),
        path: "a.yml".to_owned(),
    };
    let home = tempfile::tempdir().unwrap();
    let notes = Notes::default();
    let ask = async |fetching, age, question: &Question| {
        let library = process(&gitlab, home.path(), fetching, &notes).with_max_age(age);
        let answer = library.ask(question, None).await;
        let Ok(Answer::Body { bytes, .. }) = answer else {
            panic!("{answer:?}");
        };
        String::from_utf8(bytes.to_vec()).unwrap()
    };
    let (young, old) = (Duration::MAX, Duration::ZERO);
    for _ in 0..3 {
        assert_eq!(ask(FetchPolicy::Usual, young, &commit).await, sha);
        assert_eq!(
            ask(FetchPolicy::Usual, old, &file).await,
            "job: {script: make}"
        );
    }
    assert_eq!(gitlab.total(), 2, "{:?}", gitlab.requests());
    assert_eq!(ask(FetchPolicy::Usual, old, &commit).await, sha);
    assert_eq!(ask(FetchPolicy::Refresh, young, &commit).await, sha);
    assert_eq!(gitlab.total(), 4, "{:?}", gitlab.requests());
    let new = templates.commit(&[("a.yml", "job: {script: make all}")]);
    assert_eq!(ask(FetchPolicy::Offline, old, &commit).await, sha);
    assert_eq!(ask(FetchPolicy::Refresh, old, &commit).await, new);
    assert_eq!(gitlab.total(), 5, "{:?}", gitlab.requests());
    gitlab.stop();
    assert_eq!(ask(FetchPolicy::Refresh, old, &commit).await, new);
    let notes = notes.take();
    assert!(matches!(notes[..], [Note::Old { .. }]), "{notes:?}");
}

#[tokio::test]
async fn unchanged_page_is_not_sent_again() {
    let gitlab = GitLab::start();
    let page = gitlab_testkit::Page::new("job: {script: make}").header("etag", "\"one\"");
    let url = Url::parse(&gitlab.page("/a.yml", page)).unwrap();
    let question = Question::Page { url, age: Some(0) };
    let home = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let library = process(&gitlab, home.path(), FetchPolicy::Usual, &Notes::default());
        let answer = library.ask(&question, None).await.unwrap();
        assert!(matches!(answer, Answer::Body { .. }), "{answer:?}");
    }
    let asked = gitlab.requests();
    let statuses: Vec<_> = asked.iter().map(|request| request.status).collect();
    assert_eq!(statuses, [Some(200), Some(304)], "{asked:?}");
}
