//! The metadata of this workspace, from cargo.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use serde::Deserialize;

use crate::run;

/// The workspace: its root folder and its packages.
#[derive(Debug, Deserialize)]
pub(crate) struct Workspace {
    #[serde(rename = "workspace_root")]
    pub(crate) root: PathBuf,
    /// The target directory of cargo.
    pub(crate) target_directory: PathBuf,
    pub(crate) packages: Vec<Package>,
}

/// The prefix on the registry of each crate below `crates`, except the facade.
pub(crate) const PREFIX: &str = "runwright-";

/// One package of the workspace.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) targets: Vec<Target>,
    /// The registries it can be published to: an empty list forbids publishing, `None` allows all.
    #[serde(default)]
    pub(crate) publish: Option<Vec<String>>,
}

/// A dependency of a package.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// `None` for a normal dependency, otherwise `dev` or `build`.
    pub(crate) kind: Option<String>,
    /// The folder of a path dependency, which is a crate of this workspace.
    pub(crate) path: Option<PathBuf>,
}

/// A build target of a package.
#[derive(Debug, Deserialize)]
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) kind: Vec<String>,
    pub(crate) src_path: PathBuf,
    /// Whether a plain `cargo test` runs the tests of this target.
    pub(crate) test: bool,
}

impl Dependency {
    /// Returns the name of its folder, for a crate of this workspace.
    pub(crate) fn folder(&self) -> Option<&str> {
        self.path.as_deref()?.file_name()?.to_str()
    }
}

impl Workspace {
    /// Loads the metadata of the workspace that contains xtask.
    ///
    /// # Errors
    ///
    /// Fails when cargo cannot be started or refuses the manifests.
    pub(crate) fn load() -> anyhow::Result<Self> {
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
        let output = run::cargo()
            .args([
                "metadata",
                "--no-deps",
                "--format-version=1",
                "--manifest-path",
                manifest,
            ])
            .stderr(std::process::Stdio::inherit())
            .output()
            .context("start cargo metadata")?;
        ensure!(
            output.status.success(),
            "cargo metadata failed, {}",
            output.status
        );
        serde_json::from_slice(&output.stdout).context("read what cargo metadata says")
    }

    /// Returns the path relative to the root, for messages.
    pub(crate) fn relative<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.root).unwrap_or(path)
    }
}

impl Package {
    /// Returns the folder of the package.
    pub(crate) fn folder(&self) -> &Path {
        self.manifest_path.parent().unwrap_or(Path::new(""))
    }

    /// Whether it is published.
    pub(crate) fn is_published(&self) -> bool {
        self.publish
            .as_ref()
            .is_none_or(|registries| !registries.is_empty())
    }

    /// Returns the name of that folder: the name of the crate inside this workspace. On the registry, where short
    /// names are taken, crates have the prefix [`PREFIX`].
    pub(crate) fn folder_name(&self) -> &str {
        let name = self.folder().file_name();
        name.and_then(|name| name.to_str()).unwrap_or(&self.name)
    }
}
