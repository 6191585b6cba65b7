//! The kind `pipeline`: a file, a situation, and the pipeline that comes of both.

use super::config::NAME;
use super::files::FilesInput;
use super::variables::VariablesInput;
use executor_core::job::{JobDefinition, RefType};
use indexmap::IndexMap;
use pipeline::context::{Commit, ExternalVariable, MergeRequest, PipelineContext, Project};
use pipeline::create::{Creation, create};
use pipeline::plan::Plan;
use pipeline::repository::NoRepository;
use pipeline::{LoadOptions, Pipeline, ResolvedPipeline, Selection};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use yaml::diagnostic::{Diagnostics, Severity};

/// What starts the pipeline of a merge request.
const MERGE_REQUEST: &str = "merge_request_event";

#[derive(Deserialize)]
pub(super) struct Input {
    yaml: String,
    #[serde(default)]
    pipeline: Situation,
    #[serde(default)]
    inputs: IndexMap<String, Value>,
    #[serde(default)]
    variables: VariablesInput,
    #[serde(flatten)]
    files: FilesInput,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Situation {
    #[serde(rename = "ref")]
    ref_name: Option<String>,
    tag: bool,
    source: Option<String>,
    variables: VariablesInput,
    #[serde(flatten)]
    files: FilesInput,
}

pub(super) fn result(input: Input) -> Value {
    let context = context(&input);
    let repository = input.files.repository(Some(&input.pipeline.files));
    let includes = input.files.includes();
    let options = LoadOptions {
        inputs: input.inputs,
        variables: context.pre_pipeline_variables(),
        includes: &includes,
        repository: &repository,
        ..LoadOptions::default()
    };
    match load(&input.yaml, &options) {
        Ok(resolved) => created(&create(&resolved, &context, &repository)),
        Err(found) => json!({
            "created": false,
            "reason": "config_error",
            "errors": found.records(Severity::Error),
        }),
    }
}

fn load(text: &str, options: &LoadOptions<'_>) -> Result<ResolvedPipeline, Box<Diagnostics>> {
    let checked = Pipeline::load(NAME, text, options);
    let checked = checked.and_then(|pipeline, found| Some(pipeline.resolve(found)));
    checked.into_result().map(|(resolved, _)| resolved)
}

/// Plans the pipeline of a file on the default branch, of whose repository nothing is known.
pub(super) fn plan(text: &str) -> Result<Plan, String> {
    let resolved = load(text, &LoadOptions::default()).map_err(|found| found.to_string())?;
    let context = PipelineContext::default();
    let creation = create(&resolved, &context, &NoRepository);
    let plan = Plan::new(&creation, context, &Selection::default());
    plan.map_err(|error| error.to_string())
}

fn context(input: &Input) -> PipelineContext {
    let situation = &input.pipeline;
    let source = situation
        .source
        .clone()
        .unwrap_or_else(|| "push".to_owned());
    let ref_name = situation
        .ref_name
        .clone()
        .unwrap_or_else(|| "main".to_owned());
    let given = input.variables.variables().into_iter();
    let given = given.chain(situation.variables.variables());
    PipelineContext {
        project: Project {
            id: 1,
            path: "my/project".to_owned(),
            default_branch: "main".to_owned(),
            ..Project::default()
        },
        commit: Commit {
            sha: "1".repeat(40),
            before_sha: "0".repeat(40),
            ref_name: ref_name.clone(),
            ref_type: if situation.tag {
                RefType::Tag
            } else {
                RefType::Branch
            },
            ..Commit::default()
        },
        merge_request: (source == MERGE_REQUEST)
            .then(|| MergeRequest::of_branches(&ref_name, "main")),
        source,
        external: given.map(ExternalVariable::of_pipeline).collect(),
        ..PipelineContext::default()
    }
}

fn created(creation: &Creation) -> Value {
    let document = creation.document();
    let mut got = json!(document);
    let jobs: Vec<JobDefinition> = document.jobs().map(|job| creation.complete(job)).collect();
    let names = jobs.iter().map(|job| job.name.as_str());
    got["job_names"] = names.collect();
    let by_name = jobs.iter().map(|job| (job.name.clone(), json!(job)));
    got["jobs"] = by_name.collect::<Map<_, _>>().into();
    got["auto_cancel"] = json!(creation.auto_cancel);
    got
}
