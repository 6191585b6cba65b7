use crate::history::{ControlServer, Notices, RunControlHandler};
use pipeline::Plan;
use scheduler::Controls;
use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use tokio::task::JoinSet;

/// Lets others tell a pipeline what to do that a job of another one started; ends when dropped.
#[derive(Debug)]
pub(super) struct Control {
    server: Arc<ControlServer>,
    /// The one that listens.
    _listener: JoinSet<Infallible>,
}

impl Control {
    /// Listens in the directory of the pipeline. Without it the pipeline runs as well.
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
                    "Nobody can play jobs of this pipeline or cancel it from outside."
                );
                return None;
            }
        };
        let obedient = Arc::new(RunControlHandler {
            plan: Arc::clone(plan),
            controls: controls.clone(),
            stop: None,
            notices: notices.clone(),
        });
        let listening = Arc::clone(&server);
        let mut listener = JoinSet::new();
        listener.spawn(async move { listening.serve(obedient).await });
        Some(Self {
            server,
            _listener: listener,
        })
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // The listener may go later than the pipeline's lock, after which the place is somebody else's.
        self.server.retire();
    }
}
