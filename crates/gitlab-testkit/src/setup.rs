use crate::GitLab;
use crate::world::World;
use std::sync::Arc;

/// How a [`GitLab`] is reached.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    root: String,
    tls: bool,
}

impl Setup {
    /// Puts it below a path of its server, as `/gitlab`.
    pub fn below(mut self, root: &str) -> Self {
        root.clone_into(&mut self.root);
        self
    }

    /// Has it speak TLS, with a certificate of [`GitLab::authority`].
    pub fn tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// Starts it.
    pub fn start(self) -> GitLab {
        GitLab::new(Arc::new(World::new(&self.root)), self.tls)
    }
}
