//! Libraries of included files, against a GitLab for tests.

mod answers;
mod finding;
