use super::Problems;
use crate::config::DockerConfig;
use crate::config::policy::Pattern;

impl DockerConfig {
    /// Keys of images and services.
    pub(super) fn images(&self, problems: &mut Problems) {
        let lists = [
            ("allowed_images", &self.allowed_images),
            ("allowed_services", &self.allowed_services),
            ("allowed_privileged_images", &self.allowed_privileged_images),
            (
                "allowed_privileged_services",
                &self.allowed_privileged_services,
            ),
        ];
        for (key, patterns) in lists {
            for pattern in patterns {
                if let Err(error) = Pattern::parse(pattern) {
                    problems.error(key, &error.to_string());
                }
            }
        }
        for pattern in self.services_devices.keys() {
            if let Err(error) = Pattern::parse(pattern) {
                problems.error("services_devices", &error.to_string());
            }
        }
        let allowed = |it| self.allowed_pull_policies.contains(it);
        if !self.allowed_pull_policies.is_empty() && !self.pull_policy.iter().all(allowed) {
            let text = "does not have all policies of pull_policy";
            problems.error("allowed_pull_policies", text);
        }
        if self.services.iter().any(|it| it.name.trim().is_empty()) {
            problems.error("services", "has one without the name of an image");
        }
        if self.services_limit < -1 {
            problems.error("services_limit", "is less than -1, which is any number");
        }
        for line in self.services.iter().flat_map(|it| &it.environment) {
            let name = line.split_once('=').map_or("", |(name, _)| name);
            if name.is_empty() {
                let text = "environment has an entry that is not NAME=value";
                problems.error("services", text);
            }
        }
    }
}
