use crate::support::{Home, fetch, git, refusal, text, until};
use gitlab_testkit::{Fault, GitLab, Sshd};
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use step_library::{StepLibrary, Unused};
use steps::{JobCredentials, Library};

/// Runs git in a repository of the test.
#[expect(clippy::disallowed_methods, reason = "a git of the test's own")]
fn git_in(directory: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
        .args(args)
        .current_dir(directory)
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[tokio::test]
async fn tag_wins_over_branch_and_both_over_abbreviated_commit() {
    let gitlab = GitLab::start();
    let project = gitlab.project("g/functions");
    let first = project.commit(&[("a/func.yml", "first")]);
    let second = project.commit(&[("a/func.yml", "second")]);
    let third = project.commit(&[("a/func.yml", "third")]);
    project.tag_at("both", &first);
    project.branch_at("both", &second);
    project.annotated_tag("noted");
    // A branch that looks like a commit is a branch.
    project.branch_at(&first[..8], &second);
    let home = Home::new();
    let library = home.library(&[&gitlab.url()]);
    let url = project.clone_url();
    for (rev, commit, content) in [
        ("both", &first, "first"),
        ("main", &third, "third"),
        ("noted", &third, "third"),
        (&second, &second, "second"),
        (&second.to_uppercase(), &second, "second"),
        (&second[..8], &second, "second"),
        (&third[..7], &third, "third"),
        (&first[..8], &second, "second"),
    ] {
        let fetched = fetch(&library, &git(&url, rev)).await.unwrap();
        assert_eq!(&fetched.identity, commit, "{rev}");
        assert_eq!(text(&fetched.directory, "a/func.yml"), content, "{rev}");
    }
    let unknown = refusal(&library, &git(&url, "v9")).await;
    assert_eq!(unknown, format!("{url} has no tag, branch or commit `v9`"));
    let nowhere = refusal(&library, &git(&url, &"1".repeat(40))).await;
    assert!(nowhere.contains("no tag, branch or commit"), "{nowhere}");
}

#[tokio::test]
async fn commit_is_fetched_once_and_branch_is_resolved_each_time() {
    let gitlab = GitLab::start();
    let project = gitlab.project("g/functions");
    let first = project.commit(&[("func.yml", "first")]);
    let home = Home::new();
    let library = home.library(&[&gitlab.url()]);
    let url = project.clone_url();
    fetch(&library, &git(&url, "main")).await.unwrap();
    let asked = gitlab.total();
    fetch(&library, &git(&url, &first)).await.unwrap();
    assert_eq!(gitlab.total(), asked, "it is in the cache");
    let second = project.commit(&[("func.yml", "second")]);
    let fetched = fetch(&library, &git(&url, "main")).await.unwrap();
    assert_eq!(fetched.identity, second);
    assert_eq!(text(&fetched.directory, "func.yml"), "second");
}

#[tokio::test]
async fn ambiguous_abbreviation_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let repository = folder.path();
    git_in(repository, &["init", "-q", "-b", "main"]);
    // Of 40,000 commits two are all but certain to share seven digits.
    let mut stream = String::new();
    for number in 0..40_000 {
        let author = "committer t <t@example.com>";
        writeln!(
            stream,
            "commit refs/heads/main\n{author} {number} +0000\ndata 0\n"
        )
        .unwrap();
    }
    let file = repository.join("stream");
    std::fs::write(&file, stream).unwrap();
    #[expect(clippy::disallowed_methods, reason = "a git of the test's own")]
    let status = Command::new("git")
        .args(["fast-import", "--quiet"])
        .stdin(std::fs::File::open(&file).unwrap())
        .current_dir(repository)
        .status()
        .unwrap();
    assert!(status.success());
    let listed = git_in(repository, &["rev-list", "main"]);
    let mut commits: Vec<&str> = listed.lines().collect();
    commits.sort_unstable();
    let twins = commits.windows(2).find(|it| it[0][..7] == it[1][..7]);
    let digits = &twins.expect("two commits that share seven digits")[0][..7];
    let home = Home::new();
    let mut options = home.options(&[]);
    options.git.local = true;
    let library = StepLibrary::new(options).unwrap();
    let message = refusal(&library, &git(&repository.to_string_lossy(), digits)).await;
    assert!(
        message.contains(&format!("`{digits}` may be ")),
        "{message}"
    );
    assert!(message.contains("write more digits"), "{message}");
}

#[tokio::test]
async fn cache_replaces_the_network_only_when_offline() {
    let gitlab = GitLab::start();
    let project = gitlab.project("g/functions");
    let sha = project.commit(&[("func.yml", "it")]);
    let home = Home::new();
    let url = project.clone_url();
    let library = home.library(&[&gitlab.url()]);
    fetch(&library, &git(&url, "main")).await.unwrap();
    gitlab.stop();
    let error = library
        .fetch(&git(&url, "main"), &JobCredentials::default())
        .await
        .unwrap_err();
    assert!(error.is_temporary, "{error}");
    let mut options = home.options(&[]);
    options.offline = true;
    let offline = StepLibrary::new(options).unwrap();
    for rev in ["main", &sha, &sha[..8]] {
        let fetched = fetch(&offline, &git(&url, rev)).await.unwrap();
        assert_eq!(fetched.identity, sha);
    }
    let message = refusal(&offline, &git(&url, "other")).await;
    assert!(message.contains("is not in the cache"), "{message}");
}

