//! Remote includes: the binary, and a GitLab for tests.

mod api_mode;
mod corpus;
mod functions;
mod includes;
mod lock_file;
mod remote_project;
mod repeated_requests;
mod servers;
