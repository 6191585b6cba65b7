use crate::authority::Authority;
use crate::names::Names;
use crate::server::{Server, Wire};
use crate::{get, naming, open, open_with, origin};
use rustls::ServerConfig;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::tempdir;
use web::{Reach, Waiter, Web, WebError, WebOptions};

/// The variable with the address that a child process requests.
const ASK: &str = "WEB_TEST_ASK";

fn serve(config: ServerConfig) -> Server {
    Server::start_tls(config, |_, wire| wire.answer("200 OK", &[], b"hello"))
}

fn trusting(server: &str, authorities: &[PathBuf]) -> WebOptions {
    WebOptions {
        authorities: authorities.to_vec(),
        ..naming(&[server])
    }
}

#[tokio::test]
async fn user_authority_is_trusted() {
    // R-GLCI-148
    let directory = tempdir().expect("a directory");
    let (own, other) = (Authority::new("ours"), Authority::new("theirs"));
    // A bundle, with text between the certificates.
    let bundle = directory.path().join("bundle.pem");
    let text = format!("# ours\n{}\nand theirs\n{}\n", other.pem(), own.pem());
    std::fs::write(&bundle, text).expect("a file");
    let server = serve(own.server("gitlab.example"));
    let url = server.url_as("https", "gitlab.example", "/x");
    let names = Names::here(&["gitlab.example"]);
    let web = open_with(trusting(&url, &[bundle]), &names);
    for _ in 0..2 {
        let answer = get(&web, &url).await.expect("it is trusted");
        assert_eq!(answer.body, b"hello");
    }
    assert_eq!((server.connections(), server.seen().len()), (1, 2));
}

#[tokio::test]
async fn public_addresses_need_a_certificate() {
    let directory = tempdir().expect("a directory");
    let server = serve(Authority::new("theirs").server("gitlab.example"));
    let url = server.url_as("https", "gitlab.example", "/");
    let options = WebOptions {
        reach: Reach {
            private: vec!["gitlab.example".to_owned()],
            ..Reach::default()
        },
        ..trusting(
            "http://none",
            &[Authority::new("ours").write(directory.path())],
        )
    };
    let web = open_with(options, &Names::here(&["gitlab.example"]));
    let error = get(&web, &url).await.expect_err("nobody signed it");
    assert!(matches!(error, WebError::Untrusted { .. }), "{error}");
}

#[tokio::test]
async fn certificate_errors_come_with_help() {
    // R-GLCI-148
    let directory = tempdir().expect("a directory");
    let (own, other) = (Authority::new("ours"), Authority::new("theirs"));
    let trusted = own.write(directory.path());
    let namesake = Authority::new("ours");
    let unknown = "nobody who is trusted here has signed its certificate";
    let name_it = "if it is your own authority's, name the file with that authority's certificate: `ca-file` of the instance in your config.toml, or `SSL_CERT_FILE`";
    for (config, reason, help) in [
        (other.server("gitlab.example"), unknown, name_it),
        (namesake.server("gitlab.example"), unknown, name_it),
        (
            own.expired("gitlab.example"),
            "its certificate has expired",
            "the administrator of the server has to renew it; or the clock of this machine is wrong",
        ),
        (
            own.early("gitlab.example"),
            "its certificate is not valid yet",
            "the clock of this machine or that of the server's authority is wrong",
        ),
        (
            own.server("other.example"),
            "its certificate is for other.example",
            "ask it by the name that its certificate has",
        ),
        (
            own.server("127.0.0.1"),
            "its certificate is for 127.0.0.1",
            "ask it by the name that its certificate has",
        ),
    ] {
        let server = serve(config);
        let url = server.url_as("https", "gitlab.example", "/?secret");
        let web = open_with(
            trusting(&url, std::slice::from_ref(&trusted)),
            &Names::here(&["gitlab.example"]),
        );
        let error = get(&web, &url).await.expect_err(reason);
        assert_eq!(
            error.to_string(),
            format!("{} is not trusted: {reason}", origin(&url))
        );
        assert_eq!(error.help(), Some(help));
        assert!(!error.is_temporary());
        assert_eq!(
            (server.connections(), server.seen().len()),
            (1, 0),
            "{reason}"
        );
    }
}

#[tokio::test]
async fn ip_address_is_trusted_by_its_certificate() {
    let (authority, directory) = (Authority::new("ours"), tempdir().expect("a directory"));
    let server = serve(authority.server("127.0.0.1"));
    let url = server.url_as("https", "127.0.0.1", "/");
    let web = open(trusting(&url, &[authority.write(directory.path())]));
    assert_eq!(get(&web, &url).await.expect("it is trusted").body, b"hello");
}

