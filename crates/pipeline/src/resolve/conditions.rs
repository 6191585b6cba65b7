use super::ResolvedJob;
use crate::config::{Config, Job, PolicyKeyword};
use crate::rules::{Policy, RefPattern};
use executor_core::job::JobDefinition;
use serde_json::{Value, json};
use std::sync::Arc;

/// The default refs of `only`.
const DEFAULT_REFS: [&str; 2] = ["branches", "tags"];

/// The conditions of a job, which are the same for all its instances.
#[derive(Debug)]
pub(super) struct Conditions {
    /// A job without a definition, copied for each instance.
    pub(super) template: ResolvedJob,
    only: Option<Arc<Value>>,
    except: Option<Arc<Value>>,
}

impl Conditions {
    pub(super) fn of(job: &Job, shared: &Shared) -> Self {
        let (only, written_only) = shared.only(job).unzip();
        let except = job.except.as_deref();
        let template = ResolvedJob {
            definition: Arc::default(),
            name_in_file: Arc::clone(&job.name),
            matrix: Arc::default(),
            span: Some(job.span),
            kind: job.kind,
            rules: job.rules.clone(),
            rule_needs: Arc::default(),
            only,
            except: except.map(|except| Arc::new(except.policy.clone())),
            when: job.when,
            allow_failure: job.allow_failure.clone(),
            inherited_variables: job.inherit.variables.clone(),
        };
        Self {
            template,
            only: written_only,
            except: except.map(|except| Arc::new(except.written.clone())),
        }
    }

    /// Sets `only` and `except` of a definition, as written in the file.
    pub(super) fn write(&self, definition: &mut JobDefinition) {
        definition.only.clone_from(&self.only);
        definition.except.clone_from(&self.except);
    }
}

/// Values that many jobs share.
#[derive(Debug)]
pub(super) struct Shared {
    /// The default `only`, unless the workflow has rules.
    default_only: Option<(Arc<Policy>, Arc<Value>)>,
}

impl Shared {
    pub(super) fn of(config: &Config) -> Self {
        let default = || {
            let written = json!({"refs": DEFAULT_REFS});
            (Arc::new(default_policy()), Arc::new(written))
        };
        Self {
            default_only: (!config.workflow.rules.is_present()).then(default),
        }
    }

    /// Returns the effective `only` of a job.
    ///
    /// An `only` without refs gets the default ones, even with `workflow:rules`. A job without the
    /// keyword gets the default `only`, unless it or the workflow has rules.
    fn only(&self, job: &Job) -> Option<(Arc<Policy>, Arc<Value>)> {
        match job.only.as_deref() {
            Some(given) => {
                let (policy, written) = with_refs(given);
                Some((Arc::new(policy), Arc::new(written)))
            }
            None if job.rules.is_present() => None,
            None => self.default_only.clone(),
        }
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

/// Returns the `only` of a job without the keyword.
pub(crate) fn default_policy() -> Policy {
    let names = DEFAULT_REFS.map(|name| RefPattern::Name(name.to_owned()));
    Policy {
        refs: Some(names.to_vec()),
        ..Policy::default()
    }
}
