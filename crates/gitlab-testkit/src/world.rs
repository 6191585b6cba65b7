use crate::fault::{self, Plan, Planned};
use crate::repository::Repository;
use crate::token::Token;
use crate::{Page, Request, Variable};
use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};
use tempfile::TempDir;

/// The state of the server, shared with the test.
#[derive(Debug)]
pub(crate) struct World {
    /// Holds the repositories and the authority's certificate.
    pub(crate) folder: TempDir,
    /// The path prefix of the instance, without a trailing slash: empty, or `/gitlab`.
    pub(crate) root: String,
    /// The server's address without that prefix, set once the server listens.
    pub(crate) origin: OnceLock<String>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) projects: Vec<ProjectRecord>,
    pub(crate) groups: BTreeMap<String, Vec<Variable>>,
    pub(crate) variables: Vec<Variable>,
    pub(crate) tokens: Vec<Token>,
    pub(crate) templates: BTreeMap<String, String>,
    pub(crate) pages: BTreeMap<String, Page>,
    pub(crate) planned: Vec<Planned>,
    pub(crate) requests: Vec<Request>,
}

#[derive(Debug, Clone)]
pub(crate) struct ProjectRecord {
    pub(crate) id: u64,
    pub(crate) path: String,
    pub(crate) visibility: Visibility,
    pub(crate) protected: BTreeSet<String>,
    pub(crate) variables: Vec<Variable>,
    pub(crate) lint: Option<Value>,
    pub(crate) repository: Repository,
    /// The clock of commit times, in minutes.
    pub(crate) clock: Arc<AtomicU64>,
}

impl ProjectRecord {
    /// Returns whether a branch or tag is protected.
    pub(crate) fn protects(&self, name: &str) -> bool {
        let mut all = self.protected.iter();
        all.any(|known| match known.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => known == name,
        })
    }
}

/// Who can see a project besides its members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visibility {
    Public,
    Internal,
    Private,
}

impl World {
    pub(crate) fn new(root: &str) -> Self {
        let root = root.trim_matches('/');
        Self {
            folder: tempfile::Builder::new()
                .prefix("gitlab-testkit-")
                .tempdir()
                .expect("a folder for repositories can be made"),
            root: if root.is_empty() {
                String::new()
            } else {
                format!("/{root}")
            },
            origin: OnceLock::new(),
            state: Mutex::default(),
        }
    }

    /// Locks the state, ignoring poison so that it stays readable after a test panics.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Returns the URL of this GitLab, without a trailing slash.
    pub(crate) fn url(&self) -> String {
        format!("{}{}", self.origin(), self.root)
    }

    /// Returns the address of the server, without the path prefix.
    pub(crate) fn origin(&self) -> &str {
        self.origin.get().map_or("", String::as_str)
    }

    /// Returns the folder that holds all repositories, each as `group/project.git`.
    pub(crate) fn repositories(&self) -> PathBuf {
        self.folder.path().join("repositories")
    }

    /// Creates a public project without commits.
    pub(crate) fn create_project(&self, path: &str) -> ProjectRecord {
        let folder = self.repositories().join(format!("{path}.git"));
        let repository = Repository::create(folder);
        let mut state = self.state();
        let record = ProjectRecord {
            id: state.projects.len() as u64 + 1,
            path: path.to_owned(),
            visibility: Visibility::Public,
            protected: BTreeSet::from(["main".to_owned()]),
            variables: Vec::new(),
            lint: None,
            clock: Arc::new(AtomicU64::new(0)),
            repository,
        };
        state.projects.push(record.clone());
        record
    }

    /// Records a request; returns its number and the fault planned for it.
    pub(crate) fn arrived(&self, request: &Request) -> (usize, Option<Plan>) {
        let mut state = self.state();
        state.requests.push(request.clone());
        let number = state.requests.len() - 1;
        let plan = fault::take(&mut state.planned, |path| request.is_at(path));
        (number, plan)
    }

    /// Records the status of a response, unless the list was cleared meanwhile.
    pub(crate) fn answered(&self, number: usize, request: &Request, status: u16) {
        let mut state = self.state();
        if let Some(known) = state.requests.get_mut(number)
            && known.path == request.path
            && known.status.is_none()
        {
            known.status = Some(status);
        }
    }

    /// Returns a project by its id, or by its path in any letter case.
    pub(crate) fn project(&self, name: &str) -> Option<ProjectRecord> {
        let id = name.parse().ok();
        let state = self.state();
        let mut all = state.projects.iter();
        all.find(|it| Some(it.id) == id || it.path.eq_ignore_ascii_case(name))
            .cloned()
    }
}
