use super::ResolvedJob;
use crate::config::{Config, Job, PolicyKeyword, RulesKeyword};
use crate::rules::{Policy, RefPattern};
use executor_core::job::JobDefinition;
use serde_json::{Value, json};
use std::sync::Arc;

/// The refs of `only` where a job says nothing of them.
const DEFAULT_REFS: [&str; 2] = ["branches", "tags"];

/// What decides whether a pipeline has a job: the same for all its instances.
#[derive(Debug)]
pub(super) struct Conditions {
    /// A job without a definition, to be copied for each instance.
    pub(super) template: ResolvedJob,
    only: Option<Value>,
    except: Option<Value>,
}

impl Conditions {
    pub(super) fn of(job: &Job, config: &Config) -> Self {
        let (only, written_only) = only(job, config).unzip();
        let except = job.except.as_deref();
        let template = ResolvedJob {
            definition: Arc::default(),
            name_in_file: Arc::clone(&job.name),
            span: Some(job.span),
            kind: job.kind,
            rules: job.rules.clone(),
            rule_needs: Arc::default(),
            only: only.map(Arc::new),
            except: except.map(|except| Arc::new(except.policy.clone())),
            when: job.when,
            allow_failure: job.allow_failure.clone(),
            inherited_variables: job.inherit.variables.clone(),
        };
        Self {
            template,
            only: written_only,
            except: except.map(|except| except.written.clone()),
        }
    }

    /// Writes them into a definition, as they were written in the file.
    pub(super) fn write(&self, definition: &mut JobDefinition) {
        definition.only = self.only.clone().map(Box::new);
        definition.except = self.except.clone().map(Box::new);
    }
}

/// Returns `only` of a job, or what stands for it.
///
/// Refs are added where only other conditions are given, also beside `workflow:rules`; without the
/// keyword there is a default, but not beside rules of any kind.
fn only(job: &Job, config: &Config) -> Option<(Policy, Value)> {
    match job.only.as_deref() {
        Some(given) => Some(with_refs(given)),
        None if job.rules.is_given() || config.workflow.rules.is_given() => None,
        None => Some((default_policy(), json!({"refs": DEFAULT_REFS}))),
    }
}

fn with_refs(given: &PolicyKeyword) -> (Policy, Value) {
    let (mut policy, mut written) = (given.policy.clone(), given.written.clone());
    if policy.refs.is_none() {
        policy.refs = default_policy().refs;
        written["refs"] = json!(DEFAULT_REFS);
    }
    (policy, written)
}

fn default_policy() -> Policy {
    let names = DEFAULT_REFS.map(|name| RefPattern::Name(name.to_owned()));
    Policy {
        refs: Some(names.to_vec()),
        ..Policy::default()
    }
}

/// Returns the rules of a job as the file has them.
pub(super) fn has_list(rules: &RulesKeyword) -> bool {
    matches!(rules, RulesKeyword::Given(_))
}