#[tokio::test]
async fn references_and_addresses_are_never_options() {
    let gitlab = GitLab::start();
    let project = gitlab.project("g/functions");
    project.commit(&[("func.yml", "it")]);
    let home = Home::new();
    let library = home.library(&[&gitlab.url()]);
    let mark = home.cache().join("mark");
    let evil = format!("--upload-pack=touch {}", mark.display());
    for (url, rev) in [
        (&*project.clone_url(), &*evil),
        (&evil, "main"),
        (&format!("ext::sh -c touch% {}", mark.display()), "main"),
        ("ssh://-oProxyCommand=touch/x", "main"),
        ("file:///etc", "main"),
        ("/etc", "main"),
    ] {
        let message = refusal(&library, &git(url, rev)).await;
        assert!(
            message.contains("cannot be a tag")
                || message.contains("is not an address")
                || message.contains("is on this machine"),
            "{message}"
        );
    }
    assert!(!mark.exists());
    assert_eq!(gitlab.total(), 0);
}

#[tokio::test]
async fn forbidden_server_is_not_contacted() {
    let gitlab = GitLab::start();
    let project = gitlab.project("g/functions");
    project.commit(&[("func.yml", "it")]);
    let home = Home::new();
    let library = home.library(&[]);
    let message = refusal(&library, &git(&project.clone_url(), "main")).await;
    assert!(
        message.contains("127.0.0.1 is for this machine"),
        "{message}"
    );
    assert_eq!(gitlab.total(), 0);
}

#[tokio::test]
async fn password_in_the_address_is_sent_but_neither_shown_nor_kept() {
    let gitlab = GitLab::start();
    let project = gitlab.project("g/private").private();
    let sha = project.commit(&[("func.yml", "it")]);
    gitlab.token("glpat-hunter2", &["read_repository"]);
    let home = Home::new();
    let library = home.library(&[&gitlab.url()]);
    let url = project.clone_url();
    let with = |password: &str| url.replace("://", &format!("://me:{password}@"));
    let message = refusal(&library, &git(&url, "main")).await;
    assert!(message.contains("wants a name and a password"), "{message}");
    let fetched = fetch(&library, &git(&with("glpat-hunter2"), "main")).await;
    assert_eq!(fetched.unwrap().identity, sha);
    // Also a cached commit is only for users the server accepts.
    for rev in ["main", &sha] {
        let message = refusal(&library, &git(&with("wrong-hunter3"), rev)).await;
        assert!(
            message.contains("rejects the name and password"),
            "{message}"
        );
        assert!(!message.contains("hunter"), "{message}");
    }
    let message = refusal(&library, &git(&url, &sha)).await;
    assert!(message.contains("wants a name and a password"), "{message}");
    assert!(!contains(&home.cache(), b"hunter2"));
}

/// Returns whether a file below a directory contains these bytes.
fn contains(directory: &Path, bytes: &[u8]) -> bool {
    std::fs::read_dir(directory).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return contains(&path, bytes);
        }
        let content = std::fs::read(&path).unwrap();
        content.windows(bytes.len()).any(|it| it == bytes)
    })
}

#[tokio::test]
async fn repositories_are_fetched_over_ssh_and_tls() {
    let gitlab = GitLab::start_tls();
    let project = gitlab.project("g/functions");
    let sha = project.commit(&[("func.yml", "it")]);
    let home = Home::new();
    let authority = gitlab.authority().unwrap().to_string_lossy().into_owned();
    let mut options = home.options(&[&gitlab.url()]);
    let library = StepLibrary::new(options.clone()).unwrap();
    let message = refusal(&library, &git(&project.clone_url(), "main")).await;
    assert!(message.contains("is not trusted"), "{message}");
    options.git.environment = Some(home.environment(&[("GIT_SSL_CAINFO", &authority)]));
    let library = StepLibrary::new(options).unwrap();
    let fetched = fetch(&library, &git(&project.clone_url(), "main")).await;
    assert_eq!(fetched.unwrap().identity, sha);

    assert!(Sshd::is_there(), "Debian's package openssh-server is there");
    let sshd = Sshd::start(&gitlab);
    let mut options = home.options(&["https://127.0.0.1"]);
    let key = home.environment(&[("GIT_SSH_COMMAND", &sshd.command())]);
    options.git.environment = Some(key);
    let library = StepLibrary::new(options).unwrap();
    let fetched = fetch(&library, &git(&sshd.url("g/functions"), "main")).await;
    assert_eq!(fetched.unwrap().identity, sha);
    assert_eq!(sshd.connections(), 2);
}

