use crate::support::{Home, fetch, git, text, until};
use gitlab_testkit::GitLab;
use std::time::Duration;
use step_library::{FunctionCache, StepLibrary, Unused};

#[tokio::test]
async fn entries_in_use_are_not_removed() {
    let gitlab = GitLab::start();
    let project = gitlab.project("g/functions");
    project.commit(&[("func.yml", "it")]);
    let home = Home::new();
    let library = home.library(&[&gitlab.url()]);
    let fetched = fetch(&library, &git(&project.clone_url(), "main"))
        .await
        .unwrap();
    // These stand for another program.
    let other = home.library(&[&gitlab.url()]);
    // Processes that other tests start inherit the locks until they execute their program.
    let mut removed = 0;
    until("the unused repository is removed", || {
        let cleaned = other.clean(Unused::Since(Duration::ZERO)).unwrap();
        removed += cleaned.directories;
        removed > 0
    });
    assert_eq!(removed, 1, "the repository alone");
    assert_eq!(text(&fetched.directory, "func.yml"), "it");
    let directory = fetched.directory.clone();
    drop(fetched);
    until("it is removed", || {
        other.clean(Unused::Since(Duration::ZERO)).unwrap();
        !directory.exists()
    });
}

#[tokio::test]
async fn least_recently_used_entries_are_removed_beyond_the_budget() {
    let gitlab = GitLab::start();
    let project = gitlab.project("g/functions");
    let commits = ["1", "2", "3"].map(|content| project.commit(&[("func.yml", content)]));
    let home = Home::new();
    let mut options = home.options(&[&gitlab.url()]);
    options.budget = 0;
    let library = StepLibrary::new(options).unwrap();
    let mut before = home.path().join("nothing");
    for commit in &commits {
        let fetched = fetch(&library, &git(&project.clone_url(), commit)).await;
        let kept = fetched.unwrap();
        until("the earlier one is removed", || {
            library.clean(Unused::Above(0)).unwrap();
            !before.exists()
        });
        assert_eq!(text(&kept.directory, "func.yml").len(), 1);
        before.clone_from(&kept.directory);
    }
}

#[tokio::test]
async fn leftovers_of_a_killed_program_are_removed() {
    let gitlab = GitLab::start();
    let project = gitlab.project("g/functions");
    project.commit(&[("func.yml", "it")]);
    let home = Home::new();
    let left = home.cache().join("git/trees/left.part");
    std::fs::create_dir_all(left.join("a")).unwrap();
    let library = home.library(&[&gitlab.url()]);
    let fetched = fetch(&library, &git(&project.clone_url(), "main")).await;
    fetched.unwrap();
    assert!(!left.exists());
}

/// Another user's file cannot be opened; a directory stands for it, which root cannot open as a file either.
#[tokio::test]
async fn unreadable_entry_does_not_block_others() {
    let gitlab = GitLab::start();
    let project = gitlab.project("g/functions");
    project.commit(&[("func.yml", "it")]);
    let home = Home::new();
    let shelves = ["git/trees", "git/repositories", "oci/trees"];
    let shelves = shelves.map(|shelf| home.cache().join(shelf));
    for shelf in &shelves {
        for theirs in ["one.lock", "two.lock", "two.part", "three.lock"] {
            std::fs::create_dir_all(shelf.join(theirs)).unwrap();
        }
        // It is the oldest entry, so it is removed first.
        std::fs::write(shelf.join("three.used"), "1").unwrap();
        std::fs::create_dir(shelf.join("left.part")).unwrap();
    }
    let mut options = home.options(&[&gitlab.url()]);
    options.budget = 0;
    let library = StepLibrary::new(options).unwrap();
    let source = git(&project.clone_url(), "main");
    let fetched = fetch(&library, &source).await.unwrap();
    assert_eq!(text(&fetched.directory, "func.yml"), "it");
    let is_there = |name: &str| shelves.iter().any(|shelf| shelf.join(name).exists());
    assert!(!is_there("left.part"));
    assert!(is_there("two.part"));
    let directory = fetched.directory.clone();
    drop(fetched);
    // An entry that cannot be removed is reported and does not stop the others.
    until("the function is removed", || {
        let error = library.clean(Unused::Above(0)).unwrap_err();
        assert!(error.message.contains("clean"), "{error}");
        !directory.exists()
    });
    assert!(is_there("three.used"));
}

#[tokio::test]
async fn leftovers_of_a_failed_fetch_are_listed_and_removed() {
    let gitlab = GitLab::start();
    let project = gitlab.project("g/functions");
    project.commit(&[("func.yml", "it")]);
    let home = Home::new();
    let mut options = home.options(&[&gitlab.url()]);
    let library = StepLibrary::new(options.clone()).unwrap();
    let missing = git(&project.clone_url(), &"1".repeat(40));
    fetch(&library, &missing).await.unwrap_err();
    let cache = FunctionCache::new(home.cache());
    let [left] = &cache.entries().unwrap()[..] else {
        panic!("the repository is left: {:?}", cache.entries());
    };
    assert!(left.name.starts_with("functions-"), "{left:?}");
    assert!(left.bytes > 0, "{left:?}");
    // Beyond the budget it is removed without a call.
    options.budget = 0;
    let library = StepLibrary::new(options).unwrap();
    fetch(&library, &missing).await.unwrap_err();
    until("it is removed", || {
        library.clean(Unused::Above(0)).unwrap();
        home.names("git/repositories").is_empty()
    });
    assert!(cache.entries().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_fetches_create_an_entry_once() {
    let gitlab = GitLab::start();
    let project = gitlab.project("g/functions");
    project.commit(&[("func.yml", "it")]);
    let home = Home::new();
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..6 {
        let library = home.library(&[&gitlab.url()]);
        let source = git(&project.clone_url(), "main");
        tasks.spawn(async move { fetch(&library, &source).await.unwrap().directory });
    }
    let directories = tasks.join_all().await;
    assert!(directories.windows(2).all(|it| it[0] == it[1]));
    // Each resolves the branch; one of them fetches the commit.
    let posts = gitlab.count("POST", "/g/functions.git/git-upload-pack");
    assert_eq!(posts, 6 + 1);
}
