use crate::names::Names;
use crate::server::Server;
use crate::{get, hello, naming, open, open_with, origin, refusal};
use std::net::TcpListener;
use web::{Reach, WebOptions};

#[tokio::test]
async fn servers_named_by_strangers_are_refused_before_any_connection() {
    // R-GLCI-148
    let names = Names::new(&[
        ("inner.example", &[&["10.0.0.1"]]),
        ("both.example", &[&["1.1.1.1", "127.0.0.1"]]),
        ("mapped.example", &[&["::ffff:169.254.169.254"]]),
        ("empty.example", &[&[]]),
    ]);
    let web = open_with(WebOptions::default(), &names);
    let metadata = "what a cloud tells a machine about itself";
    for (url, expect) in [
        ("http://169.254.169.254/latest/meta-data?secret", format!("169.254.169.254 is for {metadata}")),
        ("https://169.254.169.254/", format!("169.254.169.254 is for {metadata}")),
        ("https://[::ffff:169.254.169.254]/", format!("[::ffff:a9fe:a9fe] is for {metadata}")),
        ("http://[::1]/", "[::1] is for this machine".to_owned()),
        ("https://[::1]:8443/", "[::1] is for this machine".to_owned()),
        ("http://2130706433/", "127.0.0.1 is for this machine".to_owned()),
        ("https://0177.0.0.1/", "127.0.0.1 is for this machine".to_owned()),
        ("https://0x7f.0.0.1/", "127.0.0.1 is for this machine".to_owned()),
        ("https://127.1/", "127.0.0.1 is for this machine".to_owned()),
        ("https://user:secret@localhost/", "localhost is a name of this machine or of a private network".to_owned()),
        ("https://sub.localhost./", "sub.localhost. is a name of this machine or of a private network".to_owned()),
        ("http://gitlab.example/", "http://gitlab.example is not asked over plain `http`".to_owned()),
        ("file:///etc/passwd", "a `file` address cannot be asked, only `https` ones".to_owned()),
        ("ftp://gitlab.example/", "a `ftp` address cannot be asked, only `https` ones".to_owned()),
        ("https://inner.example/?secret", "inner.example is at 10.0.0.1, which is for a private network".to_owned()),
        ("https://both.example/", "both.example is at 127.0.0.1, which is for this machine".to_owned()),
        ("https://mapped.example/", format!("mapped.example is at 169.254.169.254, which is for {metadata}")),
        (
            "https://empty.example/",
            "https://empty.example cannot be reached: the name empty.example has no address".to_owned(),
        ),
        (
            "https://unknown.example/",
            "https://unknown.example cannot be reached: the name unknown.example cannot be looked up: name or service not known".to_owned(),
        ),
    ] {
        assert_eq!(refusal(&web, url).await, expect, "{url}");
    }
    let asked = [
        "inner.example",
        "both.example",
        "mapped.example",
        "empty.example",
        "unknown.example",
    ];
    assert_eq!(names.asked(), asked);
}

#[tokio::test]
async fn connection_uses_the_address_that_was_checked() {
    // R-GLCI-148
    // The attacker's target listens on the same port of another address.
    let (public, inner) = (0..10).find_map(|_| at_one_port()).expect("a port");
    inner.set_nonblocking(true).expect("a socket");
    let names = Names::new(&[("rebind.example", &[&["127.0.0.2"], &["127.0.0.1"]])]);
    let reach = Reach {
        plain: vec!["rebind.example".to_owned()],
        private: vec!["127.0.0.2".to_owned()],
        ..Reach::default()
    };
    let options = WebOptions {
        reach,
        ..WebOptions::default()
    };
    let web = open_with(options, &names);
    let url = public.url_as("http", "rebind.example", "/");
    let answer = get(&web, &url).await.expect("the address is let in");
    assert_eq!(answer.body, b"public");
    assert_eq!(names.asked(), ["rebind.example"]);
    let reason = refusal(&web, &url).await;
    assert_eq!(
        reason,
        "rebind.example is at 127.0.0.1, which is for this machine"
    );
    assert_eq!(names.asked().len(), 2);
    assert!(inner.accept().is_err(), "somebody came");
}

