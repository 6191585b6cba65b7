//! A GitLab for tests: its API over real Git repositories, with a count of every request.
