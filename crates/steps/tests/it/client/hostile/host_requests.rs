//! Host requests of a service that violates the protocol.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use executor_core::Cancellation;
use futures_util::{StreamExt, stream};
use steps::wire::v1;
use steps::wire::v1::wish::{Git, What};
use steps::{JobCredentials, RunId, RunSpec, StepsClient};
use tokio::sync::Notify;

use super::impatient;
use super::liar::{Answers, Liar, Make, endless, only, pending, these};
use crate::client::support::{Output, trusting};
use crate::service::fake_library::FakeLibrary;

type Logs = Make<Answers<v1::FollowLogsResponse>>;

fn wish(number: u64, what: impl Into<Option<What>>) -> v1::FollowWishesResponse {
    v1::FollowWishesResponse {
        wish: Some(v1::Wish {
            number,
            what: what.into(),
            directory: "/tmp/wish".to_owned(),
            ..v1::Wish::default()
        }),
    }
}

fn git() -> What {
    What::Git(Git {
        url: "https://example.com/a".to_owned(),
        rev: "v1".to_owned(),
    })
}

/// Follows an endless request until the expected number of answers to host requests came, and, with `over`, until host
/// requests are not read any more. Returns the recorded calls.
async fn grants(mut liar: Liar, expect: usize, over: Option<Arc<Notify>>) -> Vec<String> {
    liar.logs = Arc::new(pending);
    let granted = Arc::clone(&liar.granted);
    let library = Arc::new(FakeLibrary::default());
    let client = StepsClient::new(Arc::new(liar), trusting())
        .with_library(Arc::clone(&library) as _, JobCredentials::default());
    let run = RunSpec::language(RunId::new("1"), "[]");
    let (mut output, never) = (Output::default(), Cancellation::new());
    let mut sink = output.sink();
    let all = async {
        let mut counted = granted.subscribe();
        counted.wait_for(|count| *count >= expect).await.unwrap();
        if let Some(over) = over {
            over.notified().await;
        }
    };
    tokio::select! {
        ended = client.execute(&run, &mut sink, &never) => panic!("ended early: {ended:?}"),
        () = all => {}
    }
    assert_eq!(*granted.borrow(), expect);
    library.whats()
}

#[tokio::test(flavor = "multi_thread")]
async fn host_requests_are_limited_to_a_thousand() {
    let over = Arc::new(Notify::new());
    let told = Arc::clone(&over);
    let mut liar = Liar::new();
    liar.wishes = Arc::new(move || {
        let guard = Over(Arc::clone(&told));
        endless(move |number| {
            let _ = &guard;
            wish(number, git())
        })
    });
    // The last answer is that there are too many.
    let asked = grants(liar, 1_001, Some(over)).await;
    assert_eq!(asked.len(), 1_000);
}

/// Reports that a stream is not read any more.
struct Over(Arc<Notify>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn repeated_reordered_or_empty_host_requests_are_answered_once() {
    let mut liar = Liar::new();
    liar.wishes = Arc::new(|| {
        let nothing = v1::FollowWishesResponse::default();
        these([
            wish(5, git()),
            wish(3, git()),
            nothing,
            wish(5, git()),
            wish(6, None),
            wish(u64::MAX, git()),
            wish(u64::MAX, git()),
            wish(7, git()),
        ])
    });
    assert_eq!(grants(liar, 3, None).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn unread_answers_to_host_requests_block_nothing() {
    for silent in ["", "grant"] {
        let mut liar = Liar {
            silent,
            knows_wishes: false,
            ..Liar::new()
        };
        liar.wishes = Arc::new(|| only([wish(0, None), wish(1, None)]));
        liar.logs = ended_by_an_answer(&liar);
        let client = StepsClient::new(Arc::new(liar), impatient());
        let client =
            client.with_library(Arc::new(FakeLibrary::default()), JobCredentials::default());
        let run = RunSpec::language(RunId::new("1"), "[]");
        let mut output = |_, _: &[u8]| {};
        let never = Cancellation::new();
        let ended = client.execute(&run, &mut output, &never);
        assert!(ended.await.unwrap().status.is_success());
    }
}

/// A script may have replaced the service.
#[tokio::test(flavor = "multi_thread")]
async fn scripts_have_no_functions() {
    let run = RunSpec::script(RunId::new("1"), "true");
    // Long enough for the reader of host requests; then it ends.
    let after = || ended_by(tokio::time::sleep(Duration::from_millis(300)));
    assert_eq!(heard(&run, |_| Arc::new(after)).await, (0, 0));

    let run = RunSpec::language(RunId::new("1"), "[]");
    assert_eq!(heard(&run, ended_by_an_answer).await, (1, 1));
}

/// Follows a request whose log is `logs`. Returns how often its host requests were followed, and how many reached the
/// library.
async fn heard(run: &RunSpec, logs: impl FnOnce(&Liar) -> Logs) -> (usize, usize) {
    let mut liar = Liar::new();
    let asked = Arc::clone(&liar.asked);
    let listened = Arc::clone(&asked);
    liar.wishes = Arc::new(move || {
        listened.fetch_add(1, Ordering::Relaxed);
        only([wish(0, git())])
    });
    liar.logs = logs(&liar);
    let library = Arc::new(FakeLibrary::default());
    let client = StepsClient::new(Arc::new(liar), trusting())
        .with_library(Arc::clone(&library) as _, JobCredentials::default());
    let (mut output, never) = (Output::default(), Cancellation::new());
    let ended = client.execute(run, &mut output.sink(), &never).await;
    assert!(ended.unwrap().status.is_success());
    (asked.load(Ordering::Relaxed), library.whats().len())
}

/// Logs that end after an answer to a host request.
fn ended_by_an_answer(liar: &Liar) -> Logs {
    let granted = Arc::clone(&liar.granted);
    Arc::new(move || {
        let mut counted = granted.subscribe();
        ended_by(async move {
            counted.wait_for(|count| *count > 0).await.unwrap();
        })
    })
}

/// An empty log that ends after an event.
fn ended_by(wait: impl Future<Output = ()> + Send + 'static) -> Answers<v1::FollowLogsResponse> {
    Box::pin(stream::once(wait).filter_map(async |()| None))
}
