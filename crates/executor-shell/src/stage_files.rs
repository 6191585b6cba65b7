//! The files a stage needs: its script and its file variables.

use crate::error::ShellError;
use executor_core::variable::JobVariable;
use executor_core::{FileVariable, ShellInfo, ShellKind, StageCommand, StageVariables};
use fail_point::fail_point;
use process::Supervisor;
use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Variables a shell keeps to itself: exporting them is an error, and useless.
const READ_ONLY: [&str; 6] = [
    "BASHOPTS",
    "BASH_VERSINFO",
    "EUID",
    "PPID",
    "SHELLOPTS",
    "UID",
];

/// The job's private directory, and what of it is ours.
///
/// The directory may have been there before, with contents that are none of our business: only
/// what was made here is removed.
#[derive(Debug)]
pub(crate) struct StageFiles {
    directory: PathBuf,
    /// Has the journal, so that the directory also goes away when the runner dies.
    supervisor: Supervisor,
    made: bool,
    written: BTreeSet<PathBuf>,
}

impl StageFiles {
    /// Touches nothing yet.
    pub(crate) fn new(directory: PathBuf, supervisor: Supervisor) -> Self {
        Self {
            directory,
            supervisor,
            made: false,
            written: BTreeSet::new(),
        }
    }

    /// Returns the directory.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Makes the directory where it is missing, and sees that only the runner's user may enter it.
    pub(crate) fn make_directory(&mut self) -> Result<(), ShellError> {
        let missing = fs::symlink_metadata(&self.directory).is_err();
        if missing && let Some(journal) = self.supervisor.journal() {
            journal.record_dir(&self.directory)?;
        }
        let made = fail_point!(
            "executor_shell::stage_files::make_dir",
            process::make_private_dir(&self.directory)
        );
        match made {
            Ok(()) => {
                // One that was there is somebody else's to remove.
                self.made |= missing;
                Ok(())
            }
            Err(source) => {
                if missing {
                    self.forget()?;
                }
                let path = self.directory.clone();
                Err(ShellError::Directory {
                    what: "temporary directory",
                    path,
                    source,
                })
            }
        }
    }

    fn forget(&self) -> Result<(), ShellError> {
        match self.supervisor.journal() {
            Some(journal) => Ok(journal.forget_dir(&self.directory)?),
            None => Ok(()),
        }
    }

    /// Writes the stage's file variables, anew for each stage, and its script.
    ///
    /// Returns the script's path. The script is a file, not standard input, so that no command in
    /// it can read the rest of it away; and not an argument, which every user of the host can see.
    pub(crate) fn write(
        &mut self,
        command: &StageCommand,
        shell: &ShellInfo,
    ) -> Result<PathBuf, ShellError> {
        self.make_directory()?;
        for file in &command.variables.files {
            let path = self.directory.join(file_name(file)?);
            self.write_file(path, &file.content)?;
        }
        let mut text = String::with_capacity(command.script.len());
        if shell.dialect.is_posix() && shell.kind == ShellKind::Login {
            let exports = self.write_exports(&command.variables, shell)?;
            // On the script's first line, so that errors name the lines of the script.
            text = format!(". {exports}; ");
        }
        text.push_str(&command.script);
        let extension = if shell.dialect.is_posix() {
            "sh"
        } else {
            "ps1"
        };
        let path = self.directory.join(format!(".script.{extension}"));
        self.write_file(path.clone(), text.as_bytes())?;
        Ok(path)
    }

    /// Notes the files of variables that somebody else writes into the directory.
    pub(crate) fn note_variables(&mut self, variables: &StageVariables) -> Result<(), ShellError> {
        for file in &variables.files {
            let path = self.directory.join(file_name(file)?);
            self.written.insert(path);
        }
        Ok(())
    }

