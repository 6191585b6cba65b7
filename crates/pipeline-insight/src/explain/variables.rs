use super::tree::Tree;
use super::{ExplainedVariable, LeftOutReason, LeftOutVariable, Location, VariableSource};
use executor_core::variable::JobVariables;
use pipeline::config::Job;
use pipeline::context::{Kept, PipelineContext};
use pipeline::create::{CreatedJob, JobLayers, Layer, LayeredVariable};
use pipeline::expression::MASKED;
use pipeline::plan::LAST;
use pipeline::rules::Rule;
use std::collections::HashSet;
use yaml::source::Span;

/// The definitions that the variables of a job may come from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Definitions<'a> {
    pub(super) tree: Tree<'a>,
    pub(super) workflow_rule: Option<&'a Rule>,
    /// The job as defined and as created; absent for variables that all jobs share.
    pub(super) job: Option<(&'a Job, &'a CreatedJob)>,
}

/// References to values that only the runner knows stay unexpanded.
const KEPT: Kept = Kept {
    undefined: true,
    files: true,
    raw: false,
};

impl Definitions<'_> {
    /// Returns the location of the job.
    fn span(self) -> Span {
        self.job.map_or(self.tree.root.span, |(job, _)| job.span)
    }
}

/// Returns the given variables that jobs of an environment, or jobs without one, do not get.
pub(super) fn left_out(
    context: &PipelineContext,
    environment: Option<&str>,
) -> Vec<LeftOutVariable> {
    let explained = context.external.iter().filter_map(|given| {
        let reason = if given.is_protected && !context.commit.is_protected {
            LeftOutReason::Protected
        } else if given.scope_match(environment).is_none() {
            LeftOutReason::Scope
        } else {
            return None;
        };
        Some(LeftOutVariable {
            name: given.variable.key.clone(),
            source: VariableSource::of_external(given),
            reason,
        })
    });
    explained.collect()
}

/// Returns the variables of a job: first those of the file and given ones, then predefined ones;
/// `of_job` are the predefined variables of this job.
pub(super) fn of(
    definitions: Definitions<'_>,
    layers: &JobLayers<'_>,
    of_job: &JobVariables,
) -> Vec<ExplainedVariable> {
    let ours = layers.external_and_written();
    let ours = ours.iter().map(|found| found.name);
    let predefined = layers.predefined_names();
    let of_job_names = of_job.iter().map(|variable| &*variable.key);
    let mut known = HashSet::new();
    let names = ours.chain(predefined).chain(of_job_names);
    let names = names.filter(|name| known.insert(*name));
    let explained = names.map(|name| explain(definitions, layers, of_job, name));
    explained.flatten().collect()
}

fn explain(
    definitions: Definitions<'_>,
    layers: &JobLayers<'_>,
    of_job: &JobVariables,
    name: &str,
) -> Option<ExplainedVariable> {
    let mut found = layers.find_all(name);
    found.retain(|found| found.layer != Layer::Job);
    let own = of_job.variable(name);
    let wins = own.filter(|_| found.is_empty() || LAST.contains(&name));
    let (variable, expanded) = match (wins, found.first()) {
        (Some(own), _) => (own.clone(), None),
        (None, Some(winner)) => (winner.to_variable(), expanded(layers, winner)),
        (None, None) => return None,
    };
    let mut sources = found.iter().map(|found| source(definitions, found));
    let source = match wins {
        Some(_) => VariableSource::Predefined,
        None => sources.next()?,
    };
    let hidden = own.filter(|_| wins.is_none());
    let hidden = hidden.map(|_| VariableSource::Predefined);
    let shadows = sources.chain(hidden).collect();
    let is_masked = variable.masked || !variable.public;
    Some(ExplainedVariable {
        name: name.to_owned(),
        value: if is_masked {
            MASKED.to_owned()
        } else {
            variable.value
        },
        expanded,
        is_raw: variable.raw,
        is_file: variable.file,
        is_masked,
        source,
        shadows,
    })
}

/// Returns the value with references replaced, if that changes it.
fn expanded(layers: &JobLayers<'_>, found: &LayeredVariable<'_>) -> Option<String> {
    if found.is_raw || found.is_secret() || !found.value.contains(['$', '%']) {
        return None;
    }
    let reference = format!("${{{}}}", found.name);
    let values = layers.values_with(&reference, KEPT).ok()?;
    let variable = values.variable(found.name)?;
    if variable.masked {
        return Some(MASKED.to_owned());
    }
    (variable.value != found.value).then(|| variable.value.clone())
}

fn source(definitions: Definitions<'_>, found: &LayeredVariable<'_>) -> VariableSource {
    let tree = definitions.tree;
    let name = found.name;
    match found.layer {
        Layer::Job | Layer::Predefined | Layer::User => VariableSource::Predefined,
        Layer::External => match found.external {
            Some(given) => VariableSource::of_external(given),
            None => VariableSource::Predefined,
        },
        Layer::Global => VariableSource::Global {
            place: place_of_global(tree, name),
        },
        Layer::Workflow => {
            let rules = tree.root.get("workflow").and_then(|node| node.get("rules"));
            let place = definitions.workflow_rule.map_or_else(
                || place_of_global(tree, name),
                |rule| tree.place_in_rule(rules.map(|rules| &**rules), rule.span, name),
            );
            VariableSource::WorkflowRule { place }
        }
        Layer::Own => own_source(definitions, name),
        Layer::Rule => {
            let job = definitions
                .job
                .and_then(|(job, _)| tree.root.get(&job.name));
            let rules = job.and_then(|job| job.get("rules"));
            let rule = definitions
                .job
                .and_then(|(_, created)| created.matching_rule());
            let span = rule.map_or(definitions.span(), |rule| rule.span);
            let place = tree.place_in_rule(rules.map(|rules| &**rules), span, name);
            VariableSource::Rule { place }
        }
    }
}

fn place_of_global(tree: Tree<'_>, name: &str) -> Location {
    let variables = tree.top("variables");
    let place = variables.and_then(|variables| tree.place_of(variables, name));
    place.unwrap_or_else(|| tree.place(tree.root.span))
}

/// Returns the origin of a variable of the job, which may be a value of its matrix.
fn own_source(definitions: Definitions<'_>, name: &str) -> VariableSource {
    let tree = definitions.tree;
    let job = definitions.job.and_then(|(job, _)| tree.top(&job.name));
    let matrix = job.and_then(|job| {
        let matrix = job.get("parallel")?.value.get("matrix")?;
        let mut entries = matrix.as_sequence()?.iter();
        entries.find_map(|entry| tree.place_of(entry.as_mapping()?, name))
    });
    // A value of the matrix overrides one of `variables`.
    if let Some(place) = matrix {
        return VariableSource::Matrix { place };
    }
    let variables = job.and_then(|job| job.get("variables")?.value.as_mapping());
    let place = variables.and_then(|variables| tree.place_of(variables, name));
    VariableSource::Job {
        place: place.unwrap_or_else(|| tree.place(definitions.span())),
    }
}
