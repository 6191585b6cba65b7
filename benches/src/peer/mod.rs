//! Programs that others wrote for the same purpose.
//!
//! They are installed from their registries on first use, at the versions named here, below the target
//! folder of this bench. An installation that was interrupted is made anew.

mod bitrab;
mod gitlab_ci_local;
mod installation;

use crate::{Bench, Tool};

/// A peer, or why it cannot be measured here.
#[derive(Debug)]
pub struct Peer {
    /// What tables call it.
    pub name: &'static str,
    /// The tool with the settings it is measured with.
    pub tool: anyhow::Result<Tool>,
}

/// Installs gitlab-ci-local where it is not there yet, and Node.js for it.
pub async fn gitlab_ci_local(bench: &Bench) -> Peer {
    Peer {
        name: gitlab_ci_local::NAME,
        tool: gitlab_ci_local::install(bench).await,
    }
}

/// The same, with jobs in containers of this image.
pub async fn gitlab_ci_local_docker(bench: &Bench, image: &str) -> Peer {
    Peer {
        name: gitlab_ci_local::NAME,
        tool: gitlab_ci_local::install_docker(bench, image).await,
    }
}

/// Installs bitrab where it is not there yet.
pub async fn bitrab(bench: &Bench) -> Peer {
    Peer {
        name: bitrab::NAME,
        tool: bitrab::install(bench).await,
    }
}
