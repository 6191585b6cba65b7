//! Files that somebody outside of the environment has brought.

use super::engine::Engine;
use super::frame::Env;
use super::words::wrong;
use crate::library::Source;
use crate::service::course::Failure;
use crate::service::log_output::say;
use crate::service::wishes::Granted;
use crate::wire::v1::wish::{self, What};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The root of a repository or an image, without links on the way to it.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    pub(super) root: PathBuf,
    /// The commit, or the image's digest.
    pub(super) identity: String,
}

/// What was brought for a request: each source once.
#[derive(Debug, Default)]
pub(super) struct Trees(HashMap<Source, Tree>);

impl Trees {
    /// Returns the root of what a path of the environment is in.
    pub(super) fn around(&self, path: &Path) -> Option<&Path> {
        let mut roots = self.0.values().map(|tree| tree.root.as_path());
        roots.find(|root| path.starts_with(root))
    }
}

impl Engine<'_> {
    /// Returns the files of a source, which are asked for if they are not there yet.
    pub(super) async fn tree(&mut self, source: Source, layers: &Env) -> Result<Tree, Failure> {
        if let Some(tree) = self.trees.0.get(&source) {
            return Ok(tree.clone());
        }
        if !self.quiet {
            // What steps have made up may be in it; the log masks it.
            say(self.request, &format!("Fetching {source}"));
        }
        let docker_auth_config = match source {
            Source::Git { .. } => String::new(),
            Source::Oci { .. } => self.docker_auth_config(layers),
        };
        let wish = self.request.wish(what(&source), docker_auth_config);
        let tree = match wish.await? {
            Granted::Fetched {
                directory,
                identity,
            } => Tree {
                root: directory,
                identity,
            },
            Granted::Published { .. } => return Err(wrong("an image was sent instead of fetched")),
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

/// Returns the platform of the environment, as images name it.
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
