use super::child::Unplanned;
use super::context::{forwarded, of_other_project};
use super::parent_pipeline::{CreatedPipeline, Origin, ParentPipeline};
use super::refusal::{Refusal, note, warn};
use crate::project::local_pipeline::LocalPipeline;
use crate::project::local_project::LocalProject;
use crate::project::pipeline_options::PipelineOptions;
use crate::project::situation::{SituationOptions, UPSTREAM};
use crate::run::other_projects::unknown_project;
use executor_core::job::RefType;
use executor_core::variable::without_secrets;
use executor_core::{Cancellation, FailureReason, chain};
use indexmap::IndexMap;
use pipeline::context::{Level, PipelineContext};
use scheduler::Bridge;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use yaml::diagnostic::{Checked, Diagnostics};

/// How often a pipeline may be among those above itself. GitLab allows one circle, since some pipelines only
/// look like one.
const MAX_CIRCLES: usize = 2;

impl ParentPipeline {
    /// Creates the pipeline of another project, which is checked out on this machine.
    pub(super) fn other_project(
        &self,
        bridge: &Bridge,
        path: &str,
        trigger: &Value,
        cancellation: &Cancellation,
    ) -> Result<CreatedPipeline, Refusal> {
        let own = &bridge.plan.context().project.path;
        if own.eq_ignore_ascii_case(path) {
            let message = format!("`{path}` is this project itself");
            let refusal = Refusal::new(FailureReason::InvalidBridgeTrigger, message);
            return Err(refusal.with_help("`trigger:include` starts a pipeline of its own files"));
        }
        let project = self.checkout(path)?;
        let options = PipelineOptions {
            situation: SituationOptions {
                source: Some(UPSTREAM.to_owned()),
                ..SituationOptions::default()
            },
            inputs: inputs(trigger),
            variables: forwarded(bridge).collect(),
            ..self.read.options.clone()
        };
        let read = LocalPipeline::read(&project, &options);
        let Checked { value, diagnostics } =
            read.map_err(|error| Refusal::not_created(chain(&error)))?;
        let Some(pipeline) = value.filter(|_| !diagnostics.has_errors()) else {
            warn(bridge, &diagnostics.to_string());
            let message = format!("the pipeline file of `{path}` is invalid");
            return Err(Refusal::not_created(message));
        };
        let known = pipeline.context();
        let mut context = known
            .map_err(|error| Refusal::not_created(chain(&error)))?
            .clone();
        let branch = trigger.get("branch").and_then(Value::as_str);
        if let Some(remark) = check_branch(&context, path, project.root(), branch)? {
            note(bridge, &remark);
        }
        path.clone_into(&mut context.project.path);
        // The pipeline was read with them as options.
        context
            .external
            .retain(|given| given.level != Level::Pipeline);
        of_other_project(&mut context, bridge);
        if !diagnostics.is_empty() {
            warn(bridge, &diagnostics.to_string());
        }
        let state = self.pipeline_tree.run.state.project(project.root());
        let read = Arc::clone(pipeline.read_pipeline());
        let unplanned = Unplanned {
            bridge,
            state: &state,
            read: &read,
        };
        let none = Diagnostics::default();
        let (plan, directory, earlier) = self.plan(&unplanned, context, none, cancellation)?;
        let mut ancestry = self.ancestry.clone();
        let origin = Origin::new(&project, &plan);
        if ancestry.iter().filter(|it| **it == origin).count() >= MAX_CIRCLES {
            let message =
                format!("the pipelines of `{path}` and of others start each other in a circle");
            return Err(Refusal::new(FailureReason::PipelineLoopDetected, message));
        }
        ancestry.push(origin);
        let sources = self.pipeline_tree.sources_of(&project, &state);
        let sources = sources.map_err(|error| Refusal::not_created(chain(&error)))?;
        Ok(CreatedPipeline {
            plan,
            read,
            state,
            sources,
            directory,
            earlier,
            other_project: Some(without_secrets(path, &bridge.job.variables).into()),
            above: Vec::new(),
            ancestry,
        })
    }

    /// Returns the checkout of a project that the user's settings name.
    fn checkout(&self, path: &str) -> Result<LocalProject, Refusal> {
        let reason = FailureReason::DownstreamBridgeProjectNotFound;
        let settings = self.read.outside.settings();
        let settings = settings.map_err(|error| Refusal::not_created(error.to_string()))?;
        let Some(directory) = settings.project(path) else {
            let (message, help) = unknown_project(path, &settings);
            return Err(Refusal::new(reason, message).with_help(help));
        };
        let found = LocalProject::find(directory, None).ok();
        let found = found.filter(|found| git::toplevel(found.root()).is_some());
        found.ok_or_else(|| {
            let message = format!("{} is not a checkout of `{path}`", directory.display());
            Refusal::new(reason, message)
                .with_help("correct its path below [projects] in the settings")
        })
    }
}

/// Checks that the job's branch is checked out. Returns a note if the job names none and the checkout is
/// not at the default branch.
fn check_branch(
    context: &PipelineContext,
    path: &str,
    root: &Path,
    branch: Option<&str>,
) -> Result<Option<String>, Refusal> {
    let commit = &context.commit;
    let is_at = |name: &str| commit.ref_name == name;
    let kind = match commit.ref_type {
        RefType::Branch => "branch",
        RefType::Tag => "tag",
    };
    match branch {
        Some(branch) if !is_at(branch) => {
            let root = root.display();
            let message = format!(
                "expected the branch `{branch}` of `{path}`, found {root} at the {kind} `{}`",
                commit.ref_name
            );
            let help = format!(
                "switch with `git -C {root} switch {branch}`, or name a second worktree of it in the settings"
            );
            Err(Refusal::not_created(message).with_help(help))
        }
        None if !is_at(&context.project.default_branch) => Ok(Some(format!(
            "`{path}` runs as it is checked out here, at the {kind} `{}`; GitLab would use `{}`",
            commit.ref_name, context.project.default_branch
        ))),
        _ => Ok(None),
    }
}

/// Returns the inputs that the job passes to the pipeline.
fn inputs(trigger: &Value) -> IndexMap<String, Value> {
    let inputs = trigger.get("inputs").and_then(Value::as_object);
    let inputs = inputs.into_iter().flatten();
    inputs
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}
