//! Runs the processes of functions.

use super::Engine;
use super::evaluate::step_failure;
use super::exchange::{Declared, Exchange};
use super::frame::Env;
use super::step_result;
use crate::language::Value;
use crate::service::run_process::{run_process, write_script};
use crate::service::shell;
use crate::service::state::Failure;
use crate::wire::v1::StepResult;
use crate::wire::v1::result::ErrorKind;
use crate::wire::v1::step_result::ExecResult;
use process::Command;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

impl Engine<'_> {
    /// Runs a script, which may have any outputs and exports.
    pub(super) async fn script(
        &mut self,
        script: &str,
        layers: &Env,
        exchange: &Exchange,
        result: &mut StepResult,
    ) -> Result<BTreeMap<String, Value>, Failure> {
        if self.request.command.is_empty() {
            return Err(Failure::new(ErrorKind::Start, shell::MISSING));
        }
        let path = exchange.script();
        write_script(&path, script)?;
        let mut command = self.request.command.clone();
        command.push(path.display().to_string());
        let env = self.variables.process_env([layers]);
        step_result::note_whole_env(result, [layers]);
        let work_dir = PathBuf::from(&self.request.work_dir);
        Box::pin(self.process(command, work_dir, env, result)).await?;
        let outputs = exchange.outputs(Declared::Nowhere).map_err(step_failure)?;
        self.export(exchange, result)?;
        Ok(outputs)
    }

    /// Runs a process to its end.
    pub(super) async fn process(
        &mut self,
        words: Vec<String>,
        work_dir: PathBuf,
        env: Vec<(OsString, OsString)>,
        result: &mut StepResult,
    ) -> Result<(), Failure> {
        let (request, tree) = (self.request, self.tree);
        let mut exec = ExecResult {
            command: words.clone(),
            work_dir: work_dir.display().to_string(),
            exit_code: 0,
        };
        let mut words = words.into_iter();
        let command = Command::new(words.next().unwrap_or_default())
            .args(words)
            .envs(env)
            .current_dir(work_dir);
        let judged = run_process(request, &command, tree, &self.timing).await;
        exec.exit_code = judged.as_ref().err().map_or(0, |failure| failure.exit_code);
        result.exec_result = Some(exec);
        // If the process ended, its output explains why. If it was not started, nothing does yet.
        judged.map_err(|failure| Failure {
            is_logged: failure.kind == ErrorKind::StepFailure,
            ..failure
        })
    }
}
