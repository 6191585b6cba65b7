//! The client: runs scripts through a service, whatever happens to the connection.

mod agent_info;
mod answer;
pub(crate) mod call;
mod error;
mod follow;
pub(crate) mod link;
mod log_reader;
mod message;
mod options;
mod patience;
mod report;
mod request;
mod run_id;
mod run_result;
mod run_spec;
mod run_status;
mod step_report;
mod steps_client;
mod stop;
mod transfer;
mod wishes;

pub use agent_info::AgentInfo;
pub use error::{StepsError, StepsErrorClass};
pub use options::ClientOptions;
pub use run_id::RunId;
pub use run_result::RunResult;
pub use run_spec::{Progress, RunSpec, RunSteps, RunTiming, ScriptStep};
pub use run_status::{RunState, RunStatus};
pub use step_report::{StepInvocation, StepProcess, StepReport, StepReports, StepState};
pub use steps_client::StepsClient;
