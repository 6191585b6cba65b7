mod counting_trace;
mod job_source;
mod observer;
mod trace;

pub use counting_trace::CountingTrace;
pub use job_source::{RecordingJobSource, SourceReply};
pub use observer::RecordingObserver;
pub use trace::RecordingTrace;
