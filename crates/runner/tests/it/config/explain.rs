//! The explanations of differences.

use super::known::parse;

fn check(text: &str, expect: &[&str]) {
    let file = parse(text);
    let lines = file.explain().lines();
    let lines: Vec<&str> = lines
        .map(|line| line.strip_prefix("config.toml:").unwrap())
        .collect();
    assert_eq!(lines, expect, "of {text}");
}

#[test]
fn a_file_without_differences() {
    check("", &[]);
    check("concurrnt = 4\nlog_level = \"info\"\n", &[]);
}

#[test]
fn all_differences_of_a_file() {
    check(
        r#"concurrent = 4
check_interval = 0
sentry_dsn = "https://sentry.example"
user = "ci"

[[runners]]
name = "one"
url = "https://gitlab.example"
token = "glrt-abcdefghijkl"
unhealthy_interval = "1h"
executor = "docker"
[runners.feature_flags]
FF_USE_JOB_ROUTER = true
[runners.docker]
image = "a"
helper_image = "b"
"#,
        &[
            "1:1: `concurrent` differs: a request for a job takes none of them, so many `[[runners]]` do not block each other",
            "2:1: `check_interval = 0` means 3 seconds, as in GitLab Runner",
            "2:1: `check_interval` differs: counted from the start of a request, and for each of the `[[runners]]`, not shared by them",
            "3:1: info: `sentry_dsn` has no effect: errors go to the log and to the metrics, not to Sentry",
            "4:1: `user` is not supported: jobs run as the user of this process; start the process as that user",
            "10:1: `unhealthy_interval` differs: the pause starts with 1 minute and doubles up to this, so that a short \
             maintenance of GitLab costs minutes",
            "13:1: info: `FF_USE_JOB_ROUTER` has no effect: jobs are requested from GitLab itself",
            "14:1: `privileged` of [runners.docker] is false by default, in GitLab Runner true",
            "16:1: info: `helper_image` has no effect: there is no helper container",
        ],
    );
}

#[test]
fn defaults_without_a_table_are_at_the_executor() {
    check(
        "[[runners]]\nname = \"one\"\nurl = \"https://gitlab.example\"\ntoken = \"glrt-abcdefghijkl\"\nexecutor = \"docker\"\n",
        &["5:1: `privileged` of [runners.docker] is false by default, in GitLab Runner true"],
    );
}
