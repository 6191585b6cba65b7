use crate::GitLab;
use crate::world::World;
use std::sync::Arc;

/// How clients reach a [`GitLab`].
#[derive(Debug, Clone, Default)]
pub struct Setup {
    root: String,
    tls: bool,
}

impl Setup {
    /// Serves it below a path, such as `/gitlab`.
    pub fn below(mut self, root: &str) -> Self {
        root.clone_into(&mut self.root);
        self
    }

    /// Serves HTTPS, with a certificate of [`GitLab::authority`].
    pub fn tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// Starts the GitLab.
    pub fn start(self) -> GitLab {
        GitLab::new(Arc::new(World::new(&self.root)), self.tls)
    }
}
