use super::tree::Tree;
use super::variables::{self, Definitions};
use super::{
    ExplainedNeed, ExplainedParallel, ExplainedPolicy, ExplainedRule, ExplainedVariables,
    Explanation, fields,
};
use executor_core::job::JobId;
use executor_core::variable::{JobVariable, JobVariables};
use pipeline::Pipeline;
use pipeline::config::{Inherited, Job, Parallel, RulesKeyword};
use pipeline::context::{Phase, PipelineContext, group_name};
use pipeline::create::{Conditions, CreatedJob, Creation, JobLayers, Layers};
use pipeline::plan::{Plan, Selection, of_pipeline, predefined_of_job};
use pipeline::repository::Repository;
use pipeline::rules::{Policy, Rule, RuleOutcome, examine};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use yaml::Mapping;

/// The variables with the name of a job's environment.
const OF_NAME: [&str; 2] = ["CI_ENVIRONMENT_NAME", "CI_ENVIRONMENT_SLUG"];
/// The variables with a job's id.
const OF_ID: [&str; 2] = ["CI_JOB_ID", "CI_JOB_URL"];

/// Explains the jobs of one pipeline in one situation.
#[derive(Debug)]
pub struct Explainer<'a> {
    pipeline: &'a Pipeline,
    creation: &'a Creation,
    context: &'a PipelineContext,
    conditions: Conditions<'a>,
    /// The predefined variables for rules.
    predefined: JobVariables,
    /// The predefined variables for jobs.
    known: JobVariables,
    jobs: HashMap<&'a str, &'a Job>,
    included: HashSet<&'a str>,
    /// The plan, for the artifacts that jobs fetch; absent if no pipeline is created.
    plan: Option<Plan>,
}

impl<'a> Explainer<'a> {
    /// Returns an explainer of a creation.
    pub fn new(
        pipeline: &'a Pipeline,
        creation: &'a Creation,
        context: &'a PipelineContext,
        repository: &'a dyn Repository,
    ) -> Self {
        let jobs = pipeline.config().jobs.iter();
        let included = creation.jobs.iter().filter(|job| job.is_included);
        Self {
            pipeline,
            creation,
            context,
            conditions: Conditions::new(context, repository),
            predefined: context.predefined(Phase::Pipeline),
            known: of_pipeline(creation.shown_name.as_deref(), context),
            jobs: jobs.map(|job| (&*job.name, job)).collect(),
            included: included.map(CreatedJob::name).collect(),
            plan: Plan::new(creation, context.clone(), &Selection::default()).ok(),
        }
    }

    /// Explains a job of the creation; returns `None` if the pipeline's file does not define it.
    pub fn explain(&self, created: &CreatedJob) -> Option<Explanation> {
        let job = *self.jobs.get(&*created.resolved.name_in_file)?;
        let definition = &created.definition;
        let tree = self.tree();
        let workflow = self.pipeline.config().workflow.rules.entries();

        let (global, of_rule) = (
            &self.creation.global_variables,
            &self.creation.workflow_variables,
        );
        let layers = Layers::new(self.context, &self.predefined, global, of_rule);
        let known = self.known_layers();
        let job_layers = Creation::job_layers(created, &known);
        let inherited: &Inherited = &created.resolved.inherited_variables;
        let before_rules = layers.of_job(&created.resolved.definition, inherited, None);
        let none = pipeline::config::Variables::new();
        let before_workflow = Layers::new(self.context, &self.predefined, global, &none);

        let rules = self.rules(created.resolved.rules.entries(), &before_rules);
        Some(Explanation {
            job: created.name().to_owned(),
            stage: definition.stage.clone(),
            place: tree.place(job.span),
            is_included: created.is_included && self.creation.refusal.is_none(),
            reason: self.reason(created, &rules),
            when: definition.when,
            start_in: definition.start_in.clone(),
            allow_failure: definition.allow_failure,
            scheduling: definition.scheduling,
            workflow: self.rules(workflow, &before_workflow.of_pipeline()),
            rules,
            only: self.policy(created, "only", &before_rules),
            except: self.policy(created, "except", &before_rules),
            fields: fields::of(tree, job, created.matching_rule()),
            variables: variables::of(
                self.definitions(Some((job, created))),
                &job_layers,
                &self.predefined_of_job(created, &job_layers),
            ),
            needs: definition.needs.as_ref().map(|needs| {
                let needs = needs.iter().map(|need| ExplainedNeed {
                    is_included: self.included.contains(need.job.as_str()),
                    need: need.clone(),
                });
                needs.collect()
            }),
            dependencies: self.dependencies(created),
            parallel: parallel(created, job),
        })
    }

