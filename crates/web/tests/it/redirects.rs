use crate::names::Names;
use crate::server::{Seen, Server, Wire};
use crate::{get, naming, open, open_with, refusal, secret_request};
use std::io;
use web::{Method, Request};

/// Redirects to the part of the target after `/to/`, and answers all other requests.
fn lead(seen: &Seen, wire: &mut dyn Wire) -> io::Result<()> {
    match seen.target.strip_prefix("/to/") {
        Some(target) => wire.answer("302 Found", &[("location", target)], b"go"),
        None => wire.answer("200 OK", &[], b"there"),
    }
}

/// Starts a server that redirects with this status.
fn leading(status: &'static str, location: &str) -> Server {
    let location = location.to_owned();
    Server::start(move |seen, wire| match seen.target.as_str() {
        "/end" => wire.answer("200 OK", &[], b"there"),
        _ => wire.answer(status, &[("location", &location)], b""),
    })
}

#[tokio::test]
async fn relative_redirects_keep_credential_and_method() {
    // R-GLCI-148
    for (status, location) in [
        ("301 Moved Permanently", "/end"),
        ("302 Found", "end"),
        ("303 See Other", "./end"),
        ("307 Temporary Redirect", "x/../end"),
        ("308 Permanent Redirect", "/end"),
    ] {
        let server = leading(status, location);
        let web = open(naming(&[&server.url("/")]));
        let answer = web.send(&secret_request(&server.url("/start"))).await;
        let answer = answer.expect("an answer");
        assert_eq!(answer.url.as_str(), server.url("/end"), "{status}");
        assert_eq!(server.targets(), ["/start", "/end"]);
        for seen in server.seen() {
            assert_eq!(seen.header("private-token"), Some("glpat-secret"));
            assert_eq!(seen.header("if-none-match"), Some("\"earlier\""));
        }
    }
}

#[tokio::test]
async fn redirects_beyond_the_limit_are_not_followed() {
    // R-GLCI-148
    let server = Server::start(lead);
    let web = open(naming(&[&server.url("/")]));
    let answer = get(&web, &server.url("/to//to//to//end")).await;
    assert_eq!(answer.expect("three").body, b"there");
    let reason = refusal(&web, &server.url("/to//to//to//to//end")).await;
    assert_eq!(reason, "more than 3 redirects");
    let round = leading("302 Found", "/");
    let web = open(naming(&[&round.url("/")]));
    assert_eq!(
        refusal(&web, &round.url("/")).await,
        "more than 3 redirects"
    );
    assert_eq!(round.seen().len(), 4);
}

#[tokio::test]
async fn redirect_targets_are_checked_like_requests() {
    let server = Server::start(lead);
    let own = server.url("");
    let web = open(naming(&[&own]));
    let no_https = "cannot be asked, only `https` ones";
    for (target, expect) in [
        (
            "http://169.254.169.254/latest/secret",
            "169.254.169.254 is for what a cloud tells a machine about itself".to_owned(),
        ),
        (
            "https://169.254.169.254/",
            "169.254.169.254 is for what a cloud tells a machine about itself".to_owned(),
        ),
        ("//[::1]/", "[::1] is for this machine".to_owned()),
        (
            "https://2130706433/",
            "127.0.0.1 is for this machine".to_owned(),
        ),
        (
            "https://localhost/",
            "localhost is a name of this machine or of a private network".to_owned(),
        ),
        ("file:///etc/passwd", format!("a `file` address {no_https}")),
        ("ftp://example.com/", format!("a `ftp` address {no_https}")),
        (
            "data:text/plain,secret",
            format!("a `data` address {no_https}"),
        ),
        (
            "http://example.com/?secret",
            "http://example.com is not asked over plain `http`".to_owned(),
        ),
    ] {
        let reason = refusal(&web, &format!("{own}/to/{target}")).await;
        assert_eq!(reason, format!("{own} redirects: {expect}"));
    }
    let reason = refusal(&web, &format!("{own}/to/https://[secret")).await;
    assert_eq!(reason, format!("{own} redirects to what is no address"));
}

