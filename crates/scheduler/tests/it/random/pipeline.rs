//! Random pipelines.

use super::dice::Dice;
use crate::fake::try_plan;
use executor_core::job::{JobDefinition, Need, RetryDefinition, When};
use pipeline::context::PipelineContext;
use pipeline::{Plan, ResolvedJob, ResolvedPipeline, Selection};
use std::sync::Arc;

/// The exit code that some jobs are allowed to fail with, and some are tried again after.
pub(super) const SPECIAL_CODE: i32 = 42;

/// Returns the plan of up to `most` jobs; some of those that could be are played from the start.
pub(super) fn random_plan(dice: &mut Dice, most: usize) -> Arc<Plan> {
    let stages = 1 + dice.below(4);
    let count = 1 + dice.below(most);
    // Pipelines with and without needs, and those that are mixed.
    let dag = *dice.pick(&[0, 1, 2, 4]);
    let mut jobs: Vec<JobDefinition> = Vec::with_capacity(count);
    for at in 0..count {
        let stage = dice.below(stages);
        let earlier = jobs.iter().filter(|job| *job.stage <= *stage.to_string());
        let earlier: Vec<&str> = earlier.map(|job| &*job.name).collect();
        let needs = (dag > 0 && dice.once_in(dag)).then(|| random_needs(dice, &earlier));
        jobs.push(random_job(dice, at, stage, needs));
    }
    let manual = jobs.iter().filter(|_| dice.once_in(10));
    let selection = Selection {
        manual: manual.map(|job| job.name.clone()).collect(),
        ..Selection::default()
    };
    let resolved = ResolvedPipeline {
        stages: (0..stages).map(|stage| stage.to_string()).collect(),
        jobs: jobs.into_iter().map(ResolvedJob::from).collect(),
        ..ResolvedPipeline::default()
    };
    Arc::new(try_plan(&resolved, PipelineContext::default(), &selection).unwrap())
}

fn random_needs(dice: &mut Dice, earlier: &[&str]) -> Vec<Need> {
    let mut names: Vec<&str> = match earlier {
        [] => Vec::new(),
        _ => (0..dice.below(4)).map(|_| *dice.pick(earlier)).collect(),
    };
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(Need::of).collect()
}

fn random_job(dice: &mut Dice, at: usize, stage: usize, needs: Option<Vec<Need>>) -> JobDefinition {
    use When::{Always, Delayed, Manual, Never, OnFailure, OnSuccess};
    let often = [OnSuccess; 6];
    let all = [OnFailure, Always, Manual, Delayed, OnFailure, Always, Never];
    let when = *dice.pick(&[&often[..], &all].concat());
    let retry = dice.once_in(4).then(|| RetryDefinition {
        max: Some(u32::try_from(dice.below(3)).unwrap()),
        when: None,
        exit_codes: dice.once_in(2).then(|| vec![SPECIAL_CODE]),
    });
    let delay = format!("{} seconds", 1 + dice.below(30));
    JobDefinition {
        name: format!("j{at}"),
        stage: stage.to_string(),
        when,
        start_in: (when == Delayed).then_some(delay),
        resource_group: dice.once_in(8).then(|| "shared".to_owned()),
        allow_failure: dice.once_in(4),
        allow_failure_exit_codes: dice.once_in(6).then(|| vec![SPECIAL_CODE]),
        needs,
        retry,
        script: Some(vec!["true".to_owned()]),
        ..JobDefinition::default()
    }
}
