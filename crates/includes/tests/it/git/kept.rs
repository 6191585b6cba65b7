use super::asker::{Asker, http_route, run, words};
use gitlab_testkit::GitLab;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Returns the cached repository of the only project.
fn repository(user: &Asker) -> PathBuf {
    let directory = user.home.path().join("cache/git");
    let entries = fs::read_dir(directory).expect("a directory");
    let mut paths = entries.flatten().map(|it| it.path());
    let found = paths.find(|it| it.extension().is_some_and(|it| it == "git"));
    found.expect("a repository")
}

fn files_below(directory: &Path, each: &mut impl FnMut(&Path)) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            files_below(&path, each);
        } else {
            each(&path);
        }
    }
}

#[tokio::test]
async fn damaged_repository_is_created_anew() {
    let gitlab = GitLab::start();
    let sha = gitlab.project("g/p").commit(&[("a.yml", "a")]);
    let user = Asker::over_http(&gitlab);
    let spoil_objects = |repository: &Path| {
        files_below(&repository.join("objects"), &mut |file| {
            fs::set_permissions(file, fs::Permissions::from_mode(0o600)).expect("set");
            fs::write(file, "spoiled").expect("written");
        });
    };
    let drop_objects = |repository: &Path| {
        fs::remove_dir_all(repository.join("objects")).expect("removed");
        fs::create_dir(repository.join("objects")).expect("made");
    };
    let spoil_config = |repository: &Path| {
        fs::write(repository.join("config"), "[core\n").expect("written");
    };
    let drop_head = |repository: &Path| {
        fs::remove_file(repository.join("HEAD")).expect("removed");
    };
    let lock_shallow = |repository: &Path| {
        fs::write(repository.join("shallow.lock"), "").expect("written");
        fs::remove_dir_all(repository.join("refs/runwright")).expect("removed");
    };
    let damages: [&dyn Fn(&Path); 5] = [
        &spoil_objects,
        &drop_objects,
        &spoil_config,
        &drop_head,
        &lock_shallow,
    ];
    for (index, damage) in damages.iter().enumerate() {
        let text = user.file("g/p", &sha, "a.yml").await;
        assert_eq!(text.as_deref(), Ok("a"), "before damage {index}");
        damage(&repository(&user));
        let text = user.file("g/p", &sha, "a.yml").await;
        assert_eq!(text.as_deref(), Ok("a"), "after damage {index}");
    }
}

#[tokio::test]
async fn cache_is_readable_by_its_owner_only() {
    let gitlab = GitLab::start();
    let sha = gitlab.project("g/p").commit(&[("a.yml", "a")]);
    let user = Asker::over_http(&gitlab);
    user.file("g/p", &sha, "a.yml").await.expect("a text");
    let mode = |path: &Path| {
        fs::metadata(path)
            .expect("it is there")
            .permissions()
            .mode()
            & 0o077
    };
    assert_eq!(mode(&user.home.path().join("cache/git")), 0);
    assert_eq!(mode(&repository(&user)), 0);
}

#[tokio::test]
async fn damage_on_the_server_is_reported_briefly() {
    let gitlab = GitLab::start();
    let project = gitlab.project("g/p");
    let sha = project.commit(&[("a.yml", "a")]);
    let commit = project
        .folder()
        .join("objects")
        .join(&sha[..2])
        .join(&sha[2..]);
    assert!(commit.is_file());
    files_below(&project.folder().join("objects"), &mut |file| {
        if file != commit {
            fs::remove_file(file).expect("removed");
        }
    });
    let user = Asker::over_http(&gitlab);
    let said = words(
        user.file("g/p", &sha, "a.yml").await,
        gitlab.address().port(),
    );
    let beginning = "Unavailable: http://127.0.0.1:PORT did not answer Git: ";
    assert!(said.starts_with(beginning), "{said}");
    assert!(
        said.len() < 300 && !said.contains(char::is_control),
        "{said}"
    );
}

#[tokio::test]
async fn repository_around_the_cache_is_ignored() {
    let gitlab = GitLab::start();
    let sha = gitlab.project("g/p").commit(&[("a.yml", "a")]);
    let elsewhere = GitLab::start();
    elsewhere.project("g/p").commit(&[("a.yml", "not this")]);
    let user = Asker::over_http(&gitlab);
    let around = user.home.path().join("cache");
    fs::create_dir(&around).expect("made");
    let place = around.display().to_string();
    run("git", &["init", "--quiet", &place]).await;
    let (there, here) = (elsewhere.url(), gitlab.url());
    let settings = format!("[core]\n\tbare = false\n[url \"{there}\"]\n\tinsteadOf = {here}\n");
    fs::write(around.join(".git/config"), settings).expect("written");
    assert_eq!(user.commit("g/p", "main").await.as_ref(), Ok(&sha));
    assert_eq!(user.file("g/p", &sha, "a.yml").await.as_deref(), Ok("a"));
    assert_eq!(elsewhere.total(), 0);
}

#[tokio::test]
async fn concurrent_queries_work() {
    let gitlab = GitLab::start();
    let project = gitlab.project("g/p");
    let first = project.commit(&[("a.yml", "a"), ("b.yml", "b")]);
    let second = project.commit(&[("a.yml", "c")]);
    let user = Asker::over_http(&gitlab);
    let (a, b, c, commit) = tokio::join!(
        user.file("g/p", &first, "a.yml"),
        user.file("g/p", &first, "b.yml"),
        user.file("g/p", &second, "a.yml"),
        user.commit("g/p", "main"),
    );
    let texts = [a, b, c, commit];
    let texts: Vec<_> = texts.iter().map(|it| it.as_deref()).collect();
    assert_eq!(texts, [Ok("a"), Ok("b"), Ok("c"), Ok(&*second)]);
}

#[tokio::test]
async fn dropped_query_leaves_no_process() {
    let gitlab = GitLab::start();
    let sha = gitlab.project("g/p").commit(&[("a.yml", "a")]);
    let _held = gitlab.hold("/g/p.git/*");
    let mark = format!("given-up-{}", std::process::id());
    let user = Asker::on(Some(http_route(&gitlab)), &[("TEST_MARK", &mark)]);
    let asking = user.file("g/p", &sha, "a.yml");
    let waiting = async {
        while gitlab.total() == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        _ = asking => panic!("the server holds it back"),
        () = waiting => {}
    }
    let mut left = marked(&mark);
    for _ in 0..6000 {
        if left == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
        left = marked(&mark);
    }
    assert_eq!(left, 0);
}

/// Counts the processes with a mark in their environment.
fn marked(mark: &str) -> usize {
    let processes = fs::read_dir("/proc").expect("processes").flatten();
    let has_mark = |environment: Vec<u8>| {
        let mut windows = environment.windows(mark.len());
        windows.any(|window| window == mark.as_bytes())
    };
    processes
        .filter_map(|it| fs::read(it.path().join("environ")).ok())
        .filter(|it| has_mark(it.clone()))
        .count()
}
