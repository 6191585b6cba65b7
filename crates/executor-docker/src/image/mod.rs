//! Images: their names, and how they come to the engine.

mod reference;
mod reference_error;

mod images;
mod info;
mod platform;
mod policy;

mod fault;
mod progress;
mod pull;
mod retry;
mod turn;

pub mod credentials;

pub use credentials::{CredentialSources, Credentials};
pub use fault::PullFault;
pub use images::Images;
pub use info::ImageInfo;
pub use platform::Platform;
pub use policy::PullPolicy;
pub use reference::ImageReference;
pub use reference_error::ReferenceError;
pub use retry::PullRetry;
