use crate::support::{Repository, git, processes};
use git::{Head, RepositoryError, inspect};

#[tokio::test]
async fn branch_and_commit_are_described() {
    let repository = Repository::new();
    repository.git(&[
        "remote",
        "add",
        "origin",
        "https://me:s3cret@host.example/group/project.git",
    ]);
    let processes = processes();
    let tree = processes.tree();
    let nested = repository.write("deep/file", "x");
    let facts = inspect(nested.parent().expect("a parent"), tree)
        .await
        .expect("facts");
    assert_eq!(facts.toplevel, repository.path());
    assert_eq!(facts.head, Head::Branch("main".to_owned()));
    assert_eq!(facts.default_branch.as_deref(), Some("main"));
    assert_eq!(
        facts.remote_url.as_deref(),
        Some("https://host.example/group/project.git")
    );
    let commit = facts.commit.expect("a commit");
    assert_eq!(commit.sha, repository.git(&["rev-parse", "HEAD"]));
    assert_eq!((commit.title(), commit.body()), ("first", "The body."));
    assert_eq!(commit.author_name, "Ada");
    assert_eq!(commit.author_email, "ada@example.com");
    assert_eq!(commit.parent, None);
    assert!(
        commit.committer_date.contains('T'),
        "{}",
        commit.committer_date
    );
}

#[tokio::test]
async fn commit_is_the_same_from_its_file_and_by_git() {
    let repository = Repository::new();
    let processes = processes();
    let tree = processes.tree();
    let committed = |message: &str, date: &str| {
        let file = repository.write("message", message);
        let author = "--author='\u{c4}da B. <a+b@example.com>'";
        let commit = format!(
            "git commit --quiet --allow-empty {author} -F {}",
            file.display()
        );
        let alias = format!("alias.at=!GIT_COMMITTER_DATE='{date}' {commit}");
        repository.git(&["-c", &alias, "at"]);
    };
    for (message, date) in [
        ("one line", "1700000000 +0100"),
        ("title\n\n  body\n\nlast: \u{2713}\n", "1700000000 -0930"),
        ("utc", "1700000000 +0000"),
    ] {
        committed(message, date);
        let inspected = async || {
            let facts = inspect(repository.path(), tree).await.expect("facts");
            facts.commit.expect("a commit")
        };
        let from_file = inspected().await;
        repository.git(&["gc", "--quiet"]);
        let mut by_git = inspected().await;
        // Newer versions of git write UTC as a letter.
        by_git.committer_date = by_git.committer_date.replace('Z', "+00:00");
        assert_eq!(from_file, by_git);
        assert!(from_file.message.starts_with(message.trim_end()));
    }
}

#[tokio::test]
async fn tag_and_other_commit_are_distinguished() {
    let repository = Repository::new();
    let processes = processes();
    let tree = processes.tree();
    repository.git(&["tag", "-a", "v1", "-m", "one"]);
    repository.git(&["pack-refs", "--all"]);
    repository.git(&["checkout", "--quiet", "v1"]);
    let facts = inspect(repository.path(), tree).await.expect("facts");
    assert_eq!(facts.head, Head::Tag("v1".to_owned()));
    assert_eq!(facts.default_branch.as_deref(), Some("main"));
    repository.write("more", "x");
    repository.commit("second");
    let facts = inspect(repository.path(), tree).await.expect("facts");
    assert_eq!(facts.head, Head::Detached);
    assert!(facts.commit.expect("a commit").parent.is_some());
}

#[tokio::test]
async fn worktree_is_described_as_a_repository() {
    let repository = Repository::new();
    let elsewhere = tempfile::tempdir().expect("a directory");
    let path = elsewhere.path().join("tree");
    repository.git(&[
        "worktree",
        "add",
        "--quiet",
        "-b",
        "topic",
        path.to_str().expect("text"),
    ]);
    let facts = inspect(&path, processes().tree()).await.expect("facts");
    assert_eq!(facts.toplevel, path);
    assert_eq!(facts.head, Head::Branch("topic".to_owned()));
    assert_eq!(facts.commit.expect("a commit").title(), "first");
}

#[tokio::test]
async fn repository_without_commits_has_a_head_and_no_commit() {
    let directory = tempfile::tempdir().expect("a directory");
    let processes = processes();
    let tree = processes.tree();
    let error = inspect(directory.path(), tree)
        .await
        .expect_err("no repository");
    assert!(matches!(error, RepositoryError::None { .. }), "{error}");
    git(
        directory.path(),
        &["init", "--quiet", "--initial-branch=trunk"],
    );
    let facts = inspect(directory.path(), tree).await.expect("facts");
    assert_eq!(facts.head, Head::Branch("trunk".to_owned()));
    assert_eq!(facts.commit, None);
}
