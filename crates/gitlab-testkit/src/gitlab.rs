use crate::fault::{Plan, Planned};
use crate::repository::Repository;
use crate::server::Running;
use crate::tls::Tls;
use crate::token::{Kind, Role, Token, Validity};
use crate::world::{ProjectRecord, Visibility, World};
use crate::{Fault, Group, Held, Page, Project, Request, Setup, TokenHandle, Variable};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// A GitLab on a port of the loopback address, until it is dropped.
#[derive(Debug)]
pub struct GitLab {
    world: Arc<World>,
    address: SocketAddr,
    tls: Option<Tls>,
    running: Mutex<Option<Running>>,
}

impl GitLab {
    /// Starts an empty one that speaks HTTP.
    pub fn start() -> Self {
        Self::setup().start()
    }

    /// Starts an empty one that speaks HTTPS, with a certificate of [`GitLab::authority`].
    pub fn start_tls() -> Self {
        Self::setup().tls().start()
    }

    /// Returns how one is started that is unlike others.
    pub fn setup() -> Setup {
        Setup::default()
    }

    pub(crate) fn new(world: Arc<World>, tls: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port can be had");
        let address = listener.local_addr().expect("it has an address");
        let tls = tls.then(|| Tls::new(world.folder.path()).expect("certificates can be made"));
        let scheme = if tls.is_some() { "https" } else { "http" };
        let known = world.origin.set(format!("{scheme}://{address}"));
        known.expect("a world is served once");
        let acceptor = tls.as_ref().map(|it| it.acceptor.clone());
        let running = Running::start(Arc::clone(&world), listener, acceptor);
        Self {
            world,
            address,
            tls,
            running: Mutex::new(Some(running)),
        }
    }

    /// Returns its address, without a slash at its end.
    pub fn url(&self) -> String {
        self.world.url()
    }

    /// Returns the host and port, as components name it.
    pub fn name(&self) -> String {
        self.address.to_string()
    }

    /// Returns where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the file with the certificate of its authority, if it speaks HTTPS.
    pub fn authority(&self) -> Option<&Path> {
        self.tls.as_ref().map(|tls| tls.authority.as_path())
    }

    /// Returns the folder below which all repositories are, each as `group/project.git`.
    pub fn repositories(&self) -> std::path::PathBuf {
        self.world.folder.path().join("repositories")
    }

    /// Makes a public project without commits, or returns the one that has this path.
    pub fn project(&self, path: &str) -> Project {
        let known = self.world.project(path);
        let record = known.unwrap_or_else(|| self.create(path));
        Project {
            world: Arc::clone(&self.world),
            id: record.id,
            path: record.path,
            repository: record.repository,
            clock: record.clock,
        }
    }

