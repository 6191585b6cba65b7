//! Label values of bounded number.

use executor_core::{BuildStage, RunnerConfig};
use parking_lot::Mutex;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Replaces all further values of a bounded label.
const OTHER: &str = "other";

/// The labels that identify a runner, in order.
#[derive(Debug, Clone)]
pub(super) struct RunnerLabels([String; 3]);

impl RunnerLabels {
    pub(super) fn new(config: &RunnerConfig, system_id: &str) -> Self {
        Self([
            config.short_token().to_owned(),
            config.name.clone(),
            system_id.to_owned(),
        ])
    }

    pub(super) fn all(&self) -> [&str; 3] {
        self.0.each_ref().map(String::as_str)
    }

    pub(super) fn and<'l>(&'l self, label: &'l str) -> [&'l str; 4] {
        let [runner, name, system_id] = self.all();
        [runner, name, system_id, label]
    }
}

/// Returns the stage as a label: one value for all steps that a job names itself.
pub(super) fn stage_label(name: Cow<'_, str>) -> Cow<'_, str> {
    match &*name {
        "step_script" | "step_release" | "step_run" => name,
        step if step.starts_with("step_") => Cow::Borrowed("step_other"),
        _ => name,
    }
}

/// Returns the stage as a label.
pub(super) fn build_stage_label(stage: &BuildStage) -> Cow<'static, str> {
    stage_label(stage.name())
}

/// Keeps the first values of a label and replaces later ones with a common value.
#[derive(Debug, Default)]
pub(super) struct BoundedLabel(Mutex<BTreeSet<String>>);

impl BoundedLabel {
    /// The number of distinct values.
    pub(super) const MOST: usize = 64;

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
    fn job_named_steps_share_one_label() {
        let check = |stage: BuildStage, expect| assert_eq!(build_stage_label(&stage), expect);
        check(BuildStage::GetSources, "get_sources");
        check(BuildStage::script(), "step_script");
        check(BuildStage::StepRun, "step_run");
        check(BuildStage::Step("release".to_owned()), "step_release");
        check(BuildStage::Step("4f2a".to_owned()), "step_other");
    }

    #[test]
    fn bounded_label_limits_its_values() {
        let label = BoundedLabel::default();
        let values: Vec<_> = (0..1000).map(|number| format!("stage_{number}")).collect();
        let told: BTreeSet<_> = values.iter().map(|value| label.bound(value)).collect();
        assert_eq!(told.len(), BoundedLabel::MOST + 1);
        assert!(told.contains(OTHER));
        assert_eq!(label.bound("stage_0"), "stage_0");
    }
}
