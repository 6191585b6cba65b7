//! One workload, several tools, run in turn.

use std::time::Duration;

use crate::{Bench, End, Output, Project, Tool, Workload};

/// Keeps a hanging peer from occupying the machine.
const TIME_LIMIT: Duration = Duration::from_mins(2);
const MEMORY_LIMIT: u64 = 1 << 30;

/// Tools with the same work; the others are compared with the first one.
#[derive(Debug)]
pub struct Contest {
    workload: Workload,
    tools: Vec<Tool>,
    goals: Vec<(&'static str, f64)>,
    peak_goal: Option<u64>,
    memory_limit: u64,
}

/// The measurements of one tool.
#[derive(Debug, Clone, Default)]
pub struct Results {
    /// Its name in tables.
    pub tool: String,
    /// Wall times with the output read through a pipe, by rounds.
    pub piped: Vec<Duration>,
    /// Wall times with the output to `/dev/null`, by rounds.
    pub silent: Vec<Duration>,
    /// The CPU time of all its processes, by runs.
    pub cpu: Vec<Duration>,
    /// The highest resident memory of any of its processes.
    pub peak: u64,
    /// The failure that ended its runs, if any. The tool is skipped in later rounds.
    pub fault: Option<String>,
    /// The lowest factor by which it should be slower than the first tool.
    pub goal: Option<f64>,
    /// Its memory goal.
    pub peak_goal: Option<u64>,
}

impl Contest {
    /// Creates a contest with the tool that the others are compared with.
    pub fn new(workload: Workload, first: Tool) -> Self {
        Self {
            workload,
            tools: vec![first],
            goals: Vec::new(),
            peak_goal: None,
            memory_limit: MEMORY_LIMIT,
        }
    }

    /// Limits the writable memory of each process, without file mappings. Default: 1 GiB.
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = bytes;
        self
    }

    /// Adds a tool.
    pub fn against(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Sets the factor by which the first tool should be faster than the named one.
    pub fn goal(mut self, tool: &'static str, times: f64) -> Self {
        self.goals.push((tool, times));
        self
    }

    /// Sets the memory goal of the first tool.
    pub fn peak_goal(mut self, bytes: u64) -> Self {
        self.peak_goal = Some(bytes);
        self
    }

    /// Returns its name in tables.
    pub fn name(&self) -> &str {
        self.workload.name()
    }

    /// Runs each tool once to warm it up, then all of them in turn for the given rounds.
    ///
    /// # Errors
    ///
    /// Fails if a project cannot be created or a program cannot be started.
    pub async fn hold(&self, bench: &Bench, rounds: usize) -> anyhow::Result<Vec<Results>> {
        let mut entrants = Vec::new();
        for (place, tool) in self.tools.iter().enumerate() {
            // Each tool has its own tree, or it would copy the leftovers of another.
            let project = bench.project(&self.workload).await?;
            let goal = self.goals.iter().find(|(name, _)| *name == tool.name());
            entrants.push(Entrant {
                tool,
                project,
                results: Results {
                    goal: goal.map(|(_, times)| *times),
                    peak_goal: self.peak_goal.filter(|_| place == 0),
                    tool: tool.name().to_owned(),
                    ..Results::default()
                },
            });
        }
        for round in 0..=rounds {
            for output in [Output::Pipe, Output::Null] {
                for entrant in &mut entrants {
                    entrant.run(bench, self, output, round == 0).await?;
                }
            }
        }
        Ok(entrants
            .into_iter()
            .map(|entrant| entrant.results)
            .collect())
    }
}

struct Entrant<'a> {
    tool: &'a Tool,
    project: Project,
    results: Results,
}

impl Entrant<'_> {
    async fn run(
        &mut self,
        bench: &Bench,
        contest: &Contest,
        output: Output,
        warm_up: bool,
    ) -> anyhow::Result<()> {
        let results = &mut self.results;
        if results.fault.is_some() {
            return Ok(());
        }
        let (action, memory) = (contest.workload.action(), contest.memory_limit);
        let command = self
            .tool
            .limited(bench, &self.project, action, output, memory);
        let run = bench.run_within(&command, TIME_LIMIT).await?;
        if run.end != End::Success {
            let last_words = run.last_words();
            // `None` where the output was not read.
            let last_line = last_words.lines().next_back();
            let last_line = last_line.map_or_else(String::new, |line| format!(": {line}"));
            let wall = run.wall.as_secs_f64();
            results.fault = Some(format!("{} after {wall:.1} s{last_line}", run.end));
        } else if !warm_up {
            match output {
                Output::Pipe => results.piped.push(run.wall),
                Output::Null => results.silent.push(run.wall),
            }
            results.cpu.push(run.cpu);
            results.peak = results.peak.max(run.peak);
        }
        Ok(())
    }
}
