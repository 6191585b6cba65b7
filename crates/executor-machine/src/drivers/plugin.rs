//! A driver that is a program in any language.

use super::program::{run, stderr_tail};
use crate::driver::{DriverError, MachineDriver};
use async_trait::async_trait;
use executor_core::Endpoint;
use process::{Command, ProcessTree, Stdin};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;
use std::path::PathBuf;

/// How many characters of an answer a message quotes.
const QUOTED: usize = 60;

/// The version of the protocol.
const VERSION: u32 = 1;

/// A driver that starts a program for each call, with the call's name as the argument and a JSON object on its standard input, and reads
/// one from its standard output.
///
/// | call | further fields of the request | answer |
/// |---|---|---|
/// | `list` | `prefix` | `{"machines": ["NAME"]}` |
/// | `create` | `name` | `{"endpoint": {"ssh": {"host": ".."}}}`, see [`Endpoint`] |
/// | `check` | `name`, `endpoint` | `{}` |
/// | `remove` | `name` | `{}` |
///
/// All requests have `version` (1), `call`, and `config` with the plugin's settings. A failure is `{"error": ".."}`, or an exit code
/// other than 0; then the end of the standard error is the message. Lines there go to the runner's log.
pub struct PluginDriver {
    program: String,
    directory: PathBuf,
    config: Map<String, Value>,
    processes: ProcessTree,
}

#[derive(Debug, Serialize)]
struct Request<'a> {
    version: u32,
    call: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    prefix: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    endpoint: Option<&'a Endpoint>,
    config: &'a Map<String, Value>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Answer {
    machines: Option<Vec<String>>,
    endpoint: Option<Endpoint>,
    error: Option<String>,
}

impl PluginDriver {
    /// Returns the driver of this program: a name on the `PATH`, or a path from `directory`, where it starts.
    pub fn new(
        program: impl Into<String>,
        directory: impl Into<PathBuf>,
        config: Map<String, Value>,
        processes: ProcessTree,
    ) -> Self {
        Self {
            program: program.into(),
            directory: directory.into(),
            config,
            processes,
        }
    }

    fn request(&self, call: &'static str) -> Request<'_> {
        Request {
            version: VERSION,
            call,
            prefix: None,
            name: None,
            endpoint: None,
            config: &self.config,
        }
    }

    async fn call(&self, request: Request<'_>) -> Result<Answer, DriverError> {
        let program = &self.program;
        let input = serde_json::to_vec(&request).map_err(|error| DriverError {
            message: format!("write the request to {program}"),
            source: Some(error.into()),
        })?;
        let command = if program.contains('/') {
            Command::new(self.directory.join(program))
        } else {
            Command::new(program)
        };
        let command = command
            .arg(request.call)
            .current_dir(&self.directory)
            .stdin(Stdin::Bytes(input));
        let captured = run(&self.processes, command).await?;
        for line in String::from_utf8_lossy(&captured.stderr).lines() {
            tracing::info!(machine = request.name, "{line}");
        }
        let answer = serde_json::from_slice::<Answer>(&captured.stdout);
        if let Ok(Answer {
            error: Some(error), ..
        }) = answer
        {
            return Err(DriverError::new(error));
        }
        let status = captured.outcome.status;
        if !captured.outcome.success() {
            let words = stderr_tail(&captured);
            let message = format!("{program} ended with {status}: {words}");
            return Err(DriverError::new(message.trim_end_matches([' ', ':'])));
        }
        answer.map_err(|error| {
            let text = String::from_utf8_lossy(&captured.stdout);
            let begin: String = text.chars().take(QUOTED).collect();
            DriverError {
                message: format!(
                    "read the answer of {program} to `{}`, which begins with {begin:?}",
                    request.call
                ),
                source: Some(error.into()),
            }
        })
    }

    fn missing(&self, call: &str, field: &str) -> DriverError {
        let program = &self.program;
        DriverError::new(format!(
            "the answer of {program} to `{call}` has no `{field}`"
        ))
    }
}

/// The settings may be secret.
impl fmt::Debug for PluginDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PluginDriver")
            .field("program", &self.program)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl MachineDriver for PluginDriver {
    async fn list(&self, prefix: &str) -> Result<Vec<String>, DriverError> {
        let mut request = self.request("list");
        request.prefix = Some(prefix);
        let machines = self.call(request).await?.machines;
        machines.ok_or_else(|| self.missing("list", "machines"))
    }

    async fn create(&self, name: &str) -> Result<Endpoint, DriverError> {
        let mut request = self.request("create");
        request.name = Some(name);
        let endpoint = self.call(request).await?.endpoint;
        endpoint.ok_or_else(|| self.missing("create", "endpoint"))
    }

    async fn check(&self, name: &str, endpoint: &Endpoint) -> Result<(), DriverError> {
        let mut request = self.request("check");
        (request.name, request.endpoint) = (Some(name), Some(endpoint));
        self.call(request).await.map(drop)
    }

    async fn remove(&self, name: &str) -> Result<(), DriverError> {
        let mut request = self.request("remove");
        request.name = Some(name);
        self.call(request).await.map(drop)
    }
}
