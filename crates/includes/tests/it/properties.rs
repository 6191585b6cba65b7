//! Properties of all questions and answers.

use crate::questions::project;
use includes::{
    Answer, FetchPolicy, Library, LibraryError, LockFile, Locked, Notes, Question, Record, Store,
    StoredAnswer, Vendored,
};
use proptest::prelude::*;
use std::path::Path;
use std::time::{Duration, SystemTime};
use web::Url;

/// A library without answers.
#[derive(Debug)]
struct Nothing;

#[async_trait::async_trait]
impl Library for Nothing {
    async fn ask(&self, _: &Question, _: Option<&str>) -> Result<Answer, LibraryError> {
        panic!("a locked question is not asked");
    }
}

fn url() -> impl Strategy<Value = Url> {
    let user = prop_oneof![Just(""), Just("u@"), Just("u:p@"), Just(":p@")];
    let rest = "(/[a-z.\u{e4} %?#&=-]{0,6}){0,3}";
    (user, rest).prop_map(|(user, rest)| {
        Url::parse(&format!("https://{user}example.com{rest}")).expect("it is an address")
    })
}

fn question() -> impl Strategy<Value = Question> {
    let path = "[aAbB]/[aAbB]";
    let word = prop_oneof![
        "[a-b/.\\\\\"'\n\u{e4}=\\[\\]#]{0,4}".boxed(),
        any::<String>().boxed(),
        "[01]{40}".boxed(),
    ];
    prop_oneof![
        (path, proptest::option::of(word.clone())).prop_map(|(path, reference)| {
            Question::Commit {
                project: project(&path),
                reference,
            }
        }),
        path.prop_map(|path| Question::Tags {
            project: project(&path)
        }),
        (path, word.clone(), word.clone()).prop_map(|(project_path, sha, path)| {
            Question::File {
                project: project(&project_path),
                sha,
                path,
            }
        }),
        (path, word).prop_map(|(path, sha)| Question::Tree {
            project: project(&path),
            sha
        }),
        (url(), proptest::option::of(0..9_u64)).prop_map(|(url, age)| Question::Page { url, age }),
        url().prop_map(|mut url| {
            url.set_fragment(None);
            Question::Template {
                name: url.to_string(),
                url,
            }
        }),
    ]
}

fn answer() -> impl Strategy<Value = Answer> {
    let bytes = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..20).boxed(),
        "[0-9a-f]{40}".prop_map(String::into_bytes).boxed(),
    ];
    let body =
        (bytes, proptest::option::of(any::<String>())).prop_map(|(bytes, etag)| Answer::Body {
            bytes: bytes.into(),
            etag,
        });
    prop_oneof![4 => body, 1 => Just(Answer::Absent)]
}

/// Returns the normal form of a question: equal for questions with the same meaning.
fn normalized(question: &Question) -> Question {
    let mut normalized = question.clone();
    match &mut normalized {
        Question::Commit { project, .. }
        | Question::Tags { project }
        | Question::File { project, .. }
        | Question::Tree { project, .. } => project.path = project.path.to_ascii_lowercase(),
        Question::Page { url, age } => {
            url.set_fragment(None);
            *age = None;
        }
        Question::Template { .. } => {}
    }
    normalized
}

/// Returns the normal form of a question in the store, where a template is a page.
fn normalized_in_store(question: &Question) -> Question {
    let page = match question {
        Question::Template { url, .. } => Question::Page {
            url: url.clone(),
            age: None,
        },
        other => other.clone(),
    };
    normalized(&page)
}

fn without_etag(answer: &Answer) -> Answer {
    match answer {
        Answer::Body { bytes, .. } => Answer::Body {
            bytes: bytes.clone(),
            etag: None,
        },
        other => other.clone(),
    }
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime").block_on(future)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_answers_round_trip_through_the_lock_file(
        given in proptest::collection::vec((question(), answer()), 0..8)
    ) {
        // The last answer to a question counts.
        let mut answers: Vec<(Question, Answer)> = Vec::new();
        for (question, answer) in given {
            answers.retain(|(other, _)| normalized(other) != normalized(&question));
            answers.push((question, answer));
        }
        let records: Vec<_> = answers.iter().map(|(question, answer)| Record {
            question: question.clone(),
            answer: Some(Ok(answer.clone())),
        }).collect();
        let top = tempfile::tempdir().expect("a directory");
        Vendored::write(top.path(), &records, None).expect("it can be written");
        let file = LockFile::read(top.path()).expect("it can be read").expect("it is there");
        prop_assert_eq!(&file, &LockFile::from_records(&records, None));
        let questions: Vec<_> = records.iter().map(|it| it.question.clone()).collect();
        let report = Vendored::check(top.path(), Some(&questions), None).expect("it can be read");
        prop_assert!(report.is_clean(), "{}", report);
        let library = Locked::new(Nothing, top.path(), file, FetchPolicy::Usual, Notes::default());
        for (question, answer) in &answers {
            let read = wait(library.ask(question, None)).expect("it is locked");
            prop_assert_eq!(read, without_etag(answer));
        }
    }

    #[test]
    fn any_answer_is_stored_for_its_question_alone(
        one in question(), other in question(), answer in answer(), seconds in 0..u64::from(u32::MAX)
    ) {
        let dir = tempfile::tempdir().expect("a directory");
        let store = Store::at(dir.path());
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let kept = StoredAnswer { answer, fetched: time, checked: time };
        store.put(&one, &kept).expect("it can be kept");
        let got = store.get(&one).expect("it can be read");
        prop_assert_eq!(got.as_ref(), Some(&kept));
        let of_other = store.get(&other).expect("it can be read");
        prop_assert_eq!(of_other.is_some(), normalized_in_store(&one) == normalized_in_store(&other));
    }

    #[test]
    fn any_text_can_be_parsed_as_a_lock_file(text in any::<String>()) {
        let _ = LockFile::parse(Path::new("lock"), &text);
        let _ = LockFile::parse(Path::new("lock"), &format!("version = 1\n{text}"));
    }

    #[test]
    fn any_bytes_are_refused_as_a_lock_file(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let top = tempfile::tempdir().expect("a directory");
        std::fs::write(top.path().join(LockFile::NAME), &bytes).expect("it can be written");
        let read = LockFile::read(top.path());
        prop_assert!(read.is_err(), "{:?} has no version", read);
    }

    #[test]
    fn mutated_lock_file_is_read_or_refused_with_a_location(
        at in 0..2000_usize, with in "[\u{e4}\"\\[\\]=\n0-9a-z]{0,3}"
    ) {
        let mut text = LockFile::from_records(&crate::program::records(true), None).to_string();
        let mut at = at % text.len();
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let end = (at + 1).min(text.len());
        text.replace_range(at..end, &with);
        if let Err(error) = LockFile::parse(Path::new("lock"), &text) {
            let (line, column) = error.location.expect("there is a location");
            let lines: Vec<_> = text.split('\n').collect();
            prop_assert!(line <= lines.len());
            prop_assert!(column <= lines[line - 1].chars().count() + 1);
        }
    }
}
