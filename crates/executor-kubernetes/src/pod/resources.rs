//! Resource requests and limits of containers.

use super::container::Role;
use super::draft::{Draft, refused};
use crate::config::{KubernetesConfig, non_empty};
use crate::error::KubernetesError;
use executor_core::variable::JobVariable;
use k8s_openapi::api::core::v1::ResourceRequirements;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use std::collections::BTreeMap;

/// The containers that a setting is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    One(Role),
    /// All together.
    Pod,
}

/// A quantity of the settings, and the most that a job may make of it.
pub(super) struct Setting<'c> {
    pub(super) key: &'static str,
    pub(super) value: Option<&'c str>,
    pub(super) max_key: &'static str,
    pub(super) max: Option<&'c str>,
}

pub(super) fn settings(config: &KubernetesConfig, scope: Scope) -> Vec<Setting<'_>> {
    macro_rules! settings {
        ($($key:ident $max:ident,)*) => {
            vec![$(Setting {
                key: stringify!($key),
                value: non_empty(config.$key.as_deref()),
                max_key: stringify!($max),
                max: non_empty(config.$max.as_deref()),
            }),*]
        };
    }
    match scope {
        Scope::One(Role::Job) => settings![
            cpu_request cpu_request_overwrite_max_allowed,
            cpu_limit cpu_limit_overwrite_max_allowed,
            memory_request memory_request_overwrite_max_allowed,
            memory_limit memory_limit_overwrite_max_allowed,
            ephemeral_storage_request ephemeral_storage_request_overwrite_max_allowed,
            ephemeral_storage_limit ephemeral_storage_limit_overwrite_max_allowed,
        ],
        Scope::One(Role::Service) => settings![
            service_cpu_request service_cpu_request_overwrite_max_allowed,
            service_cpu_limit service_cpu_limit_overwrite_max_allowed,
            service_memory_request service_memory_request_overwrite_max_allowed,
            service_memory_limit service_memory_limit_overwrite_max_allowed,
            service_ephemeral_storage_request service_ephemeral_storage_request_overwrite_max_allowed,
            service_ephemeral_storage_limit service_ephemeral_storage_limit_overwrite_max_allowed,
        ],
        Scope::Pod => settings![
            pod_cpu_request pod_cpu_request_overwrite_max_allowed,
            pod_cpu_limit pod_cpu_limit_overwrite_max_allowed,
            pod_memory_request pod_memory_request_overwrite_max_allowed,
            pod_memory_limit pod_memory_limit_overwrite_max_allowed,
        ],
    }
}

impl Draft<'_> {
    /// Returns the resource requests and limits of a container. `own` are a service's own variables, which come before those of the job.
    pub(super) fn requirements(
        &mut self,
        scope: Scope,
        own: &[JobVariable],
    ) -> Result<Option<ResourceRequirements>, KubernetesError> {
        let (mut requests, mut limits) = (BTreeMap::new(), BTreeMap::new());
        for setting in settings(self.request.config, scope) {
            let Some(quantity) = self.quantity(&setting, own)? else {
                continue;
            };
            let name = setting.key.trim_start_matches("service_");
            let name = name.trim_start_matches("pod_");
            let (name, all) = match name.strip_suffix("_request") {
                Some(name) => (name, &mut requests),
                None => (name.trim_end_matches("_limit"), &mut limits),
            };
            all.insert(name.replace('_', "-"), Quantity(quantity));
        }
        let is_empty = requests.is_empty() && limits.is_empty();
        Ok((!is_empty).then(|| ResourceRequirements {
            requests: (!requests.is_empty()).then_some(requests),
            limits: (!limits.is_empty()).then_some(limits),
            claims: None,
        }))
    }

    fn quantity(
        &mut self,
        setting: &Setting<'_>,
        own: &[JobVariable],
    ) -> Result<Option<String>, KubernetesError> {
        if let Some(value) = setting.value {
            parsed(setting.key, value)?;
        }
        let variable = format!("KUBERNETES_{}", setting.key.to_ascii_uppercase());
        // Both names are in use for a service's own variables.
        let short = variable.replace("_SERVICE_", "_");
        let of_service = |name: &str| {
            let found = own.iter().rfind(|it| it.key == name)?;
            Some(self.variables.expand(&found.value).into_owned())
        };
        let of_job = || self.variables.get(&variable).map(str::to_owned);
        let wanted = of_service(&variable)
            .or_else(|| of_service(&short))
            .or_else(of_job)
            .filter(|value| !value.is_empty());
        let Some(wanted) = wanted else {
            return Ok(setting.value.map(str::to_owned));
        };
        let Some(max) = setting.max else {
            self.warn_closed(&variable, setting.max_key);
            return Ok(setting.value.map(str::to_owned));
        };
        if parsed(&variable, &wanted)? > parsed(setting.max_key, max)? {
            return Err(refused(format!(
                "{variable}: {wanted} is more than {} allows: {max}",
                setting.max_key
            )));
        }
        Ok(Some(wanted))
    }
}