    /// Writes the job's variables for a login shell to read after the profile, and returns the
    /// file's path, quoted.
    ///
    /// They are in its environment too; but a profile may set `PATH` and others anew, and the job's
    /// variables win.
    fn write_exports(
        &mut self,
        variables: &StageVariables,
        shell: &ShellInfo,
    ) -> Result<String, ShellError> {
        let exports = exports(variables, shell);
        let path = self.directory.join(".exports.sh");
        self.write_file(path.clone(), exports.as_bytes())?;
        // Only a NUL byte cannot be quoted, and no file that was written has one in its path.
        Ok(shells::quote_sh(&path.to_string_lossy()).unwrap_or_default())
    }

    fn write_file(&mut self, path: PathBuf, content: &[u8]) -> Result<(), ShellError> {
        let result = fail_point!(
            "executor_shell::stage_files::write",
            write_private(&path, content)
        );
        self.written.insert(path.clone());
        result.map_err(|source| ShellError::File {
            action: "write",
            path,
            source,
        })
    }

    /// Removes what belongs to one stage only; file variables stay for the jobs' terminal.
    pub(crate) fn remove_script(&self, script: &Path) {
        // Another try follows when the job ends.
        let _ = fail_point!(
            "executor_shell::stage_files::remove_script",
            fs::remove_file(script)
        );
        let _ = fs::remove_file(self.directory.join(".exports.sh"));
    }

    /// Removes all that was made here, as far as it is still there.
    pub(crate) async fn remove(&mut self) -> Result<(), ShellError> {
        if self.made {
            remove_tree(&self.directory).await?;
            self.forget()?;
            self.made = false;
            self.written.clear();
        }
        while let Some(path) = self.written.pop_first() {
            remove_tree(&path).await?;
        }
        Ok(())
    }
}

/// Returns lines that set the variables again, after a profile that may have changed them.
pub(crate) fn exports(variables: &StageVariables, shell: &ShellInfo) -> String {
    let mut exports = String::new();
    for (key, value) in &variables.environment {
        if READ_ONLY.contains(&key.as_str()) {
            continue;
        }
        let variable = [JobVariable::public(key, value)].into_iter().collect();
        // What cannot be exported by name is in the environment only, where no profile reaches it
        // either.
        exports.push_str(&shells::export_prologue(shell.dialect, &variable).unwrap_or_default());
    }
    exports
}

/// Writes the file variables that are not there yet, for a shell that opens before any stage ran.
pub(crate) fn write_missing(
    directory: &Path,
    variables: &StageVariables,
) -> Result<(), ShellError> {
    for file in &variables.files {
        let path = directory.join(file_name(file)?);
        if path.exists() {
            continue;
        }
        let written = fail_point!(
            "executor_shell::stage_files::write_missing",
            write_private(&path, &file.content)
        );
        written.map_err(|source| ShellError::File {
            action: "write",
            path,
            source,
        })?;
    }
    Ok(())
}

/// Removes a file or a directory; what is not there is removed already.
async fn remove_tree(path: &Path) -> Result<(), ShellError> {
    let removed = fail_point!(
        "executor_shell::stage_files::remove",
        process::remove_tree_off_thread(path).await
    );
    removed.map_err(|source| ShellError::File {
        action: "remove",
        path: path.to_owned(),
        source,
    })
}

/// Returns the name of a variable's file, which is the variable's own.
fn file_name(file: &FileVariable) -> Result<&str, ShellError> {
    let key = file.key.as_str();
    // Names that begin with a dot are the executor's.
    if key.is_empty() || key.starts_with('.') || key.contains(['/', '\0']) {
        return Err(ShellError::FileVariable {
            key: key.to_owned(),
        });
    }
    Ok(key)
}

/// Writes a file that only its owner can read.
///
/// The file is always a new one: the job could have put a link to elsewhere in its place.
pub(crate) fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let create = || {
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
    };
    let mut file = match create() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            create()?
        }
        result => result?,
    };
    file.write_all(content)
}
