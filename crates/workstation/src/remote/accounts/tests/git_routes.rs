use super::user::User;

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
