use super::user::User;
use crate::remote::accounts::{UserAccounts, UserConfig, Variables};
use gitlab_api::{Accounts, Instance};
use std::path::Path;
use std::sync::Arc;

#[test]
fn the_projects_gitlab_is_the_one_of_its_remote_unless_somebody_says_otherwise() {
    let check = |user: User, expect: Option<&str>| assert_eq!(user.own().as_deref(), expect);
    let user = User::new;
    check(user(), None);
    let all = User {
        gitlab: Some("named.example"),
        variables: &[
            ("RUNWRIGHT_GITLAB", "chosen.example"),
            ("GITLAB_HOST", "usual.example"),
        ],
        remote: Some("git@remote.example:g/p.git"),
        settings: "[gitlab]\nurl = 'https://set.example'",
        ..user()
    };
    check(all, Some("https://named.example"));
    let all = User {
        gitlab: None,
        variables: &[
            ("RUNWRIGHT_GITLAB", "chosen.example"),
            ("GITLAB_HOST", "usual.example"),
        ],
        remote: Some("git@remote.example:g/p.git"),
        settings: "[gitlab]\nurl = 'https://set.example'",
        ..user()
    };
    check(all, Some("https://chosen.example"));
    let usual = &[
        ("GITLAB_HOST", "usual.example"),
        ("GL_HOST", "last.example"),
    ];
    let set = "[gitlab]\nurl = 'https://set.example'";
    let remote = Some("git@remote.example:g/p.git");
    check(
        User {
            variables: usual,
            remote,
            settings: set,
            ..user()
        },
        Some("https://remote.example"),
    );
    check(
        User {
            variables: usual,
            settings: set,
            ..user()
        },
        Some("https://set.example"),
    );
    // What is certainly no GitLab says nothing.
    check(
        User {
            remote: Some("git@github.com:o/r"),
            settings: set,
            ..user()
        },
        Some("https://set.example"),
    );
    check(
        User {
            variables: usual,
            ..user()
        },
        Some("https://usual.example"),
    );
    let job = &[
        ("CI_JOB_ID", "1"),
        ("CI_SERVER_URL", "http://ci.example:81"),
    ];
    check(
        User {
            variables: job,
            ..user()
        },
        Some("http://ci.example:81"),
    );
    let no_job = &[
        ("CI_SERVER_URL", "http://ci.example:81"),
        ("GITLAB_HOST", ""),
    ];
    check(
        User {
            variables: no_job,
            ..user()
        },
        None,
    );
    // What makes no sense says nothing either.
    check(
        User {
            variables: &[("GITLAB_HOST", "a b")],
            ..user()
        },
        None,
    );
}

#[test]
fn the_remotes_host_is_completed_by_what_is_known_of_it() {
    let check = |settings: &'static str, remote: &'static str, expect: &str| {
        let user = User {
            settings,
            remote: Some(remote),
            ..User::new()
        };
        assert_eq!(user.own().as_deref(), Some(expect), "{remote}");
    };
    let below = "[[gitlab.instance]]\nurl = 'https://h/gitlab'\nssh-host = 'ssh.h:2222'";
    check(below, "git@h:g/p.git", "https://h/gitlab");
    check(below, "https://h/gitlab/g/p.git", "https://h/gitlab");
    check(below, "https://h/gitlabs/g/p.git", "https://h");
    check(below, "ssh://git@ssh.h:2222/g/p.git", "https://h/gitlab");
    check(below, "ssh://git@ssh.h/g/p.git", "https://ssh.h");
    check("", "git@altssh.gitlab.com:g/p.git", "https://gitlab.com");
    check("", "ssh://git@h:2222/g/p.git", "https://h");
    check("", "http://h:8080/g/p", "http://h:8080");
    check(
        "[gitlab]\nurl = 'http://h:8080'",
        "git@h:g/p",
        "http://h:8080",
    );
    check(
        "[gitlab]\nurl = 'http://h:8080'",
        "https://h/g/p",
        "https://h",
    );
    let user = User {
        remote: Some("git@h:g/p.git"),
        ..User::new()
    };
    let glab = "hosts: {h: {api_host: 'api.h:81', api_protocol: http, subfolder: s}}";
    let user = user.has(".config/glab-cli/config.yml", 0o600, glab);
    assert_eq!(user.own().as_deref(), Some("http://api.h:81/s"));
}

#[test]
fn a_component_names_a_known_gitlab_or_one_of_https() {
    let user = User {
        settings: "[[gitlab.instance]]\nurl = 'http://known:81/gitlab'",
        remote: Some("http://own/g/p"),
        ..User::new()
    };
    let accounts = user.accounts();
    let check = |name: &str, expect: Option<&str>| {
        let found = accounts.instance(name);
        assert_eq!(found.as_ref().map(Instance::address), expect, "{name}");
    };
    check("own", Some("http://own"));
    check("OWN", Some("http://own"));
    check("known:81", Some("http://known:81/gitlab"));
    check("known", Some("https://known"));
    check("other", Some("https://other"));
    check("http://other", None);
    check("user@other", None);
    check("other/path", None);
    check("", None);
}

#[test]
fn a_named_gitlab_that_is_none_is_an_error() {
    let config = UserConfig {
        settings: Arc::default(),
        variables: Variables::of::<String, String>([]),
        home: None,
        remote: None,
        gitlab: Some("ftp://h".to_owned()),
    };
    let error = UserAccounts::new(config).expect_err("refused");
    assert!(error.to_string().contains("ftp://h"), "{error}");
}

#[test]
fn what_the_user_named_may_be_anywhere() {
    let user = User {
        settings: "[gitlab]\nurl = 'https://set'\n[[gitlab.instance]]\nurl = 'https://one:81/x'\n\
                   ca-file = '/ca.pem'\n[include]\ntemplates = 'https://t/x'\nallow-http = \
                   ['m']\nallow-private = ['10.0.0.0/8']",
        variables: &[
            ("https_proxy", "http://proxy"),
            ("HTTP_PROXY", "http://plain"),
            ("NO_PROXY", "n"),
        ],
        remote: Some("http://own/g/p"),
        ..User::new()
    };
    let options = user.accounts().web_options();
    let mut named: Vec<String> = options
        .reach
        .named
        .iter()
        .map(ToString::to_string)
        .collect();
    named.sort();
    assert_eq!(
        named,
        ["http://own", "https://one:81", "https://set", "https://t"]
    );
    assert_eq!(options.reach.plain, ["m"]);
    assert_eq!(options.reach.private, ["10.0.0.0/8"]);
    assert_eq!(options.authorities, [Path::new("/ca.pem")]);
    assert_eq!(options.proxies.https.as_deref(), Some("http://proxy"));
    assert_eq!(options.proxies.http.as_deref(), Some("http://plain"));
    assert_eq!(options.proxies.except.as_deref(), Some("n"));
}
