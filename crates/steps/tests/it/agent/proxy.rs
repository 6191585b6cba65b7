//! `proxy` passes bytes between its streams and the socket, and nothing else.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;

use super::support::{agent, errors, eventually};

/// Starts a proxy to this socket, with a pipe as its input.
fn proxy(socket: &Path) -> Child {
    let mut command = agent(&["proxy", "--socket", socket.to_str().unwrap()]);
    command.stdin(Stdio::piped()).spawn().unwrap()
}

/// Accepts one connection for `serve`, while `talk` uses the proxy.
fn with_peer<T: Send>(
    serve: impl FnOnce(UnixStream) -> T + Send,
    talk: impl FnOnce(Child) + Send,
) -> T {
    let root = tempfile::tempdir().unwrap();
    let socket = root.path().join("s");
    let listener = UnixListener::bind(&socket).unwrap();
    // A proxy that never connects must not block the test.
    listener.set_nonblocking(true).unwrap();
    let child = proxy(&socket);
    thread::scope(|scope| {
        scope.spawn(|| talk(child));
        let mut accepted = None;
        eventually("the proxy connects", || {
            accepted = listener.accept().ok();
            accepted.is_some()
        });
        let (stream, _) = accepted.unwrap();
        stream.set_nonblocking(false).unwrap();
        serve(stream)
    })
}

#[test]
fn echo_returns_all_bytes() {
    // R-STEP-43
    let sent: Vec<u8> = (0..20_000_000_u32)
        .map(|number| (number % 251) as u8)
        .collect();
    with_peer(
        |mut stream| {
            let mut reader = stream.try_clone().unwrap();
            std::io::copy(&mut reader, &mut stream).unwrap();
            // The input has ended, so the output ends.
            stream.shutdown(Shutdown::Write).unwrap();
        },
        |mut child| {
            let mut input = child.stdin.take().unwrap();
            let sent = &sent;
            thread::scope(|scope| {
                scope.spawn(move || input.write_all(sent).unwrap());
                let output = child.wait_with_output().unwrap();
                assert!(output.status.success(), "{}", errors(&output));
                assert!(output.stdout == *sent, "{} bytes", output.stdout.len());
                assert!(output.stderr.is_empty());
            });
        },
    );
}

#[test]
fn output_after_end_of_input_arrives() {
    // R-STEP-43
    with_peer(
        |mut stream| {
            let mut question = String::new();
            // Ends when the proxy has passed on the end of its input.
            stream.read_to_string(&mut question).unwrap();
            stream.write_all(format!("{question}?").as_bytes()).unwrap();
        },
        |mut child| {
            child.stdin.take().unwrap().write_all(b"question").unwrap();
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", errors(&output));
            assert_eq!(output.stdout, b"question?");
        },
    );
}

#[test]
fn closed_socket_ends_the_proxy() {
    with_peer(
        |mut stream| stream.write_all(b"last words").unwrap(),
        |mut child| {
            let _open = child.stdin.take();
            let output = child.wait_with_output().unwrap();
            assert_eq!(output.stdout, b"last words");
        },
    );
}

#[test]
fn proxy_without_a_socket_writes_nothing_to_stdout() {
    // R-STEP-46, R-STEP-49
    let root = tempfile::tempdir().unwrap();
    let missing = root.path().join("missing");
    let dead = root.path().join("dead");
    drop(UnixListener::bind(&dead).unwrap());
    eventually("no child of another test holds it any more", || {
        UnixStream::connect(&dead).is_err()
    });
    for socket in [&missing, &dead] {
        let mut child = proxy(socket);
        let _open = child.stdin.take();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(output.stdout.is_empty());
        let said = errors(&output);
        assert!(said.contains(socket.to_str().unwrap()), "{said}");
    }
}
