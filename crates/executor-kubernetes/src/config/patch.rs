use super::{KubernetesConfig, non_empty};
use crate::error::KubernetesError;
use serde::Deserialize;
use std::path::PathBuf;

/// A change to the specification of a pod (`[[runners.kubernetes.pod_spec]]`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PodSpecPatch {
    /// Its name in messages.
    pub name: String,
    /// The change, as YAML or JSON.
    pub patch: Option<String>,
    /// The file with the change, instead of `patch`.
    pub patch_path: Option<PathBuf>,
    /// How the change is written.
    pub patch_type: PatchType,
}

/// How a change to the specification of a pod is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PatchType {
    /// A list of operations (RFC 6902).
    Json,
    /// A part of the specification, whose lists replace those of the pod (RFC 7386).
    Merge,
    /// A part of the specification, whose lists are merged by the names of their entries.
    #[default]
    #[serde(alias = "")]
    Strategic,
}

impl KubernetesConfig {
    /// Reads the files of `pod_spec`, so that [`PodSpecPatch::patch`] has each change.
    ///
    /// # Errors
    ///
    /// When a file cannot be read, or a change has both a text and a file, or neither.
    pub fn read_patches(&mut self) -> Result<(), KubernetesError> {
        for patch in &mut self.pod_spec {
            let failed =
                |what: &str| KubernetesError::Config(format!("pod_spec {:?}: {what}", patch.name));
            match (non_empty(patch.patch.as_deref()), &patch.patch_path) {
                (Some(_), None) => {}
                (None, Some(path)) => {
                    let read = std::fs::read_to_string(path);
                    let read =
                        read.map_err(|error| failed(&format!("read {}: {error}", path.display())))?;
                    patch.patch = Some(read);
                    patch.patch_path = None;
                }
                (Some(_), Some(_)) => {
                    return Err(failed("expected one of patch and patch_path, found both"));
                }
                (None, None) => return Err(failed("expected patch or patch_path")),
            }
        }
        Ok(())
    }
}
