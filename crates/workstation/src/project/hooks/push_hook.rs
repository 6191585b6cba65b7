use super::manager::HookManager;
use super::{HookError, script};
use crate::error::LocalError;
use crate::project::repository::BlockingGit;
use fail_point::fail_point;
use git::RepositoryError;
use process::NewFile;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The mode of a new hook, within the user's umask.
const MODE: u32 = 0o777;

/// The pre-push hook of a repository.
#[derive(Debug)]
pub struct PushHook {
    path: PathBuf,
    git: BlockingGit,
}

/// The state of the pre-push hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookState {
    /// It has our lines and is executable.
    Installed,
    /// It has our lines but is not executable, so git does not run it.
    NotExecutable,
    /// It does not have our lines.
    Other,
    /// It does not exist.
    None,
}

impl PushHook {
    /// Finds the hook of the repository at `directory`: by `core.hooksPath`, or the one of all worktrees.
    ///
    /// # Errors
    ///
    /// When there is no repository, or git fails.
    pub fn find(directory: &Path) -> Result<Self, LocalError> {
        let directory = fs::canonicalize(directory).map_err(|source| LocalError::Directory {
            path: directory.to_owned(),
            source,
        })?;
        let none = || {
            LocalError::Repository(RepositoryError::None {
                directory: directory.clone(),
            })
        };
        let root = git::toplevel(&directory).ok_or_else(none)?;
        let git = BlockingGit::new(&root);
        let hooks = if let Some(named) = hooks_path(&git) {
            named
        } else {
            let common = git.read(&["rev-parse", "--git-common-dir"])?;
            path(common.trim_ascii_end()).join("hooks")
        };
        // Git prints it relative to the root.
        let hooks = root.join(hooks);
        Ok(Self {
            path: hooks.join("pre-push"),
            git,
        })
    }

    /// Returns its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the commit of a name or an id, also of a tag, if the repository has it.
    pub fn commit(&self, name: &str) -> Option<String> {
        let commit = format!("{name}^{{commit}}");
        let found = self.git.read(&[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &commit,
        ]);
        let id = found.ok()?;
        Some(String::from_utf8_lossy(&id).trim().to_owned())
    }

    /// Returns the state of the hook.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn state(&self) -> Result<HookState, HookError> {
        Ok(match self.read()? {
            None => HookState::None,
            Some(hook) if !script::is_in(&hook) => HookState::Other,
            Some(_) if !self.is_program() => HookState::NotExecutable,
            Some(_) => HookState::Installed,
        })
    }

    /// Returns the program that manages the hooks of this repository, if any.
    pub fn manager(&self) -> Option<HookManager> {
        let hook = self.read().ok().flatten();
        HookManager::of(self.directory(), hook.as_deref())
    }

    /// Adds our lines to the hook, unless it has them.
    ///
    /// # Errors
    ///
    /// When another program overwrites all hooks, or the file cannot be written.
    pub fn install(&self) -> Result<(), HookError> {
        if let Some(manager @ HookManager::Husky) = self.manager() {
            return Err(HookError::Managed {
                manager: manager.name(),
                help: manager.advice(),
            });
        }
        let hook = self.read()?;
        let is_ours = hook.as_deref().is_some_and(script::is_in);
        if is_ours && self.is_program() {
            return Ok(());
        }
        let directory = self.directory();
        fail_point!(
            "workstation::hook::make_directory",
            fs::create_dir_all(directory)
        )
        .map_err(io_error("create", directory))?;
        let Some(hook) = hook else {
            return self.write(&script::alone(), MODE);
        };
        if is_ours {
            return self.write(&hook, self.mode() | 0o111);
        }
        // A hook that git did not run must not start to run, and a link may lead to a shared file.
        let may_have_lines = self.is_program() && !self.is_link();
        if let Some(with) = script::insert(&hook).filter(|_| may_have_lines) {
            return self.write(&with, self.mode());
        }
        let kept = self.kept();
        if fs::symlink_metadata(&kept).is_ok() {
            return Err(HookError::TwoOriginals { path: kept });
        }
        fail_point!("workstation::hook::keep", fs::rename(&self.path, &kept))
            .map_err(io_error("move aside", &self.path))?;
        self.write(&script::alone(), MODE)
    }

    /// Removes our lines from the hook, and nothing else; returns whether it changed anything.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn uninstall(&self) -> Result<bool, HookError> {
        let _ = fs::remove_file(self.new_file());
        let hook = self.read()?;
        let is_ours = hook.as_deref().is_some_and(script::is_in);
        // A killed installation may have moved the original hook aside without writing ours.
        let rest = hook.as_deref().and_then(script::remove);
        let kept = self.kept();
        let has_kept = fs::symlink_metadata(&kept).is_ok();
        match (is_ours, rest) {
            (true, Some(rest)) => self.write(&rest, self.mode())?,
            (_, None) if has_kept => {
                fail_point!("workstation::hook::restore", fs::rename(&kept, &self.path))
                    .map_err(io_error("restore", &kept))?;
            }
            (true, None) => {
                fail_point!("workstation::hook::remove", fs::remove_file(&self.path))
                    .map_err(io_error("remove", &self.path))?;
            }
            (false, _) => return Ok(false),
        }
        Ok(true)
    }

    fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    fn kept(&self) -> PathBuf {
        self.beside(script::KEPT)
    }

    fn new_file(&self) -> PathBuf {
        self.beside(".runwright-new")
    }

    fn beside(&self, ending: &str) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(ending);
        PathBuf::from(path)
    }

    fn read(&self) -> Result<Option<Vec<u8>>, HookError> {
        match fs::read(&self.path) {
            Ok(hook) => Ok(Some(hook)),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !self.is_link() => Ok(None),
            // A dangling link is a hook that git does not run.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Some(Vec::new())),
            Err(error) => Err(io_error("read", &self.path)(error)),
        }
    }

    fn is_link(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok_and(|metadata| metadata.is_symlink())
    }

    fn mode(&self) -> u32 {
        fs::metadata(&self.path).map_or(0o755, |metadata| metadata.permissions().mode() & 0o7777)
    }

    fn is_program(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
    }

    /// Replaces the hook atomically.
    fn write(&self, hook: &[u8], mode: u32) -> Result<(), HookError> {
        let write = || {
            let new = NewFile::write(self.new_file(), hook, mode)?;
            if mode != MODE {
                new.set_mode(mode)?;
            }
            new.replace(&self.path)
        };
        fail_point!("workstation::hook::write", write()).map_err(io_error("write", &self.path))
    }
}

/// Returns the hooks directory of the user's git settings, without that of our own git commands.
fn hooks_path(git: &BlockingGit) -> Option<PathBuf> {
    let args = [
        "config",
        "-z",
        "--show-scope",
        "--type=path",
        "--get-all",
        "core.hooksPath",
    ];
    // Without such a setting, git fails.
    let output = git.read(&args).ok()?;
    let output: Vec<&[u8]> = output.split(|&byte| byte == 0).collect();
    let mut values = output.chunks_exact(2).rev();
    let value = values.find(|pair| pair[0] != b"command")?[1];
    (!value.is_empty()).then(|| path(value))
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes.to_vec()))
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> HookError {
    let path = path.to_owned();
    move |source| HookError::Io {
        action,
        path,
        source,
    }
}
