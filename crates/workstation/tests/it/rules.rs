//! `rules:changes` and `rules:exists` in a real repository.

use crate::creation::jobs;
use crate::project::Project;
use workstation::{PipelineOptions, SituationOptions};

fn in_situation(project: &Project, situation: SituationOptions) -> PipelineOptions {
    PipelineOptions {
        situation,
        ..project.options()
    }
}

#[test]
fn rules_changes_select_jobs() {
    // R-GLCI-161
    let project = Project::new();
    project.write(
        ".gitlab-ci.yml",
        "
docs: {script: x, rules: [{changes: ['docs/**/*.md']}]}
src: {script: x, rules: [{changes: {paths: ['src/*.{c,h}'], compare_to: start}}]}
all: {script: x, rules: [{changes: ['*']}]}
",
    );
    project.commit("second");
    project.git(&["branch", "start"]);
    let push = SituationOptions::default;
    let options = in_situation(&project, push());
    project.write("src/main.c", "");
    assert_eq!(
        jobs(&project, &options),
        ["docs", "src", "all"],
        "a new branch"
    );
    project.pushed("main", "HEAD");
    assert_eq!(jobs(&project, &options), ["src"]);
    project.write("docs/a/b.md", "");
    project.write("README", "");
    project.commit("third");
    assert_eq!(jobs(&project, &options), ["docs", "src", "all"]);
    project.pushed("main", "HEAD");
    project.git(&["checkout", "-q", "-b", "feature"]);
    project.write("docs/c.md", "");
    let merge_request = SituationOptions {
        merge_request: true,
        ..push()
    };
    let expect = ["docs", "src"];
    assert_eq!(
        jobs(&project, &in_situation(&project, merge_request)),
        expect
    );
    let named = SituationOptions {
        changes: Some(vec!["README".to_owned()]),
        ..push()
    };
    assert_eq!(jobs(&project, &in_situation(&project, named)), ["all"]);
}

#[test]
fn unknown_compare_to_is_an_error() {
    let project = Project::new();
    project.write(
        ".gitlab-ci.yml",
        "job: {script: x, rules: [{changes: {paths: [a], compare_to: --output=x}}]}\n",
    );
    let pipeline = project.read(&project.options());
    let creation = pipeline.create().unwrap();
    let refusal = creation.refusal.expect("there is no pipeline");
    let message = &refusal.problems[0].message;
    assert!(message.contains("--output=x"), "{message}");
    assert!(!project.dir().join("x").exists());
}

#[test]
fn rules_exists_select_jobs() {
    // R-GLCI-162
    let project = Project::new();
    let too_many: Vec<String> = (0..51).map(|number| format!("'f{number}'")).collect();
    project.write(
        ".gitlab-ci.yml",
        "
root: {script: x, rules: [{exists: ['*.toml']}]}
deep: {script: x, rules: [{exists: ['**/*.rs']}]}
untracked: {script: x, rules: [{exists: [src/]}]}
ignored: {script: x, rules: [{exists: [target/out]}]}
gone: {script: x, rules: [{exists: [gone]}]}
variable: {script: x, variables: {D: src}, rules: [{exists: ['$D/main.rs']}]}
",
    );
    project.write(".gitignore", "target\n");
    project.write("gone", "");
    project.commit("second");
    std::fs::remove_file(project.dir().join("gone")).unwrap();
    project.write("src/main.rs", "");
    project.write("target/out", "");
    let expect = ["deep", "untracked", "variable"];
    assert_eq!(jobs(&project, &project.options()), expect);
    project.write(
        ".gitlab-ci.yml",
        format!(
            "job: {{script: x, rules: [{{exists: [{}]}}]}}\n",
            too_many.join(", ")
        ),
    );
    let found = project.errors(&project.options());
    assert!(found.contains("maximum 50"), "{found}");
}

#[test]
fn merge_request_pipelines_have_no_branch_jobs() {
    let project = Project::new();
    project.git(&["checkout", "-q", "-b", "feature"]);
    project.write(
        ".gitlab-ci.yml",
        "
plain: {script: x}
only: {script: x, only: [merge_requests]}
rule: {script: x, rules: [{if: $CI_MERGE_REQUEST_TARGET_BRANCH_NAME == 'main'}]}
",
    );
    let merge_request = SituationOptions {
        merge_request: true,
        ..SituationOptions::default()
    };
    assert_eq!(
        jobs(&project, &in_situation(&project, merge_request)),
        ["only", "rule"]
    );
    assert_eq!(jobs(&project, &project.options()), ["plain"]);
}

#[test]
fn new_files_of_local_tools_are_no_changes() {
    let project = Project::new();
    project.write(
        ".gitlab-ci.yml",
        "docs: {script: x, rules: [{changes: [docs/*]}]}\nall: {script: x}\n",
    );
    project.commit("second");
    project.pushed("main", "HEAD");
    let options = project.options();
    for file in [
        ".gitlab-ci-local/.gitignore",
        ".gitlab-ci-local-inputs.yml",
        ".runwright/state",
        ".bitrab/logs/1",
    ] {
        project.write(file, "");
        assert_eq!(jobs(&project, &options), ["docs", "all"], "{file}");
        let pipeline = project.read(&options);
        let changes = pipeline.changes_since(Some("HEAD")).unwrap();
        let is_known = changes.files.iter().flatten().any(|it| it == file);
        assert_eq!(is_known, !file.contains('/'), "{file}");
    }
    // Tracked ones are pushed.
    project.git(&["add", "--force", ".bitrab"]);
    assert_eq!(jobs(&project, &options), ["all"]);
}
