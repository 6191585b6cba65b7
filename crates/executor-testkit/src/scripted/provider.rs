use crate::event::Event;
use crate::scripted::script::{Script, ScriptState};
use crate::scripted::{Directive, Moment, ScriptedExecutor};
use crate::timeline::Timeline;
use executor_core::ability::{
    FileTransfer, PortProxy, Resumable, StepsConnector, Suspend, Terminal,
};
use executor_core::variable::JobVariable;
use executor_core::{
    AcquireError, BuildError, Cancellation, ConfigInfo, Executor, ExecutorData, ExecutorProvider,
    FeaturesInfo, PrepareOptions, ProviderError, RunnerConfig, ShellDialect, ShellInfo,
    StageCommand, Workspace,
};
use std::sync::Arc;
use std::time::Duration;

/// The value that `acquire` of a [`ScriptedProvider`] adds to the `ExecutorData`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The number of the lease, from 1.
    pub number: u64,
}

/// The optional abilities of scripted executors; none by default.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "the names are those of `Executor`'s methods")]
pub struct ScriptedAbilities {
    pub steps: Option<Arc<dyn StepsConnector>>,
    pub terminal: Option<Arc<dyn Terminal>>,
    pub file_transfer: Option<Arc<dyn FileTransfer>>,
    pub port_proxy: Option<Arc<dyn PortProxy>>,
    pub suspend: Option<Arc<dyn Suspend>>,
    pub resumable: Option<Arc<dyn Resumable>>,
}

/// The number of calls of each method of a [`ScriptedProvider`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "the names are those of `ExecutorProvider`'s methods"
)]
pub struct ProviderCounts {
    pub can_create: usize,
    pub create: usize,
    pub acquire: usize,
    pub release: usize,
    pub features: usize,
    pub config_info: usize,
    pub default_shell: usize,
    pub init: usize,
    pub shutdown: usize,
}

/// A provider of executors that follow a test's directives and start no process.
///
/// By default every call succeeds at once: the shell is `sh`, the workspace is remote (nothing on this
/// host is touched), there are no features and no limit. [`on`](Self::on) adds directives for single
/// calls, at any time; clones share directives and records.
///
/// It records violations of the contract: a `run` before `prepare`, an executor dropped without
/// `cleanup`, a call not awaited to its end, capacity released twice or while executors still need it.
/// End tests with [`assert_obeyed`](Self::assert_obeyed).
///
/// # Examples
///
/// ```
/// use executor_core::{BuildStage, Cancellation, ExecutorData, ExecutorProvider};
/// use executor_testkit::{CommandBuilder, Directive, OptionsBuilder, ScriptedProvider};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let provider = ScriptedProvider::new();
/// provider.on(BuildStage::script(), Directive::exit(3).stdout("1 test failed\n"));
///
/// // What the code under test would do:
/// let go_on = Cancellation::new();
/// let mut executor = provider.create(&ExecutorData::new())?;
/// executor.prepare(OptionsBuilder::new().build(), &go_on).await?;
/// let command = CommandBuilder::new("make test").build();
/// let result = executor.run(command, &go_on).await?;
/// executor.cleanup().await?;
///
/// assert_eq!(result.status.exit_code().0, 3);
/// assert_eq!(
///     provider.timeline().lines(),
///     ["provider.create(1)", "executor(1).prepare", "executor(1).run(step_script)", "executor(1).cleanup"],
/// );
/// provider.assert_obeyed();
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct ScriptedProvider {
    script: Arc<Script>,
}

impl ScriptedProvider {
    /// Returns a provider with a new timeline.
    pub fn new() -> Self {
        Self::with_timeline(&Timeline::new())
    }

    /// Returns a provider that records its calls in `timeline`.
    pub fn with_timeline(timeline: &Timeline) -> Self {
        Self {
            script: Arc::new(Script::new(timeline.clone())),
        }
    }

    /// Returns the provider as a trait object for the code under test.
    pub fn shared(&self) -> Arc<dyn ExecutorProvider> {
        Arc::new(self.clone())
    }

