//! Pipelines by shape.

use std::fmt::Write;

/// A pipeline for measuring: the same text each time it is made.
#[derive(Debug, Clone)]
pub struct Workload {
    name: String,
    jobs: Vec<Job>,
}

/// One job of a [`Workload`].
#[derive(Debug, Clone)]
pub struct Job {
    name: String,
    script: String,
    /// Indexes of jobs that come earlier in the list.
    needs: Vec<usize>,
}

impl Workload {
    /// Makes one job that does nothing.
    pub fn one() -> Self {
        Self::parallel(1)
    }

    /// Makes jobs that do nothing, all in one stage.
    pub fn parallel(count: usize) -> Self {
        let name = match count {
            1 => "1 job".to_owned(),
            _ => format!("{count} jobs, one stage"),
        };
        let jobs = (0..count).map(|number| Job::new(format!("job-{number}"), "true"));
        Self {
            name,
            jobs: jobs.collect(),
        }
    }

    /// Makes `depth` layers of `width` jobs; each job needs two of the layer before.
    ///
    /// With more needs the number of paths through the graph explodes, and tools that walk paths
    /// rather than edges never end.
    pub fn dag(depth: usize, width: usize) -> Self {
        let mut jobs = Vec::with_capacity(depth * width);
        for layer in 0..depth {
            for place in 0..width {
                let mut job = Job::new(format!("job-{layer}-{place}"), "true");
                if let Some(above) = layer.checked_sub(1).map(|above| above * width) {
                    job.needs = vec![above + place];
                    if width > 1 {
                        job.needs.push(above + (place + 1) % width);
                    }
                }
                jobs.push(job);
            }
        }
        Self {
            name: format!("{} jobs, depth {depth}", depth * width),
            jobs,
        }
    }

    /// Returns what tables call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the jobs; each comes after those it needs.
    pub fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    /// Returns the text of its `.gitlab-ci.yml`.
    pub fn yaml(&self) -> String {
        // Named in full, because one peer knows no default stages.
        let mut text = "stages: [test]\n".to_owned();
        for job in &self.jobs {
            let (name, script) = (&job.name, &job.script);
            write!(text, "\n{name}:\n  stage: test\n  script: [\"{script}\"]\n")
                .expect("a string takes all text");
            if !job.needs.is_empty() {
                let needs: Vec<&str> = job
                    .needs
                    .iter()
                    .map(|&need| self.jobs[need].name.as_str())
                    .collect();
                writeln!(text, "  needs: [{}]", needs.join(", ")).expect("a string takes all text");
            }
        }
        text
    }
}

impl Job {
    fn new(name: String, script: &str) -> Self {
        Self {
            name,
            script: script.to_owned(),
            needs: Vec::new(),
        }
    }

    /// Returns the name, unique in its pipeline.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the one line of its script.
    pub fn script(&self) -> &str {
        &self.script
    }

    /// Returns the indexes of the jobs that must end before it starts.
    pub fn needs(&self) -> &[usize] {
        &self.needs
    }
}
