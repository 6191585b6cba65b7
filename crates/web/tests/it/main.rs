//! Requests to real servers on this machine, over real sockets.

mod authority;
mod bodies;
mod limits;
mod names;
mod proxies;
mod proxy;
mod reach;
mod redirects;
mod retries;
mod server;
mod tinyproxy;
mod tls;
mod waiter;

use crate::names::Names;
use crate::server::Server;
use executor_core::job::SecretString;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use web::{Credential, Limits, Origin, Reach, Request, Response, Url, Web, WebError, WebOptions};

/// Returns options that let in these servers as if the user had named them.
fn naming(servers: &[&str]) -> WebOptions {
    let named: HashSet<_> = servers.iter().map(|server| origin(server)).collect();
    WebOptions {
        reach: Reach {
            named,
            ..Reach::default()
        },
        limits: Limits {
            // Tests count the requests, so none may time out.
            deadline: Duration::from_mins(1),
            overall: Duration::from_mins(4),
            pause: Duration::from_millis(1),
            ..Limits::default()
        },
        ..WebOptions::default()
    }
}

fn origin(url: &str) -> Origin {
    Origin::of(&Url::parse(url).expect("an address")).expect("a server")
}

fn open(options: WebOptions) -> Web {
    Web::new(options).expect("options that can be read")
}

/// Returns a `Web` that resolves the names of a test.
fn open_with(options: WebOptions, names: &Arc<Names>) -> Web {
    let names: Arc<Names> = Arc::clone(names);
    Web::with_resolver(options, names).expect("options that can be read")
}

fn request(url: &str) -> Request {
    Request::get(Url::parse(url).expect("an address"))
}

/// Returns a request with a token and the etag of an earlier response.
fn secret_request(url: &str) -> Request {
    Request {
        credential: Some(Credential {
            header: "private-token",
            value: SecretString::new("glpat-secret"),
        }),
        etag: Some("\"earlier\"".to_owned()),
        ..request(url)
    }
}

async fn get(web: &Web, url: &str) -> Result<Response, WebError> {
    web.send(&request(url)).await
}

/// Returns the error of a request, and checks that its message contains no secret.
async fn refusal(web: &Web, url: &str) -> String {
    let error = get(web, url).await.expect_err(url);
    let text = format!("{error} {error:?} {:?}", error.help());
    assert!(!text.contains("secret"), "{text}");
    error.to_string()
}

fn hello() -> Server {
    Server::start(|_, wire| wire.answer("200 OK", &[], b"hello"))
}
