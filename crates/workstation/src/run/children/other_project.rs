use super::child::Below;
use super::context::{forwarded, of_other_project};
use super::downstream::{Created, Upper, origin_of};
use super::refusal::{Refusal, say, warn};
use crate::project::local_pipeline::LocalPipeline;
use crate::project::local_project::LocalProject;
use crate::project::pipeline_options::PipelineOptions;
use crate::project::situation::{SituationOptions, UPSTREAM};
use executor_core::job::RefType;
use executor_core::{Cancellation, FailureReason, chain};
use indexmap::IndexMap;
use pipeline::context::{Level, PipelineContext};
use scheduler::Bridge;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use yaml::diagnostic::{Checked, Diagnostics};

/// How often a pipeline may be among those above itself. GitLab allows one circle, so that nobody is
/// refused who only looks as if.
const MOST_CIRCLES: usize = 2;

impl Upper {
    /// Creates the pipeline of another project, which is checked out on this machine.
    pub(super) fn other_project(
        &self,
        bridge: &Bridge,
        path: &str,
        trigger: &Value,
        cancellation: &Cancellation,
    ) -> Result<Created, Refusal> {
        let observer = &*bridge.observer;
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
            warn(observer, &diagnostics.to_string());
            let message = format!("the pipeline file of `{path}` is invalid");
            return Err(Refusal::not_created(message));
        };
        let known = pipeline.context();
        let mut context = known
            .map_err(|error| Refusal::not_created(chain(&error)))?
            .clone();
        let branch = trigger.get("branch").and_then(Value::as_str);
        if let Some(note) = check_branch(&context, path, project.root(), branch)? {
            say(observer, &note);
        }
        path.clone_into(&mut context.project.path);
        // They were given as options while it was read.
        context.given.retain(|given| given.level != Level::Pipeline);
        of_other_project(&mut context, bridge);
        if !diagnostics.is_empty() {
            warn(observer, &diagnostics.to_string());
        }
        let state = self.pipeline_tree.options.state.project(project.root());
        let read = Arc::clone(pipeline.read_pipeline());
        let below = Below {
            bridge,
            project: &project,
            state: &state,
            read: &read,
        };
        let none = Diagnostics::default();
        let (plan, directory, earlier) = self.plan(&below, context, none, cancellation)?;
        let mut ancestry = self.ancestry.clone();
        let origin = origin_of(&project, &plan);
        if ancestry.iter().filter(|it| **it == origin).count() >= MOST_CIRCLES {
            let message =
                format!("the pipelines of `{path}` and of others start each other in a circle");
            return Err(Refusal::new(FailureReason::PipelineLoopDetected, message));
        }
        ancestry.push(origin);
        let sources = self.pipeline_tree.sources_of(&project, &state);
        let sources = sources.map_err(|error| Refusal::not_created(chain(&error)))?;
        Ok(Created {
            plan,
            project,
            read,
            state,
            sources,
            directory,
            earlier,
            other: Some(path.into()),
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
            let file = settings.file.as_ref().or(settings.absent.as_ref());
            let file = file.map_or_else(|| "config.toml".to_owned(), |it| it.display().to_string());
            let message = format!("the project `{path}` is not known on this machine");
            let help = format!(
                "say where it is checked out, in {file}: `\"{path}\" = \"/path/of/the/checkout\"` below [projects]"
            );
            return Err(Refusal::new(reason, message).with_help(help));
        };
        let found = LocalProject::find(directory, None).ok();
        let found = found.filter(|found| git::toplevel(found.root()).is_some());
        found.ok_or_else(|| {
            let message = format!("{} is no checkout of `{path}`", directory.display());
            Refusal::new(reason, message).with_help("[projects] in the settings says where it is")
        })
    }
}

/// Checks that what is checked out is what the job asks for, and returns what it should be told.
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
                "the job wants `{branch}` of `{path}`, and {root} is at the {kind} `{}`",
                commit.ref_name
            );
            let help = format!(
                "`git -C {root} switch {branch}` changes that, or a second worktree of it that the settings name"
            );
            Err(Refusal::not_created(message).with_help(help))
        }
        None if !is_at(&context.project.default_branch) => Ok(Some(format!(
            "`{path}` is run as it is checked out here, at the {kind} `{}`; a GitLab would take `{}`",
            commit.ref_name, context.project.default_branch
        ))),
        _ => Ok(None),
    }
}

/// Returns the inputs that the job gives the pipeline.
fn inputs(trigger: &Value) -> IndexMap<String, Value> {
    let inputs = trigger.get("inputs").and_then(Value::as_object);
    let inputs = inputs.into_iter().flatten();
    inputs
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}
