//! A container in which stages can run, with the job's files and services.

use crate::error::DockerError;
use crate::job::container::{JobContainer, agent_place};
use crate::job::files::JobFiles;
use crate::job::files::chown;
use crate::job::files::tree::{Owner, Tree};
use crate::job::stage::StageRunner;
use crate::job::stage::helper::Helper;
use crate::job::terminal::DockerTerminal;
use crate::service::Services;
use executor_core::ability::FileTransfer;
use executor_core::{BuildError, Cancellation, ShellInfo, StageCommand};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use steps::RunRecord;
use tokio::time::timeout;

/// The time limit for changing the owner of files back.
const CHOWN_LIMIT: Duration = Duration::from_mins(1);

/// A container in which stages can run.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) container: JobContainer,
    pub(crate) files: JobFiles,
    pub(crate) owner: Owner,
    pub(crate) engine: StageRunner,
    pub(crate) shell: ShellInfo,
    pub(crate) transfer: Option<Arc<dyn FileTransfer>>,
    pub(crate) services: Services,
    /// Whether the services are ready.
    pub(crate) are_ready: bool,
    pub(crate) terminal: Arc<DockerTerminal>,
    /// The record for another process to resume from; none without the agent.
    pub(crate) record: Option<RunRecord>,
    /// Changes the owner of files back when the container is dead.
    pub(crate) rescuer: Option<Helper>,
}

impl Prepared {
    /// Waits for the services, before the first stage that may need them.
    pub(crate) async fn await_services(
        &mut self,
        cancellation: &Cancellation,
    ) -> Result<(), BuildError> {
        if !self.are_ready {
            self.services.ready(cancellation).await?;
            self.services.watch();
            self.are_ready = true;
        }
        Ok(())
    }

    /// Gives the job's files to the user of its container, where that is not root.
    pub(crate) async fn chown_files(&self) -> Result<(), BuildError> {
        let Some(host) = self.files.host.as_ref().filter(|_| self.owner.uid != 0) else {
            return Ok(());
        };
        // The user's own tree stays the user's, as with `docker run -v`.
        if self.files.is_in_place() || !chown::is_permitted() {
            return Ok(());
        }
        let (root, owner) = (PathBuf::from(&host.project_dir), self.owner);
        let given = tokio::task::spawn_blocking(move || chown::change_owner(&root, owner)).await;
        let given = given.unwrap_or_else(|panic| {
            Err(DockerError::Broken {
                doing: "change the owner of the job's files".to_owned(),
                source: panic.into(),
            })
        });
        Ok(given?)
    }

    /// Changes the owner of files that root in the container created, so that a runner without root can read and remove
    /// them.
    pub(crate) async fn chown_files_of_root(&mut self) {
        if self.files.host.is_none() || self.owner.uid != 0 || chown::is_permitted() {
            return;
        }
        let inside = &self.files.inside;
        // The user's own tree may hold files of other users, which stay theirs.
        let own = if self.files.is_in_place() {
            &inside.temp_dir
        } else {
            &inside.builds_dir
        };
        let paths = [own, agent_place::DIRECTORY];
        let script = chown::script(&inside.builds_dir, &paths);
        let mut rescuer = self.engine.helper();
        if rescuer.is_none() {
            let shell = self.shell.program.as_deref().unwrap_or("sh");
            let command = [shell, "-c", &script].map(str::to_owned).to_vec();
            let asked = self.container.execs().finish(command, CHOWN_LIMIT).await;
            // No process starts in a container that is removed or has ended.
            let is_dead = |error: DockerError| error.is_conflict() || error.is_not_found();
            let is_dead = asked.is_err_and(is_dead);
            rescuer = self.rescuer.as_mut().filter(|_| is_dead);
        }
        if let Some(rescuer) = rescuer {
            // The journal has it for the next start.
            let _ = timeout(CHOWN_LIMIT, rescuer.run(script)).await;
        }
    }

    /// Changes the owner of the private directory back, so that a runner without root can remove it.
    pub(crate) async fn chown_private_directory(&mut self) {
        self.chown_files_of_root().await;
        if self.files.host.is_none() || self.owner.uid == 0 || chown::is_permitted() {
            return;
        }
        let mut tree = Tree::new(chown::own_user());
        let added = tree.only_directory(".", 0o700);
        if let (Ok(()), Ok(archive)) = (added, tree.finish()) {
            // The journal has it for the next start.
            let directory = &self.files.inside.temp_dir;
            let _ = self.container.upload(directory, archive).await;
        }
    }

    /// Writes the stage's file variables, which belong to the job's user alone.
    pub(crate) async fn write_files(&self, command: &StageCommand) -> Result<(), DockerError> {
        if command.variables.files.is_empty() {
            return Ok(());
        }
        let mut tree = Tree::new(self.owner);
        for file in &command.variables.files {
            let key = file.key.as_str();
            if !file.is_file_name() {
                return Err(DockerError::config(format!(
                    "invalid file variable {key:?}: expected a file name without slash that does not begin with a dot"
                )));
            }
            tree.file(key, 0o600, &file.content)?;
        }
        let directory = &self.files.inside.temp_dir;
        self.container.upload(directory, tree.finish()?).await
    }
}
