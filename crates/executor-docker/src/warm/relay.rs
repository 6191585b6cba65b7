//! The log of a warm container.

use executor_core::{JobTrace, TraceStream};
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;

/// How much output is kept for the job.
const KEPT: usize = 64 * 1024;

/// Keeps the output of a container until it has a job, then forwards it.
#[derive(Debug, Default)]
pub(super) struct TraceRelay(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    kept: Vec<(TraceStream, Vec<u8>)>,
    size: usize,
    job: Option<Arc<dyn JobTrace>>,
}

impl TraceRelay {
    /// Writes the kept output to the log of this job, then all further output.
    pub(super) fn attach(&self, job: &Arc<dyn JobTrace>) {
        let mut state = self.state();
        for (stream, data) in state.kept.drain(..) {
            job.write(stream, &data);
        }
        state.job = Some(Arc::clone(job));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }
}

impl JobTrace for TraceRelay {
    fn write(&self, stream: TraceStream, data: &[u8]) {
        let mut state = self.state();
        if let Some(job) = &state.job {
            return job.write(stream, data);
        }
        let room = KEPT.saturating_sub(state.size).min(data.len());
        if room > 0 {
            state.size += room;
            state.kept.push((stream, data[..room].to_vec()));
        }
    }

    fn idle(&self, stream: TraceStream) {
        if let Some(job) = &self.state().job {
            job.idle(stream);
        }
    }

    fn add_mask(&self, secret: &str) {
        if let Some(job) = &self.state().job {
            job.add_mask(secret);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_testkit::RecordingTrace;

    #[test]
    fn earlier_output_comes_first_in_the_log() {
        let relay = TraceRelay::default();
        relay.write(TraceStream::STDOUT, b"before\n");
        relay.write(TraceStream::STDERR, &vec![b'x'; 2 * KEPT]);
        let recording = RecordingTrace::new();
        let job: Arc<dyn JobTrace> = Arc::new(recording.clone());
        relay.attach(&job);
        relay.write(TraceStream::STDOUT, b"after\n");
        assert_eq!(recording.text(TraceStream::STDOUT), "before\nafter\n");
        let kept = recording.text(TraceStream::STDERR).len();
        assert_eq!(kept + "before\n".len(), KEPT);
    }
}
