use super::asker::{Asker, run, ssh_route, words};
use gitlab_testkit::{GitLab, Sshd};
use std::fs;

#[tokio::test]
async fn all_questions_are_answered_over_ssh() {
    // R-GLCI-150
    // R-GLCI-151
    let gitlab = GitLab::start();
    let project = gitlab.project("group/sub/templates").private();
    let old = project.commit(&[("a.yml", "old"), ("b/c.yml", "c"), ("-x.yml", "x")]);
    project.annotated_tag("1.0.0");
    let new = project.commit(&[("a.yml", "new")]);
    project.tag("2.0.0");
    project.branch("feature/x");
    let sshd = Sshd::start(&gitlab);
    let user = Asker::over_ssh(&sshd);
    let path = "group/sub/templates";
    for (name, expect) in [
        ("HEAD", &new),
        ("main", &new),
        ("feature/x", &new),
        ("1.0.0", &old),
        ("refs/tags/1.0.0", &old),
        (&*old, &old),
    ] {
        let commit = user.commit(path, name).await;
        assert_eq!(commit.as_ref(), Ok(expect), "{name}");
    }
    let tags = format!("{old} 1.0.0\n{new} 2.0.0\n");
    assert_eq!(user.tags(path).await, Ok(tags));
    for (sha, file, expect) in [
        (&old, "a.yml", "old"),
        (&new, "a.yml", "new"),
        (&old, "b/c.yml", "c"),
        (&old, "-x.yml", "x"),
        (&old, "b", "absent"),
        (&old, "none.yml", "absent"),
        (&old, "*.yml", "absent"),
        (&old, "../a.yml", "absent"),
        (&old, ":/a.yml", "absent"),
    ] {
        let text = user.file(path, sha, file).await;
        assert_eq!(text.as_deref(), Ok(expect), "{file}");
    }
    let tree = user.tree(path, &old).await;
    assert_eq!(tree.as_deref(), Ok("-x.yml\na.yml\nb/c.yml\n"));
    assert_eq!(gitlab.total(), 0, "nothing goes to the API");
}

#[tokio::test]
async fn users_ssh_command_is_used() {
    let gitlab = GitLab::start();
    let sha = gitlab.project("g/p").commit(&[("a.yml", "a")]);
    let sshd = Sshd::start(&gitlab);
    let user = Asker::on(Some(ssh_route(&sshd)), &[]);
    let settings = format!("[core]\n\tsshCommand = \"{}\"\n", sshd.command());
    user.write(".gitconfig", 0o600, &settings);
    assert_eq!(user.commit("g/p", "main").await.as_ref(), Ok(&sha));
    assert_eq!(user.file("g/p", &sha, "a.yml").await.as_deref(), Ok("a"));
}

#[tokio::test]
async fn fetched_files_are_not_fetched_again() {
    let gitlab = GitLab::start();
    let sha = gitlab
        .project("g/p")
        .commit(&[("a.yml", "a"), ("b.yml", "b")]);
    let sshd = Sshd::start(&gitlab);
    let user = Asker::over_ssh(&sshd);
    assert_eq!(user.file("g/p", &sha, "a.yml").await.as_deref(), Ok("a"));
    // The commit with its names, then the text.
    assert_eq!(sshd.connections(), 2);
    for _ in 0..2 {
        assert_eq!(user.file("g/p", &sha, "a.yml").await.as_deref(), Ok("a"));
        assert_eq!(
            user.tree("g/p", &sha).await.as_deref(),
            Ok("a.yml\nb.yml\n")
        );
    }
    assert_eq!(sshd.connections(), 2);
    assert_eq!(user.file("g/p", &sha, "b.yml").await.as_deref(), Ok("b"));
    assert_eq!(sshd.connections(), 3);
}

#[tokio::test]
async fn unknown_or_changed_host_key_fails_without_a_prompt() {
    let gitlab = GitLab::start();
    gitlab.project("g/p").commit(&[("a.yml", "a")]);
    let sshd = Sshd::start(&gitlab);
    let other = Sshd::start(&gitlab);
    let known = fs::read_to_string(sshd.known_hosts()).expect("known hosts");
    let (name, _) = known.split_once(' ').expect("a name");
    let others = fs::read_to_string(other.known_hosts()).expect("known hosts");
    let (_, others_key) = others.split_once(' ').expect("a key");
    let changed = format!("{name} {others_key}");
    let revoked = format!("@revoked {known}");
    let port = sshd.address().port();
    for (hosts, expect) in [
        (
            "",
            "Refused: the host key of ssh://127.0.0.1:PORT is not known, and Git must not prompt (`ssh \
             -T -p PORT git@127.0.0.1` prompts for it once)",
        ),
        (
            &*changed,
            "Refused: the host key of ssh://127.0.0.1:PORT differs from the known one, or is revoked \
             (this may be an attack; ask the server's owner before you remove the old key from \
             `~/.ssh/known_hosts`)",
        ),
        (
            &*revoked,
            "Refused: the host key of ssh://127.0.0.1:PORT differs from the known one, or is revoked \
             (this may be an attack; ask the server's owner before you remove the old key from \
             `~/.ssh/known_hosts`)",
        ),
    ] {
        fs::write(sshd.known_hosts(), hosts).expect("written");
        let before = sshd.connections();
        // The defaults of a user's ssh.
        let command = sshd.command().replace(" -o StrictHostKeyChecking=yes", "");
        let command = command.replace(" -o BatchMode=yes", "");
        let user = Asker::on(
            Some(ssh_route(&sshd)),
            &[("GIT_SSH_COMMAND", &command), ("DISPLAY", ":0")],
        );
        let answer = user.commit("g/p", "main").await;
        assert_eq!(words(answer, port), expect, "{}", sshd.log());
        let again = user.tags("g/other").await;
        assert_eq!(words(again, port), expect);
        assert_eq!(sshd.connections(), before + 1, "once, and not again");
    }
}

