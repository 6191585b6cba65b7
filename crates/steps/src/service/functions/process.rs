//! The processes that functions run.

use super::engine::Engine;
use super::exchange::{Declared, Exchange};
use super::frame::Env;
use super::result;
use super::words::wrong;
use crate::language::Value;
use crate::service::course::Failure;
use crate::service::shell;
use crate::service::steps::{run_process, write_script};
use crate::wire::v1::StepResult;
use crate::wire::v1::result::ErrorKind;
use crate::wire::v1::step_result::ExecResult;
use process::Command;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

impl Engine<'_> {
    /// Runs a script, which gives and exports what it likes.
    pub(super) async fn script(
        &mut self,
        script: &str,
        layers: &Env,
        exchange: &Exchange,
        told: &mut StepResult,
    ) -> Result<BTreeMap<String, Value>, Failure> {
        if self.request.command.is_empty() {
            return Err(Failure::new(ErrorKind::Start, shell::MISSING));
        }
        let path = exchange.script();
        write_script(&path, script)?;
        let mut command = self.request.command.clone();
        command.push(path.display().to_string());
        let env = self.surroundings.process_env([layers]);
        result::note_whole_env(told, [layers]);
        let work_dir = PathBuf::from(&self.request.work_dir);
        Box::pin(self.process(command, work_dir, env, told)).await?;
        let outputs = exchange.outputs(Declared::Nowhere).map_err(wrong)?;
        self.export(exchange, told)?;
        Ok(outputs)
    }

    /// Runs a process to its end.
    pub(super) async fn process(
        &mut self,
        words: Vec<String>,
        work_dir: PathBuf,
        env: Vec<(OsString, OsString)>,
        told: &mut StepResult,
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
        told.exec_result = Some(exec);
        // Why a process ended its own output says; why it was not started nobody has said.
        judged.map_err(|failure| Failure {
            is_told: failure.kind == ErrorKind::StepFailure,
            ..failure
        })
    }
}
