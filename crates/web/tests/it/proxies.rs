use crate::authority::Authority;
use crate::names::Names;
use crate::proxy::{Asked, credential, socks, tunnels};
use crate::server::Server;
use crate::{get, hello, naming, open, open_with, refusal};
use tempfile::tempdir;
use web::{Proxies, Web, WebError, WebOptions};

fn via(proxy: &str) -> WebOptions {
    WebOptions {
        proxies: Proxies {
            all: Some(proxy.to_owned()),
            ..Proxies::default()
        },
        ..naming(&[])
    }
}

fn asked(asked: &Asked) -> Vec<(String, Option<String>)> {
    asked.lock().clone()
}

#[tokio::test]
async fn http_proxy_forwards_plain_requests() {
    // R-GLCI-148
    let proxy = hello();
    let mut options = via(&format!("http://me:p%40ss@{}", proxy.address));
    options.reach.plain.push("gitlab.example".to_owned());
    // The name does not resolve here; only the proxy resolves it.
    let names = Names::new(&[]);
    let web = open_with(options, &names);
    let answer = get(&web, "http://gitlab.example/x?y").await;
    assert_eq!(answer.expect("an answer").body, b"hello");
    let seen = &proxy.seen()[0];
    assert_eq!(seen.target, "http://gitlab.example/x?y");
    assert_eq!(seen.header("host"), Some("gitlab.example"));
    assert_eq!(credential(seen).as_deref(), Some("Basic bWU6cEBzcw=="));
    assert!(names.asked().is_empty());
}

#[tokio::test]
async fn https_goes_through_tunnels_of_both_kinds() {
    // R-GLCI-148
    let (authority, directory) = (Authority::new("ours"), tempdir().expect("a directory"));
    let config = authority.server("gitlab.example");
    let server = Server::start_tls(config, |_, wire| wire.answer("200 OK", &[], b"hello"));
    let basic = "Basic bWU6cEBzcw==";
    let (http, http_asked) = tunnels(server.address);
    let (socks, socks_asked) = socks(server.address);
    for (proxy, asked_by, target, user) in [
        (
            format!("http://{}", http.address),
            &http_asked,
            "gitlab.example:443",
            None,
        ),
        (
            format!("http://me:p%40ss@{}", http.address),
            &http_asked,
            "gitlab.example:443",
            Some(basic),
        ),
        (
            format!("socks5://{}", socks.address),
            &socks_asked,
            "gitlab.example:443",
            None,
        ),
        (
            format!("socks5h://me:p%40ss@{}", socks.address),
            &socks_asked,
            "gitlab.example:443",
            Some("me:p@ss"),
        ),
    ] {
        let names = Names::new(&[]);
        let mut options = via(&proxy);
        options.authorities.push(authority.write(directory.path()));
        let web = open_with(options, &names);
        let answer = get(&web, "https://gitlab.example/x")
            .await
            .expect("an answer");
        assert_eq!(answer.body, b"hello");
        let last = asked(asked_by).pop().expect("somebody asked");
        assert_eq!(last, (target.to_owned(), user.map(str::to_owned)));
        assert!(names.asked().is_empty());
    }
    assert_eq!(server.targets(), ["/x"; 4]);
    for seen in server.seen() {
        assert_eq!(credential(&seen), None);
    }
}

#[tokio::test]
async fn proxy_name_may_resolve_to_any_address() {
    let server = hello();
    let (socks, asked_of_socks) = socks(server.address);
    for proxy in [
        server.url_as("http", "proxy.corp", ""),
        socks.url_as("socks5", "proxy.corp", ""),
    ] {
        let names = Names::here(&["proxy.corp"]);
        let mut options = via(&proxy);
        options.reach.plain.push("gitlab.example".to_owned());
        let web = open_with(options, &names);
        let answer = get(&web, "http://gitlab.example/x").await;
        assert_eq!(answer.expect("an answer").body, b"hello");
        assert_eq!(names.asked(), ["proxy.corp"]);
    }
    assert_eq!(server.targets(), ["http://gitlab.example/x", "/x"]);
    assert_eq!(
        asked(&asked_of_socks),
        [("gitlab.example:80".to_owned(), None)]
    );
}

