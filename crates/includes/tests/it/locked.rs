//! Answers from a lock file.

use crate::questions::{SHA, body, commit, file, page, tags, tree};
use crate::scripted::Scripted;
use gitlab_api::Instance;
use includes::{
    Answer, FetchPolicy, Library, LibraryError, LockFile, Locked, Note, Notes, ProjectAddress,
    Question, Record, Recorder, Vendored,
};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use web::Url;

/// A project with vendored answers.
#[derive(Debug)]
struct Project {
    top: tempfile::TempDir,
    servers: Arc<Scripted>,
    notes: Notes,
}

fn questions() -> Vec<(Question, Result<Answer, LibraryError>)> {
    vec![
        (commit("main"), Ok(body(SHA))),
        (
            commit("gone"),
            Err(LibraryError::NoReference("gone".to_owned())),
        ),
        (tags(), Ok(body("0123 v1\n"))),
        (file("a.yml"), Ok(body("a: \u{e4}\r\n"))),
        (file("b.yml"), Ok(Answer::Absent)),
        (tree(), Ok(body("a.yml\n"))),
        (
            page("https://user:hunter2@example.com/p.yml?token=hunter2"),
            Ok(body("p")),
        ),
        (page("https://example.com/p.yml?other"), Ok(body("q"))),
    ]
}

impl Project {
    async fn vendored() -> Self {
        let servers = Arc::<Scripted>::default();
        let recorded = Recorder::new(Arc::clone(&servers));
        for (question, answer) in questions() {
            match answer.clone() {
                Ok(answer) => servers.say(&question, answer),
                Err(error) => servers.fail(&question, error),
            }
            assert_eq!(recorded.ask(&question, None).await, answer);
        }
        servers.count();
        let top = tempfile::tempdir().unwrap();
        let written = Vendored::write(top.path(), &recorded.records(), None).unwrap();
        assert_eq!(written.answers, 8);
        Self {
            top,
            servers,
            notes: Notes::default(),
        }
    }

    fn library(&self, fetching: FetchPolicy) -> Locked<Arc<Scripted>> {
        let file = LockFile::read(self.top.path()).unwrap().unwrap();
        let servers = Arc::clone(&self.servers);
        Locked::new(servers, self.top.path(), file, fetching, self.notes.clone())
    }

    fn text(&self, end: &str) -> PathBuf {
        let entries = fs::read_dir(self.top.path().join(LockFile::TEXTS)).unwrap();
        let mut paths = entries.map(|entry| entry.unwrap().path());
        let is_it = |path: &PathBuf| path.to_str().unwrap().ends_with(end);
        paths.find(is_it).unwrap()
    }
}

#[tokio::test]
async fn locked_answers_are_those_of_the_recorded_run() {
    let project = Project::vendored().await;
    for fetching in [FetchPolicy::Usual, FetchPolicy::Offline] {
        let library = project.library(fetching);
        for (question, answer) in questions() {
            assert_eq!(library.ask(&question, None).await, answer, "{question:?}");
        }
    }
    assert_eq!(project.servers.count(), 0);
    assert_eq!(project.notes.take(), []);
    // Fresh answers are not requested either, and a note says so.
    let library = project.library(FetchPolicy::Refresh);
    assert_eq!(library.ask(&commit("main"), None).await, Ok(body(SHA)));
    assert_eq!(project.servers.count(), 0);
    assert_eq!(project.notes.take(), [Note::Pinned]);
}

/// Returns questions for a file and a template with these addresses.
fn asked_at(gitlab: &str, path: &str, templates: &str) -> [Question; 2] {
    let name = "Jobs/T.gitlab-ci.yml".to_owned();
    [
        Question::File {
            project: ProjectAddress {
                instance: Instance::parse(gitlab).unwrap(),
                path: path.to_owned(),
            },
            sha: SHA.to_owned(),
            path: "a.yml".to_owned(),
        },
        Question::Template {
            url: Url::parse(&format!("{templates}/{name}")).unwrap(),
            name,
        },
    ]
}

#[tokio::test]
async fn lock_file_is_independent_of_user_settings() {
    let writer = "http://127.0.0.1:8080/git";
    let component = asked_at("https://other.example", "g/c", "https://t")[0].clone();
    let mut questions = asked_at(writer, "g/p", "http://templates/x").to_vec();
    questions.push(component);
    let records: Vec<Record> = questions
        .into_iter()
        .zip(["own", "template", "component"])
        .map(|(question, text)| Record {
            question,
            answer: Some(Ok(body(text))),
        })
        .collect();
    let top = tempfile::tempdir().unwrap();
    let own = Instance::parse(writer).unwrap();
    Vendored::write(top.path(), &records, Some(&own)).unwrap();
    let text = fs::read_to_string(top.path().join(LockFile::NAME)).unwrap();
    assert!(text.contains(&format!("gitlab = \"{writer}\"")), "{text}");
    assert_eq!(text.matches("8080").count(), 1, "{text}");
    assert!(!text.contains("templates/x"), "{text}");

    // The other user has another own GitLab, or none and uses the one from the lock file.
    for (asks, own) in [
        ("https://gitlab.example", Some("https://gitlab.example")),
        ("https://127.0.0.1:8080", Some("https://127.0.0.1:8080")),
        (writer, None),
    ] {
        let file = LockFile::read(top.path()).unwrap().unwrap();
        let own = own.map(|own| Instance::parse(own).unwrap());
        let servers = Arc::<Scripted>::default();
        let library = Locked::new(
            servers,
            top.path(),
            file,
            FetchPolicy::Offline,
            Notes::default(),
        )
        .with_own(own.clone());
        let [file, template] = asked_at(asks, "G/p", "https://gitlab.com");
        let [component, _] = asked_at("http://other.example", "g/c", "https://t");
        assert_eq!(library.ask(&file, None).await, Ok(body("own")), "{asks}");
        assert_eq!(library.ask(&template, None).await, Ok(body("template")));
        assert_eq!(library.ask(&component, None).await, Ok(body("component")));
        let [elsewhere, _] = asked_at("https://third.example", "g/p", "https://t");
        let refused = library.ask(&elsewhere, None).await;
        assert!(
            matches!(refused, Err(LibraryError::NotLocked(_))),
            "{refused:?}"
        );
        let asked = [file, template, component];
        let report = Vendored::check(top.path(), Some(&asked), own.as_ref()).unwrap();
        assert!(report.is_clean(), "{report}");
    }
}