    fn create(&self, path: &str) -> ProjectRecord {
        let folder = self.repositories().join(format!("{path}.git"));
        let repository = Repository::create(folder);
        let mut state = self.world.state();
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

    /// Returns a group, which exists as soon as it has a project or a variable.
    pub fn group(&self, path: &str) -> Group {
        Group {
            world: Arc::clone(&self.world),
            path: path.to_owned(),
        }
    }

    /// Gives all projects a variable.
    pub fn variable(&self, variable: Variable) {
        self.world.state().variables.push(variable);
    }

    /// Makes a personal access token of a maintainer of everything, with these scopes.
    pub fn token(&self, value: &str, scopes: &[&str]) -> TokenHandle {
        self.add_token(value, Kind::Access, scopes)
    }

    /// Makes a token of OAuth, which only `Authorization: Bearer` carries.
    pub fn oauth_token(&self, value: &str, scopes: &[&str]) -> TokenHandle {
        self.add_token(value, Kind::OAuth, scopes)
    }

    /// Makes the token of a running job, which reads little: tags, and repositories over Git.
    pub fn job_token(&self, value: &str) -> TokenHandle {
        self.add_token(value, Kind::Job, &[])
    }

    fn add_token(&self, value: &str, kind: Kind, scopes: &[&str]) -> TokenHandle {
        self.world.state().tokens.push(Token {
            value: value.to_owned(),
            kind,
            scopes: scopes.iter().map(|it| (*it).to_owned()).collect(),
            validity: Validity::Active,
            role: Role::Maintainer,
            is_admin: false,
            only: None,
        });
        TokenHandle {
            world: Arc::clone(&self.world),
            value: value.to_owned(),
        }
    }

    /// Adds a template of pipelines, as `Jobs/Build`.
    pub fn template(&self, name: &str, text: &str) {
        let mut state = self.world.state();
        state.templates.insert(name.to_owned(), text.to_owned());
    }

    /// Puts a page at a path, with its leading slash, or another one in its place.
    pub fn page(&self, path: &str, page: impl Into<Page>) -> String {
        let mut state = self.world.state();
        state.pages.insert(path.to_owned(), page.into());
        format!("{}{path}", self.world.origin())
    }

    /// Returns all requests since the start or the last [`GitLab::reset_count`], in their order.
    pub fn requests(&self) -> Vec<Request> {
        self.world.state().requests.clone()
    }

    /// Returns how many requests there were to a path, given as it is sent or decoded, with `*` at its
    /// end for all below it.
    pub fn count(&self, method: &str, path: &str) -> usize {
        let state = self.world.state();
        let all = state.requests.iter();
        all.filter(|it| it.method == method && it.is_at(path))
            .count()
    }

    /// Returns how many requests there were.
    pub fn total(&self) -> usize {
        self.world.state().requests.len()
    }

    /// Forgets all requests.
    pub fn reset_count(&self) {
        self.world.state().requests.clear();
    }

    /// Does something else at the next request to a path, which is as in [`GitLab::count`].
    pub fn next(&self, path: &str, fault: Fault) {
        self.next_times(path, 1, fault);
    }

    /// Does something else at the next so many requests to a path.
    pub fn next_times(&self, path: &str, times: usize, fault: Fault) {
        if times > 0 {
            self.plan(path, Some(times), Plan::Fault(fault));
        }
    }

    /// Does something else at all requests to a path, until [`GitLab::repair`].
    pub fn always(&self, path: &str, fault: Fault) {
        self.plan(path, None, Plan::Fault(fault));
    }

    /// Holds back all requests to a path.
    pub fn hold(&self, path: &str) -> Held {
        let (release, released) = watch::channel(false);
        self.plan(path, None, Plan::Hold(released));
        Held { release }
    }

    /// Forgets all that was planned.
    pub fn repair(&self) {
        self.world.state().planned.clear();
    }

    fn plan(&self, path: &str, times: Option<usize>, plan: Plan) {
        let path = path.to_owned();
        let mut state = self.world.state();
        state.planned.push(Planned { path, times, plan });
    }

    /// Ends the server; its repositories and what it counted remain.
    pub fn stop(&self) {
        let running = self.running.lock().take();
        // Dropped after the lock: it waits for the server's thread.
        drop(running);
    }

    /// Starts the server again where it was, after [`GitLab::stop`].
    ///
    /// # Panics
    ///
    /// When somebody took its port meanwhile.
    pub fn resume(&self) {
        self.stop();
        let listener = bind_again(self.address).expect("its port is still free");
        let acceptor = self.tls.as_ref().map(|it| it.acceptor.clone());
        let running = Running::start(Arc::clone(&self.world), listener, acceptor);
        *self.running.lock() = Some(running);
    }
}

/// Listens where something has listened before, whose last connection may take its time to go.
fn bind_again(address: SocketAddr) -> io::Result<TcpListener> {
    let began = Instant::now();
    loop {
        match TcpListener::bind(address) {
            Err(error)
                if error.kind() == io::ErrorKind::AddrInUse
                    && began.elapsed() < Duration::from_secs(30) =>
            {
                thread::sleep(Duration::from_millis(20));
            }
            bound => return bound,
        }
    }
}
