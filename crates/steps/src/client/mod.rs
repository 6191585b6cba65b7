//! The client: runs scripts through a service, across broken connections.

pub(crate) mod call;
mod error;
mod follow;
mod host_requests;
pub(crate) mod link;
mod log_reader;
mod options;
mod request;
mod responses;
mod retry;
mod run_record;
mod run_spec;
mod run_status;
mod stage_requests;
mod step_report;
mod steps_client;
mod stop;
mod transfer;

pub use error::{StepsError, StepsErrorClass};
pub use options::ClientOptions;
pub use run_record::{RecordedRuns, RunRecord};
pub use run_spec::{Progress, RunSpec, RunSteps, RunTiming, ScriptStep};
pub use run_status::{AgentInfo, RunId, RunResult, RunState, RunStatus};
pub use stage_requests::{NextRequest, StageRequest, StageRequests};
pub use step_report::{StepInvocation, StepProcess, StepReport, StepReports, StepState};
pub use steps_client::StepsClient;
