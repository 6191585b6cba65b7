//! API mode: a GitLab evaluates the pipeline file.

use crate::project::Project;
use gitlab_testkit::{Fault, GitLab};
use includes::FetchPolicy;
use pipeline::Dialect;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use workstation::{ApiModeError, LocalError, PipelineOptions, RemoteOptions};

const TOKEN: &str = "glpat-of-this-test";
const LINT: &str = "/api/v4/projects/group%2Fapp/ci/lint";
const OWN: &str = include_str!("../../../pipeline/tests/data/lint/own.yml");
const STATIC: &str = include_str!("../../../pipeline/tests/data/lint/static.json");

/// Returns a GitLab with this lint response, and a clone of its project.
fn cloned(answer: &Value) -> (GitLab, Project) {
    let gitlab = GitLab::start();
    gitlab.token(TOKEN, &["api"]);
    gitlab.project("group/app").private().lint(answer.clone());
    let project = Project::new();
    let remote = format!("{}/group/app.git", gitlab.url());
    project.git(&["remote", "add", "origin", &remote]);
    let settings = format!(
        "[[gitlab.instance]]\nurl = \"{}\"\ntoken = \"{TOKEN}\"\n",
        gitlab.url()
    );
    project.write_home(".runwright/config.toml", &settings);
    let file = project.home().join(".runwright/config.toml");
    fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
    project.write(".gitlab-ci.yml", OWN);
    (gitlab, project)
}

fn answer() -> Value {
    serde_json::from_str(STATIC).unwrap()
}

fn options(project: &Project) -> PipelineOptions {
    PipelineOptions {
        remote: RemoteOptions {
            directory: Some(project.home().join(".runwright")),
            prefer_api: true,
            ..RemoteOptions::default()
        },
        ..project.options()
    }
}

fn refused(project: &Project, options: &PipelineOptions) -> ApiModeError {
    match project.find().read(options) {
        Err(LocalError::ApiMode(error)) => error,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn lint_is_requested_once_for_the_pipeline_file() {
    // R-GLCI-167
    let (gitlab, project) = cloned(&answer());
    let pipeline = project.read(&options(&project));
    let creation = pipeline.create().unwrap();
    let included = creation.included();
    let names: Vec<&str> = included.iter().map(|job| &*job.definition.name).collect();
    assert_eq!(names, ["build: [arm]", "build: [x86]", "deploy"]);

    let requests = gitlab.requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    let request = &requests[0];
    assert_eq!((&*request.method, &*request.path), ("POST", LINT));
    assert_eq!(request.token().as_deref(), Some(TOKEN));
    let expect = json!({"content": OWN, "include_jobs": true, "dry_run": false});
    assert_eq!(request.json(), expect);
}

#[test]
fn no_request_without_the_option() {
    // R-GLCI-166
    let (gitlab, project) = cloned(&answer());
    project.write(".gitlab-ci.yml", "include: ci/a.yml\nb: {extends: .a}\n");
    project.write(
        "ci/a.yml",
        ".a: {script: !reference [.b, script]}\n.b: {script: b}\n",
    );
    let mut options = options(&project);
    options.remote.prefer_api = false;
    let pipeline = project.read(&options);
    pipeline.create().unwrap();
    assert_eq!(pipeline.resolved().jobs.len(), 1);
    assert_eq!(gitlab.total(), 0);
}

#[test]
fn differences_from_the_working_tree_are_noted() {
    let (_gitlab, project) = cloned(&answer());
    project.write(
        ".gitlab-ci-local.yml",
        "lint: {script: fast}\nmine: {extends: .base, script: x, stage: build}\n",
    );
    let pipeline = project.read(&options(&project));
    let notes = pipeline.notes().unwrap().join("\n");
    for expect in [
        "for the default branch of group/app: the situation does not count there",
        "not from the working tree: ci/base.yml",
        ".gitlab-ci-local.yml is merged over .gitlab-ci.yml",
        "does not reach the jobs that extend it",
    ] {
        assert!(notes.contains(expect), "no {expect:?} in:\n{notes}");
    }
    let job = pipeline.resolved().job("mine").unwrap();
    assert!(job.services.is_some());
}

#[test]
fn contradicting_options_are_refused_before_any_request() {
    let (gitlab, project) = cloned(&answer());
    let mut offline = options(&project);
    offline.remote.fetching = FetchPolicy::Offline;
    assert!(matches!(refused(&project, &offline), ApiModeError::Offline));
    let mut inputs = options(&project);
    inputs.inputs.insert("env".to_owned(), json!("prod"));
    assert!(matches!(
        refused(&project, &inputs),
        ApiModeError::Inputs { .. }
    ));
    let mut dialect = options(&project);
    dialect.dialect = Dialect::Bitrab;
    assert!(matches!(refused(&project, &dialect), ApiModeError::Dialect));
    assert_eq!(gitlab.total(), 0);
}

#[test]
fn missing_gitlab_is_an_error() {
    let (gitlab, project) = cloned(&answer());
    let mut options = options(&project);
    options.remote.gitlab = Some(gitlab.url());
    project.git(&["remote", "remove", "origin"]);
    let error = refused(&project, &options);
    assert!(matches!(error, ApiModeError::NoProject(_)), "{error}");
    assert!(error.help().unwrap().contains("git remote add"));
    assert_eq!(gitlab.total(), 0);
}

#[test]
fn server_errors_do_not_show_the_token() {
    let (gitlab, project) = cloned(&answer());
    let check = |fault: Fault, expect: &str| {
        gitlab.always(LINT, fault);
        let error = refused(&project, &options(&project));
        let shown = format!("{error} {error:?} {}", error.help().unwrap_or_default());
        assert!(shown.contains(expect), "no {expect:?} in {shown}");
        assert!(!shown.contains(TOKEN), "{shown}");
        gitlab.repair();
    };
    check(
        Fault::Status(401),
        "refuses the token from ~/.runwright/config.toml",
    );
    check(
        Fault::Status(404),
        "does not have the CI lint of `group/app`",
    );
    check(Fault::Status(500), "broken or overloaded");
    project.read(&options(&project));
}

#[test]
fn errors_of_the_lint_are_diagnostics_of_the_file() {
    let mut wrong = answer();
    wrong["valid"] = json!(false);
    wrong["errors"] = json!(["jobs:deploy:environment config is odd"]);
    let (_gitlab, project) = cloned(&wrong);
    let found = project.errors(&options(&project));
    assert!(found.contains("127.0.0.1"), "{found}");
    assert!(
        found.contains("jobs:deploy:environment config is odd"),
        "{found}"
    );
    assert!(found.contains(".gitlab-ci.yml:29:3"), "{found}");

    wrong["errors"] = json!([]);
    let (_gitlab, project) = cloned(&wrong);
    let found = project.errors(&options(&project));
    assert!(found.contains("the server gives no reason"), "{found}");

    let empty = json!({"valid": true, "errors": [], "warnings": []});
    let (_gitlab, project) = cloned(&empty);
    let found = project.errors(&options(&project));
    assert!(
        found.contains("returned no merged configuration"),
        "{found}"
    );
}

#[test]
fn too_long_files_are_not_sent() {
    let (gitlab, project) = cloned(&answer());
    project.write(".gitlab-ci.yml", "#".repeat((32 << 20) + 1));
    let found = project.errors(&options(&project));
    assert!(found.contains("file-too-large"), "{found}");
    assert_eq!(gitlab.total(), 0);
}
