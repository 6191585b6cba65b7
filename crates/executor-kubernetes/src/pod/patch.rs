//! Changes of the settings to the specification of a pod.

use super::BUILD;
use super::draft::refused;
use crate::config::{PatchType, PodSpecPatch, unknown_field};
use crate::error::KubernetesError;
use k8s_openapi::api::core::v1::PodSpec;
use serde_json::{Map, Value};

/// The key with an instruction of a strategic merge: `delete` or `replace`.
const DIRECTIVE: &str = "$patch";

/// Returns the specification with these changes, in order.
pub(super) fn apply(spec: PodSpec, patches: &[PodSpecPatch]) -> Result<PodSpec, KubernetesError> {
    let mut spec = spec;
    for patch in patches {
        let changed = changed(&spec, patch);
        spec = changed.map_err(|reason| refused(format!("pod_spec {:?}: {reason}", patch.name)))?;
    }
    Ok(spec)
}

fn changed(spec: &PodSpec, patch: &PodSpecPatch) -> Result<PodSpec, String> {
    let text = patch.patch.as_deref();
    let loaded = yaml::load_values(&patch.name, text.ok_or("its file was not read")?);
    let change = match loaded.into_result() {
        Ok((node, _)) => node.to_json(),
        Err(diagnostics) => {
            let mut errors = diagnostics.errors();
            let first = errors.next().map(|it| it.sentence().into_owned());
            return Err(first.unwrap_or_else(|| "invalid YAML".to_owned()));
        }
    };
    let mut value = serde_json::to_value(spec).map_err(|error| error.to_string())?;
    match patch.patch_type {
        PatchType::Json => {
            let operations = serde_json::from_value::<json_patch::Patch>(change);
            let operations = operations.map_err(|error| error.to_string())?;
            let applied = json_patch::patch(&mut value, &operations);
            applied.map_err(|error| error.to_string())?;
        }
        PatchType::Merge => json_patch::merge(&mut value, &change),
        PatchType::Strategic => {
            let Value::Object(change) = change else {
                return Err("expected a part of the specification of a pod".to_owned());
            };
            merge(&mut value, change)?;
        }
    }
    quantities(&mut value);
    let changed: PodSpec = serde_json::from_value(value.clone()).map_err(|it| it.to_string())?;
    if let Some(field) = unknown_field(&value, &changed) {
        return Err(format!("unknown field `{field}`"));
    }
    let services = changed.init_containers.iter().flatten();
    let mut containers = changed.containers.iter().chain(services);
    // GitLab Runner has more containers, which its patches may name.
    if let Some(other) = containers.find(|it| it.image.is_none()) {
        return Err(format!(
            "container {:?} has no image: the pod has the containers {BUILD} and svc-0, svc-1, ... for services",
            other.name
        ));
    }
    if changed.containers.iter().all(|it| it.name != BUILD) {
        return Err(format!(
            "the container {BUILD} is gone, in which the job runs"
        ));
    }
    Ok(changed)
}

/// Returns the key by which entries of a list are the same. Lists without one are replaced, as `tolerations` are.
fn merge_key(list: &str) -> Option<&'static str> {
    Some(match list {
        "containers"
        | "initContainers"
        | "ephemeralContainers"
        | "volumes"
        | "env"
        | "imagePullSecrets"
        | "resourceClaims"
        | "schedulingGates" => "name",
        "volumeMounts" => "mountPath",
        "volumeDevices" => "devicePath",
        "ports" => "containerPort",
        "hostAliases" => "ip",
        "topologySpreadConstraints" => "topologyKey",
        _ => return None,
    })
}

/// Merges a change into a value, as the strategic merge patch of Kubernetes does.
fn merge(value: &mut Value, mut change: Map<String, Value>) -> Result<(), String> {
    if change.remove(DIRECTIVE).is_some_and(|it| it == "replace") {
        *value = change.into();
        return Ok(());
    }
    if !value.is_object() {
        *value = Map::new().into();
    }
    let Value::Object(fields) = value else {
        return Ok(());
    };
    for (key, change) in change {
        match change {
            Value::Null => {
                fields.remove(&key);
            }
            Value::Object(change) if change.get(DIRECTIVE).is_some_and(|it| it == "delete") => {
                fields.remove(&key);
            }
            Value::Object(change) => merge(fields.entry(key).or_insert(Value::Null), change)?,
            Value::Array(entries) => match merge_key(&key) {
                None => {
                    fields.insert(key, entries.into());
                }
                Some(name) => merge_list(fields, &key, name, entries)?,
            },
            change => {
                fields.insert(key, change);
            }
        }
    }
    Ok(())
}

fn merge_list(
    fields: &mut Map<String, Value>,
    list: &str,
    name: &str,
    mut entries: Vec<Value>,
) -> Result<(), String> {
    let replaces = |entry: &Value| {
        let is_alone = entry.as_object().is_some_and(|it| it.len() == 1);
        is_alone && entry[DIRECTIVE] == "replace"
    };
    let count = entries.len();
    entries.retain(|entry| !replaces(entry));
    let known = fields
        .entry(list)
        .or_insert_with(|| Value::Array(Vec::new()));
    let Value::Array(known) = known else {
        return Err(format!("{list} is not a list"));
    };
    if entries.len() < count {
        known.clear();
    }
    for entry in entries {
        let Value::Object(change) = entry else {
            return Err(format!("an entry of {list} is not a mapping"));
        };
        let id = change.get(name).cloned();
        let id = id.ok_or_else(|| format!("an entry of {list} has no {name}"))?;
        let at = known.iter().position(|it| it[name] == id);
        if change.get(DIRECTIVE).is_some_and(|it| it == "delete") {
            known.retain(|it| it[name] != id);
            continue;
        }
        match at.map(|at| &mut known[at]) {
            // A volume has one source: another one takes its place.
            Some(found) if list == "volumes" => {
                if let Value::Object(found) = &mut *found {
                    found.retain(|key, _| change.contains_key(key));
                }
                merge(found, change)?;
            }
            Some(found) => merge(found, change)?,
            None => {
                let mut added = Value::Null;
                merge(&mut added, change)?;
                known.push(added);
            }
        }
    }
    Ok(())
}

/// Makes texts of quantities that are written as numbers, which the API server accepts too.
fn quantities(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                if let ("requests" | "limits", Value::Object(all)) = (&**key, &mut *value) {
                    for quantity in all.values_mut().filter(|it| it.is_number()) {
                        *quantity = quantity.to_string().into();
                    }
                }
                quantities(value);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(quantities),
        _ => {}
    }
}
