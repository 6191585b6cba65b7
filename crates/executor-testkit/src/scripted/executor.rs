use crate::event::Event;
use crate::scripted::Moment;
use crate::scripted::call_order::CallOrder;
use crate::scripted::provider::ScriptedAbilities;
use crate::scripted::script::Script;
use executor_core::ability::Abilities;
use executor_core::{
    BuildError, Cancellation, Executor, ExecutorStage, JobOutcome, JobTrace, PrepareOptions,
    PreparedEnvironment, ShellInfo, StageCell, StageCommand, StageResult, TraceStream,
};
use std::sync::Arc;

/// An executor that follows its provider's directives and starts no process.
///
/// A [`ScriptedProvider`](crate::ScriptedProvider) creates it and stores its records: calls, commands,
/// and violations of the contract. It obeys cancellation as the contract requires, on tokio's clock.
#[derive(Debug)]
pub struct ScriptedExecutor {
    number: u32,
    script: Arc<Script>,
    shell: ShellInfo,
    stage: StageCell,
    calls: CallOrder,
    job: String,
    trace: Option<Arc<dyn JobTrace>>,
    abilities: ScriptedAbilities,
}

impl ScriptedExecutor {
    pub(crate) fn new(number: u32, script: Arc<Script>) -> Self {
        let (shell, abilities) = {
            let state = script.state();
            (state.shell.clone(), state.abilities.clone())
        };
        Self {
            number,
            script,
            shell,
            stage: StageCell::new(),
            calls: CallOrder::default(),
            job: String::new(),
            trace: None,
            abilities,
        }
    }

    /// Returns its number among its provider's executors, from 1.
    pub fn number(&self) -> u32 {
        self.number
    }

    fn complain(&self, verdict: Result<(), String>) {
        if let Err(what) = verdict {
            self.script
                .violation(format!("executor({}): {what}", self.number));
        }
    }

    /// Starts a call that must be awaited to its end.
    fn awaited(&self, call: &str) -> AwaitedCall {
        AwaitedCall {
            script: Arc::clone(&self.script),
            call: Some(format!("executor({}): {call}", self.number)),
        }
    }

    fn print(&self, stdout: &[u8], stderr: &[u8]) {
        let Some(trace) = &self.trace else { return };
        for (stream, bytes) in [(TraceStream::STDOUT, stdout), (TraceStream::STDERR, stderr)] {
            if !bytes.is_empty() {
                trace.write(stream, bytes);
            }
        }
    }

    /// Records whether the executor needs a cleanup.
    fn set_open(&self, open: bool) {
        let mut state = self.script.state();
        state.open.retain(|number| *number != self.number);
        if open {
            state.open.push(self.number);
        }
    }
}

#[async_trait::async_trait]
impl Executor for ScriptedExecutor {
    fn shell(&self) -> &ShellInfo {
        self.script.record(Event::Shell {
            executor: self.number,
        });
        &self.shell
    }

    async fn prepare(
        &mut self,
        options: PrepareOptions,
        cancellation: &Cancellation,
    ) -> Result<PreparedEnvironment, BuildError> {
        self.script.record(Event::Prepare {
            executor: self.number,
        });
        let verdict = self.calls.prepare();
        self.complain(verdict);
        self.set_open(true);
        self.stage.set(ExecutorStage::PREPARE);
        self.job.clone_from(&options.job.job_info.name);
        self.trace = Some(Arc::clone(&options.trace));
        let announced = self.script.state().planned.clone();
        if let (Some(planned), Some(workspace)) = (&options.planned, announced) {
            planned.announce(workspace);
        }
        self.script.state().prepared.push(options);

        let directive = self.script.directive(&Moment::Prepare, &self.job);
        let call = self.awaited("prepare");
        let (stdout, stderr) = directive.output();
        self.print(stdout, stderr);
        let waited = directive.wait(cancellation).await;
        call.ended();
        waited?;
        if let Some(failure) = directive.failure() {
            return Err(failure.raise());
        }
        self.calls.prepared();
        Ok(self.script.environment(self.shell.clone()))
    }

    async fn run(
        &mut self,
        command: StageCommand,
        cancellation: &Cancellation,
    ) -> Result<StageResult, BuildError> {
        let stage = command.stage.clone();
        let verdict = self.calls.run(&stage);
        self.complain(verdict);
        self.set_open(true);
        self.stage.set(ExecutorStage::RUN);
        self.script.state().commands.push(command);
        // Recorded last, so that a test that waits for the event finds all other records.
        self.script.record(Event::Run {
            executor: self.number,
            stage: stage.clone(),
        });

        let call = self.awaited(&format!("run({stage})"));
        let directive = self.script.directive(&Moment::Stage(stage), &self.job);
        directive.act();
        let (stdout, stderr) = directive.output();
        self.print(stdout, stderr);
        let waited = directive.wait(cancellation).await;
        call.ended();
        waited?;
        match directive.failure() {
            Some(failure) => Err(failure.raise()),
            None => Ok(directive.result()),
        }
    }

    async fn finish(&mut self, outcome: &JobOutcome) {
        self.script.record(Event::Finish {
            executor: self.number,
            state: outcome.state,
        });
        let verdict = self.calls.finish();
        self.complain(verdict);
        self.stage.set(ExecutorStage::FINISH);
        let directive = self.script.directive(&Moment::Finish, &self.job);
        let call = self.awaited("finish");
        directive.pass().await;
        call.ended();
        if let Some(failure) = directive.failure() {
            // `finish` returns no error, so only a panic has an effect.
            let _ = failure.raise();
        }
    }

    async fn cleanup(&mut self) -> Result<(), BuildError> {
        self.script.record(Event::Cleanup {
            executor: self.number,
        });
        self.calls.cleanup();
        self.set_open(false);
        self.stage.set(ExecutorStage::CLEANUP);
        let directive = self.script.directive(&Moment::Cleanup, &self.job);
        let call = self.awaited("cleanup");
        directive.pass().await;
        call.ended();
        match directive.failure() {
            Some(failure) => Err(failure.raise()),
            None => Ok(()),
        }
    }

    fn current_stage(&self) -> ExecutorStage {
        self.stage.get()
    }

    fn set_current_stage(&self, stage: ExecutorStage) {
        self.stage.set(stage);
    }

    fn stage_cell(&self) -> StageCell {
        self.stage.clone()
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            steps: self.abilities.steps.clone(),
            terminal: self.abilities.terminal.clone(),
            file_transfer: self.abilities.file_transfer.clone(),
            port_proxy: self.abilities.port_proxy.clone(),
            suspend: self.abilities.suspend.clone(),
            resumable: self.abilities.resumable.clone(),
        }
    }
}

impl Drop for ScriptedExecutor {
    fn drop(&mut self) {
        let verdict = self.calls.dropped();
        self.complain(verdict);
    }
}

/// Records a violation when the future of a call is dropped before its end.
struct AwaitedCall {
    script: Arc<Script>,
    call: Option<String>,
}

impl AwaitedCall {
    fn ended(mut self) {
        self.call = None;
    }
}

impl Drop for AwaitedCall {
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            self.script
                .violation(format!("{call} was dropped before its end"));
        }
    }
}