#[tokio::test]
async fn server_without_tls_is_reported() {
    let directory = tempdir().expect("a directory");
    let server = Server::speaking(|mut socket| {
        socket.read_exact(&mut [0; 5])?;
        socket.raw("HTTP/1.1 400 Bad Request\r\n\r\n")
    });
    let authority = Authority::new("ours").write(directory.path());
    let url = server.url_as("https", "127.0.0.1", "/");
    let error = get(&open(trusting(&url, &[authority])), &url).await;
    let error = error.expect_err("no TLS").to_string();
    let expect = format!("{} cannot be reached: it does not speak TLS", origin(&url));
    assert_eq!(error, expect);
}

#[test]
fn files_without_certificates_are_named_in_the_error() {
    let directory = tempdir().expect("a directory");
    let file = |name: &str, text: &str| {
        let file = directory.path().join(name);
        std::fs::write(&file, text).expect("a file");
        file
    };
    let pem = Authority::new("ours").pem();
    for (file, expect) in [
        (
            directory.path().join("missing"),
            "No such file or directory (os error 2)",
        ),
        (directory.path().to_owned(), "Is a directory (os error 21)"),
        (
            file("empty", ""),
            "there is none in PEM in it (`-----BEGIN CERTIFICATE-----`)",
        ),
        (
            file("binary", "\u{0}\u{1}"),
            "there is none in PEM in it (`-----BEGIN CERTIFICATE-----`)",
        ),
        (
            file(
                "key",
                "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
            ),
            "there is none in PEM in it (`-----BEGIN CERTIFICATE-----`)",
        ),
        (file("cut", &pem[..pem.len() - 30]), "one of them is broken"),
        (
            file(
                "other",
                "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            ),
            "one of them is no certificate of an authority",
        ),
    ] {
        let error = Web::new(trusting("https://x", std::slice::from_ref(&file)));
        let error = error.expect_err(expect).to_string();
        let file = file.display();
        assert_eq!(
            error,
            format!("the certificates of `{file}` cannot be read: {expect}")
        );
    }
}

#[test]
fn the_variables_of_the_system_say_whom_it_trusts() {
    // R-GLCI-148
    if let Ok(url) = std::env::var(ASK) {
        println!("SAID {}", ask_as_child(&url));
        return;
    }
    let (authority, directory) = (Authority::new("ours"), tempdir().expect("a directory"));
    let server = serve(authority.server("127.0.0.1"));
    let url = server.url_as("https", "127.0.0.1", "/");
    let file = authority.write(directory.path());
    let empty = directory.path().join("empty.pem");
    std::fs::write(&empty, "").expect("a file");
    let nobody = format!(
        "{} is not trusted: there is nobody to trust: ",
        origin(&url)
    );
    assert_eq!(ask_in_child(&url, "SSL_CERT_FILE", &file), "hello");
    let said = ask_in_child(&url, "SSL_CERT_FILE", &empty);
    assert!(said.starts_with(&nobody), "{said}");
    // OpenSSL finds certificates in a directory by their hashed names.
    let hashed = tempdir().expect("a directory");
    std::fs::copy(&file, hashed.path().join("0a1b2c3d.0")).expect("a file");
    assert_eq!(ask_in_child(&url, "SSL_CERT_DIR", hashed.path()), "hello");
}

/// Sends a request from a process with its own environment, and returns the result.
fn ask_in_child(url: &str, variable: &str, path: &Path) -> String {
    let program = std::env::current_exe().expect("a path");
    #[expect(
        clippy::disallowed_methods,
        reason = "the environment is what is tested, and is shared by all tests here"
    )]
    let output = Command::new(program)
        .args([
            "--exact",
            "tls::the_variables_of_the_system_say_whom_it_trusts",
            "--nocapture",
        ])
        .env_remove("SSL_CERT_FILE")
        .env_remove("SSL_CERT_DIR")
        .env(variable, path)
        .env(ASK, url)
        .output()
        .expect("a process");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = text.lines().find_map(|line| line.split_once("SAID "));
    said.expect(&text).1.to_owned()
}

fn ask_as_child(url: &str) -> String {
    let answer = Waiter::new().wait(get(&open(naming(&[url])), url));
    match answer.expect("a thread") {
        Ok(answer) => String::from_utf8(answer.body).expect("text"),
        Err(error) => error.to_string(),
    }
}
