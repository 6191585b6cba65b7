mod counting_trace;
mod job_source;
mod masking_trace;
mod observer;
mod trace;

pub use counting_trace::CountingTrace;
pub use job_source::{RecordingJobSource, SourceReply};
pub use masking_trace::MaskingTrace;
pub use observer::RecordingObserver;
pub use trace::RecordingTrace;