/// Returns the size of a quantity.
pub(super) fn parsed(name: &str, text: &str) -> Result<u128, KubernetesError> {
    billionths(text).ok_or_else(|| {
        refused(format!(
            "invalid {name} {text:?}: expected a quantity such as 500m, 2 or 1Gi"
        ))
    })
}

/// Parses a quantity of Kubernetes that is not negative, rounded up as the API server does.
pub(crate) fn billionths(text: &str) -> Option<u128> {
    let end = text.find(|it: char| !it.is_ascii_digit() && it != '.');
    let (number, suffix) = text.split_at(end.unwrap_or(text.len()));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    let power = |base: u128, exponent: u32| base.checked_pow(exponent);
    let binary = |exponent| power(1024, exponent)?.checked_mul(power(10, 9)?);
    let unit = match suffix {
        "n" => 1,
        "u" => power(10, 3)?,
        "m" => power(10, 6)?,
        "" => power(10, 9)?,
        "k" => power(10, 12)?,
        "M" => power(10, 15)?,
        "G" => power(10, 18)?,
        "T" => power(10, 21)?,
        "P" => power(10, 24)?,
        "E" => power(10, 27)?,
        "Ki" => binary(1)?,
        "Mi" => binary(2)?,
        "Gi" => binary(3)?,
        "Ti" => binary(4)?,
        "Pi" => binary(5)?,
        "Ei" => binary(6)?,
        _ => {
            let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            power(10, u32::try_from(exponent.checked_add(9)?).ok()?)?
        }
    };
    let scale = power(10, u32::try_from(fraction.len()).ok()?)?;
    Some(digits.checked_mul(unit)?.div_ceil(scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_compare_by_size() {
        let rising = [
            "0", "1n", "1u", "1m", "0.0011", "99m", "0.1", "1", "1001m", "2.5", "1k", "1Ki", "1e6",
            "1Mi", "1.5Mi", "1G", "1Gi", "1Ti", "1P", "1Pi", "1E", "1Ei",
        ];
        for pair in rising.windows(2) {
            let [low, high] = [pair[0], pair[1]].map(|it| billionths(it).unwrap());
            assert!(low < high, "{pair:?}");
        }
        for (one, other) in [
            ("0.1", "100m"),
            ("1", "1000m"),
            ("1024Mi", "1Gi"),
            ("1e3", "1k"),
            (".5", "500m"),
        ] {
            assert_eq!(billionths(one), billionths(other), "{one} {other}");
        }
        for text in [
            "", "-1", "+1", ".", "1.2.3", "1 Gi", "1gi", "Gi", "1e99", "1e-10", "$(X)",
        ] {
            assert_eq!(billionths(text), None, "{text:?}");
        }
    }
}
