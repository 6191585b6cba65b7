//! What is wrong with settings by themselves.

mod images;
mod networks;
mod resources;
mod rights;
mod storage;

use super::{DockerConfig, EngineChoice, KeyStyle};
use crate::engine::{ApiVersion, EngineVersion};
use crate::error::DockerError;
use std::fmt;

/// Whether jobs can run in spite of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Severity {
    /// They run; the key does not do what its name suggests.
    Warning,
    /// They do not: what the key asks for is not supported, and jobs would be wrong without it.
    Error,
}

/// What is wrong with one key of the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblem {
    /// The key, with underscores.
    pub key: &'static str,
    /// What is wrong, and what to do.
    pub message: String,
    /// Whether jobs can run in spite of it.
    pub severity: Severity,
    /// How the key is shown.
    pub key_style: KeyStyle,
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key_style.path(self.key), self.message)
    }
}

impl DockerConfig {
    /// Returns the warnings about these settings, where jobs can run with them.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with them, where they cannot.
    pub fn checked(&self) -> Result<Vec<ConfigProblem>, DockerError> {
        let problems = self.problems();
        let errors = problems.iter().filter(|it| it.severity == Severity::Error);
        let errors: Vec<String> = errors.map(ToString::to_string).collect();
        if errors.is_empty() {
            return Ok(problems);
        }
        Err(DockerError::config(errors.join("; ")))
    }

    /// Returns everything that is wrong with these settings by themselves, without an engine.
    pub fn problems(&self) -> Vec<ConfigProblem> {
        let mut problems = Problems {
            key_style: self.key_style,
            found: Vec::new(),
        };
        self.unsupported(&mut problems);
        self.images(&mut problems);
        self.resources(&mut problems);
        self.networks(&mut problems);
        self.storage(&mut problems);
        self.rights(&mut problems);
        problems.found
    }

    /// Keys that say something which cannot be here.
    fn unsupported(&self, problems: &mut Problems) {
        if !matches!(self.isolation.as_deref(), None | Some("" | "default")) {
            problems.error("isolation", "is of Windows containers, which are not run");
        }
        if self.warm > 0 && self.engine == EngineChoice::Attach {
            let text =
                "has no effect with engine = \"attach\", whose containers end with each stage";
            problems.warning("warm", text);
        }
        if self.helper_image_flavor.is_some() {
            let text = "has no effect: no helper image is needed";
            problems.warning("helper_image_flavor", text);
        }
        if self.service_slot_cgroup_template.is_some() {
            let text = "is not supported; service_cgroup_parent is, for all slots together";
            problems.error("service_slot_cgroup_template", text);
        }
        if self
            .services
            .iter()
            .any(|it| it.suspend_data_path.is_some())
        {
            let text = "suspend_data_path has no effect: jobs are not suspended";
            problems.warning("services", text);
        }
    }
}

struct Problems {
    key_style: KeyStyle,
    found: Vec<ConfigProblem>,
}

impl Problems {
    fn error(&mut self, key: &'static str, message: &str) {
        self.add(key, message, Severity::Error);
    }

    fn warning(&mut self, key: &'static str, message: &str) {
        self.add(key, message, Severity::Warning);
    }

    fn add(&mut self, key: &'static str, message: &str, severity: Severity) {
        self.found.push(ConfigProblem {
            key,
            message: message.to_owned(),
            severity,
            key_style: self.key_style,
        });
    }
}

/// Docker takes the address of a network card from the container's endpoint since then; before, it took it
/// from a place that is not in the API any more.
const MAC_ADDRESS: ApiVersion = ApiVersion {
    major: 1,
    minor: 44,
};

impl DockerConfig {
    /// Checks that this engine does what these settings ask for.
    ///
    /// # Errors
    ///
    /// Names the key that it would leave out without a word, and its version.
    pub fn checked_for(&self, engine: &EngineVersion) -> Result<(), DockerError> {
        // Podman takes it from there whatever version it names.
        let follows = engine.api >= MAC_ADDRESS || engine.name == "Podman";
        if self.mac_address.is_some() && !follows {
            let key = self.key_style.path("mac_address");
            return Err(DockerError::config(format!(
                "{key}: needs an engine with API {MAC_ADDRESS} (Docker 25) or newer; {engine} would ignore it"
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::KeyStyle;

    #[test]
    fn an_ignored_address_is_reported() {
        let check = |name: &str, api: &str, address: Option<&str>, expect: Option<&str>| {
            let config = DockerConfig {
                mac_address: address.map(str::to_owned),
                key_style: KeyStyle::Hyphens,
                ..DockerConfig::default()
            };
            let engine = EngineVersion {
                name: name.to_owned(),
                version: "1.2.3".to_owned(),
                api: ApiVersion::parse(api).unwrap(),
                os: "linux".to_owned(),
                architecture: "amd64".to_owned(),
            };
            let found = config.checked_for(&engine).err();
            assert_eq!(found.map(|it| it.to_string()).as_deref(), expect);
        };
        let some = Some("02:42:ac:11:00:02");
        let refused = "docker.mac-address: needs an engine with API 1.44 (Docker 25) or newer; \
                       Docker 1.2.3 (API 1.43) would ignore it";
        check("Docker", "1.43", some, Some(refused));
        check("Docker", "1.44", some, None);
        check("Podman", "1.41", some, None);
        check("Docker", "1.41", None, None);
    }
}
