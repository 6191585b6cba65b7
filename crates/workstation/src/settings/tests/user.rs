use crate::settings::{GitUse, Settings, SettingsError, TokenSource};
use gitlab_api::{Instance, TokenKind};
use std::fs;
use std::num::NonZeroUsize;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

fn parse(text: &str) -> Result<Settings, SettingsError> {
    Settings::parse(Path::new("config.toml"), text, Some(Path::new("/h/me")))
}

#[test]
fn all_settings_are_read() {
    let settings = parse(
        r#"
        [gitlab]
        url = "gitlab.example.com"

        [[gitlab.instance]]
        url = "https://gitlab.example.com/gitlab/"
        token-env = "WORK_TOKEN"
        token-kind = "oauth"
        ca-file = "/etc/ssl/corp.pem"
        git = "ssh"
        ssh-host = "ssh.example.com:2222"

        [[gitlab.instance]]
        url = "http://lab:8080"
        token-file = "~/.secrets/lab"
        git = "never"

        [include]
        templates = "https://gitlab.example.com/templates"
        max-age = "10 minutes"
        allow-http = ["mirror.lan"]
        allow-private = ["mirror.lan", "10.0.0.0/8"]

        [projects]
        "group/app" = "~/src/app"
        "group/sub/Lib" = "/srv/lib"

        [resource-groups]
        production = "oldest_first"
        "#,
    )
    .expect("settings");
    let modes: Vec<_> = settings.resource_groups.iter().collect();
    let oldest = scheduler::ProcessMode::OldestFirst;
    assert_eq!(modes, [(&"production".to_owned(), &oldest)]);
    let own = Instance::parse("gitlab.example.com").expect("an address");
    assert_eq!(settings.gitlab, Some(own.clone()));
    let work = settings.instance(&own).expect("the one at this server");
    assert_eq!(work.instance.address(), "https://gitlab.example.com/gitlab");
    assert_eq!(
        work.token,
        Some(TokenSource::Variable("WORK_TOKEN".to_owned()))
    );
    assert_eq!(work.token_kind, Some(TokenKind::OAuth));
    assert_eq!(work.git, Some(GitUse::Ssh));
    assert_eq!(work.ssh.as_ref().and_then(|ssh| ssh.port), Some(2222));
    let lab = Instance::parse("http://lab:8080").expect("an address");
    let lab = settings.instance(&lab).expect("the second");
    assert_eq!(
        lab.token,
        Some(TokenSource::File("/h/me/.secrets/lab".into()))
    );
    assert_eq!(settings.authorities(), [Path::new("/etc/ssl/corp.pem")]);
    let include = &settings.include;
    assert_eq!(include.max_age, Some(Duration::from_mins(10)));
    assert_eq!(include.allow_private, ["mirror.lan", "10.0.0.0/8"]);
    let templates = include.templates.as_ref().map(web::Url::as_str);
    assert_eq!(templates, Some("https://gitlab.example.com/templates/"));
    assert_eq!(
        settings.project("group/app"),
        Some(Path::new("/h/me/src/app"))
    );
    assert_eq!(
        settings.project("Group/Sub/lib"),
        Some(Path::new("/srv/lib"))
    );
    assert_eq!(settings.project("group/other"), None);
}

#[test]
fn nothing_is_set_without_a_file() {
    let home = tempfile::tempdir().expect("a directory");
    let settings = Settings::read(home.path(), None).expect("read");
    let expect = Settings {
        absent: Some(home.path().join("config.toml")),
        ..Settings::default()
    };
    assert_eq!(settings, expect);
}

