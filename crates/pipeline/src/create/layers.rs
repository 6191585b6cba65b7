use crate::config::{Inherited, Variables};
use crate::context::{
    ExpandError, GivenVariable, Kept, PipelineContext, expand, job_value, references,
    sort_and_expand,
};
use crate::expression;
use executor_core::job::{DeploymentTier, JobDefinition};
use executor_core::variable::{JobVariable, JobVariables};
use indexmap::IndexMap;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

/// The variables that all jobs of a pipeline share.
///
/// A later layer wins over an earlier one: predefined variables, those of the top level of the file,
/// of the workflow rule, of the job with its matrix, of the rule, then GitLab's variables of the
/// user, then what was given from outside, by its level.
#[derive(Debug)]
pub(crate) struct Layers<'a> {
    context: &'a PipelineContext,
    predefined: &'a JobVariables,
    global: &'a Variables,
    workflow: &'a Variables,
    /// What jobs without an environment are given.
    everywhere: Given<'a>,
    /// Whether some variables are for some environments only.
    has_scopes: bool,
}

/// The variables one job sees, or the workflow.
#[derive(Debug)]
pub(crate) struct JobLayers<'a> {
    shared: &'a Layers<'a>,
    job: Option<OwnLayers<'a>>,
    /// What it is given where that is not the same for all.
    scoped: Option<Given<'a>>,
}

/// The layers that are a job's own.
#[derive(Debug)]
struct OwnLayers<'a> {
    definition: &'a JobDefinition,
    inherited: &'a Inherited,
    rule: Option<&'a Variables>,
    slug: OnceCell<String>,
    total: OnceCell<String>,
    index: OnceCell<String>,
}

/// Where a variable comes from, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Layer {
    Job,
    Predefined,
    Global,
    Workflow,
    Own,
    Rule,
    User,
    Given,
}

/// A variable and the layer it was found in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found<'a> {
    pub(crate) name: &'a str,
    pub(crate) value: &'a str,
    pub(crate) is_raw: bool,
    pub(crate) layer: Layer,
    /// Set in the layer of given variables.
    pub(crate) given: Option<&'a GivenVariable>,
}

#[derive(Debug, Default)]
struct Given<'a> {
    /// The weakest first.
    list: Vec<&'a GivenVariable>,
    /// The places of those that win.
    places: HashMap<&'a str, usize>,
}

/// The layers, the strongest first.
const STRONGEST_FIRST: [Layer; 8] = [
    Layer::Given,
    Layer::User,
    Layer::Rule,
    Layer::Own,
    Layer::Workflow,
    Layer::Global,
    Layer::Predefined,
    Layer::Job,
];

/// How GitLab's variables of the user begin: unlike other predefined ones they win over the file.
const USER: &str = "GITLAB_USER_";

/// The variables that tell a job of itself, as far as rules can know them.
const OF_JOB: [&str; 12] = [
    "CI_JOB_NAME",
    "CI_JOB_NAME_SLUG",
    "CI_JOB_GROUP_NAME",
    "CI_JOB_STAGE",
    "CI_JOB_IMAGE",
    "CI_JOB_MANUAL",
    "CI_NODE_INDEX",
    "CI_NODE_TOTAL",
    "CI_ENVIRONMENT_NAME",
    "CI_ENVIRONMENT_ACTION",
    "CI_ENVIRONMENT_TIER",
    "CI_ENVIRONMENT_URL",
];

impl<'a> Given<'a> {
    fn of(context: &'a PipelineContext, environment: Option<&str>) -> Self {
        let list = context.given_for(environment);
        let places = list.iter().enumerate();
        let places = places.map(|(at, given)| (given.variable.key.as_str(), at));
        Self {
            places: places.collect(),
            list,
        }
    }
}

