//! Affected jobs, compared with a plain definition.

use super::dice::Dice;
use super::for_each_seed;
use executor_core::job::{ArtifactsDefinition, JobDefinition, Need};
use pipeline::context::PipelineContext;
use pipeline::repository::NoRepository;
use pipeline::{Creation, ResolvedJob, ResolvedPipeline, create};
use pipeline_insight::affected::{AffectedJobs, Cause, Changed, InputPattern, affected};
use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

type Inputs = HashMap<String, Option<Vec<String>>>;

const FOLDERS: [&str; 4] = ["", "a/", "a/b/", "c/"];
const NAMES: [&str; 4] = ["x.c", "x.h", "y.c", "z"];
const PATTERNS: [&str; 10] = [
    "a",
    "a/**",
    "**/*.c",
    "*.h",
    "a/b/*",
    "c/{x,y}.c",
    "**/z",
    "c/",
    "?.c",
    "[!x].c",
];

fn random_jobs(dice: &mut Dice) -> (Vec<JobDefinition>, Inputs) {
    let mut jobs: Vec<JobDefinition> = Vec::new();
    let mut inputs = Inputs::new();
    for at in 0..=dice.below(12) {
        let stage = dice.below(3);
        let earlier = jobs.iter().filter(|job| *job.stage <= *stage.to_string());
        let earlier: Vec<String> = earlier.map(|job| job.name.clone()).collect();
        let some = |dice: &mut Dice| -> Vec<String> {
            earlier
                .iter()
                .filter(|_| dice.once_in(3))
                .cloned()
                .collect()
        };
        let needs = dice.once_in(3).then(|| some(dice));
        let before: BTreeSet<&String> = jobs
            .iter()
            .filter(|job| *job.stage < *stage.to_string())
            .map(|job| &job.name)
            .collect();
        let dependencies = dice.once_in(4).then(|| {
            let names = some(dice).into_iter();
            names.filter(|name| before.contains(name)).collect()
        });
        let job = JobDefinition {
            name: format!("job{at}"),
            stage: stage.to_string(),
            script: Some(vec!["x".to_owned()]),
            needs: needs.map(|names| names.iter().map(Need::of).collect()),
            dependencies,
            artifacts: dice
                .once_in(2)
                .then(|| Box::new(ArtifactsDefinition::default())),
            ..JobDefinition::default()
        };
        let declared = (!dice.once_in(4)).then(|| {
            let count = dice.below(3);
            (0..count)
                .map(|_| (*dice.pick(&PATTERNS)).to_owned())
                .collect()
        });
        inputs.insert(job.name.clone(), declared);
        jobs.push(job);
    }
    (jobs, inputs)
}

fn creation_of(jobs: Vec<JobDefinition>) -> Creation {
    let resolved = ResolvedPipeline {
        stages: (0..3).map(|stage| stage.to_string()).collect(),
        jobs: jobs.into_iter().map(ResolvedJob::from).collect(),
        ..ResolvedPipeline::default()
    };
    create(&resolved, &PipelineContext::default(), &NoRepository)
}

fn find(creation: &Creation, inputs: &Inputs, files: &[String]) -> AffectedJobs {
    let changed = Changed {
        files: Some(files),
        ..Changed::default()
    };
    let inputs = |job: &str| inputs.get(job).cloned().flatten();
    affected(creation, &PipelineContext::default(), &changed, &inputs)
}

/// Returns whether `job` gets something of `other`.
fn is_behind(job: &JobDefinition, other: &JobDefinition) -> bool {
    let needs = job
        .needs
        .iter()
        .flatten()
        .any(|need| need.job == other.name);
    let depends = job
        .dependencies
        .iter()
        .flatten()
        .any(|name| *name == other.name);
    let takes_all = job.needs.is_none() && job.dependencies.is_none();
    needs || depends || (takes_all && other.stage < job.stage && other.artifacts.is_some())
}

