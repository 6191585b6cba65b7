use super::Problems;
use crate::config::DockerConfig;
use crate::config::policy::Pattern;
use crate::volume::VolumeSpec;

impl DockerConfig {
    /// Keys of volumes, memory file systems and logs.
    pub(super) fn storage(&self, problems: &mut Problems) {
        for volume in &self.volumes {
            // What refers to variables is known with the job.
            if volume.contains('$') {
                continue;
            }
            if let Err(error) = VolumeSpec::parse(volume, "/builds") {
                problems.error("volumes", &error.to_string());
            }
        }
        for (key, paths) in [
            ("tmpfs", &self.tmpfs),
            ("services_tmpfs", &self.services_tmpfs),
        ] {
            for path in paths.keys().filter(|it| !it.starts_with('/')) {
                problems.error(key, &format!("`{path}` is not an absolute path"));
            }
        }
        if self
            .cache_dir
            .as_deref()
            .is_some_and(|it| !it.starts_with('/'))
        {
            problems.error("cache_dir", "is not an absolute path");
        }
        for entry in &self.allowed_volumes {
            if entry.starts_with('/') {
                if entry.split('/').any(|it| it == "..") {
                    problems.error("allowed_volumes", &format!("`{entry}` has a `..`"));
                }
            } else if let Err(error) = Pattern::parse(entry) {
                problems.error("allowed_volumes", &error.to_string());
            }
        }
        for container in &self.volumes_from {
            let (name, mode) = container.split_once(':').unwrap_or((container, "rw"));
            if name.is_empty() || !matches!(mode, "ro" | "rw") {
                problems.error(
                    "volumes_from",
                    &format!("`{container}` is not container[:ro]"),
                );
            }
        }
        for option in self.log_options.keys() {
            let known = [
                "compress",
                "env",
                "env-regex",
                "labels",
                "labels-regex",
                "max-file",
                "max-size",
                "tag",
            ];
            if !known.contains(&option.as_str()) {
                let text = format!("`{option}` is no option of the log driver json-file");
                problems.error("log_options", &text);
            }
        }
    }
}