fn at_one_port() -> Option<(Server, TcpListener)> {
    let public = Server::listen("127.0.0.2:0", None, |_, wire| {
        wire.answer("200 OK", &[("connection", "close")], b"public")?;
        wire.raw("")
    });
    let inner = TcpListener::bind(("127.0.0.1", public.address.port())).ok()?;
    Some((public, inner))
}

#[tokio::test]
async fn one_refused_address_rules_a_name_out() {
    let good = Server::listen("127.0.0.2:0", None, |_, wire| {
        wire.answer("200 OK", &[], b"")
    });
    let names = Names::new(&[("mixed.example", &[&["127.0.0.2", "127.0.0.3"]])]);
    let reach = Reach {
        plain: vec!["*.example".to_owned()],
        private: vec!["127.0.0.2".to_owned()],
        ..Reach::default()
    };
    let web = open_with(
        WebOptions {
            reach,
            ..WebOptions::default()
        },
        &names,
    );
    let reason = refusal(&web, &good.url_as("http", "mixed.example", "/")).await;
    assert_eq!(
        reason,
        "mixed.example is at 127.0.0.3, which is for this machine"
    );
    assert_eq!(good.connections(), 0);
}

#[tokio::test]
async fn connections_are_not_shared_between_servers() {
    let server = hello();
    let names = Names::here(&["named.example", "evil.example"]);
    let own = server.url_as("http", "named.example", "/");
    let mut options = naming(&[&own]);
    options.reach.plain.push("evil.example".to_owned());
    let web = open_with(options, &names);
    for _ in 0..2 {
        assert_eq!(get(&web, &own).await.expect("it was named").body, b"hello");
    }
    let reason = refusal(&web, &server.url_as("http", "evil.example", "/")).await;
    assert_eq!(
        reason,
        "evil.example is at 127.0.0.1, which is for this machine"
    );
    assert_eq!((server.connections(), server.seen().len()), (1, 2));
}

#[tokio::test]
async fn named_server_is_allowed_at_its_own_port_only() {
    let (named, other) = (hello(), hello());
    let web = open(naming(&[&named.url("/")]));
    assert_eq!(
        get(&web, &named.url("/x?y"))
            .await
            .expect("it was named")
            .status,
        200
    );
    assert_eq!(named.targets(), ["/x?y"]);
    assert_eq!(
        refusal(&web, &other.url("/")).await,
        "127.0.0.1 is for this machine"
    );
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn names_are_looked_up_as_written() {
    let server = hello();
    for name in [
        "dot.example.",
        "under_score.example",
        "xn--bcher-kva.example",
    ] {
        let names = Names::here(&[name]);
        let url = server.url_as("http", name, "/");
        let answer = get(&open_with(naming(&[&url]), &names), &url).await;
        assert_eq!(answer.expect(name).body, b"hello");
        assert_eq!(names.asked(), [name]);
    }
}

#[tokio::test]
async fn credential_and_method_are_sent_in_headers() {
    let server = hello();
    let web = open(naming(&[&server.url("/")]));
    let request = crate::secret_request(&server.url("/"));
    let answer = web.send(&request).await.expect("an answer");
    assert_eq!(origin(answer.url.as_str()), origin(&server.url("/")));
    let seen = &server.seen()[0];
    let version = env!("CARGO_PKG_VERSION");
    for (name, expect) in [
        ("user-agent", Some(format!("runwright/{version}"))),
        ("accept-encoding", Some("identity".to_owned())),
        ("private-token", Some("glpat-secret".to_owned())),
        ("if-none-match", Some("\"earlier\"".to_owned())),
        ("referer", None),
        ("cookie", None),
    ] {
        assert_eq!(seen.header(name).map(str::to_owned), expect, "{name}");
    }
}

#[tokio::test]
async fn invalid_token_is_reported_without_its_value() {
    let server = hello();
    let web = open(naming(&[&server.url("/")]));
    let mut request = crate::secret_request(&server.url("/"));
    let credential = request.credential.as_mut().expect("a token");
    credential.value = executor_core::job::SecretString::new("glpat\r\nsecret: 1");
    let error = web.send(&request).await.expect_err("no header");
    assert_eq!(
        error.to_string(),
        "the value for `private-token` has characters that no header may have"
    );
    assert_eq!(server.connections(), 0);
}