    /// Adds a directive for calls of this kind.
    ///
    /// Directives for one moment are followed in order, each for its number of calls
    /// ([`Directive::times`]); without a number it applies forever. After the last one, calls succeed.
    pub fn on(&self, moment: impl Into<Moment>, directive: Directive) {
        self.change(|state| state.orders.push((moment.into(), directive)));
    }

    /// Sets the features it reports.
    pub fn set_features(&self, features: FeaturesInfo) {
        self.change(|state| state.features = features);
    }

    /// Sets the details of configuration it reports.
    pub fn set_config_info(&self, info: ConfigInfo) {
        self.change(|state| state.config_info = info);
    }

    /// Sets the default shell; a provider with `None` must be refused at registration.
    pub fn set_default_shell(&self, shell: Option<ShellDialect>) {
        self.change(|state| state.default_shell = shell);
    }

    /// Sets the shell of executors created from now on.
    pub fn set_shell(&self, shell: ShellInfo) {
        self.change(|state| state.shell = shell);
    }

    /// Sets the workspace of its environments; no directories are created.
    pub fn set_workspace(&self, workspace: Workspace) {
        self.change(|state| state.workspace = workspace);
    }

    /// Lets executors announce this workspace when `prepare` starts, whatever `prepare` returns.
    pub fn announce(&self, workspace: Workspace) {
        self.change(|state| state.planned = Some(workspace));
    }

    /// Sets the variables of its environments.
    pub fn set_variables(&self, variables: Vec<JobVariable>) {
        self.change(|state| state.variables = variables);
    }

    /// Sets the optional abilities of executors created from now on.
    pub fn set_abilities(&self, abilities: ScriptedAbilities) {
        self.change(|state| state.abilities = abilities);
    }

    /// Sets the limit of concurrent leases; `None`, the default, means no limit.
    pub fn set_capacity(&self, capacity: Option<usize>) {
        self.change(|state| state.capacity = capacity);
    }

    /// Makes `can_create` fail.
    pub fn refuse_to_create(&self, message: impl Into<String>) {
        self.change(|state| state.cannot_create = Some(message.into()));
    }

    /// Makes `features` fail.
    pub fn refuse_to_tell_features(&self, message: impl Into<String>) {
        self.change(|state| state.cannot_tell_features = Some(message.into()));
    }

    /// Returns the timeline of its calls.
    pub fn timeline(&self) -> &Timeline {
        &self.script.timeline
    }

    /// Returns the number of calls in its timeline.
    pub fn counts(&self) -> ProviderCounts {
        let mut counts = ProviderCounts::default();
        for event in self.timeline().events() {
            let count = match event {
                Event::CanCreate => &mut counts.can_create,
                Event::Create { .. } => &mut counts.create,
                Event::Acquire => &mut counts.acquire,
                Event::Release => &mut counts.release,
                Event::Features => &mut counts.features,
                Event::ConfigInfo => &mut counts.config_info,
                Event::DefaultShell => &mut counts.default_shell,
                Event::Init => &mut counts.init,
                Event::Shutdown => &mut counts.shutdown,
                _ => continue,
            };
            *count += 1;
        }
        counts
    }

    /// Returns the options of all `prepare` calls, in order.
    pub fn prepared(&self) -> Vec<PrepareOptions> {
        self.script.state().prepared.clone()
    }

    /// Returns the commands of all `run` calls, in order.
    pub fn commands(&self) -> Vec<StageCommand> {
        self.script.state().commands.clone()
    }

    /// Returns the names of the stages of all `run` calls, in order.
    pub fn stages(&self) -> Vec<String> {
        let state = self.script.state();
        let names = state
            .commands
            .iter()
            .map(|command| command.stage.to_string());
        names.collect()
    }

    /// Returns the number of current leases.
    pub fn leased(&self) -> usize {
        self.script.state().leases.len()
    }

    /// Returns the violations of the contract so far.
    pub fn violations(&self) -> Vec<String> {
        self.script.state().violations.clone()
    }

