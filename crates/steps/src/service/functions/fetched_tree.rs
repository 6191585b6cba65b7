//! Fetched files of repositories and images.

use super::Engine;
use super::evaluate::step_failure;
use super::frame::Env;
use crate::library::Source;
use crate::service::host_requests::HostAnswer;
use crate::service::state::Failure;
use crate::wire::v1::wish::{self, What};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The root of a repository or an image; its path has no links.
#[derive(Debug, Clone)]
pub(super) struct FetchedTree {
    pub(super) root: PathBuf,
    /// The commit, or the digest of the image.
    pub(super) identity: String,
}

/// The files fetched for a request: each source once.
#[derive(Debug, Default)]
pub(super) struct FetchedTrees(HashMap<Source, FetchedTree>);

impl FetchedTrees {
    /// Returns the root of the tree that contains a path.
    pub(super) fn around(&self, path: &Path) -> Option<&Path> {
        let mut roots = self.0.values().map(|tree| tree.root.as_path());
        roots.find(|root| path.starts_with(root))
    }
}

impl Engine<'_> {
    /// Returns the files of a source, and fetches them if necessary.
    pub(super) async fn tree(
        &mut self,
        source: Source,
        layers: &Env,
    ) -> Result<FetchedTree, Failure> {
        if let Some(tree) = self.trees.0.get(&source) {
            return Ok(tree.clone());
        }
        if !self.quiet {
            // The source may contain secrets; the log masks them.
            self.request.log_line(&format!("Fetching {source}"));
        }
        let docker_auth_config = match source {
            Source::Git { .. } => String::new(),
            Source::Oci { .. } => self.docker_auth_config(layers),
        };
        let host_request = self.request.ask_host(what(&source), docker_auth_config);
        let tree = match host_request.await? {
            HostAnswer::Fetched {
                directory,
                identity,
            } => FetchedTree {
                root: directory,
                identity,
            },
            HostAnswer::Published { .. } => {
                return Err(step_failure("the image was published, not fetched"));
            }
        };
        self.trees.0.insert(source, tree.clone());
        Ok(tree)
    }
}

fn what(source: &Source) -> What {
    match source.clone() {
        Source::Git { url, rev } => What::Git(wish::Git { url, rev }),
        Source::Oci {
            registry,
            repository,
            tag,
            platform,
        } => What::Oci(wish::Oci {
            registry,
            repository,
            tag,
            platform,
        }),
    }
}

/// Returns the platform of the environment, by the names that images use.
pub(super) fn platform() -> String {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "386",
        "powerpc64" => "ppc64le",
        other => other,
    };
    format!("{}/{architecture}", std::env::consts::OS)
}
