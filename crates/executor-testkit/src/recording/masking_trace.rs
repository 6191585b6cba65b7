use crate::recording::RecordingTrace;
use executor_core::{JobTrace, TraceStream};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use trace::{MaskRules, MaskSet, Masker};

/// A job's log that masks secrets as the real log does, and stores the masked output.
///
/// It has only the masking of Runwright's logs: no timestamps, no limit, no file.
///
/// # Examples
///
/// ```
/// use executor_core::{JobTrace, TraceStream};
/// use executor_testkit::MaskingTrace;
///
/// let trace = MaskingTrace::new(["hunter2"]);
/// trace.write(TraceStream::STDOUT, b"it is hun");
/// trace.write(TraceStream::STDOUT, b"ter2\n");
/// assert_eq!(trace.finish().text(TraceStream::STDOUT), "it is [MASKED]\n");
/// ```
pub struct MaskingTrace {
    state: Mutex<State>,
    visible: RecordingTrace,
}

struct State {
    set: MaskSet,
    maskers: BTreeMap<TraceStream, Masker>,
}

impl MaskingTrace {
    /// Returns an empty log that masks `secrets`.
    pub fn new<S: AsRef<[u8]>>(secrets: impl IntoIterator<Item = S>) -> Self {
        let state = State {
            set: MaskRules::new().secrets(secrets).compile(),
            maskers: BTreeMap::new(),
        };
        Self {
            state: Mutex::new(state),
            visible: RecordingTrace::new(),
        }
    }

    /// Returns the masked output so far.
    pub fn visible(&self) -> &RecordingTrace {
        &self.visible
    }

    /// Ends all streams and returns the masked output.
    pub fn finish(&self) -> &RecordingTrace {
        let mut state = self.state.lock();
        for (stream, masker) in &mut state.maskers {
            let mut out = Vec::new();
            masker.finish(&mut out);
            self.show(*stream, &out);
        }
        &self.visible
    }

    fn show(&self, stream: TraceStream, visible: &[u8]) {
        if !visible.is_empty() {
            self.visible.write(stream, visible);
        }
    }
}

impl JobTrace for MaskingTrace {
    fn write(&self, stream: TraceStream, data: &[u8]) {
        let mut state = self.state.lock();
        let set = state.set.clone();
        let masker = state
            .maskers
            .entry(stream)
            .or_insert_with(|| Masker::new(set));
        let mut out = Vec::with_capacity(data.len());
        masker.feed(data, &mut out);
        self.show(stream, &out);
    }

    fn idle(&self, stream: TraceStream) {
        // A masker only holds bytes that may begin a secret, so there is nothing to flush.
        self.visible.idle(stream);
    }

    fn add_mask(&self, secret: &str) {
        let mut state = self.state.lock();
        let set = state.set.with_secret(secret);
        for masker in state.maskers.values_mut() {
            masker.adopt(set.clone());
        }
        state.set = set;
        self.visible.add_mask(secret);
    }
}

impl fmt::Debug for MaskingTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MaskingTrace").finish_non_exhaustive()
    }
}
