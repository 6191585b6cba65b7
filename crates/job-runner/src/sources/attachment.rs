use super::base::Layer;
use super::worktree::Checkout;
use executor_core::BuildError;

/// What a job's directory hangs on, besides itself.
#[derive(Debug)]
pub(crate) enum Attachment {
    /// Something is mounted on it.
    Layer(Layer),
    /// A repository knows of it.
    Checkout(Checkout),
}

impl Attachment {
    /// Takes it away. The job's processes must have ended.
    pub(crate) async fn remove(self) -> Result<(), BuildError> {
        match self {
            Self::Layer(layer) => layer.remove().await,
            Self::Checkout(checkout) => checkout.remove().await,
        }
    }
}
