use crate::settings::Settings;
use job_runner::MayChange;

/// The tracked files that jobs may change, by the settings.
#[derive(Debug, Clone)]
pub struct DeclaredChanges {
    settings: Settings,
    all_jobs: Vec<String>,
}

impl DeclaredChanges {
    /// Returns the declared changes in these settings.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            all_jobs: Vec::new(),
        }
    }

    /// Adds files that any job may change, by bitrab's patterns, where `*` matches slashes too.
    #[must_use]
    pub fn with_all_jobs(mut self, patterns: &[String]) -> Self {
        for pattern in patterns {
            self.all_jobs.push(pattern.clone());
            if !pattern.starts_with('/') {
                self.all_jobs.push(format!("**/{pattern}"));
            }
        }
        self
    }
}

impl MayChange for DeclaredChanges {
    fn may_change(&self, job: &str) -> Vec<String> {
        let mut patterns = self.settings.job(job).may_change;
        patterns.extend(self.all_jobs.iter().cloned());
        patterns
    }
}
