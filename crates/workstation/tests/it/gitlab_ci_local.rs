//! Settings files of gitlab-ci-local.

use crate::project::Project;
use std::path::Path;
use workstation::{DEFAULT_FILE, LocalProject};

#[test]
fn options_of_a_file_are_used_or_noted() {
    let project = Project::new();
    project.write(
        "ci/main.yml",
        "# @Description Builds\nbuild: {script: make}\n",
    );
    project.write(
        ".gitlab-ci-local-env",
        "FILE=ci/main.yml\nVARIABLE=A=1 B=2\nPRIVILEGED=true\n",
    );
    project.write_home(".gitlab-ci-local/.env", "VARIABLE=\"A=home C=3\"\n");
    let pipeline = project.read(&project.options());
    let context = pipeline.context().unwrap();
    assert_eq!(context.config_path, "ci/main.yml");
    let variables = context.pre_pipeline_variables();
    let values = ["A", "B", "C"].map(|name| variables.get(name).unwrap());
    assert_eq!(values, ["1", "2", "3"]);
    let notes = pipeline.notes().unwrap().concat();
    assert!(
        notes.contains(".gitlab-ci-local-env:3: PRIVILEGED"),
        "{notes}"
    );
    let build = pipeline.decorations().of("build").expect("decorated");
    assert_eq!(build.description.as_deref(), Some("Builds"));
}

#[test]
fn the_remote_of_gitlab_ci_local_is_preferred() {
    let project = Project::new();
    project.git(&["remote", "add", "origin", "git@github.com:fork/app.git"]);
    project.git(&[
        "remote",
        "add",
        "gcl-origin",
        "ssh://git@gitlab.example:2222/grp/sub/app.git",
    ]);
    let pipeline = project.read(&project.options());
    let context = pipeline.context().unwrap();
    assert_eq!(context.project.path, "grp/sub/app");
    assert_eq!(context.server_url, "https://gitlab.example");
}

#[test]
fn bitrab_file_wins() {
    // R-PIPE-01
    let project = Project::new();
    let file = |named: Option<&Path>| {
        let found = LocalProject::find(&project.dir(), named).unwrap();
        found.file().to_owned()
    };
    assert_eq!(file(None), Path::new(DEFAULT_FILE));
    project.write(".bitrab-ci.yml", "local: {script: make}\n");
    assert_eq!(file(None), Path::new(".bitrab-ci.yml"));
    assert_eq!(file(Some(Path::new(DEFAULT_FILE))), Path::new(DEFAULT_FILE));
    std::fs::remove_file(project.dir().join(DEFAULT_FILE)).unwrap();
    assert_eq!(file(None), Path::new(".bitrab-ci.yml"));
}

#[test]
fn the_second_pipeline_file_is_merged_over_the_first() {
    let project = Project::new();
    project.write(".gitlab-ci.yml", "job: {script: make, stage: build}\n");
    project.write("ci/mine.yml", "# @Description Mine\nmine: {script: x}\n");
    project.write(
        ".gitlab-ci-local.yml",
        "include: ci/mine.yml\n# @Interactive\njob: {script: make local}\n",
    );
    let pipeline = project.read(&project.options());
    let creation = pipeline.create().unwrap();
    let job = creation.job("job").expect("there");
    assert_eq!(job.definition.stage, "build");
    assert_eq!(
        serde_json::to_value(&job.definition.script).unwrap(),
        serde_json::json!(["make local"])
    );
    assert!(creation.job("mine").is_some());
    let mine = pipeline.decorations().of("mine").expect("decorated");
    assert_eq!(mine.description.as_deref(), Some("Mine"));
    assert!(
        pipeline
            .decorations()
            .of("job")
            .expect("decorated")
            .is_interactive
    );
    let notes = pipeline.notes().unwrap().concat();
    assert!(
        notes.contains(".gitlab-ci-local.yml is merged over"),
        "{notes}"
    );
}
