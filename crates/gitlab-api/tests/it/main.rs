//! The client against a GitLab for tests.

mod asking;
mod client;
mod hostile;
mod paging;
mod words;
