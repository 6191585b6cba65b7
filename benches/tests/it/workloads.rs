//! Runwright accepts generated pipelines without diagnostics.

use benches::Workload;
use pipeline::context::{Commit, PipelineContext};
use pipeline::repository::NoRepository;
use pipeline::{Plan, ResolvedPipeline, Selection, create};

/// Checks that a pipeline yields no diagnostic, and has the jobs and edges that the workload lists.
fn check(workload: &Workload) {
    let checked = ResolvedPipeline::from_text(".gitlab-ci.yml", &workload.yaml());
    let words: Vec<&str> = checked
        .diagnostics
        .iter()
        .map(|found| &*found.message)
        .collect();
    assert_eq!(words, [""; 0]);
    let (resolved, _) = checked.into_result().expect("no errors");
    // The projects of benches use this branch.
    let commit = Commit {
        ref_name: "main".to_owned(),
        ..Commit::default()
    };
    let context = PipelineContext {
        commit,
        ..PipelineContext::default()
    };
    let creation = create(&resolved, &context, &NoRepository);
    let plan = Plan::new(&creation, context, &Selection::default());
    let plan = plan.expect("jobs to run");
    assert_eq!(plan.jobs().len(), workload.jobs().len());
    for (index, (planned, job)) in plan.jobs().iter().zip(workload.jobs()).enumerate() {
        assert_eq!(planned.name(), job.name());
        assert_eq!(planned.needs.as_deref().unwrap_or_default(), job.needs());
        let script = &plan.payload(index).steps[0].script;
        assert_eq!(script.last().map(String::as_str), Some(job.script()));
    }
}

#[test]
fn parallel_jobs_match_the_workload() {
    check(&Workload::one());
    check(&Workload::parallel(50));
}

#[test]
fn layered_jobs_need_two_of_the_layer_before() {
    let workload = Workload::dag(10, 10);
    check(&workload);
    let needs = workload.jobs().iter().map(|job| job.needs().len());
    assert_eq!(needs.sum::<usize>(), 9 * 10 * 2);
    check(&Workload::dag(3, 1));
}

#[test]
fn jobs_to_list_extend_a_template() {
    check(&Workload::list(1000));
}

#[test]
fn job_with_a_long_log_has_a_script_of_one_line() {
    check(&Workload::log(50_000_000));
}
