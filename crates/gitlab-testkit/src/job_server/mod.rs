//! The job server: GitLab's side of the runner protocol.

mod artifacts;
mod call;
mod clock;
mod endpoint;
mod hand_out;
mod handle;
mod job;
mod multipart;
mod rule;
mod runners;
mod server;
mod shared;
mod state;
mod store;
mod trace;
mod update;
mod upload;
mod violations;
mod watch;

pub use call::{Call, CallAnswer, RangeCheck, TraceCheck};
pub use endpoint::Endpoint;
pub use rule::{DropMoment, Rule};
pub use server::JobServer;
pub use state::JobServerState;
pub use upload::{Part, Upload};
pub use watch::Watch;
