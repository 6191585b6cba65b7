//! Third-party programs with the same purpose.
//!
//! On first use they are installed from their registries, at the versions named here, below the target directory of
//! this bench. An interrupted installation is repeated.

mod bitrab;
mod gitlab_ci_local;
mod installation;

use crate::{Bench, Tool};

/// A peer, or the reason why it cannot be measured here.
#[derive(Debug)]
pub struct Peer {
    /// Its name in tables.
    pub name: &'static str,
    /// The tool with its settings for the measurement.
    pub tool: anyhow::Result<Tool>,
}

/// Installs gitlab-ci-local if it is missing, and Node.js for it.
pub async fn gitlab_ci_local(bench: &Bench) -> Peer {
    Peer {
        name: gitlab_ci_local::NAME,
        tool: gitlab_ci_local::install(bench).await,
    }
}

/// Like [`gitlab_ci_local`], with jobs in containers of this image.
pub async fn gitlab_ci_local_docker(bench: &Bench, image: &str) -> Peer {
    Peer {
        name: gitlab_ci_local::NAME,
        tool: gitlab_ci_local::install_docker(bench, image).await,
    }
}

/// Installs bitrab if it is missing.
pub async fn bitrab(bench: &Bench) -> Peer {
    Peer {
        name: bitrab::NAME,
        tool: bitrab::install(bench).await,
    }
}