#[tokio::test]
async fn private_hosts_are_not_requested_through_a_proxy() {
    // R-GLCI-148
    let proxy = hello();
    let web = open(via(&proxy.url("")));
    let private = "is a name of this machine or of a private network";
    for (url, expect) in [
        (
            "https://10.0.0.1/",
            "10.0.0.1 is for a private network".to_owned(),
        ),
        (
            "https://169.254.169.254/",
            "169.254.169.254 is for what a cloud tells a machine about itself".to_owned(),
        ),
        ("https://localhost/", format!("localhost {private}")),
        (
            "https://metadata.google.internal/",
            format!("metadata.google.internal {private}"),
        ),
        ("https://intranet/", format!("intranet {private}")),
        ("https://printer.local/", format!("printer.local {private}")),
        (
            "http://gitlab.example/",
            "http://gitlab.example is not asked over plain `http`".to_owned(),
        ),
    ] {
        assert_eq!(refusal(&web, url).await, expect);
    }
    assert_eq!(proxy.connections(), 0);
}

#[tokio::test]
async fn redirects_are_checked_behind_a_proxy() {
    let proxy = Server::start(|_, wire| {
        wire.answer("302 Found", &[("location", "http://169.254.169.254/")], b"")
    });
    let mut options = via(&proxy.url(""));
    options.reach.plain.push("gitlab.example".to_owned());
    let reason = refusal(&open(options), "http://gitlab.example/").await;
    assert_eq!(
        reason,
        "http://gitlab.example redirects: 169.254.169.254 is for what a cloud tells a machine about itself"
    );
    assert_eq!(proxy.targets(), ["http://gitlab.example/"]);
}

#[tokio::test]
async fn this_machine_and_exceptions_bypass_the_proxy() {
    let (server, proxy) = (hello(), hello());
    let excepted = server.url_as("http", "gitlab.corp", "");
    let mut options = via(&proxy.url(""));
    options.proxies.except = Some("10.0.0.0/8, .corp".to_owned());
    options.reach.named = naming(&[&server.url(""), &excepted]).reach.named;
    let web = open_with(options, &Names::here(&["gitlab.corp"]));
    for url in [server.url("/here"), format!("{excepted}/corp")] {
        assert_eq!(get(&web, &url).await.expect("an answer").body, b"hello");
    }
    assert_eq!(server.targets(), ["/here", "/corp"]);
    assert_eq!(proxy.connections(), 0);
}

#[tokio::test]
async fn proxy_errors_are_reported_without_the_password() {
    let refuses = Server::start(|_, wire| {
        wire.answer("407 Proxy Authentication Required", &[], b"")?;
        wire.raw("")
    });
    let silent = Server::start(|_, wire| wire.raw(""));
    let forbids = Server::start(|_, wire| {
        wire.answer("403 Forbidden", &[], b"")?;
        wire.raw("")
    });
    let gone = hello().address;
    for (address, url, expect) in [
        (
            refuses.address,
            "http://gitlab.example/",
            "the proxy PROXY wants a name and a password",
        ),
        (
            refuses.address,
            "https://gitlab.example/",
            "through the proxy PROXY: tunnel error: proxy authorization required",
        ),
        (
            forbids.address,
            "https://gitlab.example/",
            "through the proxy PROXY: tunnel error: unsuccessful",
        ),
        (
            silent.address,
            "https://gitlab.example/",
            "through the proxy PROXY: tunnel error: unexpected end of file",
        ),
        (
            gone,
            "https://gitlab.example/",
            "through the proxy PROXY: connection refused",
        ),
    ] {
        let mut options = via(&format!("http://me:secret@{address}"));
        options.reach.plain.push("gitlab.example".to_owned());
        options.limits.attempts = 1;
        let web = open(options);
        let reason = refusal(&web, url).await;
        let shown = format!("{web:?}");
        assert!(
            !shown.contains("secret") && !shown.contains("bWU6c2VjcmV0"),
            "{shown}"
        );
        let server = url.trim_end_matches('/');
        let expect = expect.replace("PROXY", &format!("http://{address}"));
        assert_eq!(reason, format!("{server} cannot be reached: {expect}"));
    }
}

#[test]
fn invalid_proxy_is_reported_at_construction() {
    let error = Web::new(via("gopher://me:secret@proxy")).expect_err("no proxy");
    assert!(matches!(error, WebError::Setup(_)));
    assert_eq!(
        error.to_string(),
        "`all_proxy` is no address of a proxy, as `http://proxy.example:3128` or `socks5://127.0.0.1:1080`"
    );
}
