use super::Problems;
use crate::config::DockerConfig;

impl DockerConfig {
    /// Keys of users and rights.
    pub(super) fn rights(&self, problems: &mut Problems) {
        let lists = [
            ("cap_add", self.cap_add.as_slice()),
            ("cap_drop", self.cap_drop.as_deref().unwrap_or_default()),
        ];
        for (key, names) in lists {
            let word = |it: &String| {
                let known = |it: char| it.is_ascii_alphabetic() || it == '_';
                !it.is_empty() && it.chars().all(known)
            };
            for name in names.iter().filter(|it| !word(it)) {
                problems.error(key, &format!("`{name}` is not the name of a capability"));
            }
        }
        let unused = [
            (
                "allowed_privileged_images",
                !self.privileged && !self.allowed_privileged_images.is_empty(),
            ),
            (
                "allowed_privileged_services",
                !self.services_privileged && !self.allowed_privileged_services.is_empty(),
            ),
        ];
        for (key, _) in unused.iter().filter(|(_, set)| *set) {
            problems.warning(key, "has no effect: nothing is privileged");
        }
        if !matches!(self.userns_mode.as_deref(), None | Some("" | "host")) {
            problems.error("userns_mode", "is not host, the only mode there is");
        }
    }
}