impl<'a> Layers<'a> {
    /// Returns the layers of a pipeline; `predefined` are those that are known in its phase.
    pub(crate) fn new(
        context: &'a PipelineContext,
        predefined: &'a JobVariables,
        global: &'a Variables,
        workflow: &'a Variables,
    ) -> Self {
        let mut given = context.given.iter();
        Self {
            has_scopes: given.any(|given| given.fit(None).is_none()),
            everywhere: Given::of(context, None),
            context,
            predefined,
            global,
            workflow,
        }
    }

    /// Returns what the workflow sees.
    pub(crate) fn of_pipeline(&self) -> JobLayers<'_> {
        JobLayers {
            shared: self,
            job: None,
            scoped: None,
        }
    }

    /// Returns what a job sees; `rule` are the variables of its rule that held.
    pub(crate) fn of_job<'j>(
        &'j self,
        definition: &'j JobDefinition,
        inherited: &'j Inherited,
        rule: Option<&'j Variables>,
    ) -> JobLayers<'j> {
        let own = OwnLayers {
            definition,
            inherited,
            rule,
            slug: OnceCell::new(),
            total: OnceCell::new(),
            index: OnceCell::new(),
        };
        let mut layers = JobLayers {
            shared: self,
            job: Some(own),
            scoped: None,
        };
        if self.has_scopes
            && let Some(name) = layers.environment()
        {
            layers.scoped = Some(Given::of(self.context, Some(&name)));
        }
        layers
    }
}

