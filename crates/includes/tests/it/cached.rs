//! When a cached question is asked again.

use crate::questions::{body, commit, file, page, tagged};
use crate::scripted::{Scripted, Still};
use includes::{Answer, Cached, FetchPolicy, Library, LibraryError, Note, Notes, Question, Store};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The cache of one process.
#[derive(Debug)]
struct Process {
    cached: Cached<Arc<Scripted>>,
    notes: Notes,
}

/// The state that outlives a process.
#[derive(Debug)]
struct Machine {
    home: tempfile::TempDir,
    servers: Arc<Scripted>,
    clock: Arc<Still>,
}

impl Machine {
    fn new() -> Self {
        Self {
            home: tempfile::tempdir().unwrap(),
            servers: Arc::default(),
            clock: Arc::new(Still::at(1_000_000)),
        }
    }

    fn process(&self, fetching: FetchPolicy) -> Process {
        self.process_at(&self.home.path().join("cache"), fetching)
    }

    fn process_at(&self, path: &Path, fetching: FetchPolicy) -> Process {
        let notes = Notes::default();
        let servers = Arc::clone(&self.servers);
        let cached = Cached::new(servers, Store::at(path), fetching, notes.clone());
        let cached = cached.with_clock(self.clock.clone());
        Process { cached, notes }
    }

    /// Asks in a new process.
    async fn ask(
        &self,
        fetching: FetchPolicy,
        question: &Question,
    ) -> Result<Answer, LibraryError> {
        self.process(fetching).cached.ask(question, None).await
    }
}

fn unavailable() -> LibraryError {
    LibraryError::Unavailable("the server is asleep".to_owned())
}

#[tokio::test]
async fn constant_answers_are_asked_once() {
    // R-GLCI-153
    let machine = Machine::new();
    let there = file("a.yml");
    machine.servers.say(&there, body("a"));
    for fetching in [
        FetchPolicy::Usual,
        FetchPolicy::Usual,
        FetchPolicy::Refresh,
        FetchPolicy::Offline,
    ] {
        assert_eq!(machine.ask(fetching, &there).await, Ok(body("a")));
        machine.clock.advance(10_000_000);
    }
    assert_eq!(machine.servers.count(), 1);
}

