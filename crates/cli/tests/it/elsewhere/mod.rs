//! Files that a pipeline takes from elsewhere: the binary, and a GitLab for tests.

mod api_mode;
mod counted;
mod includes;
mod scene;
mod servers;
