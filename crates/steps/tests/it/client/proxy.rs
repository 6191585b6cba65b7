use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use rustix::pipe::{PipeFlags, pipe_with};
use steps::proxy::{self, ProxyError};

/// A proxy between two pipes.
struct Proxied {
    input: Option<File>,
    output: Option<File>,
    proxy: JoinHandle<Result<(), ProxyError>>,
}

fn proxied(socket: &Path) -> Proxied {
    let ends = || pipe_with(PipeFlags::CLOEXEC).unwrap();
    let ((their_input, input), (output, their_output)) = (ends(), ends());
    let socket: PathBuf = socket.to_owned();
    Proxied {
        input: Some(File::from(input)),
        output: Some(File::from(output)),
        proxy: thread::spawn(move || proxy::run(&socket, their_input, their_output)),
    }
}

/// A socket that passes its first connection to `serve`.
fn served<T: Send + 'static>(
    folder: &Path,
    serve: impl FnOnce(UnixStream) -> T + Send + 'static,
) -> (PathBuf, JoinHandle<T>) {
    let socket = folder.join("socket");
    let listener = UnixListener::bind(&socket).unwrap();
    let serving = thread::spawn(move || serve(listener.accept().unwrap().0));
    (socket, serving)
}

fn echo(mut stream: UnixStream) {
    let mut back = stream.try_clone().unwrap();
    std::io::copy(&mut stream, &mut back).unwrap();
}

#[test]
fn echo_returns_bytes_of_all_kinds() {
    // R-STEP-43, R-STEP-44
    let folder = tempfile::tempdir().unwrap();
    let (socket, serving) = served(folder.path(), echo);
    let mut proxied = proxied(&socket);
    let sent: Vec<u8> = (0..20_000_000_u32).map(|byte| (byte % 253) as u8).collect();
    let (mut input, bytes) = (proxied.input.take().unwrap(), sent.clone());
    let writing = thread::spawn(move || input.write_all(&bytes).unwrap());
    let mut received = Vec::new();
    let mut output = proxied.output.take().unwrap();
    output.read_to_end(&mut received).unwrap();
    writing.join().unwrap();
    assert!(received == sent);
    proxied.proxy.join().unwrap().unwrap();
    serving.join().unwrap();
}

#[test]
fn end_of_input_leaves_output_open() {
    let folder = tempfile::tempdir().unwrap();
    let (socket, serving) = served(folder.path(), |mut stream| {
        let mut question = String::new();
        stream.read_to_string(&mut question).unwrap();
        stream.write_all(b"late answer").unwrap();
        question
    });
    let mut proxied = proxied(&socket);
    proxied
        .input
        .take()
        .unwrap()
        .write_all(b"question")
        .unwrap();
    let mut answer = String::new();
    proxied
        .output
        .take()
        .unwrap()
        .read_to_string(&mut answer)
        .unwrap();
    assert_eq!(answer, "late answer");
    assert_eq!(serving.join().unwrap(), "question");
    proxied.proxy.join().unwrap().unwrap();
}

#[test]
fn end_of_output_leaves_input_open() {
    let folder = tempfile::tempdir().unwrap();
    let (socket, serving) = served(folder.path(), |mut stream| {
        stream.write_all(b"answer").unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut question = String::new();
        stream.read_to_string(&mut question).unwrap();
        question
    });
    let mut proxied = proxied(&socket);
    let mut answer = String::new();
    proxied
        .output
        .take()
        .unwrap()
        .read_to_string(&mut answer)
        .unwrap();
    assert_eq!(answer, "answer");
    proxied
        .input
        .take()
        .unwrap()
        .write_all(b"late question")
        .unwrap();
    assert_eq!(serving.join().unwrap(), "late question");
    proxied.proxy.join().unwrap().unwrap();
}

#[test]
fn proxy_ends_when_the_service_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let (socket, serving) = served(folder.path(), drop);
    let mut proxied = proxied(&socket);
    serving.join().unwrap();
    proxied.proxy.join().unwrap().unwrap();
    let mut answer = String::new();
    proxied
        .output
        .take()
        .unwrap()
        .read_to_string(&mut answer)
        .unwrap();
    assert_eq!(answer, "");
    assert!(proxied.input.is_some());
}

#[test]
fn proxy_ends_when_its_reader_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let (socket, serving) = served(folder.path(), |mut stream| {
        let mut question = Vec::new();
        // The end of the proxy is the end of the stream.
        stream.read_to_end(&mut question).unwrap();
    });
    let mut proxied = proxied(&socket);
    drop(proxied.output.take());
    proxied.proxy.join().unwrap().unwrap();
    serving.join().unwrap();
    assert!(proxied.input.is_some());
}

#[test]
fn proxy_without_a_service_fails_silently() {
    // R-STEP-46
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("nothing");
    let mut proxied = proxied(&socket);
    let mut answer = Vec::new();
    proxied
        .output
        .take()
        .unwrap()
        .read_to_end(&mut answer)
        .unwrap();
    assert!(answer.is_empty());
    let error = proxied.proxy.join().unwrap().unwrap_err();
    let text = executor_core::chain(&error);
    let expect = format!(
        "no service listens on {}; is `runwright-agent serve` running here?: No such file or directory (os error 2)",
        socket.display()
    );
    assert_eq!(text, expect);
}

#[test]
fn file_status_flags_are_restored() {
    let folder = tempfile::tempdir().unwrap();
    let (socket, serving) = served(folder.path(), echo);
    let (their_input, input) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    let (output, their_output) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    let shared: OwnedFd = their_input.try_clone().unwrap();
    drop(input);
    proxy::run(&socket, their_input, their_output).unwrap();
    serving.join().unwrap();
    let flags = rustix::fs::fcntl_getfl(&shared).unwrap();
    assert!(!flags.contains(rustix::fs::OFlags::NONBLOCK));
    drop(output);
}