#[tokio::test]
async fn absent_file_at_a_commit_is_asked_again() {
    let machine = Machine::new();
    let missing = file("b.yml");
    machine.servers.say(&missing, Answer::Absent);
    for fetching in [FetchPolicy::Usual, FetchPolicy::Usual, FetchPolicy::Offline] {
        assert_eq!(machine.ask(fetching, &missing).await, Ok(Answer::Absent));
    }
    assert_eq!(machine.servers.count(), 1);
    // A lagging server has the commit now.
    for fetching in [FetchPolicy::Refresh, FetchPolicy::Usual] {
        machine.servers.say(&missing, Answer::Absent);
        machine.ask(FetchPolicy::Refresh, &missing).await.unwrap();
        machine.servers.say(&missing, body("b"));
        machine.clock.advance(600);
        assert_eq!(machine.ask(fetching, &missing).await, Ok(body("b")));
        Store::at(machine.home.path().join("cache"))
            .clean()
            .unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn hanging_server_times_out_soon_with_an_old_answer() {
    #[derive(Debug)]
    struct Hanging;
    #[async_trait::async_trait]
    impl Library for Hanging {
        async fn ask(&self, _: &Question, _: Option<&str>) -> Result<Answer, LibraryError> {
            std::future::pending().await
        }
    }
    let machine = Machine::new();
    let questions = [commit("main"), commit("other")];
    for question in &questions {
        machine.servers.say(question, body("one"));
        machine.ask(FetchPolicy::Usual, question).await.unwrap();
    }
    let notes = Notes::default();
    let store = Store::at(machine.home.path().join("cache"));
    let cached = Cached::new(Hanging, store, FetchPolicy::Refresh, notes.clone());
    let cached = cached.with_clock(machine.clock.clone());
    let start = tokio::time::Instant::now();
    for question in &questions {
        assert_eq!(cached.ask(question, None).await, Ok(body("one")));
    }
    assert_eq!(start.elapsed(), Duration::from_secs(12));
    assert_eq!(
        notes.take()[0].to_string(),
        "the commit of `main` in https://gitlab.example.com/group/project: used as it was \
         0s ago, because https://gitlab.example.com did not answer within 12s"
    );
}

#[tokio::test]
async fn partial_commit_ids_are_not_constant() {
    let machine = Machine::new();
    let Question::File { project, path, .. } = file("a.yml") else {
        panic!("a file is one");
    };
    let sha = "main".to_owned();
    let question = Question::File { project, sha, path };
    machine.servers.say(&question, body("a"));
    machine.ask(FetchPolicy::Usual, &question).await.unwrap();
    machine.clock.advance(600);
    machine.servers.say(&question, body("b"));
    assert_eq!(
        machine.ask(FetchPolicy::Usual, &question).await,
        Ok(body("b"))
    );
}

#[tokio::test]
async fn old_answers_are_asked_again() {
    // R-GLCI-153
    let machine = Machine::new();
    let question = commit("main");
    machine.servers.say(&question, tagged("one", "1"));
    assert_eq!(
        machine.ask(FetchPolicy::Usual, &question).await,
        Ok(tagged("one", "1"))
    );
    assert_eq!(machine.servers.etags(), [None]);
    machine.clock.advance(599);
    assert_eq!(
        machine.ask(FetchPolicy::Usual, &question).await,
        Ok(tagged("one", "1"))
    );
    assert_eq!(machine.servers.count(), 0);
    machine.clock.advance(1);
    assert_eq!(
        machine.ask(FetchPolicy::Usual, &question).await,
        Ok(tagged("one", "1"))
    );
    assert_eq!(machine.servers.etags(), [Some("1".to_owned())]);
    // An unchanged answer is young again.
    machine.clock.advance(599);
    assert_eq!(
        machine.ask(FetchPolicy::Usual, &question).await,
        Ok(tagged("one", "1"))
    );
    assert_eq!(machine.servers.count(), 0);
    machine.servers.say(&question, tagged("two", "2"));
    assert_eq!(
        machine.ask(FetchPolicy::Refresh, &question).await,
        Ok(tagged("two", "2"))
    );
    assert_eq!(
        machine.ask(FetchPolicy::Offline, &question).await,
        Ok(tagged("two", "2"))
    );
    assert_eq!(machine.servers.etags(), [Some("1".to_owned())]);
}

#[tokio::test]
async fn question_sets_the_greatest_age_of_a_page() {
    let machine = Machine::new();
    let Question::Page { url, .. } = page("https://example.com/a.yml") else {
        panic!("a page is one");
    };
    let question = Question::Page {
        url,
        age: Some(3600),
    };
    machine.servers.say(&question, body("a"));
    machine.ask(FetchPolicy::Usual, &question).await.unwrap();
    machine.clock.advance(3599);
    machine.ask(FetchPolicy::Usual, &question).await.unwrap();
    assert_eq!(machine.servers.count(), 1);
    machine.clock.advance(1);
    machine.ask(FetchPolicy::Usual, &question).await.unwrap();
    assert_eq!(machine.servers.count(), 1);
}

#[tokio::test]
async fn max_age_can_be_set() {
    let machine = Machine::new();
    let question = commit("main");
    machine.servers.say(&question, body("one"));
    machine.ask(FetchPolicy::Usual, &question).await.unwrap();
    machine.clock.advance(10);
    let Process { cached, .. } = machine.process(FetchPolicy::Usual);
    let cached = cached.with_max_age(Duration::from_secs(10));
    cached.ask(&question, None).await.unwrap();
    assert_eq!(machine.servers.count(), 2);
}

#[tokio::test]
async fn refresh_asks_once_per_process() {
    // R-GLCI-153
    let machine = Machine::new();
    let question = commit("main");
    machine.servers.say(&question, body("one"));
    machine.ask(FetchPolicy::Usual, &question).await.unwrap();
    let process = machine.process(FetchPolicy::Refresh);
    for _ in 0..3 {
        process.cached.ask(&question, None).await.unwrap();
    }
    assert_eq!(machine.servers.count(), 2);
}

#[tokio::test]
async fn equal_questions_at_the_same_time_are_asked_once() {
    let machine = Machine::new();
    let question = commit("main");
    machine.servers.say(&question, body("one"));
    let Process { cached, .. } = machine.process(FetchPolicy::Usual);
    let ask = || cached.ask(&question, None);
    let (one, two, three) = tokio::join!(ask(), ask(), ask());
    assert_eq!(
        [one, two, three],
        [Ok(body("one")), Ok(body("one")), Ok(body("one"))]
    );
    assert_eq!(machine.servers.count(), 1);
    // Failures are shared too, but a later caller asks again.
    let question = commit("other");
    machine.servers.fail(&question, unavailable());
    let ask = || cached.ask(&question, None);
    let (one, two) = tokio::join!(ask(), ask());
    assert_eq!([one, two], [Err(unavailable()), Err(unavailable())]);
    assert_eq!(machine.servers.count(), 1);
    assert_eq!(ask().await, Err(unavailable()));
    assert_eq!(machine.servers.count(), 1);
}

#[tokio::test]
async fn cancelled_question_is_asked_again() {
    let machine = Machine::new();
    let question = commit("main");
    machine.servers.say(&question, body("one"));
    let Process { cached, .. } = machine.process(FetchPolicy::Usual);
    let given_up = async {
        tokio::select! {
            biased;
            answer = cached.ask(&question, None) => panic!("{answer:?} came at once"),
            () = std::future::ready(()) => {}
        }
    };
    given_up.await;
    assert_eq!(cached.ask(&question, None).await, Ok(body("one")));
}

#[tokio::test]
async fn old_answer_is_used_when_the_server_is_unreachable() {
    let machine = Machine::new();
    let (question, other) = (commit("main"), commit("other"));
    for question in [&question, &other] {
        machine.servers.say(question, body("one"));
        machine.ask(FetchPolicy::Usual, question).await.unwrap();
        machine.servers.fail(question, unavailable());
    }
    assert_eq!(machine.servers.count(), 2);
    machine.clock.advance(7_200);
    let process = machine.process(FetchPolicy::Usual);
    for _ in 0..2 {
        assert_eq!(process.cached.ask(&question, None).await, Ok(body("one")));
    }
    let notes = process.notes.take();
    let texts: Vec<_> = notes.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "the commit of `main` in https://gitlab.example.com/group/project: \
          used as it was 2h ago, because the server is asleep"
        ]
    );
    // Other questions to the unreachable server use their old answers too.
    assert_eq!(process.cached.ask(&other, None).await, Ok(body("one")));
    assert_eq!(process.notes.take().len(), 1);
    assert_eq!(machine.servers.count(), 1);
    let unknown = commit("unknown");
    machine.servers.fail(&unknown, unavailable());
    assert_eq!(process.cached.ask(&unknown, None).await, Err(unavailable()));
    assert_eq!(process.notes.take(), []);
}

