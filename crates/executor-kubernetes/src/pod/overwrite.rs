//! Changes by variables of the job, as far as the settings allow them.

use super::draft::{Draft, Request, refused};
use super::label::{check_key, check_label, is_dns_label, is_dns_name, is_reserved, label_value};
use crate::config::{KubernetesConfig, non_empty};
use crate::error::KubernetesError;
use executor_core::job::JobId;
use executor_core::variable::JobVariables;
use k8s_openapi::api::core::v1::Toleration;
use regex::Regex;
use std::collections::BTreeMap;

const NAMESPACE: &str = "KUBERNETES_NAMESPACE_OVERWRITE";
const SERVICE_ACCOUNT: &str = "KUBERNETES_SERVICE_ACCOUNT_OVERWRITE";

/// Returns the gate of a key of the settings.
macro_rules! gate {
    ($config:ident.$key:ident) => {
        Gate {
            key: stringify!($key),
            pattern: non_empty($config.$key.as_deref()),
        }
    };
}

/// The settings that a job may change, with the job's changes.
#[derive(Debug, Default)]
pub(super) struct Overwrites {
    pub(super) service_account: Option<String>,
    pub(super) node_selector: BTreeMap<String, String>,
    /// Effects by `key=value`.
    tolerations: BTreeMap<String, String>,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) annotations: BTreeMap<String, String>,
}

/// Returns the namespace of a job, if it is not that of the settings.
///
/// # Errors
///
/// When the job asks for a namespace that the settings do not allow.
pub(crate) fn namespace_of(
    config: &KubernetesConfig,
    job: JobId,
    variables: &JobVariables,
) -> Result<Option<String>, KubernetesError> {
    if config.namespace_per_job {
        return Ok(Some(format!("ci-job-{job}")));
    }
    let variables = variables.expanded();
    let name = non_empty(variables.get(NAMESPACE));
    let gate = gate!(config.namespace_overwrite_allowed);
    let (Some(name), true) = (name, gate.is_open()) else {
        return Ok(None);
    };
    gate.check(NAMESPACE, name)?;
    check_name(NAMESPACE, name.to_owned(), is_dns_label).map(Some)
}

/// A setting that allows overwrites by its pattern.
struct Gate<'c> {
    key: &'static str,
    pattern: Option<&'c str>,
}

impl Gate<'_> {
    fn is_open(&self) -> bool {
        self.pattern.is_some()
    }

    /// Checks that the pattern matches the whole value: a part could hide anything behind it.
    fn check(&self, variable: &str, value: &str) -> Result<(), KubernetesError> {
        let Self { key, pattern } = self;
        let pattern = pattern.unwrap_or_default();
        let regex = Regex::new(&format!(r"\A(?:{pattern})\z"));
        let regex = regex.map_err(|error| refused(format!("invalid {key}: {error}")))?;
        if regex.is_match(value) {
            return Ok(());
        }
        Err(refused(format!(
            "{variable}: {value:?} is not allowed: {key} is {pattern:?}"
        )))
    }
}

impl Overwrites {
    pub(super) fn of(draft: &mut Draft<'_>) -> Result<Self, KubernetesError> {
        let Request { config, .. } = *draft.request;
        let account = gate!(config.service_account_overwrite_allowed);
        let service_account = match draft.single(SERVICE_ACCOUNT, &account)? {
            Some(name) => Some(check_name(SERVICE_ACCOUNT, name, is_dns_name)?),
            None => non_empty(config.service_account.as_deref()).map(str::to_owned),
        };
        // The namespace is chosen before there is a pod; here is the warning.
        if !config.namespace_per_job {
            draft.single(NAMESPACE, &gate!(config.namespace_overwrite_allowed))?;
        }
        let token = Gate {
            key: "bearer_token_overwrite_allowed",
            pattern: None,
        };
        draft.single("KUBERNETES_BEARER_TOKEN", &token)?;
        let mut overwrites = Self {
            service_account,
            node_selector: config.node_selector.clone(),
            tolerations: config.node_tolerations.clone(),
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
        };

        let gate = gate!(config.node_selector_overwrite_allowed);
        for (key, value) in draft.pairs("KUBERNETES_NODE_SELECTOR_", &gate)? {
            check_label(&key, &value)?;
            overwrites.node_selector.insert(key, value);
        }

        let gate = gate!(config.node_tolerations_overwrite_allowed);
        for value in draft.values("KUBERNETES_NODE_TOLERATIONS_", &gate)? {
            let (taint, effect) = value.split_once(':').unwrap_or((&value, ""));
            let (taint, effect) = (taint.to_owned(), effect.to_owned());
            overwrites.tolerations.insert(taint, effect);
        }

        for (key, value) in &config.pod_labels {
            let value = draft.variables.expand(value);
            overwrites.labels.insert(key.clone(), label_value(&value));
        }
        let gate = gate!(config.pod_labels_overwrite_allowed);
        for (key, value) in draft.pairs("KUBERNETES_POD_LABELS_", &gate)? {
            check_label(&key, &value)?;
            if !draft.warn_reserved(&key) {
                overwrites.labels.insert(key, value);
            }
        }

        for (key, value) in &config.pod_annotations {
            let value = draft.variables.expand(value).into_owned();
            overwrites.annotations.insert(key.clone(), value);
        }
        let gate = gate!(config.pod_annotations_overwrite_allowed);
        for (key, value) in draft.pairs("KUBERNETES_POD_ANNOTATIONS_", &gate)? {
            check_key(&key)?;
            if !draft.warn_reserved(&key) {
                overwrites.annotations.insert(key, value);
            }
        }
        Ok(overwrites)
    }

