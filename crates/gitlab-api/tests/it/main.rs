//! The client against a test GitLab.

mod asking;
mod client;
mod hostile;
mod paging;
mod words;
