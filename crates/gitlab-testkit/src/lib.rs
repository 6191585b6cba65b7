//! A GitLab for tests: its API over real Git repositories, with a record of every request.
//!
//! A test creates a [`GitLab`], fills it with [`Project`]s that have commits, tags and branches, points the program
//! under test at [`GitLab::url`], and checks the [`Request`]s afterwards. It refuses the requests that GitLab
//! refuses, with the status, body and headers of the public documentation.
//!
//! ```
//! use gitlab_testkit::GitLab;
//!
//! let gitlab = GitLab::start();
//! let templates = gitlab.project("group/templates").private();
//! let sha = templates.commit(&[("a.yml", "job: {script: make}")]);
//! templates.tag("1.2.0");
//! gitlab.token("glpat-secret", &["read_api"]);
//! // ... the program runs ...
//! assert_eq!(gitlab.count("GET", &templates.api("/repository/tags")), 0);
//! # assert_eq!(sha.len(), 40);
//! ```
//!
//! A [`JobServer`] is GitLab's side of the runner protocol: it hands out jobs, stores traces and artifacts, and checks
//! that the runner keeps to the protocol. The module [`wire`] compares a runner with recordings of official ones.
//!
//! Functions panic on failure, because a test cannot recover from a repository that cannot be created.

mod answer;
mod api;
mod fault;
mod git;
mod git_http;
mod gitlab;
mod group;
mod job_server;
mod page;
mod paging;
mod project;
mod repository;
mod request;
mod server;
mod setup;
mod sshd;
mod tls;
mod token;
mod token_handle;
mod variable;
mod web_page;
mod who;
pub mod wire;
mod world;

pub use fault::{Fault, Held};
pub use gitlab::GitLab;
pub use group::Group;
pub use job_server::{
    Call, CallAnswer, DropMoment, Endpoint, JobServer, JobServerState, Part, RangeCheck, Rule,
    TraceCheck, Upload, Watch,
};
pub use page::Page;
pub use project::Project;
pub use request::Request;
pub use setup::Setup;
pub use sshd::Sshd;
pub use token::Role;
pub use token_handle::TokenHandle;
pub use variable::Variable;
