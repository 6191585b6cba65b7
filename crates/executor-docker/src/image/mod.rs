//! Images: their names, and how they come to the engine.

mod images;
mod info;
mod policy;
mod reference;
mod reference_error;

pub use images::Images;
pub use info::ImageInfo;
pub use policy::PullPolicy;
pub use reference::ImageReference;
pub use reference_error::ReferenceError;
