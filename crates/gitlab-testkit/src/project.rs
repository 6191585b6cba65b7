use crate::Variable;
use crate::repository::{Change, Repository};
use crate::world::{ProjectRecord, Visibility, World};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A project on a [`GitLab`](crate::GitLab), with a real repository. By default it is public, and its default branch
/// `main` is protected.
#[derive(Debug, Clone)]
pub struct Project {
    pub(crate) world: Arc<World>,
    pub(crate) id: u64,
    pub(crate) path: String,
    pub(crate) repository: Repository,
    /// Shared by all handles, so that each commit is a minute newer than the one before.
    pub(crate) clock: Arc<AtomicU64>,
}

impl Project {
    /// Returns the project with this path, created if it does not exist.
    pub(crate) fn of(world: &Arc<World>, path: &str) -> Self {
        let known = world.project(path);
        let record = known.unwrap_or_else(|| world.create_project(path));
        Self {
            world: Arc::clone(world),
            id: record.id,
            path: record.path,
            repository: record.repository,
            clock: record.clock,
        }
    }

    /// Returns its id.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns its path, `group/project`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns its clone URL over HTTP.
    pub fn clone_url(&self) -> String {
        format!("{}/{}.git", self.world.url(), self.path)
    }

    /// Returns the directory of its repository.
    pub fn folder(&self) -> &Path {
        self.repository.folder()
    }

    /// Returns the API path of a resource, encoded as it is sent: `/repository/tags` becomes
    /// `/api/v4/projects/group%2Fproject/repository/tags`.
    pub fn api(&self, rest: &str) -> String {
        let project = self.path.replace('/', "%2F");
        format!("{}/api/v4/projects/{project}{rest}", self.world.root)
    }

    /// Commits files to the default branch on top of its existing files; returns the commit id.
    pub fn commit<B: AsRef<[u8]>>(&self, files: &[(&str, B)]) -> String {
        self.commit_to("main", files)
    }

    /// Commits files to a branch; a new branch starts empty.
    pub fn commit_to<B: AsRef<[u8]>>(&self, branch: &str, files: &[(&str, B)]) -> String {
        let changes: Vec<Change<'_>> = files
            .iter()
            .map(|(path, text)| (*path, Some(text.as_ref())))
            .collect();
        self.repository.commit(branch, &changes, self.now())
    }

    /// Removes a file from the default branch; returns the commit id.
    pub fn remove(&self, path: &str) -> String {
        self.repository.commit("main", &[(path, None)], self.now())
    }

    /// Tags the head of the default branch.
    pub fn tag(&self, name: &str) {
        self.tags(&[name]);
    }

    /// Creates many tags at the head of the default branch.
    pub fn tags<T: AsRef<str>>(&self, names: &[T]) {
        let names = names.iter().map(|it| format!("refs/tags/{}", it.as_ref()));
        let names: Vec<String> = names.collect();
        self.repository.point(&names, &self.head());
    }

    /// Tags a commit.
    pub fn tag_at(&self, name: &str, commit: &str) {
        self.repository
            .point(&[format!("refs/tags/{name}")], commit);
    }

    /// Creates an annotated tag at the head of the default branch.
    pub fn annotated_tag(&self, name: &str) {
        self.repository.annotate(name, &self.head(), self.now());
    }

    /// Creates a branch at the head of the default branch.
    pub fn branch(&self, name: &str) {
        self.branch_at(name, &self.head());
    }

    /// Creates a branch at a commit, or moves an existing one there.
    pub fn branch_at(&self, name: &str, commit: &str) {
        self.repository
            .point(&[format!("refs/heads/{name}")], commit);
    }

    /// Creates a ref at a commit, such as `refs/pipelines/1`, or moves an existing one there.
    pub fn reference(&self, name: &str, commit: &str) {
        self.repository.point(&[name.to_owned()], commit);
    }

    /// Adds a submodule to the default branch, which needs a commit; `url` may be relative. Returns the commit id.
    pub fn submodule(&self, path: &str, url: &str, commit: &str) -> String {
        let modules = format!("[submodule \"{path}\"]\n\tpath = {path}\n\turl = {url}\n");
        self.commit(&[(".gitmodules", modules)]);
        self.repository.link("main", path, commit, self.now())
    }

    /// Removes a tag.
    pub fn remove_tag(&self, name: &str) {
        self.repository.remove(&format!("refs/tags/{name}"));
    }

    /// Removes a branch.
    pub fn remove_branch(&self, name: &str) {
        self.repository.remove(&format!("refs/heads/{name}"));
    }

    /// Resolves a branch, a tag, a commit or `HEAD` to a commit id.
    pub fn commit_of(&self, name: &str) -> Option<String> {
        self.repository.commit_of(name)
    }

    /// Protects a branch or tag; a name with a trailing `*` protects all names with that prefix.
    pub fn protect(self, name: &str) -> Self {
        self.change(|it| {
            it.protected.insert(name.to_owned());
        })
    }

    /// Removes all protection, including that of the default branch.
    pub fn unprotected(self) -> Self {
        self.change(|it| it.protected.clear())
    }

    /// Makes it visible to its members only.
    pub fn private(self) -> Self {
        self.change(|it| it.visibility = Visibility::Private)
    }

    /// Makes it visible to users with an account only.
    pub fn internal(self) -> Self {
        self.change(|it| it.visibility = Visibility::Internal)
    }

    /// Adds a variable to the project.
    pub fn variable(self, variable: Variable) -> Self {
        self.change(|it| it.variables.push(variable))
    }

    /// Sets the response of the CI lint endpoint.
    pub fn lint(self, answer: Value) -> Self {
        self.change(|it| it.lint = Some(answer))
    }

    fn head(&self) -> String {
        let head = self.commit_of("refs/heads/main");
        head.expect("a project has a commit before it has a tag or branch")
    }

    fn now(&self) -> u64 {
        1_700_000_000 + 60 * self.clock.fetch_add(1, Ordering::Relaxed)
    }

    fn change(self, change: impl FnOnce(&mut ProjectRecord)) -> Self {
        let mut state = self.world.state();
        if let Some(record) = state.projects.iter_mut().find(|it| it.id == self.id) {
            change(record);
        }
        drop(state);
        self
    }
}
