//! One workload, several tools, run in turn.

use std::time::Duration;

use crate::{Bench, End, Output, Project, Tool, Workload};

/// So that a peer that goes astray takes neither the day nor the machine.
const TIME_LIMIT: Duration = Duration::from_mins(2);
const MEMORY_LIMIT: u64 = 1 << 30;

/// Tools that get the same work; the first is the one the others are compared with.
#[derive(Debug)]
pub struct Contest {
    workload: Workload,
    tools: Vec<Tool>,
    goals: Vec<(&'static str, f64)>,
    peak_goal: Option<u64>,
    memory_limit: u64,
}

/// What one tool took.
#[derive(Debug, Clone, Default)]
pub struct Results {
    /// What tables call it.
    pub tool: String,
    /// Wall times with the output read through a pipe, by rounds.
    pub piped: Vec<Duration>,
    /// Wall times with the output to `/dev/null`, by rounds.
    pub silent: Vec<Duration>,
    /// What all its processes computed, by runs.
    pub cpu: Vec<Duration>,
    /// The most memory that one of its processes had resident.
    pub peak: u64,
    /// How it ended when that was not well. It takes no part in further rounds.
    pub fault: Option<String>,
    /// How many times slower it is to be at least.
    pub goal: Option<f64>,
    /// How much memory it may take.
    pub peak_goal: Option<u64>,
}

impl Contest {
    /// Begins with the tool that the others are compared with.
    pub fn new(workload: Workload, first: Tool) -> Self {
        Self {
            workload,
            tools: vec![first],
            goals: Vec::new(),
            peak_goal: None,
            memory_limit: MEMORY_LIMIT,
        }
    }

    /// Sets how many bytes each process may write to, files aside. Default: 1 GiB.
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = bytes;
        self
    }

    /// Adds a tool.
    pub fn against(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Says how many times faster than a tool the first one is to be.
    pub fn goal(mut self, tool: &'static str, times: f64) -> Self {
        self.goals.push((tool, times));
        self
    }

    /// Says how much memory the first tool may take.
    pub fn peak_goal(mut self, bytes: u64) -> Self {
        self.peak_goal = Some(bytes);
        self
    }

    /// Returns what tables call it.
    pub fn name(&self) -> &str {
        self.workload.name()
    }

    /// Runs each tool once to warm it up, then all of them in turn for some rounds.
    ///
    /// # Errors
    ///
    /// Fails if a project cannot be made or a program cannot be started.
    pub async fn hold(&self, bench: &Bench, rounds: usize) -> anyhow::Result<Vec<Results>> {
        let mut entrants = Vec::new();
        for (place, tool) in self.tools.iter().enumerate() {
            // Each in a tree of its own: what one leaves behind, another would copy.
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
            // None where nobody read the output.
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
