//! Label values of bounded number.

use executor_core::RunnerConfig;
use parking_lot::Mutex;
use std::collections::BTreeSet;

/// Replaces all further values of a bounded label.
const OTHER: &str = "other";

/// The labels of a runner: `runner`, `runner_name` and `system_id`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RunnerLabels([String; 3]);

impl RunnerLabels {
    pub(super) fn new(config: &RunnerConfig, system_id: &str) -> Self {
        Self([
            config.short_token().to_owned(),
            config.name.clone(),
            system_id.to_owned(),
        ])
    }

    /// Returns the label `runner`.
    pub(super) fn runner(&self) -> &str {
        let [runner, _, _] = &self.0;
        runner
    }

    pub(super) fn all(&self) -> [&str; 3] {
        self.0.each_ref().map(String::as_str)
    }

    /// Returns `runner` and `system_id`.
    pub(super) fn without_name(&self) -> [&str; 2] {
        let [runner, _, system_id] = self.all();
        [runner, system_id]
    }

    pub(super) fn and<'l>(&'l self, label: &'l str) -> [&'l str; 4] {
        let [runner, name, system_id] = self.all();
        [runner, name, system_id, label]
    }
}

/// Returns the label of a stage: one value for all steps that a job names itself.
pub(super) fn stage_label(stage: &str) -> &str {
    match stage {
        "step_script" | "step_release" | "step_run" => stage,
        step if step.starts_with("step_") => "step_other",
        _ => stage,
    }
}

/// Keeps the first values of a label and replaces later ones with a common value.
#[derive(Debug, Default)]
pub(super) struct BoundedLabel(Mutex<BTreeSet<String>>);

impl BoundedLabel {
    /// The number of distinct values.
    const MOST: usize = 64;

    /// Returns the value if it is one of the first, otherwise the common value.
    pub(super) fn bound<'v>(&self, value: &'v str) -> &'v str {
        let mut known = self.0.lock();
        if known.contains(value) {
            return value;
        }
        if known.len() == Self::MOST {
            return OTHER;
        }
        known.insert(value.to_owned());
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_cannot_add_values_without_limit() {
        assert_eq!(stage_label("step_script"), "step_script");
        assert_eq!(stage_label("step_4f2a"), "step_other");
        assert_eq!(stage_label("get_sources"), "get_sources");
        let label = BoundedLabel::default();
        let names: Vec<String> = (0..200).map(|number| format!("stage_{number}")).collect();
        let values: BTreeSet<&str> = names.iter().map(|name| label.bound(name)).collect();
        assert_eq!(values.len(), BoundedLabel::MOST + 1);
        assert!(values.contains(OTHER));
    }
}
