//! Which part of the response each part of a pipeline is read from.

use super::{Answer, DRY_RUN, OWN, STATIC};
use pipeline::context::{Commit, PipelineContext};
use pipeline::merged::MergedJob;
use pipeline::repository::NoRepository;
use pipeline::{LoadOptions, ResolvedPipeline, create};
use serde_json::{Value, json};

fn resolved(answer: &Answer) -> ResolvedPipeline {
    let checked = answer.read(OWN, &LoadOptions::default());
    let checked = checked.and_then(|pipeline, found| Some(pipeline.resolve(found)));
    let (resolved, found) = checked
        .into_result()
        .unwrap_or_else(|found| panic!("{found}"));
    assert!(found.is_empty(), "{found}");
    resolved
}

/// Returns a field of a job of the merged file.
fn field(job: &str, field: &str) -> Value {
    let resolved = resolved(&Answer::of(STATIC));
    let job = resolved.job(job).unwrap_or_else(|| panic!("no {job}"));
    serde_json::to_value(job).unwrap()[field].clone()
}

#[test]
fn includes_inputs_extends_and_references_come_from_the_server() {
    // R-GLCI-168
    let names = |answer: &Answer| -> Vec<String> {
        let jobs = resolved(answer).jobs;
        let names = jobs.iter().map(|job| job.definition.name.clone());
        names.collect()
    };
    let all = ["lint", "build: [arm]", "build: [x86]", "deploy"];
    assert_eq!(names(&Answer::of(STATIC)), all);
    assert_eq!(field("lint", "stage"), "verify");
    assert_eq!(field("deploy", "environment")["name"], "staging");
    let conf = "./configure --prefix=$PREFIX";
    assert_eq!(
        field("build: [arm]", "script"),
        json!([conf, "make TARGET=$TARGET"])
    );
    assert_eq!(
        field("deploy", "image"),
        json!({"name": "$REGISTRY/rust:1.80", "entrypoint": [""]})
    );
    // Bases that are missing from the text or differ have no effect, nor has an `include` in it.
    let text = "include: x.yml\n.a: {image: other}\nlint: {extends: .a, script: x}\n\
                more: {extends: .nope, script: [x]}\n";
    assert_eq!(names(&Answer::of_text(text)), ["lint", "more"]);
    let job = resolved(&Answer::of_text(text)).job("lint").unwrap();
    assert_eq!(job.image, None);
}

#[test]
fn images_services_variables_artifacts_and_cache_are_read_from_the_text() {
    // R-GLCI-168
    assert_eq!(field("build: [x86]", "services")[0]["alias"], "db");
    let variables = json!({"PREFIX": "/usr", "LEVEL": "2", "TARGET": "x86"});
    assert_eq!(field("build: [x86]", "job_variables"), variables);
    assert_eq!(field("deploy", "artifacts")["paths"], json!(["bin/"]));
    assert_eq!(field("deploy", "cache")[0]["paths"], json!(["target"]));
}

#[test]
fn a_matrix_is_expanded_here() {
    // R-GLCI-168
    for (name, target, index) in [("build: [arm]", "arm", 1), ("build: [x86]", "x86", 2)] {
        assert_eq!(field(name, "job_variables")["TARGET"], target);
        assert_eq!(field(name, "node_index"), index);
        assert_eq!(field(name, "parallel_total"), 2);
    }
}

#[test]
fn references_in_scripts_are_not_expanded() {
    // R-GLCI-170
    assert_eq!(
        field("deploy", "script"),
        json!(["./deploy staging \"$CI_COMMIT_SHA\""])
    );
    assert_eq!(
        field("build: [arm]", "cache")[0]["key"],
        "$CI_COMMIT_REF_SLUG"
    );
}

#[test]
fn rules_are_evaluated_here_for_the_situation() {
    // R-GLCI-169
    let resolved = resolved(&Answer::of(STATIC));
    let check = |source: &str, branch: &str, expect: &[&str]| {
        let context = PipelineContext {
            source: source.to_owned(),
            commit: Commit {
                ref_name: branch.to_owned(),
                ..Commit::default()
            },
            ..PipelineContext::default()
        };
        let creation = create(&resolved, &context, &NoRepository);
        let included = creation.included();
        let names: Vec<&str> = included.iter().map(|job| &*job.definition.name).collect();
        assert_eq!(names, expect, "{source} {branch}");
    };
    let builds = ["build: [arm]", "build: [x86]"];
    check("push", "main", &[builds[0], builds[1], "deploy"]);
    check("push", "other", &builds);
}

#[test]
fn needs_come_from_the_jobs_array_or_else_from_the_text() {
    // R-GLCI-169
    let need =
        |job: &str, artifacts: bool| json!({"job": job, "artifacts": artifacts, "optional": false});
    let check = |answer: &Answer, expect: Value| {
        let job = resolved(answer).job("deploy").unwrap();
        assert_eq!(json!(job.needs), expect);
        assert_eq!(json!(job.scheduling), "dag");
    };
    let both = json!([need("build: [arm]", false), need("build: [x86]", false)]);
    let mut answer = Answer::of(STATIC);
    check(&answer, both.clone());
    // The needs in the array override those in the text.
    let deploy = answer.jobs.iter_mut().find(|job| job.name == "deploy");
    let needs = &mut deploy.unwrap().needs;
    needs.as_mut().unwrap().remove(0);
    check(&answer, json!([need("build: [x86]", false)]));
    answer.merged = answer
        .merged
        .map(|text| text.replace("  needs:\n  - job: build\n    artifacts: false\n", ""));
    check(&answer, json!([need("build: [x86]", false)]));
    // A dry run returns no needs and does not list jobs that its rules exclude.
    let dry_run = Answer::of(DRY_RUN);
    assert!(dry_run.jobs.iter().all(|job| job.needs.is_none()));
    check(&dry_run, both);
    assert!(resolved(&dry_run).job("lint").is_some());
}

#[test]
fn needs_of_missing_jobs_are_an_error_of_the_pipeline() {
    let mut answer = Answer::of(STATIC);
    let last = answer.jobs.last_mut().unwrap();
    let needs = last.needs.as_mut().unwrap();
    needs[0].job = "gone".to_owned();
    let resolved = resolved(&answer);
    let commit = Commit {
        ref_name: "main".to_owned(),
        ..Commit::default()
    };
    let context = PipelineContext {
        commit,
        ..PipelineContext::default()
    };
    let refusal = create(&resolved, &context, &NoRepository).refusal;
    let problems = refusal.expect("a need is missing").problems;
    assert!(problems[0].message.contains("gone"), "{problems:?}");
}

#[test]
fn needs_in_other_pipelines_are_read_from_the_text() {
    let text = "mirror: {needs: {pipeline: g/p}}\nfree: {script: x, needs: []}\n\
                told: {script: x}\n";
    let mut answer = Answer::of_text(text);
    let none = |name: &str| MergedJob {
        name: name.to_owned(),
        needs: Some(Vec::new()),
    };
    answer.jobs = ["mirror", "free", "told"].map(none).into();
    let resolved = resolved(&answer);
    let check = |job: &str, scheduling: &str, needs: Value| {
        let job = resolved.job(job).unwrap();
        assert_eq!(json!(job.scheduling), scheduling, "{}", job.name);
        assert_eq!(json!(job.needs), needs, "{}", job.name);
    };
    check("mirror", "stage", json!(null));
    check("free", "dag", json!([]));
    check("told", "dag", json!([]));
}
