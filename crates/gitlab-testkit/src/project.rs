use crate::Variable;
use crate::repository::{Change, Repository};
use crate::world::{ProjectRecord, Visibility, World};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A project on a [`GitLab`](crate::GitLab), with a real repository. It is public, and its default branch
/// is `main`, which is protected.
#[derive(Debug, Clone)]
pub struct Project {
    pub(crate) world: Arc<World>,
    pub(crate) id: u64,
    pub(crate) path: String,
    pub(crate) repository: Repository,
    /// Each commit is a minute younger than the one before, whichever handle makes it.
    pub(crate) clock: Arc<AtomicU64>,
}

impl Project {
    /// Returns its number.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns its path, `group/project`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the address to clone it from over HTTP.
    pub fn clone_url(&self) -> String {
        format!("{}/{}.git", self.world.url(), self.path)
    }

    /// Returns the folder of its repository.
    pub fn folder(&self) -> &Path {
        self.repository.folder()
    }

    /// Returns the path of something in the API, as it is sent: `/repository/tags` becomes
    /// `/api/v4/projects/group%2Fproject/repository/tags`.
    pub fn api(&self, rest: &str) -> String {
        let project = self.path.replace('/', "%2F");
        format!("{}/api/v4/projects/{project}{rest}", self.world.root)
    }

    /// Commits files to the default branch, beside those that are there; returns the commit's id.
    pub fn commit<B: AsRef<[u8]>>(&self, files: &[(&str, B)]) -> String {
        self.commit_to("main", files)
    }

    /// Commits files to a branch; one that is new begins with nothing.
    pub fn commit_to<B: AsRef<[u8]>>(&self, branch: &str, files: &[(&str, B)]) -> String {
        let changes: Vec<Change<'_>> = files
            .iter()
            .map(|(path, text)| (*path, Some(text.as_ref())))
            .collect();
        self.repository.commit(branch, &changes, self.now())
    }

    /// Removes a file from the default branch; returns the commit's id.
    pub fn remove(&self, path: &str) -> String {
        self.repository.commit("main", &[(path, None)], self.now())
    }

    /// Tags the default branch's commit.
    pub fn tag(&self, name: &str) {
        self.tags(&[name]);
    }

    /// Tags the default branch's commit many times.
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

    /// Tags the default branch's commit with a message, in an object of its own.
    pub fn annotated_tag(&self, name: &str) {
        self.repository.annotate(name, &self.head(), self.now());
    }

    /// Makes a branch at the default branch's commit.
    pub fn branch(&self, name: &str) {
        self.branch_at(name, &self.head());
    }

    /// Makes a branch at a commit, or moves it there.
    pub fn branch_at(&self, name: &str, commit: &str) {
        self.repository
            .point(&[format!("refs/heads/{name}")], commit);
    }

    /// Removes a tag.
    pub fn remove_tag(&self, name: &str) {
        self.repository.remove(&format!("refs/tags/{name}"));
    }

    /// Removes a branch.
    pub fn remove_branch(&self, name: &str) {
        self.repository.remove(&format!("refs/heads/{name}"));
    }

    /// Returns the commit that a branch, a tag, a commit or `HEAD` means.
    pub fn commit_of(&self, name: &str) -> Option<String> {
        self.repository.commit_of(name)
    }

    /// Protects a branch or tag, or all that begin with what stands before a `*`.
    pub fn protect(self, name: &str) -> Self {
        self.change(|it| {
            it.protected.insert(name.to_owned());
        })
    }

    /// Protects no branch, not even the default one.
    pub fn unprotected(self) -> Self {
        self.change(|it| it.protected.clear())
    }

    /// Hides it from everybody but its members.
    pub fn private(self) -> Self {
        self.change(|it| it.visibility = Visibility::Private)
    }

    /// Hides it from everybody without an account.
    pub fn internal(self) -> Self {
        self.change(|it| it.visibility = Visibility::Internal)
    }

    /// Gives it a variable.
    pub fn variable(self, variable: Variable) -> Self {
        self.change(|it| it.variables.push(variable))
    }

    /// Says what checking its pipeline answers.
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
