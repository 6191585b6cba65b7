//! What is wrong with settings by themselves.

mod engine;
mod images;
mod networks;
mod resources;
mod rights;
mod storage;

use super::{DockerConfig, EngineChoice, KeyStyle};
use crate::error::DockerError;
use std::fmt;

/// Whether jobs can run in spite of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Severity {
    /// They run; the key does not do what somebody may expect.
    Warning,
    /// They do not: what the key asks for is not done, and to go on without it would be wrong.
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
