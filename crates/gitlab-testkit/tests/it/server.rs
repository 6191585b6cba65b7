//! The server itself: recorded requests, injected faults, stop and resume.

use crate::client::{get, try_ask};
use gitlab_testkit::{Fault, GitLab, Page};
use std::thread;

#[test]
fn requests_are_counted_by_path() {
    let gitlab = GitLab::start();
    let project = gitlab.project("group/project");
    let url = gitlab.page("/x.yml", "x: 1");
    assert_eq!(url, format!("{}/x.yml", gitlab.url()));
    assert_eq!(get(&gitlab, "/x.yml?a=b").body, "x: 1");
    get(&gitlab, &project.api(""));
    get(&gitlab, &project.api(""));
    assert_eq!(gitlab.count("GET", "/x.yml"), 1);
    assert_eq!(gitlab.count("GET", "/api/v4/projects/group%2Fproject"), 2);
    assert_eq!(gitlab.count("GET", "/api/v4/*"), 2);
    assert_eq!(gitlab.count("POST", "/x.yml"), 0);
    assert_eq!(gitlab.total(), 3);
    let first = &gitlab.requests()[0];
    assert_eq!((first.query.as_str(), first.status), ("a=b", Some(200)));
    gitlab.reset_count();
    assert_eq!(gitlab.total(), 0);
}

#[test]
fn faults_repeat_as_often_as_planned() {
    let gitlab = GitLab::start();
    gitlab.page("/x.yml", "x: 1");
    gitlab.next_times("/x.yml", 2, Fault::Status(503));
    gitlab.next(
        "/x.yml",
        Fault::Page(Page::new("slow").status(429).header("Retry-After", "7")),
    );
    let statuses: Vec<u16> = (0..4).map(|_| get(&gitlab, "/x.yml").status).collect();
    assert_eq!(statuses, [503, 503, 429, 200]);
    gitlab.always("/*", Fault::Redirect("/y.yml".to_owned()));
    assert_eq!(get(&gitlab, "/x.yml").header("location"), "/y.yml");
    assert_eq!(get(&gitlab, "/x.yml").status, 302);
    gitlab.repair();
    assert_eq!(get(&gitlab, "/x.yml").status, 200);
}

#[test]
fn body_faults_are_injected() {
    let gitlab = GitLab::start();
    let ask = || try_ask(&gitlab, "GET", "/x.yml", &[], "");
    gitlab.next("/x.yml", Fault::Close);
    assert!(ask().is_none());
    gitlab.next("/x.yml", Fault::Cut(1000));
    assert!(ask().is_none());
    gitlab.next("/x.yml", Fault::Long(1 << 20));
    assert_eq!(ask().unwrap().body.len(), 1 << 20);
}

#[test]
fn held_requests_wait_for_release() {
    let gitlab = GitLab::start();
    gitlab.page("/x.yml", "x: 1");
    let held = gitlab.hold("/x.yml");
    thread::scope(|scope| {
        let asking = scope.spawn(|| get(&gitlab, "/x.yml"));
        while gitlab.count("GET", "/x.yml") == 0 {
            thread::yield_now();
        }
        assert_eq!(gitlab.requests()[0].status, None);
        held.release();
        assert_eq!(asking.join().unwrap().body, "x: 1");
    });
}

#[test]
fn repositories_survive_a_stopped_server() {
    let gitlab = GitLab::start();
    let project = gitlab.project("group/project");
    project.commit(&[("a.yml", "a: 1")]);
    gitlab.always("/x", Fault::Stall);
    let path = project.api("/repository/files/a.yml/raw");
    thread::scope(|scope| {
        let stalled = scope.spawn(|| try_ask(&gitlab, "GET", "/x", &[], ""));
        while gitlab.count("GET", "/x") == 0 {
            thread::yield_now();
        }
        gitlab.stop();
        // The client received at most the start of a response.
        let body = stalled.join().unwrap().map_or(0, |said| said.body.len());
        assert!(body <= 8, "{body}");
    });
    assert!(try_ask(&gitlab, "GET", &path, &[], "").is_none());
    assert!(project.folder().join("HEAD").is_file());
    gitlab.resume();
    assert_eq!(get(&gitlab, &path).body, "a: 1");
    let folder = gitlab.repositories();
    drop(gitlab);
    assert!(folder.exists(), "the project's handle keeps it");
    drop(project);
    assert!(!folder.exists());
}

#[test]
fn server_can_run_below_a_path() {
    let gitlab = GitLab::setup().below("/gitlab").start();
    let project = gitlab.project("group/project");
    project.commit(&[("a.yml", "a: 1")]);
    assert!(gitlab.url().ends_with("/gitlab"));
    let path = project.api("/repository/files/a.yml/raw");
    assert!(path.starts_with("/gitlab/api/v4/"), "{path}");
    assert_eq!(get(&gitlab, &path).body, "a: 1");
    assert_eq!(get(&gitlab, &path["/gitlab".len()..]).status, 404);
    let json = get(&gitlab, &project.api("")).json();
    assert_eq!(json["web_url"], format!("{}/group/project", gitlab.url()));
}
