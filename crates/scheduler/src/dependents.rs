use pipeline::plan::Plan;

/// For each job the jobs that need it, all in one list.
#[derive(Debug, Clone)]
pub(super) struct Dependents {
    /// The place of each job's first dependent, and the end of the list.
    starts: Vec<usize>,
    jobs: Vec<usize>,
}

impl Dependents {
    pub(super) fn new(plan: &Plan) -> Self {
        let needs = |at: usize| plan.jobs()[at].needs.iter().flatten().copied();
        let count = plan.jobs().len();
        let mut starts = vec![0; count + 1];
        for needed in (0..count).flat_map(needs) {
            starts[needed + 1] += 1;
        }
        for at in 0..count {
            starts[at + 1] += starts[at];
        }
        let mut free = starts.clone();
        let mut jobs = vec![0; starts[count]];
        for at in 0..count {
            for needed in needs(at) {
                jobs[free[needed]] = at;
                free[needed] += 1;
            }
        }
        Self { starts, jobs }
    }

    /// Returns the jobs that need `job`.
    pub(super) fn of(&self, job: usize) -> &[usize] {
        &self.jobs[self.starts[job]..self.starts[job + 1]]
    }
}