#[tokio::test]
async fn files_are_unfiltered_and_links_stay_inside() {
    let folder = tempfile::tempdir().unwrap();
    let repository = folder.path().join("functions");
    std::fs::create_dir_all(repository.join("a")).unwrap();
    git_in(&repository, &["init", "-q", "-b", "main"]);
    std::fs::write(
        repository.join(".gitattributes"),
        "* text eol=crlf ident filter=evil\nexport export-ignore\n",
    )
    .unwrap();
    std::fs::write(repository.join("a/func.yml"), "$Id$\nx\n").unwrap();
    std::fs::write(repository.join("export"), "x").unwrap();
    for (name, target) in [
        ("in", "a/func.yml"),
        ("out", "../x"),
        ("etc", "/etc/passwd"),
    ] {
        std::os::unix::fs::symlink(target, repository.join(name)).unwrap();
    }
    git_in(&repository, &["-c", "core.autocrlf=false", "add", "-A"]);
    git_in(&repository, &["commit", "-q", "-m", "x"]);
    let home = Home::new();
    let mut options = home.options(&[]);
    options.git.local = true;
    let mark = folder.path().join("mark");
    let filter = format!("touch {}; cat", mark.display());
    options.git.environment = Some(home.environment(&[
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "filter.evil.smudge"),
        ("GIT_CONFIG_VALUE_0", &filter),
    ]));
    let library = StepLibrary::new(options).unwrap();
    let fetched = fetch(&library, &git(&repository.to_string_lossy(), "main"))
        .await
        .unwrap();
    let tree = &fetched.directory;
    assert_eq!(text(tree, "a/func.yml"), "$Id$\nx\n");
    assert_eq!(text(tree, "in"), "$Id$\nx\n");
    assert_eq!(text(tree, "export"), "x");
    assert!(!tree.join("out").is_symlink() && !tree.join("etc").is_symlink());
    assert!(!tree.join(".git").exists() && !mark.exists());
}

#[tokio::test]
async fn dropped_fetch_leaves_a_silent_server() {
    let gitlab = GitLab::start();
    let project = gitlab.project("g/functions");
    project.commit(&[("func.yml", "it")]);
    let path = "/g/functions.git/git-upload-pack";
    let held = gitlab.hold(path);
    let home = Home::new();
    let library = home.library(&[&gitlab.url()]);
    let (url, asked) = (project.clone_url(), JobCredentials::default());
    let source = git(&url, "main");
    {
        let mut fetching = library.fetch(&source, &asked);
        let mut turns = tokio::time::interval(Duration::from_millis(5));
        loop {
            tokio::select! {
                _ = &mut fetching => panic!("nothing was answered"),
                _ = turns.tick() => {}
            }
            if gitlab.count("POST", path) > 0 {
                break;
            }
        }
    }
    assert_eq!(home.names("git/trees"), [""; 0], "no temporary directory");
    held.release();
    let fetched = fetch(&library, &source).await.unwrap();
    assert_eq!(text(&fetched.directory, "func.yml"), "it");
}

#[tokio::test]
async fn deadline_ends_a_hanging_fetch() {
    let gitlab = GitLab::start();
    let project = gitlab.project("g/functions");
    project.commit(&[("func.yml", "it")]);
    gitlab.always("/g/functions.git/info/refs", Fault::Stall);
    let home = Home::new();
    let mut options = home.options(&[&gitlab.url()]);
    options.deadline = Duration::from_millis(300);
    let library = StepLibrary::new(options).unwrap();
    let source = git(&project.clone_url(), "main");
    let error = library
        .fetch(&source, &JobCredentials::default())
        .await
        .unwrap_err();
    assert!(error.message.contains("within 300ms"), "{error}");
    assert!(error.is_temporary);
}

#[tokio::test]
async fn damaged_repository_is_created_anew() {
    let gitlab = GitLab::start();
    let project = gitlab.project("g/functions");
    let sha = project.commit(&[("func.yml", "it")]);
    let home = Home::new();
    let library = home.library(&[&gitlab.url()]);
    let source = git(&project.clone_url(), "main");
    drop(fetch(&library, &source).await.unwrap());
    let name = home.names("git/repositories").remove(0);
    let objects = home
        .cache()
        .join("git/repositories")
        .join(name)
        .join("objects");
    std::fs::remove_dir_all(&objects).unwrap();
    std::fs::create_dir(&objects).unwrap();
    until("all is removed", || {
        library.clean(Unused::Since(Duration::ZERO)).unwrap();
        home.names("git/trees").is_empty() && home.names("git/repositories").is_empty()
    });
    let fetched = fetch(&library, &source).await.unwrap();
    assert_eq!(fetched.identity, sha);
    // The same with only the tree removed.
    drop(fetched);
    let name = home.names("git/repositories").remove(0);
    let repository = home.cache().join("git/repositories").join(name);
    std::fs::remove_dir_all(repository.join("objects")).unwrap();
    std::fs::create_dir(repository.join("objects")).unwrap();
    for name in home.names("git/trees") {
        std::fs::remove_dir_all(home.cache().join("git/trees").join(name)).unwrap();
    }
    let fetched = fetch(&library, &source).await.unwrap();
    assert_eq!(text(&fetched.directory, "func.yml"), "it");
}
