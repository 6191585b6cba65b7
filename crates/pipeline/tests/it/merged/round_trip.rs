//! A file that is merged here, shown, and read as merged by a server has the same meaning.

use super::{Answer, job};
use pipeline::context::PipelineContext;
use pipeline::include::{FilesByPath, KnownFiles};
use pipeline::repository::NoRepository;
use pipeline::show::{Comments, to_yaml};
use pipeline::{LoadOptions, Pipeline, Plan, ResolvedPipeline, Selection, create};
use serde_json::{Value, json};
use std::sync::Arc;
use vectors::parse;

const VECTORS: &str = include_str!("../../data/yaml_vectors.json");

/// Returns the meaning of a pipeline, without and in a situation.
fn meaning(resolved: &ResolvedPipeline) -> Value {
    let context = PipelineContext::default();
    let creation = create(resolved, &context, &NoRepository);
    let plan = Plan::new(&creation, context, &Selection::default());
    let plan = match &plan {
        Ok(plan) => json!(
            (0..plan.jobs().len())
                .map(|at| plan.payload(at))
                .collect::<Vec<_>>()
        ),
        Err(error) => json!(error.to_string()),
    };
    let jobs = resolved.jobs.iter();
    let workflow = resolved.workflow.name.as_ref().map(|name| &name.value);
    json!({
        "stages": resolved.stages,
        "variables": resolved.variables,
        "jobs": jobs.map(|job| resolved.normalized(job)).collect::<Vec<_>>(),
        "workflow": workflow,
        "created": creation.document(),
        "plan": plan,
    })
}

/// Returns the files that a vector names.
fn files(input: &Value) -> KnownFiles {
    let texts = |files: &Value| -> FilesByPath {
        let files = files.as_object().into_iter().flatten();
        let text = |text: &Value| Arc::from(text.as_str().unwrap());
        files.map(|(path, it)| (path.clone(), text(it))).collect()
    };
    let projects = input["projects"].as_object().into_iter().flatten();
    KnownFiles {
        own: texts(&input["files"]),
        projects: projects
            .map(|(path, files)| (path.clone(), texts(files)))
            .collect(),
        ..KnownFiles::default()
    }
}

/// Returns the lint's jobs array for a pipeline.
fn jobs_array(resolved: &ResolvedPipeline) -> Vec<Value> {
    let jobs = resolved.jobs.iter().map(|job| {
        let needs = job.definition.needs.as_ref().map(|needs| {
            let needs = needs.iter().map(|need| {
                json!({"name": need.job, "artifacts": need.artifacts, "optional": need.optional})
            });
            needs.collect::<Vec<_>>()
        });
        json!({"name": job.definition.name, "needs": needs})
    });
    jobs.collect()
}

#[test]
fn shown_pipelines_have_the_same_meaning_when_read_as_merged() {
    // R-GLCI-168 R-GLCI-169
    let mut compared = 0;
    for vector in parse(VECTORS).unwrap() {
        let Some(text) = vector.input["yaml"].as_str() else {
            continue;
        };
        let files = files(&vector.input);
        let inputs = vector.input["inputs"].as_object();
        let inputs = inputs.into_iter().flatten();
        let options = LoadOptions {
            includes: &files,
            inputs: inputs
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
            ..LoadOptions::default()
        };
        let checked = Pipeline::load(".gitlab-ci.yml", text, &options);
        let Ok((loaded, mut found)) = checked.into_result() else {
            continue;
        };
        let direct = loaded.resolve(&mut found);
        if found.has_errors() {
            continue;
        }
        let mut answer = Answer::of_text(&to_yaml(loaded.tree(), Comments::None));
        for jobs in [Vec::new(), jobs_array(&direct)] {
            answer.jobs = jobs.iter().map(job).collect();
            let again = answer.read(text, &LoadOptions::default());
            let again = again.and_then(|pipeline, found| Some(pipeline.resolve(found)));
            let (again, _) = again.into_result().unwrap_or_else(|found| {
                panic!("{}: {found}\n{text}", vector.id);
            });
            assert_eq!(meaning(&again), meaning(&direct), "{}: {text}", vector.id);
        }
        compared += 1;
    }
    assert!(compared >= 240, "only {compared} were compared");
}
