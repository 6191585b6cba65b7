//! The files of a stage: its script and its file variables.

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

/// Variables that a shell reserves: exporting them is an error.
const READ_ONLY: [&str; 6] = [
    "BASHOPTS",
    "BASH_VERSINFO",
    "EUID",
    "PPID",
    "SHELLOPTS",
    "UID",
];

/// The job's private directory, and the files created in it.
///
/// The directory may have existed before with other files: only files created here are removed.
#[derive(Debug)]
pub(crate) struct StageFiles {
    directory: PathBuf,
    /// Has the journal, so that the directory is also removed when the runner dies.
    supervisor: Supervisor,
    created: bool,
    written: BTreeSet<PathBuf>,
}

impl StageFiles {
    /// Creates nothing yet.
    pub(crate) fn new(directory: PathBuf, supervisor: Supervisor) -> Self {
        Self {
            directory,
            supervisor,
            created: false,
            written: BTreeSet::new(),
        }
    }

    /// Returns the directory.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Creates the directory if it is missing, and restricts it to the runner's user.
    pub(crate) fn make_directory(&mut self) -> Result<(), ShellError> {
        let missing = fs::symlink_metadata(&self.directory).is_err();
        if missing && let Some(journal) = self.supervisor.journal() {
            journal.record_dir(&self.directory)?;
        }
        let created = fail_point!(
            "executor_shell::stage_files::make_dir",
            process::make_private_dir(&self.directory)
        );
        match created {
            Ok(()) => {
                // A directory that existed before is not removed.
                self.created |= missing;
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

    /// Writes the stage's file variables, again for each stage, and its script.
    ///
    /// Returns the script's path. The script is a file: commands could consume it as standard input, and other users could
    /// read it as an argument.
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
            // On the first line of the script, so that line numbers in errors are those of the script.
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

    /// Records files of variables that another component writes into the directory.
    #[cfg(feature = "functions")]
    pub(crate) fn note_variables(&mut self, variables: &StageVariables) -> Result<(), ShellError> {
        for file in &variables.files {
            let path = self.directory.join(file_name(file)?);
            self.written.insert(path);
        }
        Ok(())
    }

    /// Writes the job's variables for a login shell to read after the profile, and returns the file's path, quoted.
    ///
    /// They are in its environment too, but a profile may change `PATH` and others, and the job's variables must win.
    fn write_exports(
        &mut self,
        variables: &StageVariables,
        shell: &ShellInfo,
    ) -> Result<String, ShellError> {
        let exports = exports(variables, shell);
        let path = self.directory.join(".exports.sh");
        self.write_file(path.clone(), exports.as_bytes())?;
        // Only a NUL byte cannot be quoted, and the path of a file never has one.
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

    /// Removes the files of one stage; file variables stay for the job's terminal.
    pub(crate) fn remove_script(&self, script: &Path) {
        // The end of the job tries again.
        let _ = fail_point!(
            "executor_shell::stage_files::remove_script",
            fs::remove_file(script)
        );
        let _ = fs::remove_file(self.directory.join(".exports.sh"));
    }

    /// Removes all remaining files created here.
    pub(crate) async fn remove(&mut self) -> Result<(), ShellError> {
        if self.created {
            remove_tree(&self.directory).await?;
            self.forget()?;
            self.created = false;
            self.written.clear();
        }
        while let Some(path) = self.written.pop_first() {
            remove_tree(&path).await?;
        }
        Ok(())
    }
}

/// Returns lines that set the variables again after a profile.
pub(crate) fn exports(variables: &StageVariables, shell: &ShellInfo) -> String {
    let mut exports = String::new();
    for (key, value) in &variables.environment {
        if READ_ONLY.contains(&key.as_str()) {
            continue;
        }
        let variable = [JobVariable::public(key, value)].into_iter().collect();
        // Variables with other names are only in the environment, and a profile cannot change them either.
        exports.push_str(&shells::export_prologue(shell.dialect, &variable).unwrap_or_default());
    }
    exports
}

/// Writes missing file variables, for a shell that opens before the first stage.
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

/// Removes a file or a directory; a missing one is not an error.
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

/// Returns the file name of a variable, which is the variable's name.
fn file_name(file: &FileVariable) -> Result<&str, ShellError> {
    if !file.is_file_name() {
        return Err(ShellError::FileVariable {
            key: file.key.clone(),
        });
    }
    Ok(&file.key)
}

/// Writes a file that only its owner can read.
///
/// The file is always new: the job may have created a link in its place.
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