    pub(super) fn tolerations(&self) -> Option<Vec<Toleration>> {
        let text = |text: &str| non_empty(Some(text)).map(str::to_owned);
        let all = self.tolerations.iter().map(|(taint, effect)| {
            let (key, operator, value) = match taint.split_once('=') {
                Some((key, value)) => (key, "Equal", Some(value.to_owned())),
                None => (&**taint, "Exists", None),
            };
            Toleration {
                key: text(key),
                operator: Some(operator.to_owned()),
                value,
                effect: text(effect),
                toleration_seconds: None,
            }
        });
        let all: Vec<_> = all.collect();
        (!all.is_empty()).then_some(all)
    }
}

impl Draft<'_> {
    /// Returns the value of a variable, if the settings allow it.
    fn single(&mut self, name: &str, gate: &Gate<'_>) -> Result<Option<String>, KubernetesError> {
        let Some(value) = non_empty(self.variables.get(name)).map(str::to_owned) else {
            return Ok(None);
        };
        if !gate.is_open() {
            self.warn_closed(name, gate.key);
            return Ok(None);
        }
        gate.check(name, &value)?;
        Ok(Some(value))
    }

    /// Returns the values of all variables whose names have this start, if the settings allow them.
    fn values(&mut self, start: &str, gate: &Gate<'_>) -> Result<Vec<String>, KubernetesError> {
        let found = self.variables.iter().filter(|it| it.key.starts_with(start));
        let found: Vec<_> = found.map(|it| (it.key.clone(), it.value.clone())).collect();
        let mut values = Vec::new();
        for (name, value) in found {
            if gate.is_open() {
                gate.check(&name, &value)?;
                values.push(value);
            } else {
                self.warn_closed(&name, gate.key);
            }
        }
        Ok(values)
    }

    /// Returns the same for values that are `key=value`.
    fn pairs(
        &mut self,
        start: &str,
        gate: &Gate<'_>,
    ) -> Result<Vec<(String, String)>, KubernetesError> {
        let values = self.values(start, gate)?;
        let pairs = values.iter().map(|value| {
            let pair = value.split_once('=');
            let pair = pair.map(|(key, value)| (key.to_owned(), value.to_owned()));
            pair.ok_or_else(|| refused(format!("invalid {start}* {value:?}: expected key=value")))
        });
        pairs.collect()
    }

    /// Warns of an overwrite that the settings do not allow.
    pub(super) fn warn_closed(&mut self, variable: &str, key: &str) {
        let warning = format!("{variable} is ignored: the settings of the runner have no {key}");
        self.warn(warning);
    }

    /// Returns whether a key belongs to the runner, with a warning.
    fn warn_reserved(&mut self, key: &str) -> bool {
        let is_reserved = is_reserved(key);
        if is_reserved {
            let warning = format!("{key} is ignored: it belongs to the runner");
            self.warn(warning);
        }
        is_reserved
    }
}

fn check_name(
    variable: &str,
    name: String,
    fits: fn(&str) -> bool,
) -> Result<String, KubernetesError> {
    if fits(&name) {
        return Ok(name);
    }
    Err(refused(format!(
        "invalid {variable} {name:?}: expected lowercase letters, digits and -"
    )))
}
