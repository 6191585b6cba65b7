//! The volumes of a pod.

use super::AGENT;
use super::container::mount;
use super::draft::{Draft, Request, refused};
use super::label::is_dns_label;
use super::resources::parsed;
use crate::config::{VolumeConfig, non_empty};
use crate::error::KubernetesError;
use k8s_openapi::api::core::v1::{
    CSIVolumeSource, ConfigMapVolumeSource, EmptyDirVolumeSource, HostPathVolumeSource, KeyToPath,
    NFSVolumeSource, PersistentVolumeClaimVolumeSource, SecretVolumeSource, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

/// The volumes of a pod, and where they are mounted.
pub(super) struct Volumes {
    pub(super) all: Vec<Volume>,
    /// In the container of the job.
    pub(super) mounts: Vec<VolumeMount>,
    /// In services.
    pub(super) of_settings: Vec<VolumeMount>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    HostPath,
    Pvc,
    ConfigMap,
    Secret,
    EmptyDir,
    Csi,
    Nfs,
}

impl Draft<'_> {
    /// Returns the volumes of the settings, and ours where the settings have none.
    pub(super) fn volumes(&self) -> Result<Volumes, KubernetesError> {
        let Request { config, .. } = *self.request;
        let all = &config.volumes;
        let kinds = [
            (Kind::HostPath, &all.host_path),
            (Kind::Pvc, &all.pvc),
            (Kind::ConfigMap, &all.config_map),
            (Kind::Secret, &all.secret),
            (Kind::EmptyDir, &all.empty_dir),
            (Kind::Csi, &all.csi),
            (Kind::Nfs, &all.nfs),
        ];
        let (mut named, mut of_settings) = (Vec::<Volume>::new(), Vec::<VolumeMount>::new());
        for (kind, list) in kinds {
            for settings in list {
                let (volume, mount) = self.volume(kind, settings)?;
                // A volume may be mounted at several paths.
                if !named.contains(&volume) {
                    named.push(volume);
                }
                of_settings.push(mount);
            }
        }
        let builds = mount("builds", self.request.builds_dir);
        let cache = mount("cache", self.request.cache_dir);
        let mut mounts = vec![mount("agent", AGENT), builds, cache];
        mounts.retain(|ours| {
            let same = |it: &VolumeMount| it.mount_path == ours.mount_path;
            !of_settings.iter().any(same)
        });
        let ours = mounts.iter().map(|mount| Volume {
            name: mount.name.clone(),
            empty_dir: Some(EmptyDirVolumeSource::default()),
            ..Volume::default()
        });
        let volumes: Vec<_> = ours.chain(named).collect();
        for (at, volume) in volumes.iter().enumerate() {
            if volumes[..at].iter().any(|it| it.name == volume.name) {
                return Err(refused(format!(
                    "two volumes have the name {}",
                    volume.name
                )));
            }
        }
        mounts.extend(of_settings.iter().cloned());
        Ok(Volumes {
            all: volumes,
            mounts,
            of_settings,
        })
    }

    /// Returns a volume of the settings and its mount.
    fn volume(
        &self,
        kind: Kind,
        settings: &VolumeConfig,
    ) -> Result<(Volume, VolumeMount), KubernetesError> {
        let expand = |text: &str| self.variables.expand(text).into_owned();
        let text = |text: &Option<String>| non_empty(text.as_deref()).map(str::to_owned);
        let name = match kind {
            Kind::Pvc => expand(&settings.name),
            _ => settings.name.clone(),
        };
        let failed = |what: &str| refused(format!("volume {name:?}: {what}"));
        if let Some(key) = foreign_key(kind, settings) {
            return Err(failed(&format!("a volume of this kind has no {key}")));
        }
        if !is_dns_label(&name) {
            return Err(failed("expected a name of lowercase letters, digits and -"));
        }
        let path = expand(&settings.mount_path);
        if !path.starts_with('/') {
            return Err(failed("expected an absolute mount_path"));
        }
        if let Some(size) = &settings.size_limit {
            parsed("size_limit", size)?;
        }
        let required = |key: &str, value: &Option<String>| {
            text(value).ok_or_else(|| failed(&format!("expected {key}")))
        };
        let items = (!settings.items.is_empty()).then(|| {
            let items = settings.items.iter().map(|(key, path)| KeyToPath {
                key: key.clone(),
                path: path.clone(),
                mode: None,
            });
            items.collect::<Vec<_>>()
        });
        let mut volume = Volume {
            name: name.clone(),
            ..Volume::default()
        };
        match kind {
            Kind::HostPath => {
                volume.host_path = Some(HostPathVolumeSource {
                    // Without the job's variables: a job does not choose a directory of the node.
                    path: text(&settings.host_path).unwrap_or(settings.mount_path.clone()),
                    type_: None,
                });
            }
            Kind::Pvc => {
                volume.persistent_volume_claim = Some(PersistentVolumeClaimVolumeSource {
                    claim_name: name.clone(),
                    read_only: settings.read_only.then_some(true),
                });
            }
            Kind::ConfigMap => {
                volume.config_map = Some(ConfigMapVolumeSource {
                    name: name.clone(),
                    items,
                    ..ConfigMapVolumeSource::default()
                });
            }
            Kind::Secret => {
                volume.secret = Some(SecretVolumeSource {
                    secret_name: Some(name.clone()),
                    items,
                    ..SecretVolumeSource::default()
                });
            }
            Kind::EmptyDir => {
                volume.empty_dir = Some(EmptyDirVolumeSource {
                    medium: text(&settings.medium),
                    size_limit: text(&settings.size_limit).map(Quantity),
                });
            }
            Kind::Csi => {
                let attributes = &settings.volume_attributes;
                volume.csi = Some(CSIVolumeSource {
                    driver: required("driver", &settings.driver)?,
                    fs_type: text(&settings.fs_type),
                    read_only: settings.read_only.then_some(true),
                    volume_attributes: (!attributes.is_empty()).then(|| attributes.clone()),
                    node_publish_secret_ref: None,
                });
            }
            Kind::Nfs => {
                volume.nfs = Some(NFSVolumeSource {
                    server: required("server", &settings.server)?,
                    path: required("path", &settings.path)?,
                    read_only: settings.read_only.then_some(true),
                });
            }
        }
        let mount = VolumeMount {
            sub_path: text(&settings.sub_path),
            read_only: settings.read_only.then_some(true),
            mount_propagation: text(&settings.mount_propagation),
            ..mount(&name, &path)
        };
        Ok((volume, mount))
    }
}

