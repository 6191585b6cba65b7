use crate::fault::{Plan, Planned};
use crate::server::{self, Running};
use crate::tls::Tls;
use crate::token::{Kind, Role, Token, Validity};
use crate::world::World;
use crate::{Fault, Group, Held, Page, Project, Request, Setup, TokenHandle, Variable};
use parking_lot::Mutex;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use tokio::sync::watch;

/// A GitLab on a loopback port that runs until it is dropped.
#[derive(Debug)]
pub struct GitLab {
    world: Arc<World>,
    address: SocketAddr,
    tls: Option<Tls>,
    running: Mutex<Option<Running>>,
}

impl GitLab {
    /// Starts an empty GitLab that serves HTTP.
    pub fn start() -> Self {
        Self::setup().start()
    }

    /// Starts an empty GitLab that serves HTTPS, with a certificate of [`GitLab::authority`].
    pub fn start_tls() -> Self {
        Self::setup().tls().start()
    }

    /// Returns a setup for a GitLab that differs from the default.
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
        let running = Running::start(server::router(Arc::clone(&world)), listener, acceptor);
        Self {
            world,
            address,
            tls,
            running: Mutex::new(Some(running)),
        }
    }

    /// Returns its URL, without a trailing slash.
    pub fn url(&self) -> String {
        self.world.url()
    }

    /// Returns the host and port, as component addresses contain them.
    pub fn name(&self) -> String {
        self.address.to_string()
    }

    /// Returns the socket address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the certificate file of its authority, if it serves HTTPS.
    pub fn authority(&self) -> Option<&Path> {
        self.tls.as_ref().map(|tls| tls.authority.as_path())
    }

    /// Returns the folder that holds all repositories, each as `group/project.git`.
    pub fn repositories(&self) -> std::path::PathBuf {
        self.world.repositories()
    }

    /// Creates a public project without commits, or returns the existing one with this path.
    pub fn project(&self, path: &str) -> Project {
        Project::of(&self.world, path)
    }

    /// Returns a group, which exists once it has a project or a variable.
    pub fn group(&self, path: &str) -> Group {
        Group {
            world: Arc::clone(&self.world),
            path: path.to_owned(),
        }
    }

    /// Adds an instance variable, which all projects receive.
    pub fn variable(&self, variable: Variable) {
        self.world.state().variables.push(variable);
    }

    /// Creates a personal access token with these scopes, owned by a maintainer of everything.
    pub fn token(&self, value: &str, scopes: &[&str]) -> TokenHandle {
        self.add_token(value, Kind::Access, scopes)
    }

    /// Creates an OAuth token, which the server accepts in `Authorization: Bearer` only.
    pub fn oauth_token(&self, value: &str, scopes: &[&str]) -> TokenHandle {
        self.add_token(value, Kind::OAuth, scopes)
    }

    /// Creates the token of a running job, which can read tags, and repositories over Git.
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

    /// Adds a pipeline template, such as `Jobs/Build`.
    pub fn template(&self, name: &str, text: &str) {
        let mut state = self.world.state();
        state.templates.insert(name.to_owned(), text.to_owned());
    }

    /// Serves a page at a path, given with its leading slash, and replaces an earlier page there.
    pub fn page(&self, path: &str, page: impl Into<Page>) -> String {
        let mut state = self.world.state();
        state.pages.insert(path.to_owned(), page.into());
        format!("{}{path}", self.world.origin())
    }

    /// Returns all requests since the start or the last [`GitLab::reset_count`], in order.
    pub fn requests(&self) -> Vec<Request> {
        self.world.state().requests.clone()
    }

    /// Returns the number of requests to a path, given as sent or decoded; a trailing `*` matches all paths below it.
    pub fn count(&self, method: &str, path: &str) -> usize {
        let state = self.world.state();
        let all = state.requests.iter();
        all.filter(|it| it.method == method && it.is_at(path))
            .count()
    }

    /// Returns the number of requests.
    pub fn total(&self) -> usize {
        self.world.state().requests.len()
    }

    /// Clears the recorded requests.
    pub fn reset_count(&self) {
        self.world.state().requests.clear();
    }

    /// Injects a fault into the next request to a path, written as for [`GitLab::count`].
    pub fn next(&self, path: &str, fault: Fault) {
        self.next_times(path, 1, fault);
    }

    /// Injects a fault into the next `times` requests to a path.
    pub fn next_times(&self, path: &str, times: usize, fault: Fault) {
        if times > 0 {
            self.plan(path, Some(times), Plan::Fault(fault));
        }
    }

    /// Injects a fault into every request to a path, until [`GitLab::repair`].
    pub fn always(&self, path: &str, fault: Fault) {
        self.plan(path, None, Plan::Fault(fault));
    }

    /// Holds all requests to a path.
    pub fn hold(&self, path: &str) -> Held {
        let (release, released) = watch::channel(false);
        self.plan(path, None, Plan::Hold(released));
        Held { release }
    }

    /// Removes all planned faults.
    pub fn repair(&self) {
        self.world.state().planned.clear();
    }

    fn plan(&self, path: &str, times: Option<usize>, plan: Plan) {
        let path = path.to_owned();
        let mut state = self.world.state();
        state.planned.push(Planned { path, times, plan });
    }

    /// Stops the server; its repositories and recorded requests remain.
    pub fn stop(&self) {
        let running = self.running.lock().take();
        // Dropped after the lock, because the drop waits for the server's thread.
        drop(running);
    }

    /// Starts the server again on the same address, after [`GitLab::stop`].
    ///
    /// # Panics
    ///
    /// If another process took its port in the meantime.
    pub fn resume(&self) {
        self.stop();
        let listener = server::bind_again(self.address).expect("its port is still free");
        let acceptor = self.tls.as_ref().map(|it| it.acceptor.clone());
        let running = Running::start(server::router(Arc::clone(&self.world)), listener, acceptor);
        *self.running.lock() = Some(running);
    }
}
