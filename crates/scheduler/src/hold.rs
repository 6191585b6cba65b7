use super::controls::Controls;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Keeps a pipeline open until it is dropped; see [`Controls::hold`].
#[derive(Debug)]
#[must_use = "the pipeline is open only as long as this lives"]
pub struct Hold {
    controls: Controls,
}

/// How many hold a pipeline open.
#[derive(Debug, Default)]
pub(super) struct Holds(AtomicUsize);

impl Hold {
    pub(super) fn new(controls: &Controls) -> Self {
        controls.holds.0.fetch_add(1, Ordering::SeqCst);
        let controls = controls.clone();
        Self { controls }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.controls.holds.0.fetch_sub(1, Ordering::SeqCst);
        if let Ok(queue) = self.controls.queue() {
            queue.wake();
        }
    }
}

impl Holds {
    /// Returns whether somebody holds the pipeline.
    pub(super) fn are_some(&self) -> bool {
        self.0.load(Ordering::SeqCst) > 0
    }
}
