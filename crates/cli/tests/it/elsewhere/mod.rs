//! Remote includes: the binary, and a GitLab for tests.

mod api_mode;
mod corpus;
mod counted;
mod functions;
mod includes;
mod locked;
mod scene;
mod servers;
