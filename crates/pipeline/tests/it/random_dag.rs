//! Whatever the graph and the order of events, a job runs once and after what it needs.

use crate::fake::plan;
use pipeline::Status;
use pipeline::scheduler::{Finish, Machine};
use proptest::collection::vec;
use proptest::prelude::*;
use std::fmt::Write as _;

/// A job of a random pipeline: its stage, which jobs before it it needs, and whether it fails.
#[derive(Debug, Clone)]
struct RandomJob {
    stage: usize,
    needs: Option<Vec<prop::sample::Index>>,
    fails: bool,
    may_fail: bool,
}

fn random_job() -> impl Strategy<Value = RandomJob> {
    let needs = prop::option::of(vec(any::<prop::sample::Index>(), 0..4));
    (0..4_usize, needs, prop::bool::weighted(0.1), any::<bool>()).prop_map(
        |(stage, needs, fails, may_fail)| RandomJob {
            stage,
            needs,
            fails,
            may_fail,
        },
    )
}

/// Returns the file of the jobs, and for each the jobs it must not start before.
fn file(jobs: &[RandomJob]) -> (String, Vec<Vec<usize>>) {
    let mut text = "stages: [s0, s1, s2, s3]\n".to_owned();
    let mut before = Vec::new();
    for (at, job) in jobs.iter().enumerate() {
        let stage = job.stage;
        let may_fail = job.may_fail;
        write!(
            text,
            "j{at}: {{stage: s{stage}, script: x, allow_failure: {may_fail}"
        )
        .unwrap();
        let Some(needs) = &job.needs else {
            let earlier = (0..jobs.len()).filter(|&other| jobs[other].stage < stage);
            before.push(earlier.collect());
            text += "}\n";
            continue;
        };
        let candidates: Vec<usize> = (0..at)
            .filter(|&other| jobs[other].stage <= stage)
            .collect();
        let mut needed: Vec<usize> = match candidates.as_slice() {
            [] => Vec::new(),
            _ => needs.iter().map(|need| *need.get(&candidates)).collect(),
        };
        needed.sort_unstable();
        needed.dedup();
        let names: Vec<String> = needed.iter().map(|need| format!("j{need}")).collect();
        writeln!(text, ", needs: [{}]}}", names.join(", ")).unwrap();
        before.push(needed);
    }
    (text, before)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_job_runs_at_most_once_and_never_before_its_needs(
        jobs in vec(random_job(), 1..30),
        order in vec(any::<prop::sample::Index>(), 64),
    ) {
        let (text, before) = file(&jobs);
        let plan = plan(&text);
        let place = |job: usize| plan.position(&format!("j{job}")).unwrap();
        let number = |place: usize| plan.jobs()[place].name()[1..].parse::<usize>().unwrap();
        let mut machine = Machine::new(&plan);
        let mut ready: Vec<usize> = Vec::new();
        let mut ran = vec![0; jobs.len()];
        let mut changes = machine.start();
        let mut picks = order.iter().cycle();
        loop {
            let pending = changes.iter().filter(|change| change.status == Status::Pending);
            ready.extend(pending.map(|change| change.job));
            if ready.is_empty() {
                break;
            }
            let picked = picks.next().unwrap().index(ready.len());
            let at = ready.swap_remove(picked);
            let job = number(at);
            ran[job] += 1;
            for &needed in &before[job] {
                let status = machine.status(place(needed));
                prop_assert!(status.is_final(), "j{job} starts while j{needed} is {status}");
            }
            machine.started(at);
            let finish = if jobs[job].fails {
                Finish::Failed { exit_code: Some(1), reason: Some("script_failure") }
            } else {
                Finish::Success
            };
            changes = machine.finished(at, finish);
        }
        prop_assert!(machine.is_finished());
        prop_assert!(ran.iter().all(|&times| times <= 1));
        prop_assert!((0..jobs.len()).all(|at| machine.status(at).is_final()));
        let failed = (0..jobs.len()).any(|job| jobs[job].fails && !jobs[job].may_fail && ran[job] == 1);
        prop_assert_eq!(machine.pipeline_status() == Status::Failed, failed);
    }
}
