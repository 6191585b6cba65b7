use gitlab_api::{Client, Instance, Token, TokenKind};
use gitlab_testkit::GitLab;
use std::collections::HashSet;
use std::time::Duration;
use web::{Limits, Origin, Reach, Web, WebOptions};

pub(crate) const TOKEN: &str = "glpat-s3cret";

/// Returns a GitLab at which [`TOKEN`] is valid, with these scopes.
pub(crate) fn gitlab(scopes: &[&str]) -> GitLab {
    let gitlab = GitLab::start();
    gitlab.token(TOKEN, scopes);
    gitlab
}

/// Returns a client with an access token.
pub(crate) fn with_token(gitlab: &GitLab) -> Client {
    client(gitlab, Some(TokenKind::Access), &[])
}

/// Returns a client without a token.
pub(crate) fn stranger(gitlab: &GitLab) -> Client {
    client(gitlab, None, &[])
}

/// Returns a client that may also reach `others`.
pub(crate) fn client(gitlab: &GitLab, kind: Option<TokenKind>, others: &[&GitLab]) -> Client {
    let named: HashSet<Origin> = [gitlab].iter().chain(others).map(|it| origin(it)).collect();
    let reach = Reach {
        named,
        ..Reach::default()
    };
    let options = WebOptions {
        reach,
        // Tests count the requests, so none may time out.
        limits: Limits {
            deadline: Duration::from_mins(1),
            overall: Duration::from_mins(4),
            ..Limits::default()
        },
        ..WebOptions::default()
    };
    let web = Web::new(options).expect("the options are right");
    let instance = Instance::parse(&gitlab.url()).expect("an address");
    let token = kind.map(|kind| Token {
        kind,
        value: TOKEN.into(),
        found: "`GITLAB_TOKEN`".to_owned(),
    });
    let places = vec!["`GITLAB_TOKEN`".to_owned(), "`~/.netrc`".to_owned()];
    Client::new(web, instance, token, places)
}

fn origin(gitlab: &GitLab) -> Origin {
    let instance = Instance::parse(&gitlab.url()).expect("an address");
    instance.origin().clone()
}
