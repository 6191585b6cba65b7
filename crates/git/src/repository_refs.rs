use crate::inspect::{in_section, project_remote};
use crate::{GitDir, refs, without_credentials};
use std::fs;
use std::path::Path;

/// The branches, tags and addresses of a repository, read from its files without git.
///
/// A repository that keeps its refs in another format appears to have none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryRefs {
    git_dir: GitDir,
}

impl RepositoryRefs {
    /// Returns those of the repository around `directory`.
    pub fn of(directory: &Path) -> Option<Self> {
        let git_dir = GitDir::containing(directory)?;
        Some(Self { git_dir })
    }

    /// Returns the commit a branch points at.
    pub fn branch(&self, name: &str) -> Option<String> {
        self.resolve("refs/heads", name)
    }

    /// Returns the object a tag points at: a commit, or the tag's own object.
    pub fn tag(&self, name: &str) -> Option<String> {
        self.resolve("refs/tags", name)
    }

    /// Returns the commit that a branch of this name had on the server at the last push or fetch.
    ///
    /// The server is the one the local branch belongs to, else `origin`.
    pub fn remote_branch(&self, name: &str) -> Option<String> {
        let config = self.config();
        let section = format!("[branch \"{name}\"]");
        let remote = in_section(&config, &section, "remote");
        // A branch whose remote is this repository itself is on no server.
        let remote = remote.filter(|remote| remote != ".");
        let remote = remote.unwrap_or_else(|| "origin".to_owned());
        self.resolve("refs/remotes", &format!("{remote}/{name}"))
    }

    /// Returns the address that tells the project's path and server, without user name and password
    /// for http: the one of `gcl-origin`, else of `origin`.
    pub fn remote_url(&self) -> Option<String> {
        project_remote(&self.config()).map(|url| without_credentials(&url))
    }

    fn config(&self) -> String {
        fs::read_to_string(self.git_dir.common.join("config")).unwrap_or_default()
    }

    fn resolve(&self, below: &str, name: &str) -> Option<String> {
        // A text that is not the name of a ref must not become a path out of the repository.
        let is_plain = |part: &str| !part.is_empty() && part != "." && part != "..";
        if !name.split('/').all(is_plain) || name.contains('\0') {
            return None;
        }
        refs::resolve(&self.git_dir, &format!("{below}/{name}"))
    }
}