#[tokio::test]
async fn refusal_by_the_server_is_final() {
    let refusals = [
        LibraryError::Denied {
            reason: "no".to_owned(),
            help: None,
        },
        LibraryError::NoProject {
            reason: "gone".to_owned(),
            help: None,
        },
        LibraryError::NoReference("main".to_owned()),
        LibraryError::Refused {
            reason: "a private address".to_owned(),
            help: None,
        },
    ];
    for refusal in refusals {
        let machine = Machine::new();
        let question = commit("main");
        machine.servers.say(&question, body("one"));
        machine.ask(FetchPolicy::Usual, &question).await.unwrap();
        machine.servers.fail(&question, refusal.clone());
        let process = machine.process(FetchPolicy::Refresh);
        assert_eq!(process.cached.ask(&question, None).await, Err(refusal));
        assert_eq!(process.notes.take(), []);
    }
}

#[tokio::test]
async fn absent_answers_are_not_stored() {
    let machine = Machine::new();
    let question = page("https://example.com/a.yml");
    machine.servers.say(&question, body("a"));
    machine.ask(FetchPolicy::Usual, &question).await.unwrap();
    machine.servers.say(&question, Answer::Absent);
    assert_eq!(
        machine.ask(FetchPolicy::Refresh, &question).await,
        Ok(Answer::Absent)
    );
    assert_eq!(
        machine.ask(FetchPolicy::Offline, &question).await,
        Err(LibraryError::Offline)
    );
    machine.servers.say(&question, body("again"));
    assert_eq!(
        machine.ask(FetchPolicy::Usual, &question).await,
        Ok(body("again"))
    );
}