#[tokio::test]
async fn unlocked_question_is_asked_and_noted() {
    let project = Project::vendored().await;
    let question = commit("other");
    project.servers.say(&question, body("abc"));
    let library = project.library(FetchPolicy::Usual);
    assert_eq!(library.ask(&question, None).await, Ok(body("abc")));
    let notes = project.notes.take();
    assert_eq!(
        notes[0].to_string(),
        ".runwright.lock does not have the commit of `other` in \
         https://gitlab.example.com/group/project; `runwright vendor` adds it"
    );
    let refused = project
        .library(FetchPolicy::Offline)
        .ask(&question, None)
        .await
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        ".runwright.lock does not have the commit of `other` in \
         https://gitlab.example.com/group/project, and nothing is fetched while offline"
    );
    assert_eq!(refused.help(), Some("`runwright vendor` adds it"));
}

#[tokio::test]
async fn changed_text_is_not_used() {
    let project = Project::vendored().await;
    let library = project.library(FetchPolicy::Usual);
    let path = project.text("-a.yml");
    let name = path
        .strip_prefix(project.top.path())
        .unwrap()
        .display()
        .to_string();
    let locked = includes::Digest::of("a: \u{e4}\r\n".as_bytes());
    let ask = || async { library.ask(&file("a.yml"), None).await.unwrap_err() };
    fs::write(&path, "a: 1\n").unwrap();
    let found = includes::Digest::of(b"a: 1\n");
    let error = ask().await;
    assert_eq!(
        error.to_string(),
        format!("`{name}` was changed: its digest is {found}, and .runwright.lock has {locked}")
    );
    assert_eq!(error.help(), Some("`runwright vendor` writes it anew"));
    fs::remove_file(&path).unwrap();
    assert_eq!(
        ask().await.to_string(),
        format!("`{name}` is missing, and .runwright.lock requires it")
    );
    // Not a link, even to the right text, nor a directory, nor a pipe without a writer.
    let copy = project.top.path().join("copy");
    fs::write(&copy, "a: \u{e4}\r\n").unwrap();
    std::os::unix::fs::symlink(&copy, &path).unwrap();
    let no_file =
        format!("`{name}` is not a file with the digest {locked}, which .runwright.lock requires");
    assert_eq!(ask().await.to_string(), no_file);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(ask().await.to_string(), no_file);
    fs::remove_dir(&path).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert_eq!(ask().await.to_string(), no_file);
    assert_eq!(project.servers.count(), 0);
}

#[tokio::test]
async fn texts_behind_links_are_not_read() {
    let project = Project::vendored().await;
    let library = project.library(FetchPolicy::Usual);
    let inner = project.top.path().join(".runwright");
    let moved = project.top.path().join("moved");
    fs::rename(&inner, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &inner).unwrap();
    let error = library
        .ask(&file("a.yml"), None)
        .await
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        ".runwright/vendor: `.runwright` is not a directory of the project itself"
    );
}

#[test]
fn invalid_lock_file_is_refused() {
    let top = tempfile::tempdir().unwrap();
    let path = top.path().join(LockFile::NAME);
    assert_eq!(LockFile::read(top.path()), Ok(None));
    let check = |expect: &str| {
        let error = LockFile::read(top.path()).unwrap_err();
        assert_eq!(error.to_string(), expect);
    };
    fs::write(top.path().join("target"), "version = 1").unwrap();
    std::os::unix::fs::symlink("target", &path).unwrap();
    check(".runwright.lock: it is not a regular file");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    check(".runwright.lock: it is not a regular file");
    fs::remove_dir(&path).unwrap();
    fs::write(&path, [0xff]).unwrap();
    check(".runwright.lock: it is not UTF-8");
    // A too long file is not read.
    fs::File::create(&path).unwrap().set_len(100 << 20).unwrap();
    check(".runwright.lock: it has more than 8 MiB");
}

#[test]
fn deeply_nested_lock_file_is_refused_quickly() {
    let check = |text: &str| {
        let read = LockFile::parse(std::path::Path::new("lock"), text);
        let error = read.expect_err("it is none").to_string();
        assert!(error.starts_with("lock:"), "{error:.100}");
        assert!(error.len() < 1_000, "{error:.1000}");
    };
    let many = 100_000;
    check(&format!("version = {}", "[".repeat(many)));
    check(&format!("version = {}", "{a=".repeat(many)));
    check(&format!("version = 1\n{}x = 1", "a.".repeat(many)));
    check(&format!("version = 1\n[{}x]", "a.".repeat(many)));
    check(&format!("version = 1\n[[{}x]]", "a.".repeat(many)));
    check(&format!("version = 1\n{} = 1", "a".repeat(many)));
    check(&format!("version = 1\ntags = \"{}\"", "a".repeat(many)));
    check(&format!("version = 1\n{}", "[[tags]]\n".repeat(many / 10)));
    check(&format!("version = {}", "9".repeat(many)));
}