impl<'a> JobLayers<'a> {
    /// Returns the variable of this name that wins.
    pub(crate) fn find(&self, name: &str) -> Option<Found<'_>> {
        let mut layers = STRONGEST_FIRST.into_iter();
        layers.find_map(|layer| self.find_in(layer, name))
    }

    /// Returns the variables of this name in all layers, the one that wins first.
    pub(crate) fn find_all(&self, name: &str) -> Vec<Found<'_>> {
        let mut found = Vec::new();
        for layer in STRONGEST_FIRST {
            if layer == Layer::Given {
                let list = self.given().list.iter().rev();
                let list = list.filter(|given| given.variable.key == name);
                found.extend(list.map(|given| Found::given(given)));
            } else {
                found.extend(self.find_in(layer, name));
            }
        }
        found
    }

    fn find_in(&self, layer: Layer, name: &str) -> Option<Found<'_>> {
        let own = self.job.as_ref();
        match layer {
            Layer::Given => {
                let given = self.given();
                let at = *given.places.get(name)?;
                Some(Found::given(given.list[at]))
            }
            Layer::User => name
                .starts_with(USER)
                .then(|| self.predefined(layer, name))?,
            Layer::Predefined => (!name.starts_with(USER)).then(|| self.predefined(layer, name))?,
            Layer::Rule => Found::written(layer, own?.rule?, name),
            Layer::Own => {
                let own = own?.definition.job_variables.as_ref()?;
                Found::written(layer, own, name)
            }
            Layer::Workflow => self.inherited(layer, self.shared.workflow, name),
            Layer::Global => self.inherited(layer, self.shared.global, name),
            Layer::Job => own?.value(name),
        }
    }

    fn given(&self) -> &Given<'a> {
        self.scoped.as_ref().unwrap_or(&self.shared.everywhere)
    }

    fn predefined(&self, layer: Layer, name: &str) -> Option<Found<'_>> {
        let variable = self.shared.predefined.variable(name)?;
        Some(Found {
            name: &variable.key,
            value: &variable.value,
            is_raw: variable.raw,
            layer,
            given: None,
        })
    }

    fn inherited<'f>(
        &self,
        layer: Layer,
        variables: &'f Variables,
        name: &str,
    ) -> Option<Found<'f>> {
        let found = Found::written(layer, variables, name)?;
        let is_inherited = |own: &OwnLayers<'_>| own.inherited.includes(name);
        self.job.as_ref().is_none_or(is_inherited).then_some(found)
    }

    /// Returns the variables that the file and its user give, without predefined ones, each that
    /// wins: those of the file in its order first.
    pub(crate) fn given_and_written(&self) -> Vec<Found<'_>> {
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
        // A name of the top level that the job does not inherit may be a predefined one.
        let is_ours = |found: &Found<'_>| found.layer.is_written() || found.given.is_some();
        found.filter(is_ours).collect()
    }

    /// Returns the names of the predefined variables.
    pub(crate) fn predefined_names(&self) -> Vec<&str> {
        let shared = self.shared.predefined.iter();
        let shared = shared.map(|variable| variable.key.as_str());
        let of_job = self.job.as_ref().map(|_| OF_JOB).into_iter().flatten();
        shared.chain(of_job).collect()
    }

    /// Returns the name of the job's environment, with all variables replaced.
    ///
    /// Variables that belong to environments have no part in it.
    pub(crate) fn environment(&self) -> Option<String> {
        let name = &self.job.as_ref()?.definition.environment.as_ref()?.name;
        Some(self.expand(name).unwrap_or_else(|_| name.clone()))
    }

    /// Replaces the references in a text and in the values put in, those to unknown variables by
    /// nothing: GitLab's way for the texts it needs itself.
    pub(crate) fn expand(&self, text: &str) -> Result<String, ExpandError> {
        if !text.contains(['$', '%']) {
            return Ok(text.to_owned());
        }
        let values = self.values_of(text)?;
        let look_up = |name: &str| values.get(name);
        Ok(expand(text, look_up).into_owned())
    }

    /// Returns the variables that a text refers to, directly or by others, with the references among
    /// them replaced. What a secret is put into is a secret too.
    pub(crate) fn values_of(&self, text: &str) -> Result<JobVariables, ExpandError> {
        let mut reachable: IndexMap<String, Reached> = IndexMap::new();
        let mut open: Vec<String> = references(text);
        while let Some(name) = open.pop() {
            if reachable.contains_key(&name) {
                continue;
            }
            let Some(found) = self.find(&name) else {
                continue;
            };
            let refers_to = if found.is_raw {
                Vec::new()
            } else {
                references(found.value)
            };
            open.extend_from_slice(&refers_to);
            let reached = Reached {
                variable: found.to_variable(),
                refers_to,
            };
            reachable.insert(name, reached);
        }
        let secrets = secrets(&reachable);
        let variables = reachable.into_values().map(|reached| reached.variable);
        let expanded = sort_and_expand(variables.collect(), Kept::default())?;
        let expanded = expanded.into_iter().map(|variable| JobVariable {
            masked: variable.masked || secrets.contains(&variable.key),
            ..variable
        });
        Ok(expanded.collect())
    }
}

/// A variable that a text refers to, and what that refers to.
struct Reached {
    variable: JobVariable,
    refers_to: Vec<String>,
}

/// Returns the names of the secrets and of all that refers to one.
fn secrets(reachable: &IndexMap<String, Reached>) -> HashSet<String> {
    let mut referring: HashMap<&str, Vec<&str>> = HashMap::new();
    for (name, reached) in reachable {
        for target in &reached.refers_to {
            referring.entry(target).or_default().push(name);
        }
    }
    let is_secret = |variable: &JobVariable| variable.masked || !variable.public;
    let own = reachable
        .iter()
        .filter(|(_, reached)| is_secret(&reached.variable));
    let mut open: Vec<&str> = own.map(|(name, _)| name.as_str()).collect();
    let mut secrets = HashSet::new();
    while let Some(name) = open.pop() {
        if secrets.insert(name.to_owned()) {
            open.extend(referring.get(name).into_iter().flatten());
        }
    }
    secrets
}

/// Variables with the references among them replaced.
#[derive(Debug, Default)]
pub(crate) struct Values(pub(crate) JobVariables);

