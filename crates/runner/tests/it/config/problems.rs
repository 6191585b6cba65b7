//! Problems, each with its position.

use super::known::{known, parse, parse_with};
use runner::config::{ConfigError, ConfigFile, Known, Settings, Strictness};
use std::path::Path;

/// A runner without problems, at line 1.
const RUNNER: &str = r#"[[runners]]
name = "one"
url = "https://gitlab.example"
token = "glrt-abcdefghijkl"
executor = "shell"
"#;

/// Checks all problems of a text.
fn check(text: &str, expect: &[&str]) {
    let problems = parse(text).problems;
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let problems: Vec<&str> = problems
        .iter()
        .map(|it| it.strip_prefix("config.toml:").unwrap())
        .collect();
    assert_eq!(problems, expect, "of {text}");
}

/// Checks the problems of lines after those of [`RUNNER`]; the first one is line 6.
fn check_runner(lines: &str, expect: &[&str]) {
    check(&format!("{RUNNER}{lines}"), expect);
}

#[test]
fn a_file_without_problems() {
    check("", &[]);
    check(RUNNER, &[]);
    let written_by_register = format!(
        "concurrent = 1\ncheck_interval = 0\nshutdown_timeout = 0\n\n[session_server]\n  session_timeout = 1800\n\n\
         {RUNNER}  [runners.cache]\n    MaxUploadedArchiveSize = 0\n    [runners.cache.s3]\n    [runners.cache.gcs]\n"
    );
    check(&written_by_register, &[]);
}

#[test]
fn unknown_keys_have_a_suggestion() {
    check(
        "concurent = 1",
        &["1:1: unknown key `concurent`; did you mean `concurrent`?"],
    );
    check(
        "  limit = 1",
        &["1:3: unknown key `limit`; `limit` belongs into [[runners]]"],
    );
    check(
        "[sesion_server]",
        &["1:2: unknown key `sesion_server`; did you mean `session_server`?"],
    );
    check(
        "[docker]\nimage = \"a\"",
        &["1:2: unknown key `docker`; the table of an executor is [runners.docker]"],
    );
    check(
        "nothing_like_it = 1",
        &["1:1: unknown key `nothing_like_it`"],
    );
    check_runner(
        "concurrent = 1",
        &["6:1: unknown key `concurrent`; `concurrent` belongs above all tables"],
    );
    check_runner(
        "[runners.dcoker]",
        &["6:10: unknown key `dcoker`; did you mean `docker`?"],
    );
    check_runner(
        "[runners.cache.s3]\nBuckedName = \"a\"",
        &["7:1: unknown key `BuckedName`; did you mean `BucketName`?"],
    );
    check_runner(
        "cache = { type = \"s3\" }",
        &["6:11: unknown key `type`; did you mean `Type`?"],
    );
    check_runner(
        "[runners.feature_flags]\nFF_TIMESTAMP = true",
        &["7:1: warning: unknown feature flag `FF_TIMESTAMP`; did you mean `FF_TIMESTAMPS`?"],
    );
}

#[test]
fn values_of_a_wrong_type() {
    check(
        "concurrent = \"4\"",
        &["1:14: `concurrent` must be a whole number, found a text"],
    );
    check(
        "concurrent = 1.5",
        &["1:14: `concurrent` must be a whole number, found a number with a fraction"],
    );
    check(
        "check_interval = \"often\"",
        &[
            "1:18: `check_interval` must be a number of seconds or a duration such as \"1h30m\", found \"often\"",
        ],
    );
    check(
        "shutdown_timeout = 99999999999",
        &["1:20: `shutdown_timeout` is longer than ten years"],
    );
    check(
        "[labels]\na = 1",
        &["1:1: `labels` must be a table of texts"],
    );
    check_runner(
        "limit = true",
        &["6:9: `limit` must be a whole number, found a boolean"],
    );
    check_runner(
        "limit = 99999999999",
        &["6:9: `limit` is out of range: 99999999999"],
    );
    check_runner(
        "environment = \"A=b\"",
        &["6:15: `environment` must be a list of texts, found a text"],
    );
    check_runner(
        "environment = [1]",
        &["6:15: `environment` must be a list of texts"],
    );
    check_runner(
        "unhealthy_interval = 3600",
        &[
            "6:22: `unhealthy_interval` must be a duration such as \"1h30m\", found an integer, which GitLab Runner \
           takes for nanoseconds",
        ],
    );
    check_runner(
        "token_expires_at = \"2026-01-01T00:00:00Z\"",
        &[
            "6:20: `token_expires_at` must be a date and time such as 2026-01-31T08:00:00Z, found a text",
        ],
    );
    check_runner(
        "token_expires_at = 2026-01-01T00:00:00",
        &["6:20: `token_expires_at` must be a date and time such as 2026-01-31T08:00:00Z"],
    );
    check_runner(
        "docker = 1",
        &["6:1: `docker` must be written as [runners.docker], found an integer"],
    );
    check_runner(
        "cache = 1",
        &["6:1: `cache` must be written as [runners.cache], found an integer"],
    );
    check(
        "[runners]\nname = \"a\"",
        &["1:2: `runners` must be written as [[runners]], found a table"],
    );
}

