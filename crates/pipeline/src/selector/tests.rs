use super::*;

/// The instances of `test` by distribution and processor, and jobs whose names look like selectors.
fn with_jobs<T>(then: impl FnOnce(&[NamedJob<'_>]) -> T) -> T {
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let matrix = |os: &str, arch: &str| vec![pair("OS", os), pair("ARCH", arch)];
    let jobs = [
        ("build", vec![]),
        ("test: [debian, arm]", matrix("debian", "arm")),
        ("test: [debian, amd64]", matrix("debian", "amd64")),
        ("test: [deb*, arm]", matrix("deb*", "arm")),
        ("test: [a,b, arm]", matrix("a,b", "arm")),
        ("unit 1/2", vec![]),
        ("unit 2/2", vec![]),
        ("a*", vec![]),
        ("deploy/eu", vec![]),
        ("deploy/us", vec![]),
        ("odd [x]", vec![]),
        ("odd x", vec![]),
    ];
    let jobs: Vec<_> = jobs
        .iter()
        .map(|(name, matrix)| NamedJob::new(name, matrix))
        .collect();
    then(&jobs)
}

fn check(text: &str, expect: &[&str]) {
    with_jobs(|jobs| {
        let selected = find(text, jobs).unwrap_or_else(|error| panic!("{text}: {error}"));
        let names: Vec<_> = selected.indices.iter().map(|&at| jobs[at].name).collect();
        assert_eq!(names, expect, "{text}");
    });
}

fn refused(text: &str, expect: &str) {
    let found = with_jobs(|jobs| find(text, jobs).map(|selected| selected.indices));
    assert_eq!(found.unwrap_err().to_string(), expect, "{text}");
}

#[test]
fn a_name_takes_precedence_over_a_glob() {
    check("build", &["build"]);
    check("a*", &["a*"]);
    check("odd [x]", &["odd [x]"]);
    check("odd [xy]", &["odd x"]);
    check("unit", &["unit 1/2", "unit 2/2"]);
    check("test: [debian, arm]", &["test: [debian, arm]"]);
}

#[test]
fn a_glob_selects_the_jobs_whose_names_match() {
    check("deploy*", &["deploy/eu", "deploy/us"]);
    check("deploy/?s", &["deploy/us"]);
    check("{build,*/eu}", &["build", "deploy/eu"]);
    check("uni[t]", &["unit 1/2", "unit 2/2"]);
    check("[!d]*1/2", &["unit 1/2"]);
}

#[test]
fn instances_are_selected_by_their_variables() {
    check(
        "test[OS=debian]",
        &["test: [debian, arm]", "test: [debian, amd64]"],
    );
    check("test[OS=debian,ARCH=arm]", &["test: [debian, arm]"]);
    check("test [ ARCH = amd64 ]", &["test: [debian, amd64]"]);
    check("test[OS=deb*]", &["test: [deb*, arm]"]);
    check("t*[ARCH=a*64]", &["test: [debian, amd64]"]);
    check("te[s]t[ARCH=amd64]", &["test: [debian, amd64]"]);
    check("test[OS={a,debian},ARCH=amd64]", &["test: [debian, amd64]"]);
    check("test[OS=a?b]", &["test: [a,b, arm]"]);
}

#[test]
fn errors_list_what_exists() {
    refused("biuld", "there is no job `biuld`; did you mean `build`?");
    refused("zzz*", "no job matches `zzz*`");
    refused("biuld*", "no job matches `biuld*`; did you mean `build`?");
    refused(
        "build[OS=x]",
        "`build` has no instances with variables: it has no `parallel:matrix`",
    );
    let known = "OS=debian|deb*|a,b, ARCH=arm|amd64";
    refused(
        "test[OSS=debian]",
        &format!(
            "the instances of `test` have no variable `OSS`; did you mean `OS`?; they have {known}"
        ),
    );
    refused(
        "test[OS=debain]",
        &format!(
            "no instance of `test` has OS=debain; did you mean `debian`?; the values are {known}"
        ),
    );
    refused(
        "test[OS=a?b,ARCH=amd64]",
        &format!("no instance of `test` has OS=a?b and ARCH=amd64; the values are {known}"),
    );
    refused(
        "tset[OS=debian]",
        "there is no job `tset`; did you mean `test`?",
    );
    refused("x[OS=", "no job matches `x[OS=`");
    refused("", "there is no job ``");
}

#[test]
fn only_a_glob_is_not_a_name() {
    with_jobs(|jobs| {
        let is_named = |text: &str| find(text, jobs).unwrap().is_named;
        assert!(is_named("unit") && is_named("a*") && is_named("test[OS=d*n]"));
        assert!(!is_named("unit*") && !is_named("tes?[OS=debian]"));
    });
}

#[test]
fn too_many_braces_are_refused() {
    let text = "{a,b}".repeat(40);
    refused(
        &text,
        &format!(
            "`{text}` cannot be matched with names: the braces of the glob expand to too many alternatives"
        ),
    );
}