    /// Explains the variables of a job of the creation; returns `None` if the pipeline's file does
    /// not define it.
    pub fn variables(&self, created: &CreatedJob) -> Option<ExplainedVariables> {
        let job = *self.jobs.get(&*created.resolved.name_in_file)?;
        let known = self.known_layers();
        let job_layers = Creation::job_layers(created, &known);
        let of_job = self.predefined_of_job(created, &job_layers);
        let definitions = self.definitions(Some((job, created)));
        let mut variables = variables::of(definitions, &job_layers, &of_job);
        variables.sort_by_key(|variable| variable.source.rank());
        Some(ExplainedVariables {
            job: Some(created.name().to_owned()),
            variables,
            left_out: variables::left_out(self.context, job_layers.environment().as_deref()),
        })
    }

    /// Explains the variables that all jobs share.
    pub fn shared_variables(&self) -> ExplainedVariables {
        let known = self.known_layers();
        let job_layers = known.of_pipeline();
        let mut variables = variables::of(
            self.definitions(None),
            &job_layers,
            &JobVariables::default(),
        );
        variables.sort_by_key(|variable| variable.source.rank());
        ExplainedVariables {
            job: None,
            variables,
            left_out: variables::left_out(self.context, None),
        }
    }

    /// Returns the layers of the variables for jobs.
    fn known_layers(&self) -> Layers<'_> {
        let creation = self.creation;
        let (global, of_rule) = (&creation.global_variables, &creation.workflow_variables);
        Layers::new(self.context, &self.known, global, of_rule)
    }

    fn definitions<'w>(&'w self, job: Option<(&'w Job, &'w CreatedJob)>) -> Definitions<'w> {
        let rules = self.pipeline.config().workflow.rules.entries();
        Definitions {
            tree: self.tree(),
            workflow_rule: self.creation.workflow_rule.and_then(|at| rules.get(at)),
            job,
        }
    }

    fn tree(&self) -> Tree<'a> {
        Tree {
            root: self.pipeline.tree(),
            origins: self.pipeline.origins(),
        }
    }

    /// Returns in one sentence why the job is included or not.
    fn reason(&self, created: &CreatedJob, rules: &[ExplainedRule]) -> String {
        let is_unknown = |rule: &ExplainedRule| rule.outcome == RuleOutcome::Unknown;
        if let Some(refusal) = &self.creation.refusal
            && (created.is_included || rules.is_empty() || rules.iter().any(is_unknown))
        {
            return refusal.to_string();
        }
        if !created.is_included {
            return created.left_out_by().to_string();
        }
        match (created.rule, &created.resolved.rules) {
            (Some(at), _) => format!("its rule {} matches", at + 1),
            (None, RulesKeyword::List(_)) => "none of its rules matches".to_owned(),
            (None, _) => {
                let resolved = &created.resolved;
                let is_given = |keyword| self.given(&resolved.name_in_file, keyword).is_some();
                let reason = match (is_given("only"), is_given("except")) {
                    (true, true) => "its `only` and `except` include it",
                    (true, false) => "its `only` includes it",
                    (false, true) => "its `except` does not exclude it",
                    (false, false) if resolved.only.is_some() => {
                        "it has no conditions, so it runs for branches and tags"
                    }
                    (false, false) => "it has no conditions",
                };
                reason.to_owned()
            }
        }
    }

    fn rules(&self, rules: &[Rule], layers: &JobLayers<'_>) -> Vec<ExplainedRule> {
        let verdicts = self
            .conditions
            .with(rules, layers, |context| Ok(examine(rules, context)));
        let verdicts = verdicts.unwrap_or_default().into_iter().zip(rules);
        let explained = verdicts.map(|(verdict, rule)| ExplainedRule {
            place: self.tree().place(rule.span),
            outcome: verdict.outcome,
            clauses: verdict.clauses,
            effects: effects(rule),
        });
        explained.collect()
    }

    fn policy(
        &self,
        created: &CreatedJob,
        keyword: &str,
        layers: &JobLayers<'_>,
    ) -> Option<ExplainedPolicy> {
        let resolved = &created.resolved;
        let policy: &Policy = match keyword {
            "only" => resolved.only.as_deref()?,
            _ => resolved.except.as_deref()?,
        };
        let situation = self.conditions.situation();
        let evaluated = self.conditions.with(&[], layers, |context| {
            let keeps = match keyword {
                "only" => policy.keeps(situation, context),
                _ => policy
                    .excludes(situation, context)
                    .map(|is_excluded| !is_excluded),
            };
            Ok((keeps.unwrap_or(false), policy.examine(situation, context)))
        });
        let (keeps, clauses) = evaluated.ok()?;
        let given = self.given(&resolved.name_in_file, keyword);
        Some(ExplainedPolicy {
            place: given.and_then(|entries| self.tree().place_of(entries, keyword)),
            keeps,
            clauses,
        })
    }

    /// Returns the entries of a job if it has this keyword with a value.
    fn given(&self, job: &str, keyword: &str) -> Option<&'a Mapping> {
        let entries = self.tree().top(job)?;
        let entry = entries.get(keyword)?;
        (!entry.value.is_null()).then_some(entries)
    }

    /// Returns the predefined variables of this job; one that is not included has no id.
    fn predefined_of_job(&self, created: &CreatedJob, job_layers: &JobLayers<'_>) -> JobVariables {
        let definition = &created.definition;
        let plan = self.plan.as_ref();
        let id = plan.and_then(|plan| Some(plan.jobs()[plan.position(created.name())?].id));
        let is_hidden = |name: &str| {
            let environment = definition.environment.as_ref();
            OF_NAME.contains(&name)
                && environment.is_some_and(|it| job_layers.names_secret(&it.name))
        };
        let first = JobId(self.context.first_job_id);
        let all = predefined_of_job(definition, id.unwrap_or(first), self.context, job_layers);
        let all = all
            .iter()
            .filter(|variable| id.is_some() || !OF_ID.contains(&&*variable.key));
        let all = all.map(|variable| JobVariable {
            masked: variable.masked || is_hidden(&variable.key),
            ..variable.clone()
        });
        all.collect()
    }

    fn dependencies(&self, created: &CreatedJob) -> Vec<String> {
        let Some(plan) = &self.plan else {
            return Vec::new();
        };
        let Some(at) = plan.position(created.name()) else {
            return Vec::new();
        };
        let names = plan.dependencies(at).into_iter();
        names.map(|at| plan.jobs()[at].name().to_owned()).collect()
    }
}

/// Returns what a rule sets if it matches, as text.
fn effects(rule: &Rule) -> Vec<String> {
    let effects = fields::effects(rule).into_iter();
    let mut effects: Vec<String> = effects
        .map(|(key, value)| format!("{key}: {}", words(&value)))
        .collect();
    if !rule.variables.is_empty() {
        let names: Vec<&str> = rule.variables.keys().map(String::as_str).collect();
        effects.push(format!("variables: {}", names.join(", ")));
    }
    effects
}

fn parallel(created: &CreatedJob, job: &Job) -> Option<ExplainedParallel> {
    let definition = &created.definition;
    let index = definition.node_index?;
    let matrix = match &job.parallel {
        Some(Parallel::Matrix(matrix)) => {
            let place = usize::try_from(index).ok()?.checked_sub(1)?;
            matrix.combinations.get(place).cloned().unwrap_or_default()
        }
        _ => Vec::new(),
    };
    Some(ExplainedParallel {
        group: group_name(created.name()).to_owned(),
        index,
        total: definition.parallel_total?,
        matrix,
    })
}

/// Returns a value as text.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(words).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