#[test]
fn keys_that_a_runner_needs() {
    check(
        "\n[[runners]]\n",
        &[
            "2:1: `url` is missing; write the address of GitLab, such as url = \"https://gitlab.com\"",
            "2:1: `token` is missing; `runwright runner register` adds a runner with its token",
            "2:1: `executor` is missing; write one of shell, docker",
            "2:1: warning: `name` is missing; the first characters of the token are used, in logs and metrics",
        ],
    );
    let runner = |line: &str| {
        let key = line.split(' ').next().unwrap();
        let others = RUNNER.lines().filter(|it| !it.starts_with(key));
        format!("{}\n{line}\n", others.collect::<Vec<_>>().join("\n"))
    };
    let url = "; write the address of GitLab, such as url = \"https://gitlab.com\"";
    check(
        &runner("url = \"gitlab.com\""),
        &[&format!("5:7: `url` is not an address{url}")],
    );
    check(
        &runner("url = \"https://u:pass@a\""),
        &[&format!(
            "5:7: `url` must not have a user or a password{url}"
        )],
    );
    check(
        &runner("url = 1"),
        &["5:7: `url` must be a text, found an integer"],
    );
    check(
        &runner("token = \"glrtr-abcdefghijklm\""),
        &[
            "5:9: `token` is a registration token, not that of a runner; `runwright runner register` exchanges it",
        ],
    );
    check(
        &runner("token = \"glrt abc\""),
        &["5:9: `token` has white space in it"],
    );
    check(
        &runner("executor = \"dokcer\""),
        &[
            "5:12: unknown executor \"dokcer\", expected one of shell, docker; did you mean `docker`?",
        ],
    );
    check(
        &runner("executor = \"docker-windows\""),
        &["5:12: `docker-windows` is not supported: Windows containers are not run"],
    );
    check_runner(
        "shell = \"fish\"",
        &["6:9: `shell` must be one of sh, bash, pwsh, powershell, found \"fish\""],
    );
    check_runner(
        "shell = \"psh\"",
        &[
            "6:9: `shell` must be one of sh, bash, pwsh, powershell, found \"psh\"; did you mean `sh`?",
        ],
    );
    check_runner(
        "environment = [\"A=b=c\", \"geheim\"]",
        &["6:25: entry 2 of `environment` must be NAME=value"],
    );
    check_runner("id = -1", &["6:6: `id` must not be negative, found -1"]);
}

#[test]
fn numbers_with_a_meaning() {
    check(
        "concurrent = 0",
        &[
            "1:14: `concurrent` must be at least 1, found 0; without a job at a time no job runs; the default is 1",
        ],
    );
    check_runner("limit = 0", &[]);
    check_runner("limit = -1", &["6:1: info: `limit = -1` means no limit"]);
    check_runner(
        "request_concurrency = 0",
        &["6:1: info: `request_concurrency = 0` means 1, the default"],
    );
    check_runner(
        "output_limit = 0",
        &["6:1: info: `output_limit = 0` means 4096 KiB, the default"],
    );
    check(
        "log_level = \"warnin\"",
        &[
            "1:13: `log_level` must be one of panic, fatal, error, warning, warn, info, debug, found \"warnin\"; did you mean `warning`?",
        ],
    );
}