#[tokio::test]
async fn resolved_addresses_of_redirect_targets_are_checked() {
    let server = Server::start(lead);
    let names = Names::new(&[("evil.example", &[&["127.0.0.1"]])]);
    let own = server.url("");
    let web = open_with(naming(&[&own]), &names);
    let reason = refusal(&web, &format!("{own}/to/https://evil.example/")).await;
    assert_eq!(
        reason,
        format!("{own} redirects: evil.example is at 127.0.0.1, which is for this machine")
    );
}

#[tokio::test]
async fn token_is_not_sent_again_after_another_server() {
    let (own, other) = (Server::start(lead), Server::start(lead));
    let web = open(naming(&[&own.url(""), &other.url("")]));
    let round = format!("/to/{}/to/{}/end", other.url(""), own.url(""));
    let answer = web.send(&secret_request(&own.url(&round))).await;
    assert_eq!(answer.expect("an answer").body, b"there");
    let told = |server: &Server, header| {
        let tokens = server
            .seen()
            .into_iter()
            .map(move |seen| seen.header(header).is_some());
        tokens.collect::<Vec<_>>()
    };
    for header in ["private-token", "if-none-match"] {
        assert_eq!(told(&own, header), [true, false], "{header}");
        assert_eq!(told(&other, header), [false], "{header}");
    }
}

#[tokio::test]
async fn another_name_port_or_scheme_is_another_server() {
    let own = Server::start(lead);
    let names = Names::here(&["a.example", "b.example"]);
    let (first, second) = (
        own.url_as("http", "a.example", ""),
        own.url_as("http", "b.example", ""),
    );
    let web = open_with(naming(&[&first, &second]), &names);
    let answer = web
        .send(&secret_request(&format!("{first}/to/{second}/end")))
        .await;
    assert_eq!(
        answer.expect("an answer").url.as_str(),
        format!("{second}/end")
    );
    let seen = own.seen();
    assert_eq!(seen[0].header("private-token"), Some("glpat-secret"));
    assert_eq!(seen[1].header("private-token"), None);
}

#[tokio::test]
async fn password_in_an_address_stays_with_its_server() {
    let (own, other) = (Server::start(lead), Server::start(lead));
    let web = open(naming(&[&own.url(""), &other.url("")]));
    let port = own.address.port();
    let url = format!(
        "http://me:secret@127.0.0.1:{port}/to//to/{}/end",
        other.url("")
    );
    assert_eq!(get(&web, &url).await.expect("an answer").body, b"there");
    let basic = |server: &Server| {
        let seen = server.seen().into_iter();
        let told = seen.map(|seen| seen.header("authorization").map(str::to_owned));
        told.collect::<Vec<_>>()
    };
    let told = Some("Basic bWU6c2VjcmV0".to_owned());
    assert_eq!(basic(&own), [told.clone(), told]);
    assert_eq!(basic(&other), [None]);
}

#[tokio::test]
async fn posts_are_repeated_only_for_their_own_server() {
    let post = |url: &str| Request {
        method: Method::PostJson("{\"content\":1}".to_owned()),
        ..secret_request(url)
    };
    let sent = |server: &Server| {
        let seen = server.seen().into_iter();
        seen.map(|seen| (seen.method, seen.body))
            .collect::<Vec<_>>()
    };
    let posted = ("POST".to_owned(), "{\"content\":1}".to_owned());
    let read = ("GET".to_owned(), String::new());
    for (status, then) in [
        ("303 See Other", &read),
        ("307 Temporary Redirect", &posted),
        ("308 Permanent Redirect", &posted),
    ] {
        let server = leading(status, "/end");
        let web = open(naming(&[&server.url("")]));
        let answer = web.send(&post(&server.url("/"))).await.expect("an answer");
        assert_eq!(answer.body, b"there");
        assert_eq!(sent(&server), [posted.clone(), then.clone()], "{status}");
    }
    let other = Server::start(lead);
    for status in [
        "301 Moved Permanently",
        "302 Found",
        "307 Temporary Redirect",
    ] {
        let server = leading(status, &other.url("/end"));
        let web = open(naming(&[&server.url(""), &other.url("")]));
        let error = web
            .send(&post(&server.url("/")))
            .await
            .expect_err("another");
        let (from, to) = (server.url(""), other.url(""));
        assert_eq!(
            error.to_string(),
            format!("{from} says that it is at {to} now")
        );
    }
    assert_eq!(other.connections(), 0);
}