impl expression::Variables for Values {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name)
    }

    fn is_masked(&self, name: &str) -> bool {
        let variable = self.0.variable(name);
        variable.is_some_and(|variable| variable.masked || !variable.public)
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

impl OwnLayers<'_> {
    /// Returns one of the variables that tell a job of itself.
    fn value(&self, name: &str) -> Option<Found<'_>> {
        let job = self.definition;
        let environment = job.environment.as_deref();
        let (name, value) = match name {
            "CI_JOB_NAME" => ("CI_JOB_NAME", Some(job.name.as_str())),
            "CI_JOB_STAGE" => ("CI_JOB_STAGE", Some(job.stage.as_str())),
            "CI_JOB_NAME_SLUG" => ("CI_JOB_NAME_SLUG", kept(&self.slug, job, name)),
            "CI_NODE_TOTAL" => ("CI_NODE_TOTAL", kept(&self.total, job, name)),
            "CI_NODE_INDEX" => ("CI_NODE_INDEX", kept(&self.index, job, name)),
            "CI_JOB_GROUP_NAME" => (
                "CI_JOB_GROUP_NAME",
                Some(crate::context::group_name(&job.name)),
            ),
            "CI_JOB_MANUAL" => ("CI_JOB_MANUAL", job_value(job, name).map(|_| "true")),
            "CI_JOB_IMAGE" => (
                "CI_JOB_IMAGE",
                job.image.as_deref().map(|image| &*image.name),
            ),
            "CI_ENVIRONMENT_NAME" => ("CI_ENVIRONMENT_NAME", environment.map(|e| &*e.name)),
            "CI_ENVIRONMENT_ACTION" => {
                let action = environment.map(|e| e.action.unwrap_or_default().word());
                ("CI_ENVIRONMENT_ACTION", action)
            }
            "CI_ENVIRONMENT_TIER" => {
                let tier = environment.and_then(|e| e.deployment_tier);
                ("CI_ENVIRONMENT_TIER", tier.map(DeploymentTier::word))
            }
            "CI_ENVIRONMENT_URL" => {
                let url = environment.and_then(|e| e.url.as_deref());
                ("CI_ENVIRONMENT_URL", url)
            }
            _ => return None,
        };
        Some(Found {
            name,
            value: value?,
            is_raw: true,
            layer: Layer::Job,
            given: None,
        })
    }
}

/// Returns a value that is made at most once.
fn kept<'c>(cell: &'c OnceCell<String>, job: &JobDefinition, name: &str) -> Option<&'c str> {
    let value = job_value(job, name)?;
    Some(cell.get_or_init(|| value.into_owned()))
}

impl Layer {
    /// Returns whether the file writes its variables.
    pub(crate) fn is_written(self) -> bool {
        matches!(self, Self::Global | Self::Workflow | Self::Own | Self::Rule)
    }
}

impl<'a> Found<'a> {
    fn given(given: &'a GivenVariable) -> Self {
        Self {
            name: &given.variable.key,
            value: &given.variable.value,
            is_raw: given.variable.raw,
            layer: Layer::Given,
            given: Some(given),
        }
    }

    fn written(layer: Layer, variables: &'a Variables, name: &str) -> Option<Self> {
        let (name, definition) = variables.get_key_value(name)?;
        Some(Self {
            name,
            value: definition.value(),
            is_raw: definition.is_raw(),
            layer,
            given: None,
        })
    }

    /// Returns whether the value is written to a file.
    pub(crate) fn is_file(&self) -> bool {
        self.given.is_some_and(|given| given.variable.file)
    }

    /// Returns whether the value must not be shown.
    pub(crate) fn is_secret(&self) -> bool {
        let variable = self.given.map(|given| &given.variable);
        variable.is_some_and(|variable| variable.masked || !variable.public)
    }

    /// Returns the variable as a job gets it.
    pub(crate) fn to_variable(self) -> JobVariable {
        match self.given {
            Some(given) => given.variable.clone(),
            None => JobVariable {
                raw: self.is_raw,
                ..JobVariable::public(self.name, self.value)
            },
        }
    }
}
