use crate::history::{ControlServer, Notices, RunControlHandler};
use pipeline::Plan;
use scheduler::Controls;
use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use tokio::task::JoinSet;

/// Serves the control socket of a downstream pipeline until it is dropped.
#[derive(Debug)]
pub(super) struct Control {
    server: Arc<ControlServer>,
    _listener: JoinSet<Infallible>,
}

impl Control {
    /// Listens in the directory of the pipeline. The pipeline runs also without it.
    pub(super) fn listen(
        directory: &Path,
        plan: &Arc<Plan>,
        controls: &Controls,
        notices: &Notices,
    ) -> Option<Self> {
        let server = match ControlServer::bind(directory) {
            Ok(server) => Arc::new(server),
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "No other command can play jobs of this pipeline or cancel it."
                );
                return None;
            }
        };
        let handler = Arc::new(RunControlHandler {
            plan: Arc::clone(plan),
            controls: controls.clone(),
            stop: None,
            notices: notices.clone(),
        });
        let listening = Arc::clone(&server);
        let mut listener = JoinSet::new();
        listener.spawn(async move { listening.serve(handler).await });
        Some(Self {
            server,
            _listener: listener,
        })
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // The listener may outlive the pipeline's lock, and another process may listen here by then.
        self.server.retire();
    }
}
