//! Generated pipelines of several shapes.

/// The length of a log line with its newline, typical of compiler output.
const LINE_LENGTH: usize = 100;

const LISTED_STAGES: usize = 5;

/// The template that listed jobs extend and refer to.
const BASE: &str = "
.setup:
  script: [make tools, make deps]
.on-main:
  rules:
    - if: $CI_COMMIT_BRANCH == \"main\"
      variables: {DEPTH: full}
.base:
  variables: {KIND: generated}
  artifacts: {paths: [out], expire_in: 1 day}
  retry: 1
";

/// The keys of each listed job.
const LISTED_KEYS: &str = "  extends: .base
  before_script:
    - !reference [.setup, script]
  rules:
    - !reference [.on-main, rules]
    - if: $CI_PIPELINE_SOURCE == \"merge_request_event\"
      changes: [src/**/*]
";

/// A pipeline to measure, and the action to measure. Its text is deterministic.
#[derive(Debug, Clone)]
pub struct Workload {
    name: String,
    action: Action,
    stages: usize,
    /// The text before the jobs.
    head: &'static str,
    jobs: Vec<Job>,
}

/// The measured action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Its jobs run.
    Run,
    /// Its jobs are listed.
    List,
}

/// One job of a [`Workload`].
#[derive(Debug, Clone)]
pub struct Job {
    name: String,
    stage: usize,
    script: String,
    /// Additional keys, as lines.
    keys: String,
    /// Indexes of earlier jobs in the list.
    needs: Vec<usize>,
}

impl Workload {
    /// Creates one job that does nothing.
    pub fn one() -> Self {
        Self::parallel(1)
    }

    /// Creates jobs that do nothing, all in one stage.
    pub fn parallel(count: usize) -> Self {
        let name = match count {
            1 => "1 job".to_owned(),
            _ => format!("{count} jobs, one stage"),
        };
        let jobs = (0..count).map(|number| Job::new(format!("job-{number}"), "true"));
        Self::new(name, jobs.collect())
    }

    /// Creates `depth` layers of `width` jobs; each job needs two of the layer before.
    ///
    /// With more needs the number of paths through the graph explodes, and tools that walk paths rather than edges
    /// never finish.
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
        Self::new(format!("{} jobs, depth {depth}", depth * width), jobs)
    }

    /// Creates one job that writes this many bytes in lines of a hundred.
    ///
    /// The producer must be cheap, or the bench measures it instead: this one writes about as fast as a pipe accepts
    /// data.
    pub fn log(bytes: usize) -> Self {
        let line = "x".repeat(LINE_LENGTH - 1);
        // `yes` dies when `head` has enough, which would fail the job under `pipefail`.
        let script = format!("{{ yes {line} || :; }} | head -c {bytes}");
        let name = format!("{} MB of log", bytes / 1_000_000);
        Self::new(name, vec![Job::new("job".to_owned(), &script)])
    }

    /// Creates jobs in five stages with common keywords, to be listed.
    pub fn list(count: usize) -> Self {
        let jobs = (0..count).map(|number| {
            let mut job = Job::new(format!("job-{number}"), "make");
            job.stage = number * LISTED_STAGES / count;
            job.keys = format!("{LISTED_KEYS}  variables: {{PART: \"{number}\"}}\n");
            job
        });
        Self {
            action: Action::List,
            stages: LISTED_STAGES,
            head: BASE,
            ..Self::new(format!("{count} jobs listed"), jobs.collect())
        }
    }

    fn new(name: String, jobs: Vec<Job>) -> Self {
        Self {
            name,
            action: Action::Run,
            stages: 1,
            head: "",
            jobs,
        }
    }

    /// Returns its name in tables.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the jobs; each follows those it needs.
    pub fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    /// Returns the measured action.
    pub fn action(&self) -> Action {
        self.action
    }

    /// Returns the text of its `.gitlab-ci.yml`.
    pub fn yaml(&self) -> String {
        // Listed explicitly, because one peer has no default stages.
        let stages = (0..self.stages).map(|stage| format!("stage-{stage}"));
        let stages = stages.collect::<Vec<_>>().join(", ");
        let mut text = format!("stages: [{stages}]\n{}", self.head);
        for job in &self.jobs {
            text.push_str(&self.job_yaml(job));
        }
        text
    }

    fn job_yaml(&self, job: &Job) -> String {
        let (name, stage, script, keys) = (&job.name, job.stage, &job.script, &job.keys);
        let needs = job.needs.iter().map(|&need| &*self.jobs[need].name);
        let needs = match needs.collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => none,
            some => format!("  needs: [{some}]\n"),
        };
        // Rust's quoting of plain ASCII is also valid YAML.
        format!("\n{name}:\n  stage: stage-{stage}\n  script: [{script:?}]\n{keys}{needs}")
    }
}

impl Job {
    fn new(name: String, script: &str) -> Self {
        Self {
            name,
            stage: 0,
            script: script.to_owned(),
            keys: String::new(),
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

    /// Returns the indexes of the jobs that must finish before it starts.
    pub fn needs(&self) -> &[usize] {
        &self.needs
    }
}
