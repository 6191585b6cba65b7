use crate::server::{Server, Wire};
use crate::{get, naming, open, refusal};
use std::io;
use std::thread;
use std::time::Duration;
use web::{Limits, Web, WebError};

/// Returns a `Web` that makes one attempt with tight limits.
fn short(server: &Server, within: u64) -> Web {
    let mut options = naming(&[&server.url("")]);
    options.limits = Limits {
        deadline: Duration::from_millis(within),
        bytes: 1000,
        attempts: 1,
        ..options.limits
    };
    open(options)
}

/// Writes until the reader is gone, with a pause after each piece.
fn forever(wire: &mut dyn Wire, piece: &[u8], pause: Duration) -> io::Result<()> {
    loop {
        wire.write_all(piece)?;
        wire.flush()?;
        thread::sleep(pause);
    }
}

#[tokio::test]
async fn slow_responses_time_out() {
    // R-GLCI-148
    let moment = Duration::from_millis(20);
    let silent = Server::speaking(|mut socket| {
        // Reads until the client disconnects.
        io::copy(&mut socket, &mut io::sink()).map(|_| ())
    });
    let drips_head = Server::start(move |_, wire| {
        wire.write_all(b"HTTP/1.1 200 OK\r\nx: ")?;
        forever(wire, b"x", moment)
    });
    let drips_body = Server::start(move |_, wire| {
        wire.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")?;
        forever(wire, b"x", moment)
    });
    let drips_pieces = Server::start(move |_, wire| {
        wire.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n")?;
        forever(wire, b"1\r\nx\r\n", moment)
    });
    for server in [silent, drips_head, drips_body, drips_pieces] {
        let web = short(&server, 200);
        let error = get(&web, &server.url("/?secret")).await.expect_err("late");
        assert!(matches!(error, WebError::Late { .. }), "{error}");
        assert_eq!(
            error.to_string(),
            format!("{} did not answer within 0.2s", server.url(""))
        );
        assert!(error.is_temporary());
    }
}

#[tokio::test]
async fn silence_after_redirects_times_out() {
    let slow = Server::start(|seen, wire| {
        if seen.target == "/3" {
            // Reads until the client disconnects.
            return io::copy(wire, &mut io::sink()).map(|_| ());
        }
        let next = if seen.target == "/1" { "/2" } else { "/3" };
        wire.answer("302 Found", &[("location", next)], b"")
    });
    let web = short(&slow, 300);
    let error = get(&web, &slow.url("/1")).await.expect_err("late");
    assert!(matches!(error, WebError::Late { .. }), "{error}");
    assert!(
        ["/1", "/2", "/3"].starts_with(
            &slow
                .targets()
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
        )
    );
}

#[tokio::test]
async fn too_long_bodies_are_not_read() {
    // R-GLCI-148
    let too_long = "the answer has more than 1000 bytes";
    let told = Server::start(|_, wire| {
        // The announced body is never sent.
        wire.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1001\r\n\r\n")?;
        io::copy(wire, &mut io::sink()).map(|_| ())
    });
    assert_eq!(
        refusal(&short(&told, 60_000), &told.url("/")).await,
        too_long
    );
    let endless = Server::start(|_, wire| {
        wire.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
        forever(wire, &[b'x'; 4096], Duration::ZERO)
    });
    assert_eq!(
        refusal(&short(&endless, 60_000), &endless.url("/")).await,
        too_long
    );
    let pieces = Server::start(|_, wire| {
        wire.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")?;
        forever(wire, b"8\r\n12345678\r\n", Duration::ZERO)
    });
    assert_eq!(
        refusal(&short(&pieces, 60_000), &pieces.url("/")).await,
        too_long
    );
    let huge = Server::start(|_, wire| {
        wire.raw("HTTP/1.1 200 OK\r\ncontent-length: 9999999999999999\r\n\r\n")
    });
    assert_eq!(
        refusal(&short(&huge, 60_000), &huge.url("/")).await,
        too_long
    );
    let fits = Server::start(|_, wire| wire.answer("200 OK", &[], &[b'x'; 1000]));
    let answer = get(&short(&fits, 60_000), &fits.url("/")).await;
    assert_eq!(answer.expect("it fits").body.len(), 1000);
}

#[tokio::test]
async fn compressed_bodies_are_refused() {
    for encoding in ["gzip", "x-gzip", "br", "zstd", "deflate"] {
        let server = Server::start(move |_, wire| {
            wire.answer("200 OK", &[("content-encoding", encoding)], b"\x1f\x8b\x08")
        });
        let reason = refusal(&short(&server, 60_000), &server.url("/")).await;
        let own = server.url("");
        assert_eq!(
            reason,
            format!("{own} answers in `{encoding}`, which was not asked for")
        );
    }
}

#[tokio::test]
async fn truncated_responses_are_errors() {
    for (text, expect) in [
        ("", "connection closed before message completed"),
        (
            "HTTP/1.1 200 OK\r\ncontent-le",
            "connection closed before message completed",
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf",
            "end of file before message length reached",
        ),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nha",
            "end of file before message length reached",
        ),
        ("SSH-2.0-OpenSSH_9.9\r\n", "invalid HTTP version parsed"),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n",
            "invalid content-length parsed",
        ),
    ] {
        let server = Server::start(move |_, wire| wire.raw(text));
        let reason = refusal(&short(&server, 60_000), &server.url("/?secret")).await;
        let own = server.url("");
        assert_eq!(
            reason,
            format!("{own} cannot be reached: {expect}"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn endless_headers_are_not_read() {
    let server = Server::start(|_, wire| {
        wire.write_all(b"HTTP/1.1 200 OK\r\n")?;
        forever(wire, b"x-more: and more and more\r\n", Duration::ZERO)
    });
    let error = get(&short(&server, 60_000), &server.url("/")).await;
    let error = error.expect_err("too many headers");
    assert!(matches!(error, WebError::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn refused_connection_is_reported_by_its_reason_alone() {
    let gone = Server::start(|_, wire| wire.raw(""));
    let (own, web) = (gone.url(""), short(&gone, 60_000));
    drop(gone);
    let reason = refusal(&web, &format!("{own}/?secret")).await;
    assert_eq!(
        reason,
        format!("{own} cannot be reached: connection refused")
    );
}
