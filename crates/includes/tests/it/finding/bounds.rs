use super::scripted::{Scripted, User, elsewhere, one, project, remote, sha};
use includes::{Elsewhere, ElsewhereSettings, Library};
use pipeline::include::{IncludeError, IncludeSource};
use std::sync::Arc;
use std::time::Duration;

fn with(library: &Arc<Scripted>, change: impl FnOnce(&mut ElsewhereSettings)) -> Elsewhere {
    let mut settings = ElsewhereSettings::new(Arc::new(User));
    change(&mut settings);
    Elsewhere::new(Arc::clone(library) as Arc<dyn Library>, settings)
}

#[test]
fn files_are_fetched_side_by_side_within_bounds() {
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
    let found = elsewhere(&library).fetch(&pages);
    assert_eq!(found.len(), 50);
    assert_eq!((library.busy().most, library.busy().most_pages), (4, 4));
    let found = elsewhere(&library).fetch(&[pages, files(150)].concat());
    assert!(found.iter().all(|it| *it == Err(IncludeError::Missing)));
    assert_eq!((library.busy().most, library.busy().most_pages), (8, 4));
    assert_eq!(library.take_asked().len(), 250);
}

#[test]
fn what_is_late_is_given_up_and_the_rest_is_had() {
    let requests = [
        remote("https://e.com/never.yml"),
        remote("https://e.com/a.yml"),
    ];
    // A busy machine may be late with what is there, too.
    let (elsewhere, found) = [500, 5_000, 60_000]
        .map(Duration::from_millis)
        .into_iter()
        .map(|time| {
            let library = Arc::new(Scripted::new(&[("page https://e.com/a.yml", "a")]));
            let elsewhere = with(&library, |settings| settings.time = time);
            let found = elsewhere.fetch(&requests);
            (elsewhere, found)
        })
        .find(|(_, found)| found[1].is_ok())
        .expect("what is there is had");
    let late = |found: &Result<_, IncludeError>| {
        let error = found.as_ref().err().map(ToString::to_string);
        error.is_some_and(|error| error.contains("took longer"))
    };
    assert!(late(&found[0]), "{found:?}");
    assert_eq!(found[1].as_ref().map(|it| &*it.text), Ok("a"));
    // The time is for all files together, and it is over.
    let found = one(&elsewhere, remote("https://e.com/b.yml"));
    assert!(late(&found), "{found:?}");
}

#[test]
fn all_answers_together_are_not_too_long() {
    let library = Arc::new(Scripted::new(&[
        ("page https://e.com/a.yml", "12345"),
        ("page https://e.com/b.yml", "67890"),
    ]));
    let elsewhere = with(&library, |settings| settings.bytes = 9);
    assert!(one(&elsewhere, remote("https://e.com/a.yml")).is_ok());
    let error = one(&elsewhere, remote("https://e.com/b.yml")).expect_err("too long");
    assert!(error.to_string().contains("too large together"), "{error}");
    // What there is counts once.
    assert!(one(&elsewhere, remote("https://e.com/a.yml")).is_ok());
}
