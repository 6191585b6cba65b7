use crate::server::Server;
use crate::{naming, open, request};
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::tempdir;
use web::{Body, Content, Limits, Method, Request, WebError, WebOptions};

#[tokio::test]
async fn part_of_a_file_is_sent_again_on_retry() {
    let directory = tempdir().expect("a directory");
    let path = directory.path().join("file");
    let text = "before".to_owned() + &"0123456789".repeat(100_000) + "after";
    std::fs::write(&path, text).expect("written");
    let broken = AtomicBool::new(false);
    let server = Server::start(move |_, wire| {
        if !broken.swap(true, Ordering::SeqCst) {
            return Err(std::io::ErrorKind::ConnectionAborted.into());
        }
        wire.answer("201 Created", &[("location", "/there")], b"")
    });
    let put = Request {
        method: Method::Put(Body {
            content_type: "application/octet-stream".to_owned(),
            content: Content::File {
                path,
                offset: 6,
                length: 1_000_000,
            },
        }),
        ..request(&server.url("/x"))
    };
    assert!(format!("{put:?}").contains("Put(Body(1000000 bytes))"));
    let web = open(naming(&[&server.url("")]));
    let answer = web.send(&put).await.expect("an answer");
    assert_eq!(
        (answer.status, answer.header("location")),
        (201, Some("/there"))
    );
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    for seen in seen {
        assert_eq!((&*seen.method, seen.body.len()), ("PUT", 1_000_000));
        assert!(seen.body.starts_with("0123") && seen.body.ends_with("6789"));
        assert_eq!(
            seen.header("content-type"),
            Some("application/octet-stream")
        );
        assert_eq!(seen.header("content-length"), Some("1000000"));
    }
}

#[tokio::test]
async fn body_is_not_sent_to_another_server() {
    let other = Server::start(|_, wire| wire.answer("200 OK", &[], b""));
    let to = other.url("/x");
    let server =
        Server::start(move |_, wire| wire.answer("307 Moved", &[("location", to.as_str())], b""));
    let web = open(naming(&[&server.url(""), &other.url("")]));
    for method in [Method::Put(Body::empty()), Method::Post(Body::empty())] {
        let sent = Request {
            method,
            ..request(&server.url("/"))
        };
        let error = web.send(&sent).await.expect_err("it is elsewhere");
        assert!(matches!(error, WebError::Moved { .. }), "{error}");
    }
    assert!(other.seen().is_empty());
    // A `HEAD` request follows the redirect.
    let head = Request {
        method: Method::Head,
        accept: Some("text/x".to_owned()),
        ..request(&server.url("/"))
    };
    assert_eq!(web.send(&head).await.expect("an answer").status, 200);
    let seen = other.seen();
    assert_eq!((seen.len(), &*seen[0].method), (1, "HEAD"));
    assert_eq!(seen[0].header("accept"), Some("text/x"));
}

#[tokio::test]
async fn body_of_any_length_is_streamed() {
    let server = Server::start(|seen, wire| {
        wire.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n")?;
        let end = if seen.target == "/cut" { 99 } else { 100 };
        for _ in 0..end {
            wire.write_all(&[b'x'; 10_000])?;
        }
        wire.flush()?;
        if seen.target == "/cut" {
            return Err(std::io::ErrorKind::ConnectionAborted.into());
        }
        Ok(())
    });
    let options = naming(&[&server.url("")]);
    let web = open(WebOptions {
        limits: Limits {
            bytes: 1_000,
            ..options.limits.clone()
        },
        ..options
    });
    let read = async |path: &str| {
        let mut answer = web.open(&request(&server.url(path))).await?;
        assert_eq!(answer.status, 200);
        let mut length = 0;
        while let Some(piece) = answer.chunk().await? {
            length += piece.as_ref().len();
        }
        Ok::<_, WebError>(length)
    };
    assert_eq!(read("/").await.expect("all of it"), 1_000_000);
    let error = read("/cut").await.expect_err("a part is missing");
    assert!(error.is_temporary(), "{error}");
    let answer = web.open(&request(&server.url("/"))).await.expect("a head");
    let error = answer.read(1_000).await.expect_err("too much");
    assert!(matches!(error, WebError::TooLong(1_000)), "{error}");
}
