use super::definition_layers::DefinitionLayers;
use super::layered_variable::{Layer, LayeredVariable};
use super::values::masked;
use crate::config::{Inherited, Variables};
use crate::context::{ExternalVariable, PipelineContext};
use crate::expression;
use executor_core::job::JobDefinition;
use executor_core::variable::JobVariables;
use std::collections::{HashMap, HashSet};

/// The variables that all jobs of a pipeline share.
///
/// A later layer overrides an earlier one: predefined variables, global ones of the file, those of
/// the workflow rule, of the job with its matrix, of the rule, then GitLab's variables of the user,
/// then those set from outside, by their level.
#[derive(Debug)]
pub struct Layers<'a> {
    context: &'a PipelineContext,
    predefined: &'a JobVariables,
    global: &'a Variables,
    workflow: &'a Variables,
    /// The outside variables of jobs without an environment.
    everywhere: ExternalVariables<'a>,
    /// Whether some outside variables are limited to environments.
    has_scopes: bool,
}

/// The variables visible to one job or to the workflow.
#[derive(Debug)]
pub struct JobLayers<'a> {
    shared: &'a Layers<'a>,
    job: Option<DefinitionLayers<'a>>,
    /// The outside variables of its environment, if some are limited to environments.
    scoped: Option<ExternalVariables<'a>>,
}

#[derive(Debug, Default)]
struct ExternalVariables<'a> {
    /// The weakest first.
    list: Vec<&'a ExternalVariable>,
    /// The indices of the effective ones, by name.
    indices: HashMap<&'a str, usize>,
}

/// The layers, the strongest first.
const STRONGEST_FIRST: [Layer; 8] = [
    Layer::External,
    Layer::User,
    Layer::Rule,
    Layer::Own,
    Layer::Workflow,
    Layer::Global,
    Layer::Predefined,
    Layer::Job,
];

/// The prefix of GitLab's variables of the user, which, unlike other predefined ones, override the
/// file.
const USER: &str = "GITLAB_USER_";

impl<'a> ExternalVariables<'a> {
    fn of(context: &'a PipelineContext, environment: Option<&str>) -> Self {
        let list = context.external_for(environment);
        let indices = list.iter().enumerate();
        let indices = indices.map(|(at, given)| (given.variable.key.as_str(), at));
        Self {
            indices: indices.collect(),
            list,
        }
    }
}

impl<'a> Layers<'a> {
    /// Returns the layers of a pipeline; `predefined` are the variables known in its phase.
    pub fn new(
        context: &'a PipelineContext,
        predefined: &'a JobVariables,
        global: &'a Variables,
        workflow: &'a Variables,
    ) -> Self {
        let mut given = context.external.iter();
        Self {
            has_scopes: given.any(|given| given.scope_match(None).is_none()),
            everywhere: ExternalVariables::of(context, None),
            context,
            predefined,
            global,
            workflow,
        }
    }

    /// Returns the variables visible to the workflow.
    pub fn of_pipeline(&self) -> JobLayers<'_> {
        JobLayers {
            shared: self,
            job: None,
            scoped: None,
        }
    }

    /// Returns the variables visible to a job; `rule` are those of the rule that matched.
    pub fn of_job<'j>(
        &'j self,
        definition: &'j JobDefinition,
        inherited: &'j Inherited,
        rule: Option<&'j Variables>,
    ) -> JobLayers<'j> {
        let own = DefinitionLayers::new(definition, inherited, rule);
        let mut layers = JobLayers {
            shared: self,
            job: Some(own),
            scoped: None,
        };
        if self.has_scopes
            && let Some(name) = layers.environment()
        {
            layers.scoped = Some(ExternalVariables::of(self.context, Some(&name)));
        }
        layers
    }
}