#[tokio::test]
async fn offline_asks_nothing() {
    let machine = Machine::new();
    for question in [file("a.yml"), commit("main")] {
        let refused = machine.ask(FetchPolicy::Offline, &question).await;
        assert_eq!(refused, Err(LibraryError::Offline));
    }
    assert_eq!(machine.servers.count(), 0);
    assert!(
        !machine.home.path().join("cache").exists(),
        "reading creates no directory"
    );
}

#[tokio::test]
async fn caller_with_the_etag_gets_unchanged() {
    let machine = Machine::new();
    let question = commit("main");
    machine.servers.say(&question, tagged("one", "1"));
    let Process { cached, .. } = machine.process(FetchPolicy::Usual);
    cached.ask(&question, None).await.unwrap();
    assert_eq!(
        cached.ask(&question, Some("1")).await,
        Ok(Answer::Unchanged)
    );
    assert_eq!(
        cached.ask(&question, Some("0")).await,
        Ok(tagged("one", "1"))
    );
}

#[tokio::test]
async fn unchanged_without_an_old_answer_is_an_error() {
    let machine = Machine::new();
    let question = commit("main");
    machine.servers.say(&question, Answer::Unchanged);
    let refused = machine.ask(FetchPolicy::Usual, &question).await;
    assert!(
        matches!(refused, Err(LibraryError::Unavailable(_))),
        "{refused:?}"
    );
}

#[tokio::test]
async fn broken_store_is_noted_once() {
    let machine = Machine::new();
    let taken = machine.home.path().join("file");
    std::fs::write(&taken, "").unwrap();
    let link = machine.home.path().join("link");
    std::os::unix::fs::symlink(machine.home.path(), &link).unwrap();
    for (path, words) in [
        (taken.clone(), "it is not a directory"),
        (taken.join("below"), "Not a directory"),
        (link, "it is a symbolic link"),
    ] {
        let questions = [file("a.yml"), commit("main")];
        let process = machine.process_at(&path, FetchPolicy::Usual);
        for question in questions.iter().chain(&questions) {
            machine.servers.say(question, body("one"));
            assert_eq!(process.cached.ask(question, None).await, Ok(body("one")));
        }
        assert_eq!(machine.servers.count(), 2, "{}", path.display());
        let notes = process.notes.take();
        let [Note::NotKept { reason }] = &notes[..] else {
            panic!("{notes:?}");
        };
        assert!(reason.contains(words), "{reason}");
    }
    assert_eq!(std::fs::read_dir(machine.home.path()).unwrap().count(), 2);
}

#[tokio::test]
async fn store_without_a_location_stores_nothing() {
    let servers = Arc::<Scripted>::default();
    let question = commit("main");
    servers.say(&question, body("one"));
    for (fetching, expect, asked) in [
        (FetchPolicy::Usual, Ok(body("one")), 1),
        (FetchPolicy::Offline, Err(LibraryError::Offline), 0),
    ] {
        let notes = Notes::default();
        let cached = Cached::new(Arc::clone(&servers), Store::none(), fetching, notes.clone());
        for _ in 0..2 {
            assert_eq!(cached.ask(&question, None).await, expect);
        }
        assert_eq!(servers.count(), asked);
        assert_eq!(notes.take(), []);
    }
    assert_eq!(
        Store::none().clean().unwrap(),
        includes::StoreSize::default()
    );
}
