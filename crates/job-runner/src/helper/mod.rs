//! The helper command: fetches and stores a job's files from inside its environment.
//!
//! Scripts of environments that no file transfer reaches start it under the name `gitlab-runner`, with the arguments of
//! GitLab Runner. See `docs/design/helper-command.md`.
//!
//! ```
//! use job_runner::helper::HelperCommand;
//!
//! let arguments = ["cache-extractor", "--file", "../cache/k/cache.zip", "--timeout", "10"];
//! HelperCommand::parse(&arguments.map(str::to_owned))?;
//! let error = HelperCommand::parse(&["cache-extractor".to_owned()]).expect_err("refused");
//! assert_eq!(error.to_string(), "cache-extractor needs --file");
//! # Ok::<(), job_runner::helper::HelperUsage>(())
//! ```

mod arguments;
mod artifacts;
mod cache;
mod error;
mod form;
mod gitlab;
mod server;

pub use arguments::HelperUsage;
pub use error::HelperError;
pub use gitlab::GitLabArtifacts;

use crate::artifacts::{Collected, CollectedLine, collect};
use crate::directories::JobDirectory;
use crate::panics::off_thread;
use arguments::Flags;
use artifacts::{Download, Upload};
use cache::{Archive, Extract};
use executor_core::Cancellation;
use process::{Settings, Supervisor};
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

/// A call of the helper command.
pub struct HelperCommand(Call);

enum Call {
    Upload(Upload),
    Download(Download),
    Archive(Archive),
    Extract(Extract),
}

/// Returns the value of a variable.
pub type Lookup = dyn Fn(&str) -> Option<String> + Send + Sync;

/// The process in which a helper command runs.
#[derive(Clone)]
pub struct HelperContext {
    /// The working directory, which is the job's.
    pub directory: PathBuf,
    /// The directory for temporary files.
    pub temp: PathBuf,
    /// Returns the value of an environment variable.
    pub variable: Arc<Lookup>,
    /// Prints a line for the user.
    pub print: Arc<dyn Fn(&str) + Send + Sync>,
}

/// Shows no arguments, since some are secret.
impl fmt::Debug for HelperCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HelperCommand").finish_non_exhaustive()
    }
}

impl HelperCommand {
    /// The names of the commands.
    pub const NAMES: [&str; 4] = [
        "artifacts-downloader",
        "artifacts-uploader",
        "cache-archiver",
        "cache-extractor",
    ];

    /// Reads the arguments, the first of which is the name of the command.
    ///
    /// # Errors
    ///
    /// When there is no such command or option, or a value is missing or invalid.
    pub fn parse(arguments: &[String]) -> Result<Self, HelperUsage> {
        let name = arguments.first().map_or("", String::as_str);
        let known = Self::NAMES.into_iter().find(|it| *it == name);
        let name = known.ok_or_else(|| HelperUsage::Command {
            name: name.to_owned(),
        })?;
        let mut flags = Flags::read(name, &arguments[1..])?;
        Ok(Self(match name {
            "artifacts-uploader" => Call::Upload(Upload::read(&mut flags)?),
            "artifacts-downloader" => Call::Download(Download::read(&mut flags)?),
            "cache-archiver" => Call::Archive(Archive::read(&mut flags)?),
            _ => Call::Extract(Extract::read(&mut flags)?),
        }))
    }

    /// Runs the command.
    ///
    /// # Errors
    ///
    /// When files cannot be fetched, found, packed, unpacked or stored.
    pub async fn run(self, context: &HelperContext) -> Result<(), HelperError> {
        match self.0 {
            Call::Upload(upload) => upload.run(context).await,
            Call::Download(download) => download.run(context).await,
            Call::Archive(archive) => archive.run(context).await,
            Call::Extract(extract) => extract.run(context).await,
        }
    }
}

impl fmt::Debug for HelperContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HelperContext")
            .field("directory", &self.directory)
            .field("temp", &self.temp)
            .finish_non_exhaustive()
    }
}

impl HelperContext {
    fn print(&self, line: &str) {
        (self.print)(line);
    }

    fn variable(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|it| !it.is_empty())
    }

    /// Finds files of the job's directory, and prints what the patterns match.
    async fn collect(&self, files: &Files) -> Result<Collected, HelperError> {
        let untracked = if files.untracked {
            // Git's own processes end with their tree; there is no journal for those of this short process.
            let supervisor = Supervisor::start(Settings::default()).map_err(HelperError::git)?;
            let tree = supervisor.tree();
            let never = Cancellation::new();
            crate::finalise::untracked_files(&tree, &self.directory, &never)
                .await
                .map_err(HelperError::git)?
        } else {
            Vec::new()
        };
        let directory = self.job_directory();
        let (shown, wanted) = (directory.named.clone(), files.clone());
        let collected =
            off_thread(move || collect(&directory, &wanted.paths, &untracked, &wanted.exclude));
        let collected = collected.await.map_err(HelperError::git)?;
        let collected =
            collected.map_err(|error| HelperError::Collect(executor_core::chain(&error)))?;
        for line in collected.lines(files.untracked, &shown) {
            match line {
                CollectedLine::Found(text) => self.print(&text),
                CollectedLine::Warning(text) => self.print(&format!("WARNING: {text}")),
            }
        }
        Ok(collected)
    }

    /// Returns the job's directory, under the name that its variables have for it.
    fn job_directory(&self) -> JobDirectory {
        let named = self.variable("CI_PROJECT_DIR").map(PathBuf::from);
        let is_same =
            |named: &PathBuf| match (fs::canonicalize(named), fs::canonicalize(&self.directory)) {
                (Ok(named), Ok(own)) => named == own,
                _ => false,
            };
        JobDirectory {
            named: named
                .filter(is_same)
                .unwrap_or_else(|| self.directory.clone()),
            host: self.directory.clone(),
        }
    }
}

/// The files of an artifact or a cache.
#[derive(Debug, Clone, Default)]
struct Files {
    paths: Vec<String>,
    exclude: Vec<String>,
    untracked: bool,
}

impl Files {
    fn read(flags: &mut Flags) -> Self {
        Self {
            paths: flags.all("path"),
            exclude: flags.all("exclude"),
            untracked: flags.is_set("untracked"),
        }
    }
}
