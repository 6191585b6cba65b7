//! A Kubernetes node for the tests: built from its Go modules, started before them, and gone after them.
//!
//! All its processes are in namespaces of their own, whose first process ends with this one. A pair of network devices leads
//! there. No image is pulled: those of the tests are imported.

mod certificates;
mod images;
mod node;
mod programs;

use std::path::Path;

use anyhow::Context;

pub(crate) use node::Node;

/// The variable with the path of the administrator's settings, for the tests.
pub(crate) const VARIABLE: &str = "RUNWRIGHT_TEST_KUBERNETES";

/// Starts a node that has the images.
///
/// # Errors
///
/// When its programs cannot be built, or it is not ready in time, with the ends of its logs.
pub(crate) fn start(root: &Path, target: &Path) -> anyhow::Result<Node> {
    let programs = programs::build(root, target).context("build Kubernetes")?;
    Node::start(root, &programs)
}
