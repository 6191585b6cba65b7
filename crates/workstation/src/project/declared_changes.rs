use crate::settings::Settings;
use job_runner::MayChange;

/// Which tracked files jobs may change, by the settings.
#[derive(Debug, Clone)]
pub struct DeclaredChanges {
    settings: Settings,
    everywhere: Vec<String>,
}

impl DeclaredChanges {
    /// Returns what the settings say of each job.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            everywhere: Vec::new(),
        }
    }

    /// Adds files that any job may change, in bitrab's way: `*` stands for slashes too.
    #[must_use]
    pub fn and_everywhere(mut self, patterns: &[String]) -> Self {
        for pattern in patterns {
            self.everywhere.push(pattern.clone());
            if !pattern.starts_with('/') {
                self.everywhere.push(format!("**/{pattern}"));
            }
        }
        self
    }
}

impl MayChange for DeclaredChanges {
    fn may_change(&self, job: &str) -> Vec<String> {
        let mut patterns = self.settings.job(job).may_change;
        patterns.extend(self.everywhere.iter().cloned());
        patterns
    }
}