#[test]
fn addresses_of_the_session_server() {
    let check_server = |keys: &str, expect: &[&str]| {
        check(&format!("[session_server]\n{keys}\n"), expect);
    };
    check_server("listen_address = \"runner.example:8093\"", &[]);
    check_server(
        "listen_address = \"[::]:8093\"\nadvertise_address = \"https://runner.example:8093\"",
        &[],
    );
    check_server(
        "listen_address = \"localhost\"",
        &[
            "2:18: `listen_address` is not an address: expected HOST:PORT, such as \"[::]:8093\", found \"localhost\"",
        ],
    );
    check_server(
        "listen_address = \":8093\"\nadvertise_address = \"http://runner.example\"",
        &[
            "3:21: `advertise_address` is not an address: expected HOST:PORT, such as \"runner.example:8093\", found \"http://runner.example\"",
        ],
    );
    check_server(
        "listen_address = \"0.0.0.0:8093\"",
        &[
            "2:18: warning: `advertise_address` is missing, and GitLab cannot connect to 0.0.0.0:8093: there is no session server",
        ],
    );
}

#[test]
fn addresses_for_metrics() {
    check("listen_address = \"[::]:9252\"", &[]);
    check(
        "listen_address = \"http://localhost\"",
        &[
            "1:18: `listen_address` is not an address: expected HOST:PORT, such as \"localhost:9252\" or \":9252\", found \"http://localhost\"",
        ],
    );
}

#[test]
fn runners_are_not_listed_twice() {
    let twice = format!("{RUNNER}\n{}", RUNNER.replace("example\"", "example/\""));
    let hint = "remove one of them, or create another runner in GitLab";
    check(
        &twice,
        &[
            &format!(
                "4:9: these [[runners]] have the same `url` and `token` as those of line 10; {hint}"
            ),
            &format!(
                "10:9: these [[runners]] have the same `url` and `token` as those of line 4; {hint}"
            ),
        ],
    );
    check(
        &format!(
            "{RUNNER}{}",
            RUNNER.replace("gitlab.example", "other.example")
        ),
        &[],
    );
}

#[test]
fn keys_without_effect_and_refused_keys() {
    check(
        "sentry_dsn = \"https://secret@sentry.example\"",
        &[
            "1:1: info: `sentry_dsn` has no effect: errors go to the log and to the metrics, not to Sentry",
        ],
    );
    check(
        "user = \"ci\"",
        &[
            "1:1: `user` is not supported: jobs run as the user of this process; start the process as that user",
        ],
    );
    check("user = \"\"", &[]);
    check_runner("[runners.custom_build_dir]\nenabled = true", &[]);
    check_runner(
        "[runners.custom_build_dir]\nenabled = false",
        &[
            "7:1: `enabled = false` is not supported: a job may set `GIT_CLONE_PATH`, to a path below the builds directory; \
           that cannot be disabled",
        ],
    );
    check_runner(
        "[runners.feature_flags]\nFF_HASH_CACHE_KEYS = true\nFF_TIMESTAMPS = false\nFF_GIT_URLS_WITHOUT_TOKENS = true",
        &[
            "7:1: info: `FF_HASH_CACHE_KEYS` has no effect: the key of a cache on this host is hashed, and an object in a bucket has the key as its name",
        ],
    );
}