    /// Checks that all calls obeyed the contract, and that all executors and leases were released.
    ///
    /// # Panics
    ///
    /// When a call violated the contract, or an executor or lease remains.
    #[track_caller]
    pub fn assert_obeyed(&self) {
        let (mut wrongs, open, leased) = {
            let state = self.script.state();
            (
                state.violations.clone(),
                state.open.clone(),
                state.leases.len(),
            )
        };
        for number in open {
            wrongs.push(format!("executor({number}): not cleaned up"));
        }
        if leased > 0 {
            wrongs.push(format!("provider: {leased} leases were not released"));
        }
        assert!(
            wrongs.is_empty(),
            "the contract was not kept:\n  {}\ncalls:\n  {}",
            wrongs.join("\n  "),
            self.timeline().lines().join("\n  ")
        );
    }

    fn change(&self, change: impl FnOnce(&mut ScriptState)) {
        change(&mut self.script.state());
    }

    /// Records the executor of a lease; a lease that is not current is a violation.
    fn use_lease(&self, data: &ExecutorData, executor: u32) {
        let Some(lease) = data.get::<Lease>() else {
            return;
        };
        let mut state = self.script.state();
        if let Some(executors) = state.leases.get_mut(&lease.number) {
            executors.push(executor);
        } else {
            let text = format!(
                "provider: create with lease {}, which is not out",
                lease.number
            );
            state.violations.push(text);
        }
    }
}

impl Default for ScriptedProvider {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait::async_trait]
impl ExecutorProvider for ScriptedProvider {
    fn can_create(&self) -> Result<(), ProviderError> {
        self.script.record(Event::CanCreate);
        match &self.script.state().cannot_create {
            Some(message) => Err(ProviderError::new(message.clone())),
            None => Ok(()),
        }
    }

    fn create(&self, data: &ExecutorData) -> Result<Box<dyn Executor>, BuildError> {
        let number = {
            let mut state = self.script.state();
            state.last_executor += 1;
            state.last_executor
        };
        self.script.record(Event::Create { executor: number });
        self.use_lease(data, number);
        if let Some(failure) = self.script.directive(&Moment::Create, "").failure() {
            return Err(failure.raise());
        }
        Ok(Box::new(ScriptedExecutor::new(
            number,
            Arc::clone(&self.script),
        )))
    }

    async fn acquire(
        &self,
        _config: &RunnerConfig,
        cancellation: &Cancellation,
    ) -> Result<ExecutorData, AcquireError> {
        self.script.record(Event::Acquire);
        let directive = self.script.directive(&Moment::Acquire, "");
        directive.wait(cancellation).await?;
        if let Some(failure) = directive.failure() {
            return Err(AcquireError::Provider(failure.raise().into()));
        }
        let mut state = self.script.state();
        if state
            .capacity
            .is_some_and(|most| state.leases.len() >= most)
        {
            return Err(AcquireError::NoFreeExecutor);
        }
        state.last_lease += 1;
        let number = state.last_lease;
        state.leases.insert(number, Vec::new());
        Ok(ExecutorData::new().with(Lease { number }))
    }

    async fn release(&self, _config: &RunnerConfig, data: ExecutorData) {
        self.script.record(Event::Release);
        self.script.end_lease(&data);
        let directive = self.script.directive(&Moment::Release, "");
        directive.pass().await;
        if let Some(failure) = directive.failure() {
            // Only a panic can get out of here; no caller is left for the error.
            let _ = failure.raise();
        }
    }

    fn features(&self, features: &mut FeaturesInfo) -> Result<(), ProviderError> {
        self.script.record(Event::Features);
        let state = self.script.state();
        if let Some(message) = &state.cannot_tell_features {
            return Err(ProviderError::new(message.clone()));
        }
        *features = features.union(state.features);
        Ok(())
    }

    fn config_info(&self, _config: &RunnerConfig, info: &mut ConfigInfo) {
        self.script.record(Event::ConfigInfo);
        info.clone_from(&self.script.state().config_info);
    }

    fn default_shell(&self) -> Option<ShellDialect> {
        self.script.record(Event::DefaultShell);
        self.script.state().default_shell
    }

    fn init(&self) -> Result<(), ProviderError> {
        self.script.record(Event::Init);
        Ok(())
    }

    async fn shutdown(&self, _deadline: Duration) -> Result<(), ProviderError> {
        self.script.record(Event::Shutdown);
        Ok(())
    }
}