#[tokio::test]
async fn key_with_a_passphrase_does_not_prompt() {
    let gitlab = GitLab::start();
    gitlab.project("g/p").commit(&[("a.yml", "a")]);
    let sshd = Sshd::start(&gitlab);
    let user = Asker::over_ssh(&sshd);
    let (_, note) = user.write_asking();
    let locked = user.home.path().join("locked");
    let place = locked.display().to_string();
    let keygen = ["-q", "-t", "ed25519", "-N", "a passphrase", "-f", &place];
    run("ssh-keygen", &keygen).await;
    let command = sshd.command().replace(" -o BatchMode=yes", "");
    let command = command.replace(
        &sshd.key().display().to_string(),
        &locked.display().to_string(),
    );
    let program = user.home.path().join("ask").display().to_string();
    let asked = Asker::on(
        Some(ssh_route(&sshd)),
        &[
            ("GIT_SSH_COMMAND", &command),
            ("DISPLAY", ":0"),
            ("GIT_ASKPASS", &program),
            ("SSH_ASKPASS", &program),
            ("SSH_ASKPASS_REQUIRE", "force"),
        ],
    );
    let answer = asked.commit("g/p", "main").await;
    let said = words(answer, sshd.address().port());
    assert!(
        said.starts_with("Denied: ssh://127.0.0.1:PORT accepts none of your keys"),
        "{said}"
    );
    assert!(said.contains("Permission denied (publickey)"), "{said}");
    assert!(!note.exists(), "Git does not prompt");
}

#[tokio::test]
async fn absent_projects_references_and_commits_are_distinguished() {
    let gitlab = GitLab::start();
    let sha = gitlab.project("g/p").commit(&[("a.yml", "a")]);
    gitlab.project("g/empty");
    let sshd = Sshd::start(&gitlab);
    let user = Asker::over_ssh(&sshd);
    let port = sshd.address().port();
    let none = words(user.commit("g/none", "main").await, port);
    assert_eq!(
        none,
        "NoProject: ssh://127.0.0.1:PORT has no such repository, or does not show it to you (-)"
    );
    let none = words(user.file("g/none", &sha, "a.yml").await, port);
    assert!(none.starts_with("NoProject"), "{none}");
    let check = |answer, expect: &str| {
        let said = words(answer, port);
        assert!(
            said.starts_with(&format!("NoReference: {expect}")),
            "{said}"
        );
    };
    let unknown = "the project has no branch, tag or commit";
    check(
        user.commit("g/p", "none").await,
        &format!("{unknown} `none`"),
    );
    check(user.commit("g/p", "mai").await, unknown);
    check(
        user.commit("g/empty", "HEAD").await,
        &format!("{unknown} `HEAD`"),
    );
    let other = "0123456789012345678901234567890123456789";
    check(
        user.file("g/p", other, "a.yml").await,
        &format!("{unknown} `{other}`"),
    );
    assert_eq!(user.tags("g/p").await.as_deref(), Ok(""));
}

#[tokio::test]
async fn untrusted_names_are_never_options_and_reach_no_server() {
    let gitlab = GitLab::start();
    let sha = gitlab.project("g/p").commit(&[("a.yml", "a")]);
    let sshd = Sshd::start(&gitlab);
    let user = Asker::over_ssh(&sshd);
    let touched = user.home.path().join("touched");
    let command = format!("touch {}", touched.display());
    for project in [
        format!("g/--upload-pack={command}"),
        format!("--upload-pack={command}"),
        format!("ext::sh -c '{command}' g/p"),
        "file:///etc/passwd".to_owned(),
        "g/../../../etc".to_owned(),
        "g/p.git -oProxyCommand=x".to_owned(),
        format!("g/p'; {command}; '"),
        format!("g/$({command})"),
        "g/p\nx".to_owned(),
        "g/p\0".to_owned(),
        "x".repeat(5000),
    ] {
        for answer in [
            user.commit(&project, "main").await,
            user.tags(&project).await,
            user.file(&project, &sha, "a.yml").await,
        ] {
            let said = words(answer, 0);
            assert!(said.starts_with("NoProject"), "{project}: {said}");
        }
    }
    for name in [
        "--upload-pack=x",
        "-x",
        "a b",
        "a..b",
        "x:y",
        "*",
        "",
        "a\n",
        "main^{tree}",
    ] {
        let said = words(user.commit("g/p", name).await, 0);
        assert!(said.starts_with("NoReference"), "{name}: {said}");
        let said = words(user.file("g/p", name, "a.yml").await, 0);
        assert!(said.starts_with("NoReference"), "{name}: {said}");
    }
    assert_eq!(sshd.connections(), 0);
    assert!(!touched.exists());
}

#[tokio::test]
async fn without_a_route_no_server_is_asked() {
    let user = Asker::on(None, &[]);
    let said = words(user.commit("g/p", "main").await, 0);
    assert!(said.starts_with("NoWay"), "{said}");
    assert!(!user.home.path().join("cache").exists());
}
