//! The files of one interactive shell.

use crate::error::ShellError;
use crate::stage_files::{exports, write_private};
use executor_core::ability::TerminalRequest;
use executor_core::{ShellInfo, StageVariables};
use fail_point::fail_point;
use shells::InteractiveShell;
use std::io;
use std::path::{Path, PathBuf};

/// A directory with the files of one shell, inside the job's private directory; dropping it removes it.
///
/// The job's private directory is in the journal, so this one is also removed after a kill of the runner.
#[derive(Debug)]
pub(crate) struct SessionFiles {
    directory: PathBuf,
}

impl SessionFiles {
    /// Creates the directory.
    pub(crate) fn make(directory: PathBuf) -> Result<Self, ShellError> {
        let created = fail_point!(
            "executor_shell::session_files::make_dir",
            process::make_private_dir(&directory)
        );
        let files = Self { directory };
        created.map_err(|source| error("make", &files.directory, source))?;
        Ok(files)
    }

    /// Writes the files that the shell reads.
    pub(crate) fn write(
        &self,
        interactive: &InteractiveShell<'_>,
        shell: &ShellInfo,
        request: &TerminalRequest,
        variables: &StageVariables,
    ) -> Result<(), ShellError> {
        let start = interactive.start_file();
        self.write_file(InteractiveShell::START_FILE, &start)?;
        let script = interactive.script_file();
        self.write_file(InteractiveShell::SCRIPT_FILE, &script)?;
        self.write_file(InteractiveShell::HISTORY_FILE, "")?;
        if request.profile {
            // A profile may change them, and the job's variables must win.
            self.write_file(InteractiveShell::EXPORTS_FILE, &exports(variables, shell))?;
        }
        Ok(())
    }

    fn write_file(&self, name: &str, text: &str) -> Result<(), ShellError> {
        let path = self.directory.join(name);
        let written = fail_point!(
            "executor_shell::session_files::write",
            write_private(&path, text.as_bytes())
        );
        written.map_err(|source| error("write", &path, source))
    }
}

impl Drop for SessionFiles {
    fn drop(&mut self) {
        // Leftovers are removed with the job's private directory.
        let _ = fail_point!(
            "executor_shell::session_files::remove",
            process::remove_tree(&self.directory)
        );
    }
}

fn error(action: &'static str, path: &Path, source: io::Error) -> ShellError {
    ShellError::File {
        action,
        path: path.to_owned(),
        source,
    }
}