#[expect(clippy::too_many_lines, reason = "a table of mistakes")]
#[test]
fn errors_have_a_location() {
    let check = |text: &str, expect: &str| {
        let error = parse(text).expect_err("refused");
        let help = error.help.as_deref().unwrap_or("-");
        assert_eq!(format!("{error} ({help})"), expect, "{text}");
    };
    check(
        "[gitlba]\n",
        "config.toml:1:2: there is no setting `gitlba` (did you mean `gitlab`?)",
    );
    check(
        "[gitlab]\nurl = 'h'\nfoo = 1",
        "config.toml:3:1: there is no setting `foo` in [gitlab] (known are url, instance)",
    );
    check(
        "[[gitlab.instance]]\nurl = 'h'\n tokenenv = 'X'",
        "config.toml:3:2: there is no setting `tokenenv` in [[gitlab.instance]] (did you mean \
         `token-env`?)",
    );
    check(
        "[cache]\nsize = '10 apples'",
        "config.toml:2:8: `size` says how many bytes all caches may have (for example size = \
         \"10 GB\"; with \"0\" nothing is kept)",
    );
    check(
        "[projects]\napp = '/srv/app'",
        "config.toml:2:7: `app` is no path of a project (for example \"group/project\" = \
         \"~/src/project\")",
    );
    check(
        "[projects]\n'group/app' = '../app'",
        "config.toml:2:15: a path here is a whole one (begin with `/`, or with `~/` for the home \
         directory)",
    );
    check(
        "[resource-groups]\nproduction = 'oldest'",
        "config.toml:2:14: `production` has no such process mode (the modes are unordered, \
         oldest_first, newest_first, newest_ready_first)",
    );
    check(
        "projects = ['group/app']",
        "config.toml:1:12: `projects` is a table, not a list (-)",
    );
    check(
        "[gitlab]\nurl = 1",
        "config.toml:2:7: `url` is text, not a number (-)",
    );
    check(
        "[gitlab]\nurl = 'ssh://h'",
        "config.toml:2:7: `ssh://h` is no address of a GitLab: only http and https are spoken (-)",
    );
    check(
        "gitlab = 'h'",
        "config.toml:1:10: `gitlab` is a table, not text (-)",
    );
    check(
        "[gitlab.instance]\nurl = 'h'",
        "config.toml:1:1: `instance` is a list of tables, not a table (write \
         [[gitlab.instance]] above it)",
    );
    check(
        "[[gitlab.instance]]\ngit = 'ssh'",
        "config.toml:1:1: an instance needs its `url` (for example url = \
         \"https://gitlab.example.com\")",
    );
    check(
        "[[gitlab.instance]]\nurl = 'h'\ngit = 'svn'",
        "config.toml:3:7: `git` is never, ssh or https (-)",
    );
    check(
        "[[gitlab.instance]]\nurl = 'h'\ntoken = 'a'\ntoken-env = 'B'",
        "config.toml:4:13: an instance has one token, this is a second (leave `token`, \
         `token-env` or `token-file`)",
    );
    check(
        "[[gitlab.instance]]\nurl = 'h'\n[[gitlab.instance]]\nurl = 'https://h/'",
        "config.toml:3:1: https://h is there twice (leave one of them out)",
    );
    check(
        "[[gitlab.instance]]\nurl = 'h'\nssh-host = '-x'",
        "config.toml:3:12: `ssh-host` is a host, with a port or not (for example ssh-host = \
         \"ssh.example.com:2222\")",
    );
    check(
        "[include]\nmax-age = 'soon'",
        "config.toml:2:11: `max-age` is a duration (for example max-age = \"10 minutes\")",
    );
    check(
        "[include]\nallow-http = 'h'",
        "config.toml:2:14: `allow-http` is a list of texts, not text (-)",
    );
    check(
        "[include]\nallow-http = ['h', 1]",
        "config.toml:2:20: `allow-http` is text, not a number (-)",
    );
    let help = "for example \"mirror.lan\", \"*.corp.example\", \"10.1.2.3\" or \"10.0.0.0/8\"";
    check(
        "[include]\nallow-private = ['h', '10.0.0.0/99']",
        &format!(
            "config.toml:2:23: what `allow-private` lists is a host, an address or a network ({help})"
        ),
    );
    check(
        "[include]\nallow-http = ['http://h/x']",
        &format!(
            "config.toml:2:15: what `allow-http` lists is a host, an address or a network ({help})"
        ),
    );
    check(
        "[include]\ntemplates = 'x'",
        "config.toml:2:13: `templates` is an address of a web server (for example \
         \"https://gitlab.example.com/templates\")",
    );
    check(
        "[[gitlab.instance]]\nurl = 'h'\nca-file = 'ca.pem'",
        "config.toml:3:11: a path here is a whole one (begin with `/`, or with `~/` for the home \
         directory)",
    );
    check(
        "[gitlab]\nurl = 'a'\nurl = 'b'",
        "config.toml:3:1: duplicate key (-)",
    );
    let error = parse("[gitlab\nurl = 1").expect_err("refused");
    assert_eq!(error.place, Some((1, 8)), "{error}");
}

