//! The step-runner: a service that runs steps inside an environment, and the client that reaches it from outside.
//!
//! `docs/design/steps.md` describes the design and its reasons.

pub mod agent;
pub mod client;
mod files;
mod image;
pub mod language;
mod library;
pub mod proxy;
pub mod service;
pub mod wire;

pub use client::{
    AgentInfo, ClientOptions, NextRequest, Progress, RecordedRuns, RunId, RunRecord, RunResult,
    RunSpec, RunState, RunStatus, RunSteps, RunTiming, ScriptStep, StageRequest, StageRequests,
    StepInvocation, StepProcess, StepReport, StepReports, StepState, StepsClient, StepsError,
    StepsErrorClass,
};
pub use library::{Fetched, JobCredentials, Keep, Library, LibraryError, Published, Source};
pub use service::{Inherit, LocalService, Service, ServiceError, ServiceOptions};