/// Returns a key that is set and that volumes of this kind do not have.
fn foreign_key(kind: Kind, settings: &VolumeConfig) -> Option<&'static str> {
    use Kind::{ConfigMap, Csi, EmptyDir, HostPath, Nfs, Pvc, Secret};
    let propagates = settings.mount_propagation.is_some();
    let attributes = !settings.volume_attributes.is_empty();
    let keys: [(&str, bool, &[Kind]); 9] = [
        ("mount_propagation", propagates, &[HostPath, Pvc]),
        ("host_path", settings.host_path.is_some(), &[HostPath]),
        ("items", !settings.items.is_empty(), &[ConfigMap, Secret]),
        ("medium", settings.medium.is_some(), &[EmptyDir]),
        ("size_limit", settings.size_limit.is_some(), &[EmptyDir]),
        ("driver", settings.driver.is_some(), &[Csi]),
        ("fs_type", settings.fs_type.is_some(), &[Csi]),
        ("volume_attributes", attributes, &[Csi]),
        ("server", settings.server.is_some(), &[Nfs]),
    ];
    let path = ("path", settings.path.is_some(), &[Nfs][..]);
    let mut keys = keys.into_iter().chain([path]);
    let found = keys.find(|(_, is_set, kinds)| *is_set && !kinds.contains(&kind));
    found.map(|(key, ..)| key)
}