#[test]
fn no_message_shows_what_may_be_a_token() {
    for text in [
        "[[gitlab.instance]]\nurl = 'h'\ntoken = s3cret",
        "[[gitlab.instance]]\nurl = 'h'\ntoken-env = 's3-cret'",
        "[[gitlab.instance]]\nurl = 'h'\ntoken = ['s3cret']",
        "[[gitlab.instance]]\nurl = 'https://me:s3cret@h'",
        "[[gitlab.instance]]\nurl = 'h'\ntoken-kind = 's3cret'",
        "[[gitlab.instance]]\nurl = 'h'\ntoken = 's3cret",
        "[include]\ntemplates = 'https://me:s3cret@h'",
    ] {
        let error = parse(text).expect_err("refused");
        let shown = format!("{error} {error:?}");
        assert!(
            !shown.contains("s3cret") && !shown.contains("s3-cret"),
            "{shown}"
        );
    }
    let settings = parse("[[gitlab.instance]]\nurl = 'h'\ntoken = 's3cret'").expect("read");
    assert!(!format!("{settings:?}").contains("s3cret"));
}

#[test]
fn a_token_that_others_may_read_is_refused() {
    let home = tempfile::tempdir().expect("a directory");
    let file = home.path().join("config.toml");
    let check = |text: &str, mode: u32, expect: Option<&str>| {
        fs::write(&file, text).expect("written");
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("set");
        let error = Settings::read(home.path(), None).err();
        let message = error.as_ref().map(|error| &*error.message);
        assert_eq!(message, expect, "{text} {mode:o}");
    };
    let refused = Some("it holds a token, and others may read it");
    let with = "[[gitlab.instance]]\nurl = 'h'\ntoken = 'x'";
    check(with, 0o600, None);
    check(with, 0o640, refused);
    check(with, 0o604, refused);
    check(
        "[[gitlab.instance]]\nurl = 'h'\ntoken-env = 'X'",
        0o644,
        None,
    );
}

#[test]
fn what_is_no_file_is_said() {
    let home = tempfile::tempdir().expect("a directory");
    fs::create_dir(home.path().join("config.toml")).expect("made");
    let error = Settings::read(home.path(), None).expect_err("refused");
    assert_eq!(error.message, "it is a directory");
}

#[test]
fn how_many_runs_are_kept_is_a_number() {
    let read = |text: &str| Settings::parse(Path::new("config.toml"), text, None);
    let kept = |text: &str| read(text).expect("read").kept_runs.map(NonZeroUsize::get);
    assert_eq!(kept("[runs]\nkeep = 25\n"), Some(25));
    assert_eq!(kept("[runs]\n"), None);
    for text in [
        "keep = 0",
        "keep = -1",
        "keep = 1.5",
        "keep = \"many\"",
        "kept = 1",
    ] {
        let error = read(&format!("[runs]\n{text}\n")).expect_err("refused");
        assert!(error.to_string().contains("config.toml:2:"), "{error}");
    }
}
