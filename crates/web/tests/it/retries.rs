use crate::server::Server;
use crate::{get, naming, open, refusal};
use std::io;
use std::net::Shutdown;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use web::{Limits, Web, WebError};

/// A status, and the value of `Retry-After`.
type Answer = (&'static str, Option<&'static str>);

/// Starts a server that sends these responses in turn, and repeats the last.
fn in_turn(answers: &[Answer]) -> Server {
    let (answers, next) = (answers.to_vec(), AtomicUsize::new(0));
    Server::start(move |_, wire| {
        let number = next.fetch_add(1, Ordering::Relaxed).min(answers.len() - 1);
        let (status, wait) = answers[number];
        let headers: Vec<_> = wait.map(|wait| ("retry-after", wait)).into_iter().collect();
        wire.answer(status, &headers, b"")
    })
}

fn asking(server: &Server) -> Web {
    open(naming(&[&server.url("")]))
}

#[tokio::test]
async fn temporary_failures_get_three_attempts() {
    // R-GLCI-148
    let fine = ("200 OK", None);
    let table: [(&[Answer], u16, usize); 9] = [
        (&[("503 Service Unavailable", None), fine], 200, 2),
        (
            &[
                ("500 Internal Server Error", None),
                ("502 Bad Gateway", None),
                fine,
            ],
            200,
            3,
        ),
        (&[("429 Too Many Requests", Some("0")), fine], 200, 2),
        (&[("504 Gateway Timeout", None)], 504, 3),
        (&[("404 Not Found", None)], 404, 1),
        (&[("401 Unauthorized", None)], 401, 1),
        (&[("304 Not Modified", None)], 304, 1),
        (&[("501 Not Implemented", None)], 501, 1),
        (&[("429 Too Many Requests", Some("3600"))], 429, 1),
    ];
    for (answers, status, asked) in table {
        let server = in_turn(answers);
        let answer = get(&asking(&server), &server.url("/"))
            .await
            .expect("an answer");
        assert_eq!(
            (answer.status, server.seen().len()),
            (status, asked),
            "{answers:?}"
        );
    }
}

#[tokio::test]
async fn broken_connection_is_retried() {
    let breaks = AtomicUsize::new(0);
    let server = Server::start(
        move |_, wire| match breaks.fetch_add(1, Ordering::Relaxed) {
            0 => wire.raw(""),
            1 => wire.raw("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"),
            _ => wire.answer("200 OK", &[], b"whole"),
        },
    );
    let answer = get(&asking(&server), &server.url("/"))
        .await
        .expect("an answer");
    assert_eq!(
        (answer.body.as_slice(), server.connections()),
        (&b"whole"[..], 3)
    );
}

#[tokio::test]
async fn stale_connection_does_not_count_as_an_attempt() {
    let server = Server::start(|_, wire| {
        wire.answer("200 OK", &[], b"one")?;
        wire.raw("")
    });
    let mut options = naming(&[&server.url("")]);
    options.limits.attempts = 2;
    let web = open(options);
    for _ in 0..5 {
        assert_eq!(
            get(&web, &server.url("/")).await.expect("an answer").body,
            b"one"
        );
    }
    assert_eq!(server.connections(), 5);
}

#[tokio::test]
async fn silence_is_retried_then_reported() {
    let server = Server::speaking(|mut socket| io::copy(&mut socket, &mut io::sink()).map(|_| ()));
    let mut options = naming(&[&server.url("")]);
    options.limits.deadline = Duration::from_millis(200);
    let reason = refusal(&open(options), &server.url("/")).await;
    assert_eq!(
        reason,
        format!("{} did not answer within 0.2s", server.url(""))
    );
    server.wait_for_connections(3);
}

#[tokio::test]
async fn overall_limit_ends_all_attempts() {
    let server = Server::speaking(|mut socket| io::copy(&mut socket, &mut io::sink()).map(|_| ()));
    let mut options = naming(&[&server.url("")]);
    options.limits = Limits {
        deadline: Duration::from_millis(50),
        overall: Duration::from_millis(300),
        attempts: usize::MAX,
        pause: Duration::from_millis(20),
        ..Limits::default()
    };
    let began = Instant::now();
    let error = get(&open(options), &server.url("/"))
        .await
        .expect_err("late");
    assert!(matches!(error, WebError::Late { .. }), "{error}");
    // Far below the time that all attempts would take, and far above the delays of a busy machine.
    assert!(began.elapsed() < Duration::from_mins(1));
}

#[tokio::test]
async fn hanging_up_gets_three_attempts() {
    let server = Server::speaking(|socket| socket.shutdown(Shutdown::Both));
    let (url, web) = (server.url("/"), asking(&server));
    let error = get(&web, &url).await.expect_err("closed");
    assert!(error.is_temporary(), "{error}");
    server.wait_for_connections(3);
}

#[tokio::test]
async fn refused_requests_are_not_retried() {
    let server = Server::start(|_, wire| {
        wire.answer("302 Found", &[("location", "http://169.254.169.254/")], b"")
    });
    let error = get(&asking(&server), &server.url("/"))
        .await
        .expect_err("refused");
    assert!(!error.is_temporary());
    assert_eq!(server.seen().len(), 1);
}