/// Adds jobs until none is new.
fn reference(jobs: &[JobDefinition], inputs: &Inputs, files: &[String]) -> BTreeSet<String> {
    let fits = |pattern: &String| {
        let pattern = InputPattern::new(pattern).unwrap();
        files.iter().any(|file| pattern.is_match(file))
    };
    let is_hit = |job: &&JobDefinition| match &inputs[&job.name] {
        Some(patterns) => patterns.iter().any(fits),
        None => !files.is_empty(),
    };
    let mut touched: BTreeSet<String> = jobs
        .iter()
        .filter(is_hit)
        .map(|it| it.name.clone())
        .collect();
    loop {
        let new = jobs.iter().filter(|job| {
            let mut before = jobs.iter().filter(|other| touched.contains(&other.name));
            !touched.contains(&job.name) && before.any(|other| is_behind(job, other))
        });
        let new: Vec<String> = new.map(|job| job.name.clone()).collect();
        if new.is_empty() {
            return touched;
        }
        touched.extend(new);
    }
}

#[test]
fn affected_jobs_agree_with_the_definition() {
    for_each_seed(2000, |dice| {
        let (jobs, inputs) = random_jobs(dice);
        let count = dice.below(4);
        let file = |dice: &mut Dice| match dice.below(8) {
            0 => "a/".to_owned(),
            _ => format!("{}{}", dice.pick(&FOLDERS), dice.pick(&NAMES)),
        };
        let files: Vec<String> = (0..count).map(|_| file(dice)).collect();
        let creation = creation_of(jobs.clone());
        let found = find(&creation, &inputs, &files);
        let case = format!("{files:?}, {inputs:?}, {jobs:?}");
        assert_eq!(found.names(), reference(&jobs, &inputs, &files), "{case}");
        // Each cause is one.
        let names = found.names();
        let job = |name: &str| jobs.iter().find(|job| job.name == name).unwrap();
        for touched in &found.touched {
            let holds = match &touched.cause {
                Cause::Input { path, pattern } => {
                    files.contains(path) && InputPattern::new(pattern).unwrap().is_match(path)
                }
                Cause::UnknownInputs { path } => files.contains(path),
                Cause::Behind { job: other } => {
                    names.contains(other) && is_behind(job(&touched.name), job(other))
                }
                _ => false,
            };
            assert!(holds, "{touched:?} in {case}");
        }
    });
}

/// Two patterns of a job's own each, and a file for every other job: all pairs would be two hundred
/// million comparisons, which are not made ([`Cause::TooMany`] would say so).
#[test]
fn many_jobs_and_files_are_compared_quickly() {
    const COUNT: usize = 10_000;
    let job = |at: usize| JobDefinition {
        name: format!("job{at}"),
        stage: (at % 3).to_string(),
        script: Some(vec!["x".to_owned()]),
        ..JobDefinition::default()
    };
    let creation = creation_of((0..COUNT).map(job).collect());
    let patterns = |at: usize| vec![format!("dir{at}/**"), format!("**/*.e{at}")];
    let inputs = (0..COUNT).map(|at| (format!("job{at}"), Some(patterns(at))));
    let inputs: Inputs = inputs.collect();
    let files = (0..COUNT).map(|at| format!("dir{}/a/b.c", at * 2));
    let files: Vec<String> = files.collect();
    let begin = Instant::now();
    let found = find(&creation, &inputs, &files);
    println!("{COUNT} jobs, {COUNT} files: {:?}", begin.elapsed());
    assert_eq!(found.touched.len(), COUNT / 2);
    let is_input = |cause: &Cause| matches!(cause, Cause::Input { .. });
    assert!(found.touched.iter().all(|job| is_input(&job.cause)));
}

#[test]
fn expensive_patterns_count_as_affected() {
    let count = 4000;
    let job = |at: usize| JobDefinition {
        name: format!("job{at}"),
        stage: "0".to_owned(),
        script: Some(vec!["x".to_owned()]),
        ..JobDefinition::default()
    };
    let creation = creation_of((0..count).map(job).collect());
    let inputs = (0..count).map(|at| (format!("job{at}"), Some(vec![format!("*{at}*")])));
    let files: Vec<String> = (0..4000).map(|at| format!("a/{at}")).collect();
    let found = find(&creation, &inputs.collect(), &files);
    let last = found.touched.last().unwrap();
    assert_eq!(last.cause, Cause::TooMany);
    assert!(!found.untouched.is_empty());
}
