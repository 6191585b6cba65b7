use super::user::{User, at};
use gitlab_api::Accounts;
use std::fs;

const GLAB: &str = "hosts:\n  h: {token: from-glab}\n  o: {token: oauth, is_oauth2: 'true'}\n";
const NETRC: &str = "machine h login me password from-netrc\ndefault password for-all\n";

fn user_with_all() -> User {
    User {
        settings: "[[gitlab.instance]]\nurl = 'https://h'\ntoken-env = 'MINE'",
        variables: &[("MINE", "from-settings"), ("GITLAB_TOKEN", "from-env")],
        remote: Some("git@h:g/p.git"),
        ..User::new()
    }
    .has(".config/glab-cli/config.yml", 0o600, GLAB)
    .has(".netrc", 0o600, NETRC)
}

#[test]
fn the_first_token_there_is_counts() {
    let check = |user: &User, expect: &str| {
        assert_eq!(user.token("https://h").as_deref(), Some(expect));
    };
    let mut user = user_with_all();
    check(
        &user,
        "from-settings Access MINE (named by ~/.runwright/config.toml)",
    );
    user.variables = &[("MINE", ""), ("GITLAB_TOKEN", "from-env")];
    check(&user, "from-env Access GITLAB_TOKEN");
    user.variables = &[("RUNWRIGHT_GITLAB_TOKEN", "a"), ("GITLAB_TOKEN", "b")];
    check(&user, "a Access RUNWRIGHT_GITLAB_TOKEN");
    user.variables = &[("OAUTH_TOKEN", "o")];
    check(&user, "o OAuth OAUTH_TOKEN");
    user.variables = &[];
    check(
        &user,
        "from-glab Access ~/.config/glab-cli/config.yml (glab)",
    );
    fs::remove_dir_all(user.home.path().join(".config")).expect("removed");
    check(&user, "from-netrc Access ~/.netrc");
}

#[test]
fn a_token_for_a_server_that_cannot_be_read_is_for_none() {
    let of = |host| User {
        variables: Box::leak(Box::new([("GITLAB_HOST", host), ("GITLAB_TOKEN", "t")])),
        remote: Some("git@i:g/p"),
        ..User::new()
    };
    assert_eq!(of("bad host").token("https://i"), None);
    let instance = at("https://i");
    let places = of("bad host").accounts().places(&instance).join("\n");
    let expect = "GITLAB_TOKEN: for no server, as GITLAB_HOST is not a URL";
    assert!(places.contains(expect), "{places}");
    assert!(of("i").token("https://i").is_some());
}

#[test]
fn a_token_is_for_one_server() {
    // R-GLCI-150
    let user = user_with_all();
    let check = |user: &User, address: &str, expect: Option<&str>| {
        assert_eq!(user.token(address).as_deref(), expect, "{address}");
    };
    check(&user, "https://other", None);
    check(&user, "http://h", None);
    check(&user, "https://h:444", None);
    check(
        &user,
        "https://o",
        Some("oauth OAuth ~/.config/glab-cli/config.yml (glab)"),
    );
    check(&user, "https://o:444", None);
    // What stands for all hosts in netrc is for none that a file names, or a checkout alone.
    let own = User {
        remote: Some("git@i:g/p"),
        gitlab: Some("https://j"),
        variables: &[],
        ..user_with_all()
    };
    let own = own.has(".netrc", 0o600, NETRC);
    check(&own, "https://j", Some("for-all Access ~/.netrc"));
    check(&own, "https://i", None);
    check(&own, "https://other", None);
    // A variable is for the host that another variable names.
    let named = User {
        variables: &[("GITLAB_HOST", "https://work"), ("GITLAB_TOKEN", "t")],
        remote: Some("https://stranger/g/p"),
        ..User::new()
    };
    check(&named, "https://work", Some("t Access GITLAB_TOKEN"));
    check(&named, "https://stranger", None);
    let none = User {
        variables: &[("GITLAB_TOKEN", "t")],
        ..User::new()
    };
    check(&none, "https://gitlab.com", None);
    let job = User {
        variables: &[
            ("CI_JOB_ID", "1"),
            ("CI_SERVER_URL", "https://ci"),
            ("CI_JOB_TOKEN", "t"),
        ],
        remote: Some("git@h:g/p"),
        ..User::new()
    };
    check(&job, "https://ci", Some("t Job CI_JOB_TOKEN"));
    check(&job, "https://h", None);
}

