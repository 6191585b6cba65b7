//! A GitLab for tests: its API over real Git repositories, with a count of every request.
//!
//! A test makes a [`GitLab`], puts [`Project`]s with commits, tags and branches into it, points the
//! program under test at [`GitLab::url`], and looks at the [`Request`]s afterwards. What GitLab
//! itself would refuse, it refuses: status, body and headers are those of the public documentation.
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
//! A test double fails by panicking: there is nothing a test could do about a repository that cannot be made.

mod answer;
mod api;
mod fault;
mod git;
mod git_http;
mod gitlab;
mod group;
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
mod variable;
mod web_page;
mod who;
mod world;

pub use fault::{Fault, Held};
pub use gitlab::GitLab;
pub use group::Group;
pub use page::Page;
pub use project::Project;
pub use request::Request;
pub use setup::Setup;
pub use sshd::Sshd;
pub use token::{Role, TokenHandle};
pub use variable::Variable;