impl<'a> JobLayers<'a> {
    /// Returns the effective variable of this name.
    pub(crate) fn find(&self, name: &str) -> Option<LayeredVariable<'_>> {
        let mut layers = STRONGEST_FIRST.into_iter();
        layers.find_map(|layer| self.find_in(layer, name))
    }

    /// Returns the variables of this name in all layers, the effective one first.
    pub fn find_all(&self, name: &str) -> Vec<LayeredVariable<'_>> {
        let mut found = Vec::new();
        for layer in STRONGEST_FIRST {
            if layer == Layer::External {
                let list = self.given().list.iter().rev();
                let list = list.filter(|given| given.variable.key == name);
                found.extend(list.map(|given| LayeredVariable::of_external(given)));
            } else {
                found.extend(self.find_in(layer, name));
            }
        }
        found
    }

    fn find_in(&self, layer: Layer, name: &str) -> Option<LayeredVariable<'_>> {
        if self.shared.context.unset.contains(name) {
            return None;
        }
        let own = self.job.as_ref();
        match layer {
            Layer::External => {
                let given = self.given();
                let at = *given.indices.get(name)?;
                Some(LayeredVariable::of_external(given.list[at]))
            }
            Layer::User => name
                .starts_with(USER)
                .then(|| self.predefined(layer, name))?,
            Layer::Predefined => (!name.starts_with(USER)).then(|| self.predefined(layer, name))?,
            Layer::Rule => LayeredVariable::written(layer, own?.rule?, name),
            Layer::Own => {
                let own = own?.definition.job_variables.as_ref()?;
                LayeredVariable::written(layer, own, name)
            }
            Layer::Workflow => self.inherited(layer, self.shared.workflow, name),
            Layer::Global => self.inherited(layer, self.shared.global, name),
            Layer::Job => own?.value(name),
        }
    }

    fn given(&self) -> &ExternalVariables<'a> {
        self.scoped.as_ref().unwrap_or(&self.shared.everywhere)
    }

    fn predefined(&self, layer: Layer, name: &str) -> Option<LayeredVariable<'_>> {
        let variable = self.shared.predefined.variable(name)?;
        Some(LayeredVariable {
            name: &variable.key,
            value: &variable.value,
            is_raw: variable.raw,
            layer,
            external: None,
        })
    }

    fn inherited<'f>(
        &self,
        layer: Layer,
        variables: &'f Variables,
        name: &str,
    ) -> Option<LayeredVariable<'f>> {
        let found = LayeredVariable::written(layer, variables, name)?;
        let is_inherited = |own: &DefinitionLayers<'_>| own.inherited.includes(name);
        self.job.as_ref().is_none_or(is_inherited).then_some(found)
    }

    /// Returns the effective variables from the file and from outside, without predefined ones;
    /// those of the file come first, in file order.
    pub fn external_and_written(&self) -> Vec<LayeredVariable<'_>> {
        let own = self.job.as_ref();
        let of_job = own.and_then(|own| own.definition.job_variables.as_ref());
        let of_rule = own.and_then(|own| own.rule);
        let shared = [self.shared.global, self.shared.workflow];
        let written = shared.into_iter().chain(of_job).chain(of_rule);
        let written = written.flat_map(|variables| variables.keys().map(String::as_str));
        let given = self
            .given()
            .list
            .iter()
            .map(|given| given.variable.key.as_str());
        let mut seen = HashSet::new();
        let names = written.chain(given).filter(|name| seen.insert(*name));
        let names: Vec<&str> = names.collect();
        let found = names.into_iter().filter_map(|name| self.find(name));
        // A global variable that the job does not inherit may have the name of a predefined one.
        let is_not_predefined =
            |found: &LayeredVariable<'_>| found.layer.is_written() || found.external.is_some();
        found.filter(is_not_predefined).collect()
    }

    /// Returns the variables that the file defines for the job, in file order, after precedence
    /// among them.
    pub(crate) fn written(&self) -> Vec<LayeredVariable<'_>> {
        const STRONGEST_FIRST: [Layer; 4] =
            [Layer::Rule, Layer::Own, Layer::Workflow, Layer::Global];
        let own = self.job.as_ref();
        let of_job = own.and_then(|own| own.definition.job_variables.as_ref());
        let of_rule = own.and_then(|own| own.rule);
        let shared = [self.shared.global, self.shared.workflow];
        let written = shared.into_iter().chain(of_job).chain(of_rule);
        let names = written.flat_map(|variables| variables.keys().map(String::as_str));
        let mut seen = HashSet::new();
        let names: Vec<&str> = names.filter(|name| seen.insert(*name)).collect();
        let found = names.into_iter().filter_map(|name| {
            let mut layers = STRONGEST_FIRST.into_iter();
            layers.find_map(|layer| self.find_in(layer, name))
        });
        found.collect()
    }

    /// Returns the names of the predefined variables that all jobs share.
    pub fn predefined_names(&self) -> impl Iterator<Item = &str> {
        let shared = self.shared.predefined.iter();
        shared.map(|variable| variable.key.as_str())
    }

    /// Returns the expanded name of the job's environment.
    ///
    /// Variables that depend on the environment are not available in it.
    pub fn environment(&self) -> Option<String> {
        let (layers, name) = self.of_environment()?;
        Some(layers.expand(name).unwrap_or_else(|_| name.to_owned()))
    }

    /// Returns the same for display, with secrets masked.
    pub(super) fn shown_environment(&self) -> Option<String> {
        let (layers, name) = self.of_environment()?;
        let values = layers.values_of(name);
        Some(values.map_or_else(|_| name.to_owned(), |values| masked(name, &values)))
    }

    /// Returns the name of the job's environment as written, and the layers that expand it.
    fn of_environment(&self) -> Option<(JobLayers<'_>, &str)> {
        let own = self.job.as_ref()?;
        let name = &own.definition.environment.as_ref()?.name;
        let layers = JobLayers {
            shared: self.shared,
            job: Some(own.without_environment()),
            scoped: None,
        };
        Some((layers, name))
    }
}

impl expression::Variables for JobLayers<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        self.find(name).map(|found| found.value)
    }

    fn is_masked(&self, name: &str) -> bool {
        self.find(name).is_some_and(|found| found.is_secret())
    }
}

impl Layer {
    /// Returns whether its variables are defined in the file.
    pub(crate) fn is_written(self) -> bool {
        matches!(self, Self::Global | Self::Workflow | Self::Own | Self::Rule)
    }
}