#[test]
fn tables_of_executors() {
    let docker = |lines: &str, expect: &[&str]| {
        let runner = RUNNER.replace("shell", "docker");
        check(
            &format!("{runner}[runners.docker]\nimage = \"a\"\n{lines}"),
            expect,
        );
    };
    docker(
        "privileged = true",
        &["8:1: warning: `privileged`: jobs rule the host"],
    );
    docker(
        "memroy = 1",
        &["8:1: unknown key `memroy`; did you mean `memory`?"],
    );
    docker(
        "memory = \"1g\"",
        &["8:10: `memory`: invalid type: string \"1g\", expected u64"],
    );
    docker(
        "password = 123456",
        &["8:12: `password`: the value is not valid"],
    );
    docker(
        "helper_image = \"a\"",
        &["8:1: info: `helper_image` has no effect: there is no helper container"],
    );
    docker(
        "isolation = \"process\"",
        &["8:1: `isolation` is not supported: Windows containers are not run"],
    );
    docker("[runners.docker.tmpfs]\n\"/tmp\" = \"rw\"", &[]);
    docker(
        "[[runners.docker.services]]\nname = \"a\"\n[[runners.docker.services]]\nnam = \"b\"",
        &[
            "10:1: `services`: a service has no name",
            "11:1: unknown key `nam`; did you mean `name`?",
        ],
    );
    docker(
        "[[runners.docker.services]]\nname = \"a\"\n[[runners.docker.services]]\nalias = \"bad\"",
        &[
            "10:1: `services`: a service has no name",
            "11:1: `alias`: is not an alias",
        ],
    );
    docker(
        "services = [{ name = \"a\", suspend_data_path = \"/d\" }, { name = \"b\", alias = \"bad\" }]",
        &[
            "8:27: info: `suspend_data_path` has no effect: jobs are not suspended",
            "8:69: `alias`: is not an alias",
        ],
    );
    check(
        &format!("{}[runners.docker]\n", RUNNER.replace("shell", "docker")),
        &["6:1: `image`: is missing"],
    );
    check_runner(
        "[runners.docker]\nimage = \"a\"",
        &["6:1: info: `docker` has no effect: the executor \"shell\" does not read this table"],
    );
    check_runner(
        "[runners.docker]\nisolation = \"process\"\nhelper_image = \"a\"\nimagee = \"b\"",
        &["9:1: unknown key `imagee`; did you mean `image`?"],
    );
    docker(
        "memroy = 1\nprivileged = true",
        &[
            "8:1: unknown key `memroy`; did you mean `memory`?",
            "9:1: warning: `privileged`: jobs rule the host",
        ],
    );
    check_runner(
        "[runners.parallels]\nbase_name = \"a\"",
        &["6:10: info: `parallels` has no effect: the executor is \"shell\""],
    );
}

#[test]
fn files_that_are_not_toml() {
    let error = |text: &str| match ConfigFile::parse(Path::new("config.toml"), text, &known()) {
        Err(ConfigError::Syntax(problem)) => problem.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        error("concurrent = 1\n token = \"glrt-secret"),
        "config.toml:2:22: invalid basic string, expected `\"`"
    );
    assert_eq!(
        error("a = 1\nb = 2\n\na = 3"),
        "config.toml:4:1: duplicate key"
    );
}

#[test]
fn lenient_reading_drops_unknown_keys() {
    let lenient = Known {
        strictness: Strictness::Lenient,
        ..known()
    };
    let runner = RUNNER.replace("shell", "docker");
    let text = format!(
        "concurent = 1\n{runner}[runners.docker]\nimage = \"a\"\nnew_key = 1\n[[runners.docker.services]]\nname = \"b\"\nnew = 1\n"
    );
    let file = parse_with(&text, &lenient);
    let shown: Vec<String> = file.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "config.toml:1:1: warning: unknown key `concurent`; did you mean `concurrent`?",
            "config.toml:9:1: warning: unknown key `new_key`",
            "config.toml:12:1: warning: unknown key `new`",
        ]
    );
    let (settings, _): (Settings, _) = file.into_settings().unwrap();
    let docker = settings.runners[0].tables.get("docker").unwrap();
    assert!(docker.contains_key("image") && !docker.contains_key("new_key"));
    let services = docker
        .get("services")
        .unwrap()
        .as_array_of_tables()
        .unwrap();
    assert!(!services.get(0).unwrap().contains_key("new"));
}

#[test]
fn secrets_are_not_shown() {
    let secret = "glrt-verysecrettoken";
    let texts = [
        format!(
            "[[runners]]\ntoken = \"{secret}\"\nexecutor = \"{secret}\"\nshell = \"{secret}\"\n"
        ),
        format!("sentry_dsn = \"{secret}\"\nlog_level = \"{secret}\""),
        format!("[[runners]]\nenvironment = [\"A={secret}\", \"{secret}\"]\nshell = \"{secret}\""),
        format!("[[runners]]\nurl = \"https://u:{secret}@h\"\ntoken = 1\n"),
        format!(
            "{}[runners.docker]\nimage = \"a\"\npassword = \"{secret}\"\nmemory = \"{secret}\"",
            RUNNER.replace("shell", "docker")
        ),
    ];
    for text in texts {
        let file = parse(&text);
        assert!(file.errors().count() > 0, "{text}");
        let shown = format!("{file:?}{}", file.explain());
        assert!(!shown.contains(secret), "{shown}");
    }
    let broken = format!("[[runners]]\ntoken = \"{secret}\nurl = \"a\"");
    let error = ConfigFile::parse(Path::new("config.toml"), &broken, &known()).unwrap_err();
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains("verysecret"), "{shown}");
}
