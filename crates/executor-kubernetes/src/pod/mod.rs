//! The pod of a job: a pure function of the job and the settings.

mod container;
mod draft;
mod image;
mod label;
pub(crate) mod overwrite;
mod patch;
mod resources;
mod security;
mod service;
mod setting_check;
#[cfg(test)]
mod tests;
mod volume;

pub(crate) use draft::{Objects, Request, objects};
pub(crate) use resources::billionths;
pub(crate) use service::{Offer, offers};
pub use setting_check::InvalidSetting;

/// The container that runs the job's scripts.
pub(crate) const BUILD: &str = "build";

/// Begins the names of the containers of services.
pub(crate) const SERVICE: &str = "svc-";

/// The label by which a runner finds its pods.
pub(crate) const OWNER: &str = "runwright.dev/owner";

/// The label with the number of the job.
pub(crate) const JOB: &str = "runwright.dev/job";

/// What selects all objects of runners.
pub(crate) const MANAGED: &str = "app.kubernetes.io/managed-by=runwright";

/// The annotation with the seconds for which the runner waits for the pod to start.
pub(crate) const PATIENCE: &str = "runwright.dev/patience";

/// What keeps a pod from a node until its secret is there, which the pod owns.
pub(crate) const GATE: &str = "runwright.dev/secret";

/// The directory of the agent in the container of the job.
pub(crate) const AGENT: &str = "/runwright";

/// Returns the key of the annotation with the alias of a service, whose container has this name.
pub(crate) fn alias_key(container: &str) -> String {
    format!("runwright.dev/alias.{container}")
}
