//! The imports for an implementation of an executor.

pub use crate::ability::{
    Abilities, FileTransfer, PortProxy, Resumable, StepsConnector, Suspend, Terminal,
};
pub use crate::{
    AbstractExecutor, AbstractExecutorOptions, AcquireError, BuildDirs, BuildError, BuildStage,
    CancelCause, Cancellation, ConfigInfo, DefaultExecutorProvider, Executor, ExecutorData,
    ExecutorProvider, ExecutorSettings, ExecutorStage, ExitCode, FeaturesInfo, Job, JobOutcome,
    JobTrace, JobTraceExt, PrepareOptions, PreparedEnvironment, ProviderError, ProviderLayer,
    ProviderStack, RunnerConfig, ShellDialect, ShellInfo, ShellKind, StageCell, StageCommand,
    StageResult, StageStatus, TraceStream, Workspace,
};
pub use async_trait::async_trait;
pub use std::sync::Arc;
