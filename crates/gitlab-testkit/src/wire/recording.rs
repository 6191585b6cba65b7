use super::difference::Difference;
use super::{Values, compare, recorded, repository, zip};
use crate::{Call, JobServer, Rule, Watch};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, fs};

/// The token that a recorded runner got when it reset its own.
const ROTATED_TOKEN: &str = "glrt-recRotatedToken0001";

/// The recording of one scenario.
#[derive(Debug, Clone)]
pub struct Recording {
    json: Value,
}

/// A command of a recording that runs commands in place of jobs.
#[derive(Debug, Clone)]
pub struct CommandStep {
    /// The arguments, with placeholders.
    pub arguments: Vec<String>,
    /// The exit status.
    pub exit: Option<i64>,
    /// The answers that differ from the usual ones.
    pub rules: Vec<Rule>,
    /// The whole step.
    pub json: Value,
}

impl Recording {
    /// Reads a recording.
    ///
    /// # Panics
    ///
    /// If the file cannot be read or is not JSON.
    pub fn load(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        let text = fs::read_to_string(path);
        let text = text.unwrap_or_else(|error| panic!("read {}: {error}", path.display()));
        let json = serde_json::from_str(&text);
        let json = json.unwrap_or_else(|error| panic!("parse {}: {error}", path.display()));
        Self { json }
    }

    /// Returns the folder of the recordings: `RUNWRIGHT_RECORDINGS`, or `shared/vectors/runner-wire` in a folder above
    /// the workspace; `None` if they are not installed.
    pub fn folder() -> Option<PathBuf> {
        if let Some(folder) = env::var_os("RUNWRIGHT_RECORDINGS") {
            return Some(PathBuf::from(folder));
        }
        let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
        let mut folders = above.map(|it| it.join("shared/vectors/runner-wire"));
        folders.find(|folder| folder.is_dir())
    }

    /// Returns the name of the scenario.
    pub fn name(&self) -> &str {
        self.json["name"].as_str().unwrap_or_default()
    }

    /// Returns the executor of the recorded runner.
    pub fn executor(&self) -> &str {
        self.json["executor"].as_str().unwrap_or_default()
    }

    /// Returns the whole recording.
    pub fn json(&self) -> &Value {
        &self.json
    }

    /// Returns the settings `global` and `runners` of the runner.
    pub fn settings(&self, values: &Values) -> Value {
        values.json(&self.json["settings"])
    }

    /// Returns the job payloads in the order in which they were handed out.
    pub fn jobs(&self, values: &Values) -> Vec<Value> {
        let jobs = self.json["jobs"].as_array().into_iter().flatten();
        jobs.map(|job| values.json(job)).collect()
    }

    /// Returns the rules of the server.
    pub fn rules(&self) -> Vec<Rule> {
        rules(&self.json["server"]["rules"])
    }

    /// Returns the watches of the server; `send` sends a signal to the runner.
    pub fn watches(&self, send: impl Fn(&str) + Send + Sync + 'static) -> Vec<Watch> {
        let send = Arc::new(send);
        let watches = self.json["server"]["watches"].as_array();
        let watches = watches.into_iter().flatten().map(|watch| {
            let send = Arc::clone(&send);
            Watch::from_json(watch, move |signal| send(signal))
        });
        watches.collect()
    }

    /// Returns the commands of a `cli-*` recording.
    pub fn steps(&self) -> Vec<CommandStep> {
        let steps = self.json["steps"].as_array().into_iter().flatten();
        let steps = steps.map(|step| CommandStep {
            arguments: strings(&step["argv"]),
            exit: step["exit"].as_i64(),
            rules: rules(&step["answers"]),
            json: step.clone(),
        });
        steps.collect()
    }

    /// Makes a server behave as in the recording: see [`Recording::prepare`], creates the repository, and queues the jobs
    /// with a commit of that repository.
    pub fn serve(
        &self,
        server: &JobServer,
        values: &Values,
        send: impl Fn(&str) + Send + Sync + 'static,
    ) {
        self.prepare(server, values, send);
        for job in self.jobs(values) {
            server.queue(repository::with_commit(server, job));
        }
    }

    /// Adds the rules and watches of the recording to a server, and the artifacts that its jobs depend on. `send` sends
    /// a signal, such as `SIGTERM`, to the runner.
    pub fn prepare(
        &self,
        server: &JobServer,
        values: &Values,
        send: impl Fn(&str) + Send + Sync + 'static,
    ) {
        for rule in self.rules() {
            server.rule(rule);
        }
        for watch in self.watches(send) {
            server.watch(watch);
        }
        let settings = &self.json["server"];
        if settings.get("trace_update_interval").is_some() {
            server.trace_update_interval(settings["trace_update_interval"].as_u64());
        }
        server.next_runner_token(ROTATED_TOKEN);
        for job in self.jobs(values) {
            add_dependencies(server, &job);
        }
    }

    /// Compares the calls of a runner with the recorded ones. Git calls and empty answers to job requests are left out,
    /// and pieces of the trace that follow each other count as one.
    pub fn compare(&self, calls: &[Call]) -> Vec<Difference> {
        let recorded = recorded::read(&self.json["requests"]);
        compare::compare(&recorded, &self.json["infos"], calls)
    }

    /// Compares the calls of one command of a `cli-*` recording.
    ///
    /// # Panics
    ///
    /// If the recording has no such step.
    pub fn compare_step(&self, step: usize, calls: &[Call]) -> Vec<Difference> {
        let steps = self.json["steps"].as_array();
        let step = steps
            .and_then(|all| all.get(step))
            .expect("a step of the recording");
        let recorded = recorded::read(&step["requests"]);
        compare::compare(&recorded, &self.json["infos"], calls)
    }
}

fn rules(json: &Value) -> Vec<Rule> {
    let rules = json.as_array().into_iter().flatten();
    rules.map(Rule::from_json).collect()
}

fn strings(json: &Value) -> Vec<String> {
    let all = json.as_array().into_iter().flatten();
    all.map(|one| one.as_str().unwrap_or_default().to_owned())
        .collect()
}

/// Adds the artifacts of the jobs that a job depends on.
fn add_dependencies(server: &JobServer, job: &Value) {
    let all = job["dependencies"].as_array().into_iter().flatten();
    for one in all {
        let name = one["artifacts_file"]["filename"]
            .as_str()
            .unwrap_or_default();
        let Some(id) = one["id"].as_u64().filter(|_| !name.is_empty()) else {
            continue;
        };
        let archive = zip::archive("from_dependency.txt", b"from dependency\n");
        server.artifact(id, name, archive);
    }
}
