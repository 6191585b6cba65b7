use super::*;
use std::collections::HashMap;

struct Given(HashMap<&'static str, &'static str>);

impl Files for Given {
    fn text(&self, name: &str) -> Option<String> {
        self.0.get(name).map(|text| (*text).to_owned())
    }

    fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}

/// Returns the jobs of the pipeline for these files, each with its commands.
fn jobs(files: &[(&'static str, &'static str)]) -> Vec<(String, Vec<String>)> {
    let text = starter(&Given(files.iter().copied().collect())).text;
    let checked = pipeline::ResolvedPipeline::from_text(".gitlab-ci.yml", &text);
    let (resolved, warnings) = checked.into_result().expect("a valid file");
    assert_eq!(warnings.iter().count(), 0, "{text}");
    let jobs = resolved.jobs.iter().map(|job| {
        let script = job.definition.script.iter().flatten();
        let commands: Vec<String> = script.map(ToString::to_string).collect();
        (job.definition.name.clone(), commands)
    });
    jobs.collect()
}

fn names(files: &[(&'static str, &'static str)]) -> Vec<String> {
    jobs(files).into_iter().map(|(name, _)| name).collect()
}

#[test]
fn each_kind_of_project_has_its_own_jobs() {
    assert_eq!(names(&[("Cargo.toml", "")]), ["build", "test"]);
    assert_eq!(names(&[("go.mod", "")]), ["vet", "test"]);
    assert_eq!(names(&[("setup.py", "")]), ["compile"]);
    let python = [("pyproject.toml", "[tool.pytest.ini_options]")];
    assert_eq!(names(&python), ["compile", "test"]);
    assert_eq!(names(&[]), ["build", "test"]);
}

#[test]
fn package_scripts_become_jobs() {
    let package = r#"{"scripts": {"test": "jest", "build": "tsc", "start": "node ."}}"#;
    let found = jobs(&[("package.json", package), ("yarn.lock", "")]);
    assert_eq!(
        found,
        [
            ("build".to_owned(), vec!["yarn run build".to_owned()]),
            ("test".to_owned(), vec!["yarn run test".to_owned()]),
        ]
    );
    let empty = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
    assert_eq!(names(&[("package.json", empty)]), ["install"]);
    assert_eq!(names(&[("package.json", "{")]), ["install"]);
}

#[test]
fn common_makefile_targets_become_jobs() {
    let names = |text| names(&[("Makefile", text)]);
    assert_eq!(names("all: x\n\tcc x\ntest check: all\n"), ["all", "test"]);
    assert_eq!(names("build := 1\n\ttest: no\n"), ["make"]);
    assert_eq!(
        names("lint:\nbuild:\nall:\ncheck:\n"),
        ["lint", "build", "check"]
    );
}

#[test]
fn first_sign_decides_and_others_are_reported() {
    let files = Given(HashMap::from([("Makefile", ""), ("Cargo.toml", "")]));
    let found = starter(&files);
    assert_eq!(
        (found.sign, found.others),
        (Some("Cargo.toml"), vec!["Makefile"])
    );
    assert!(found.text.contains("cargo test"));
}
