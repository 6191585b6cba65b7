use std::path::PathBuf;

use super::*;

fn package(name: &str, dependencies: &[(&str, Option<&str>)]) -> Package {
    let dependency = |(name, kind): &(&str, Option<&str>)| Dependency {
        name: (*name).to_owned(),
        kind: kind.map(str::to_owned),
        path: Some(PathBuf::from("crates").join(name)),
    };
    Package {
        name: match name {
            "runwright" => name.to_owned(),
            _ => format!("{PREFIX}{name}"),
        },
        manifest_path: PathBuf::from("crates").join(name).join("Cargo.toml"),
        dependencies: dependencies.iter().map(dependency).collect(),
        targets: Vec::new(),
        publish: None,
    }
}

/// Returns the problems of the first package; the rest of the table is filled in.
fn check_one(tested: Package) -> Vec<String> {
    let names = TABLE.iter().map(|row| row.name);
    let mut packages: Vec<Package> = names.map(|name| package(name, &[])).collect();
    packages.retain(|other| other.folder_name() != tested.folder_name());
    packages.push(tested);
    check(&packages).iter().map(ToString::to_string).collect()
}

#[test]
fn downward_imports_are_allowed() {
    assert_eq!(
        check_one(package(
            "job-runner",
            &[("executor-core", None), ("process", None)]
        )),
        [""; 0]
    );
    assert_eq!(
        check_one(package(
            "cli",
            &[("executor-shell", None), ("pipeline", None)]
        )),
        [""; 0]
    );
}

#[test]
fn upward_and_sideways_imports_are_found() {
    // R-PIPE-46
    for (from, to) in [
        ("executor-core", "trace"),
        // The decision which job is next, and the decision how an attempt ended.
        ("pipeline", "job-runner"),
        ("job-runner", "pipeline"),
        ("pipeline", "process"),
        ("job-runner", "executor-shell"),
        ("executor-shell", "job-runner"),
        ("cli", "examples"),
        ("xtask", "executor-core"),
    ] {
        assert_eq!(
            check_one(package(from, &[(to, None)])),
            [format!("{from}: must not import `{to}`")]
        );
    }
}

#[test]
fn the_testkit_is_for_tests() {
    assert_eq!(
        check_one(package("pipeline", &[("executor-testkit", Some("dev"))])),
        [""; 0]
    );
    assert_eq!(
        check_one(package("pipeline", &[("executor-testkit", None)])).len(),
        1
    );
    assert_eq!(
        check_one(package("job-runner", &[("executor-shell", Some("dev"))])),
        [""; 0]
    );
    let message = check_one(package("pipeline", &[("executor-shell", Some("dev"))]));
    assert_eq!(
        message,
        ["pipeline: must not import `executor-shell` in its dev-dependencies"]
    );
}

#[test]
fn third_party_crates_are_ignored() {
    let mut foreign = package("executor-core", &[("serde", None)]);
    foreign.dependencies[0].path = None;
    assert_eq!(check_one(foreign), [""; 0]);
}

#[test]
fn crate_without_a_row_is_found() {
    assert_eq!(
        check_one(package("newcomer", &[])),
        ["newcomer: is not in the table of edges; add its row"]
    );
}

#[test]
fn row_without_a_crate_is_found() {
    assert_eq!(check(&[]).len(), TABLE.len());
}

#[test]
fn name_must_match_the_folder() {
    let mut renamed = package("trace", &[]);
    renamed.name = "trace".to_owned();
    assert_eq!(
        check_one(renamed),
        ["trace: is named `trace`; expected `runwright-trace`"]
    );
}
