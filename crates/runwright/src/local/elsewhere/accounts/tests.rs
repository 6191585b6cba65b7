use super::{UserAccounts, UserSurroundings, Variables};
use crate::local::elsewhere::settings::Settings;
use gitlab_api::{Accounts, Instance, Token};
use includes::{GitWay, GitWays};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

/// A user, with files in a home directory that goes with him.
struct User {
    home: tempfile::TempDir,
    settings: &'static str,
    variables: &'static [(&'static str, &'static str)],
    remote: Option<&'static str>,
    gitlab: Option<&'static str>,
}

impl User {
    fn new() -> Self {
        Self {
            home: tempfile::tempdir().expect("a directory"),
            settings: "",
            variables: &[],
            remote: None,
            gitlab: None,
        }
    }

    fn has(self, file: &str, mode: u32, text: &str) -> Self {
        let path = self.home.path().join(file);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(&path, text).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("set");
        self
    }

    fn accounts(&self) -> UserAccounts {
        let home = self.home.path();
        let file = home.join(".runwright/config.toml");
        let settings = Settings::parse(&file, self.settings, Some(home)).expect("settings");
        let surroundings = UserSurroundings {
            settings: Arc::new(settings),
            variables: Variables::of(self.variables.iter().copied()),
            home: Some(home.to_owned()),
            remote: self.remote.map(str::to_owned),
            gitlab: self.gitlab.map(str::to_owned),
        };
        UserAccounts::new(surroundings).expect("a GitLab")
    }

    fn own(&self) -> Option<String> {
        self.accounts().own().map(|it| it.to_string())
    }

    /// Returns a token and where it was found, as `TOKEN from PLACE`.
    fn token(&self, address: &str) -> Option<String> {
        let token = self.accounts().token(&at(address));
        token.map(|Token { value, found, kind }| format!("{} {kind:?} {found}", value.expose()))
    }

    fn places(&self, address: &str) -> String {
        self.accounts().places(&at(address)).join("\n")
    }

    fn way(&self, address: &str) -> Option<String> {
        let way = self.accounts().way(&at(address))?;
        let url = way.url("g/p").expect("an address");
        match way {
            GitWay::Ssh { .. } => Some(url),
            GitWay::Http {
                authority, login, ..
            } => {
                let login = login.map(|(name, _)| name);
                Some(format!("{url} {authority:?} {login:?}"))
            }
        }
    }
}

fn at(address: &str) -> Instance {
    Instance::parse(address).expect("an address")
}

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
    // What stands for all hosts in netrc is for none that a file names.
    let own = User {
        remote: Some("git@i:g/p"),
        variables: &[],
        ..user_with_all()
    };
    let own = own.has(".netrc", 0o600, NETRC);
    check(&own, "https://i", Some("for-all Access ~/.netrc"));
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
fn all_places_are_told_with_what_is_the_matter() {
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
    ~/token (named by ~/.runwright/config.toml): not used: others may read it, which `chmod 600` ends
    RUNWRIGHT_GITLAB_TOKEN: not set
    GITLAB_TOKEN: for https://work
    OAUTH_TOKEN: for https://work
    ~/.config/glab-cli/config.yml (glab): its token is in the keyring, where only `glab` finds it; `glab auth login` without the keyring puts it here
    ~/.netrc: not used: others may read it, which `chmod 600` ends
    ");
    let user = User {
        variables: &[("GITLAB_TOKEN", "a\nb"), ("GLAB_CONFIG_DIR", "/nowhere")],
        remote: Some("git@h:g/p.git"),
        ..User::new()
    }
    .has(".netrc", 0o600, "machine h login x");
    insta::assert_snapshot!(user.places("https://h"), @r"
    ~/.runwright/config.toml: no token for https://h
    RUNWRIGHT_GITLAB_TOKEN: not set
    GITLAB_TOKEN: left out: a token has no blanks, line breaks or special characters
    GITLAB_ACCESS_TOKEN: not set
    OAUTH_TOKEN: not set
    /nowhere/config.yml (glab): not there
    ~/.netrc: no password there
    ");
}

#[test]
fn glabs_file_is_found_where_glab_has_it_and_never_a_failure() {
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
    check(bad, "config.yml (glab): not used: it is no YAML");
    let open = User::new().has(".config/glab-cli/config.yml", 0o644, GLAB);
    check(open, "config.yml (glab): not used: others may read it");
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

#[test]
fn git_goes_where_the_settings_say_or_as_the_project_came() {
    let check = |settings: &'static str, remote: &'static str, expect: Option<&str>| {
        let user = User {
            settings,
            remote: Some(remote),
            ..User::new()
        };
        let way = user.way("https://h");
        assert_eq!(way.as_deref(), expect, "{settings} {remote}");
    };
    check("", "git@h:a/b.git", Some("ssh://git@h/g/p.git"));
    check(
        "",
        "ssh://me@h:2222/a/b.git",
        Some("ssh://me@h:2222/g/p.git"),
    );
    check("", "https://h/a/b.git", Some("https://h/g/p.git None None"));
    check("", "git@other:a/b.git", None);
    check("", "https://other/a/b.git", None);
    let entry = "[[gitlab.instance]]\nurl = 'https://h'\nca-file = '/ca.pem'\n";
    check(entry, "git@other:a/b.git", None);
    check(
        "[[gitlab.instance]]\nurl = 'https://h'\nca-file = '/ca.pem'\ngit = 'https'",
        "git@h:a/b.git",
        Some("https://h/g/p.git Some(\"/ca.pem\") None"),
    );
    let never = "[[gitlab.instance]]\nurl = 'https://h'\ngit = 'never'";
    check(never, "git@h:a/b.git", None);
    let ssh = "[[gitlab.instance]]\nurl = 'https://h'\ngit = 'ssh'\nssh-host = 'ssh.h:22'";
    check(ssh, "https://other/a/b", Some("ssh://git@ssh.h:22/g/p.git"));
    let job = User {
        variables: &[
            ("CI_JOB_ID", "1"),
            ("CI_SERVER_URL", "https://h"),
            ("CI_JOB_TOKEN", "t"),
        ],
        remote: Some("https://h/a/b"),
        ..User::new()
    };
    let expect = "https://h/g/p.git None Some(\"gitlab-ci-token\")";
    assert_eq!(job.way("https://h").as_deref(), Some(expect));
}

#[test]
fn a_named_gitlab_that_is_none_is_an_error() {
    let surroundings = UserSurroundings {
        settings: Arc::default(),
        variables: Variables::of::<String, String>([]),
        home: None,
        remote: None,
        gitlab: Some("ftp://h".to_owned()),
    };
    let error = UserAccounts::new(surroundings).expect_err("refused");
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
