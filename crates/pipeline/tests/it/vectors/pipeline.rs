//! The kind `pipeline`: a file, a situation, and what is created.

use super::of_kind;
use executor_core::job::RefType;
use executor_core::variable::JobVariable;
use indexmap::IndexMap;
use pipeline::context::{Commit, GivenVariable, MergeRequest, PipelineContext, Project};
use pipeline::include::KnownFiles;
use pipeline::repository::KnownRepository;
use pipeline::{LoadOptions, Pipeline, create};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha1::{Digest, Sha1};
use std::fmt::Write as _;

#[derive(Deserialize)]
struct Vector {
    id: String,
    yaml: String,
    pipeline: Situation,
    #[serde(default)]
    files: IndexMap<String, String>,
    expect: Map<String, Value>,
}

#[derive(Deserialize)]
struct Situation {
    #[serde(rename = "ref")]
    ref_name: String,
    #[serde(default)]
    tag: bool,
    #[serde(default = "push")]
    source: String,
    #[serde(default)]
    variables: IndexMap<String, String>,
    changes: Option<Vec<String>>,
}

fn push() -> String {
    "push".to_owned()
}

#[test]
fn every_pipeline_vector_holds() {
    // R-GLCI-158 R-PIPE-18 R-PIPE-20
    let vectors: Vec<Vector> = of_kind("pipeline");
    assert_eq!(vectors.len(), 40);
    let check = |vector: &Vector| {
        let got = created(vector);
        let mut expect = vector.expect.iter();
        let wrong =
            expect.find(|(name, value)| *name != "error_gist" && !holds(value, &got[*name]))?;
        Some(format!(
            "{}: {} is {}, not {}",
            vector.id, wrong.0, got[wrong.0], wrong.1
        ))
    };
    let broken: Vec<String> = vectors.iter().filter_map(check).collect();
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

/// Returns whether all that is expected is there; a job may have more fields.
fn holds(expect: &Value, got: &Value) -> bool {
    match (expect, got) {
        (Value::Object(expect), Value::Object(got)) => expect
            .iter()
            .all(|(name, value)| holds(value, got.get(name).unwrap_or(&Value::Null))),
        _ => expect == got,
    }
}

fn created(vector: &Vector) -> Value {
    let context = context(&vector.pipeline);
    let files = vector
        .files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()));
    let repository = repository(vector);
    let options = LoadOptions {
        variables: context.pre_pipeline_variables(),
        includes: &KnownFiles::with_own(files),
        repository: &repository,
        ..LoadOptions::default()
    };
    let loaded = Pipeline::load(".gitlab-ci.yml", &vector.yaml, &options);
    let resolved = loaded.and_then(|pipeline, found| Some(pipeline.resolve(found)));
    let (resolved, _) = match resolved.into_result() {
        Ok(resolved) => resolved,
        Err(found) => return json!({"error": found.to_string()}),
    };
    let creation = create(&resolved, &context, &repository);
    let document = creation.document();
    let mut got = json!(document);
    let names: Vec<String> = document.jobs().map(|job| job.name).collect();
    got["job_names"] = json!(names);
    let jobs = document.jobs().map(|job| (job.name.clone(), json!(job)));
    got["jobs"] = jobs.collect::<Map<_, _>>().into();
    got["auto_cancel"] = json!(creation.auto_cancel);
    got
}

fn context(situation: &Situation) -> PipelineContext {
    let is_merge_request = situation.source == "merge_request_event";
    let merge_request = || MergeRequest::of_branches(situation.ref_name.as_str(), "main");
    let given = situation.variables.iter();
    let given = given.map(|(name, value)| JobVariable::public(name, value));
    PipelineContext {
        source: situation.source.clone(),
        project: Project {
            path: "my/project".to_owned(),
            default_branch: "main".to_owned(),
            ..Project::default()
        },
        commit: Commit {
            sha: "1".repeat(40),
            ref_name: situation.ref_name.clone(),
            ref_type: if situation.tag {
                RefType::Tag
            } else {
                RefType::Branch
            },
            ..Commit::default()
        },
        merge_request: is_merge_request.then(merge_request),
        given: given.map(GivenVariable::of_pipeline).collect(),
        ..PipelineContext::default()
    }
}

fn repository(vector: &Vector) -> KnownRepository {
    let id = |text: &String| {
        let digest = Sha1::digest(format!("blob {}\0{text}", text.len()));
        digest.iter().fold(String::new(), |mut id, byte| {
            let _ = write!(id, "{byte:02x}");
            id
        })
    };
    let files = vector.files.iter();
    KnownRepository {
        changed: vector.pipeline.changes.clone().map(Into::into),
        files: vector.files.keys().cloned().collect(),
        blob_ids: files.map(|(path, text)| (path.clone(), id(text))).collect(),
        ..KnownRepository::default()
    }
}
