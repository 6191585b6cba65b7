use super::expand::Expansion;
use crate::config::{Job, NeedEntry};
use std::collections::HashMap;

/// Returns the jobs of one circle of needs, each needing the next, the last needing the first.
///
/// Works on a stack of its own, so that a long chain of needs cannot exhaust the thread's.
pub(super) fn find_cycle<'c>(jobs: &'c [Job], expansion: &Expansion<'c>) -> Option<Vec<&'c Job>> {
    let indices: HashMap<&str, usize> = (0..).zip(jobs).map(|(at, job)| (&*job.name, at)).collect();
    let needed: Vec<Vec<usize>> = jobs
        .iter()
        .map(|job| {
            let needs = job.needs.iter().flatten();
            let found = needs.filter_map(|need| match &need.value {
                NeedEntry::Job(need) => expansion.find(&need.job),
                NeedEntry::Cross(_) => None,
            });
            found.map(|job| indices[&*job.name]).collect()
        })
        .collect();

    let mut states = vec![State::Unseen; jobs.len()];
    for start in 0..jobs.len() {
        if states[start] != State::Unseen {
            continue;
        }
        // Each entry is a job and how many of its needs were followed already.
        let mut path: Vec<(usize, usize)> = vec![(start, 0)];
        states[start] = State::OnPath;
        while let Some((job, followed)) = path.last_mut() {
            let Some(&next) = needed[*job].get(*followed) else {
                states[*job] = State::Done;
                path.pop();
                continue;
            };
            *followed += 1;
            match states[next] {
                State::Done => {}
                State::Unseen => {
                    states[next] = State::OnPath;
                    path.push((next, 0));
                }
                State::OnPath => {
                    let circle = path.iter().map(|&(job, _)| job);
                    let circle = circle.skip_while(|&job| job != next);
                    return Some(circle.map(|job| &jobs[job]).collect());
                }
            }
        }
    }
    None
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Unseen,
    OnPath,
    Done,
}
