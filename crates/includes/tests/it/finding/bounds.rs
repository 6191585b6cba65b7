use super::scripted::{Scripted, User, one, project, remote, remote_includes, sha};
use includes::{Library, RemoteIncludes, RemoteSettings};
use pipeline::include::{IncludeError, IncludeSource};
use std::sync::Arc;
use std::time::Duration;

fn with(library: &Arc<Scripted>, change: impl FnOnce(&mut RemoteSettings)) -> RemoteIncludes {
    let mut settings = RemoteSettings::new(Arc::new(User));
    change(&mut settings);
    RemoteIncludes::new(Arc::clone(library) as Arc<dyn Library>, settings)
}

#[test]
fn files_are_fetched_concurrently_within_limits() {
    let library = Arc::new(Scripted::new(&[]));
    let reference = sha("a");
    let files = |count: usize| -> Vec<_> {
        let names = (0..count).map(|number| format!("{number}.yml"));
        names
            .map(|name| project("g/p", &name, Some(&reference)))
            .collect()
    };
    let pages: Vec<_> = (0..50)
        .map(|number| remote(&format!("https://e.com/{number}.yml")))
        .collect();
    let found = remote_includes(&library).fetch(&pages);
    assert_eq!(found.len(), 50);
    assert_eq!((library.busy().most, library.busy().most_pages), (4, 4));
    let found = remote_includes(&library).fetch(&[pages, files(150)].concat());
    assert!(found.iter().all(|it| *it == Err(IncludeError::Missing)));
    assert_eq!((library.busy().most, library.busy().most_pages), (8, 4));
    assert_eq!(library.take_asked().len(), 250);
}

#[test]
fn late_files_fail_alone() {
    let requests = [
        remote("https://e.com/never.yml"),
        remote("https://e.com/a.yml"),
    ];
    // A busy machine may be late with what is there, too.
    let (remote_includes, found) = [500, 5_000, 60_000]
        .map(Duration::from_millis)
        .into_iter()
        .map(|time| {
            let library = Arc::new(Scripted::new(&[("page https://e.com/a.yml", "a")]));
            let remote_includes = with(&library, |settings| settings.time = time);
            let found = remote_includes.fetch(&requests);
            (remote_includes, found)
        })
        .find(|(_, found)| found[1].is_ok())
        .expect("what is there is had");
    let late = |found: &Result<_, IncludeError>| {
        let error = found.as_ref().err().map(ToString::to_string);
        error.is_some_and(|error| error.contains("took longer"))
    };
    assert!(late(&found[0]), "{found:?}");
    assert_eq!(found[1].as_ref().map(|it| &*it.text), Ok("a"));
    // The time limit is for all files together, and it is reached.
    let found = one(&remote_includes, remote("https://e.com/b.yml"));
    assert!(late(&found), "{found:?}");
}

#[test]
fn total_size_of_answers_is_limited() {
    let library = Arc::new(Scripted::new(&[
        ("page https://e.com/a.yml", "12345"),
        ("page https://e.com/b.yml", "67890"),
    ]));
    let remote_includes = with(&library, |settings| settings.bytes = 9);
    assert!(one(&remote_includes, remote("https://e.com/a.yml")).is_ok());
    let error = one(&remote_includes, remote("https://e.com/b.yml")).expect_err("too long");
    assert!(
        error.to_string().contains("together are too large"),
        "{error}"
    );
    // A repeated answer counts once.
    assert!(one(&remote_includes, remote("https://e.com/a.yml")).is_ok());
}