#[test]
fn a_variable_that_names_no_server_is_for_none_that_a_checkout_alone_names() {
    let check = |user: User, address: &str, is_sent: bool| {
        for variables in [
            &[("RUNWRIGHT_GITLAB_TOKEN", "t")],
            &[("GITLAB_TOKEN", "t")],
            &[("GITLAB_ACCESS_TOKEN", "t")],
            &[("OAUTH_TOKEN", "t")],
        ] {
            let accounts = user.accounts_with(variables);
            let token = accounts.token(&at(address));
            assert_eq!(token.is_some(), is_sent, "{variables:?} {address}");
        }
    };
    let cloned = |remote| User {
        remote: Some(remote),
        ..User::new()
    };
    check(
        cloned("https://stranger.example/g/p"),
        "https://stranger.example",
        false,
    );
    check(
        cloned("git@stranger.example:g/p"),
        "https://stranger.example",
        false,
    );
    check(cloned("http://gitlab.com/g/p"), "http://gitlab.com", false);
    check(
        cloned("https://gitlab.com:444/g/p"),
        "https://gitlab.com:444",
        false,
    );
    check(
        cloned("https://gitlab.com.example/g/p"),
        "https://gitlab.com.example",
        false,
    );
    check(cloned("https://gitlab.com/g/p"), "https://gitlab.com", true);
    check(cloned("git@gitlab.com:g/p"), "https://gitlab.com", true);
    check(
        cloned("http://127.0.0.1:8080/g/p"),
        "http://127.0.0.1:8080",
        true,
    );
    let named = User {
        gitlab: Some("https://h"),
        ..cloned("https://h/g/p")
    };
    check(named, "https://h", true);
    let set = User {
        settings: "[[gitlab.instance]]\nurl = 'https://h'",
        ..cloned("https://h/g/p")
    };
    check(set, "https://h", true);
    let signed_in = cloned("git@h:g/p").has(
        ".config/glab-cli/config.yml",
        0o600,
        "hosts: {h: {api_protocol: https}}",
    );
    check(signed_in, "https://h", true);
    let cloned = User {
        variables: &[("GITLAB_TOKEN", "t"), ("RUNWRIGHT_GITLAB_TOKEN", "t")],
        ..cloned("https://h/g/p")
    };
    let places = cloned.places("https://h");
    for expect in [
        "GITLAB_TOKEN: for no server: only the checkout names https://h; set `GITLAB_HOST=https://h` if it is yours",
        "set `RUNWRIGHT_GITLAB=https://h` if it is yours",
    ] {
        assert!(places.contains(expect), "{places}");
    }
}

#[test]
fn all_places_are_listed_with_their_problems() {
    let user = User {
        settings: "[[gitlab.instance]]\nurl = 'https://h'\ntoken-file = '~/token'",
        variables: &[
            ("GITLAB_HOST", "work"),
            ("GITLAB_TOKEN", "a\nb"),
            ("OAUTH_TOKEN", "x"),
        ],
        remote: Some("git@h:g/p.git"),
        ..User::new()
    }
    .has("token", 0o640, "secret-1")
    .has(
        ".config/glab-cli/config.yml",
        0o600,
        "hosts: {h: {use_keyring: 'true'}}",
    )
    .has(".netrc", 0o644, "machine h password secret-2");
    insta::assert_snapshot!(user.places("https://h"), @r"
    ~/token (named by ~/.runwright/config.toml): not used: other users can read it; `chmod 600` prevents that
    RUNWRIGHT_GITLAB_TOKEN: not set
    GITLAB_TOKEN: for https://work
    OAUTH_TOKEN: for https://work
    ~/.config/glab-cli/config.yml (glab): its token is in the keyring, which only `glab` reads; `glab auth login` without the keyring puts it into this file
    ~/.netrc: not used: other users can read it; `chmod 600` prevents that
    ");
    let user = User {
        variables: &[("GITLAB_TOKEN", "a\nb"), ("GLAB_CONFIG_DIR", "/nowhere")],
        gitlab: Some("https://h"),
        ..User::new()
    }
    .has(".netrc", 0o600, "machine h login x");
    insta::assert_snapshot!(user.places("https://h"), @r"
    ~/.runwright/config.toml: no token for https://h
    RUNWRIGHT_GITLAB_TOKEN: not set
    GITLAB_TOKEN: left out: a token has no spaces, line breaks or special characters
    GITLAB_ACCESS_TOKEN: not set
    OAUTH_TOKEN: not set
    /nowhere/config.yml (glab): not there
    ~/.netrc: no password there
    ");
}

#[test]
fn configuration_of_glab_is_found_and_never_an_error() {
    let check = |user: User, expect: &str| {
        let places = user.places("https://h");
        assert!(places.contains(expect), "{expect}\n{places}");
    };
    let other = User {
        variables: &[("XDG_CONFIG_HOME", "/nowhere")],
        ..User::new()
    };
    check(
        other.has(".config/glab-cli/config.yml", 0o600, GLAB),
        "~/.config/glab-cli/config.yml (glab): a token",
    );
    let bad = User::new().has(".config/glab-cli/config.yml", 0o600, "hosts: [");
    check(bad, "config.yml (glab): not used: it is not YAML");
    let open = User::new().has(".config/glab-cli/config.yml", 0o644, GLAB);
    check(open, "config.yml (glab): not used: other users can read it");
    let ended =
        "hosts: {h: {token: t, is_oauth2: 'true', oauth2_expiry_date: 13 Mar 23 15:47 GMT}}";
    let ended = User::new().has(".config/glab-cli/config.yml", 0o600, ended);
    check(
        ended,
        "its token ended at 13 Mar 23 15:47 GMT; `glab auth status` renews it",
    );
}

#[test]
fn nothing_shows_a_token() {
    let user = User {
        settings: "[[gitlab.instance]]\nurl = 'https://h'\ntoken = 's3cret'",
        variables: &[("GITLAB_TOKEN", "s3cret")],
        remote: Some("https://me:s3cret@h/g/p.git"),
        ..User::new()
    }
    .has(
        ".config/glab-cli/config.yml",
        0o600,
        "hosts: {h: {token: s3cret}}",
    )
    .has(".netrc", 0o600, "machine h password s3cret");
    let accounts = user.accounts();
    assert!(accounts.token(&at("https://h")).is_some());
    let shown = format!("{accounts:?} {:?}", accounts.places(&at("https://h")));
    assert!(!shown.contains("s3cret"), "{shown}");
}
