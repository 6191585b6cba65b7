//! The processes that functions run.

use super::engine::Engine;
use super::exchange::{Declared, Exchange};
use super::frame::Env;
use super::words::wrong;
use crate::language::Value;
use crate::service::course::Failure;
use crate::service::error::words as words_of;
use crate::service::log_output::LogOutput;
use crate::service::shell;
use crate::service::steps::judge;
use crate::wire::v1::StepResult;
use crate::wire::v1::result::ErrorKind;
use crate::wire::v1::step_result::ExecResult;
use fail_point::fail_point;
use process::Command;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
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
        let write = || -> std::io::Result<()> {
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).mode(0o600);
            options.open(&path)?.write_all(script.as_bytes())
        };
        fail_point!("steps::script::write", write()).map_err(|error| {
            let words = format!("cannot write script {}: {error}", path.display());
            Failure::new(ErrorKind::Internal, words)
        })?;
        let mut command = self.request.command.clone();
        command.push(path.display().to_string());
        let env = self.surroundings.process_env([layers]);
        self.tell_env(told, [layers]);
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
        let mut result = ExecResult {
            command: words.iter().map(|word| request.log.masked(word)).collect(),
            work_dir: work_dir.display().to_string(),
            exit_code: 0,
        };
        let mut words = words.into_iter();
        let command = Command::new(words.next().unwrap_or_default())
            .args(words)
            .envs(env)
            .current_dir(work_dir);
        let process = tree
            .spawn(&command)
            .map_err(|error| Failure::new(ErrorKind::Start, words_of(&error)))?;
        let outcome = process
            .run(&mut LogOutput(request), &request.cancellation, &self.timing)
            .await;
        let outcome =
            outcome.map_err(|error| Failure::new(ErrorKind::Internal, words_of(&error)))?;
        request.update(|course| course.add(&outcome));
        let judged = judge(&outcome, &request.cancellation);
        result.exit_code = judged.as_ref().err().map_or(0, |failure| failure.exit_code);
        told.exec_result = Some(result);
        judged.map_err(|failure| Failure {
            is_told: true,
            ..failure
        })
    }
}
