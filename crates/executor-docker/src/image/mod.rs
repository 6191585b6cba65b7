//! Images: names, pulls and credentials.

mod images;
mod info;
mod login;
mod policy;

mod fault;
mod progress;
mod pull;
mod retry;
mod shared_pull;

pub use fault::PullFault;
pub use images::Images;
pub use info::ImageInfo;
pub use policy::PullPolicy;
pub use registry::{CredentialSources, Credentials, ImageReference, Platform, ReferenceError};
pub use retry::PullRetry;
