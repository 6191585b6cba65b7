//! Images with functions: fetched from registries, and published there.

mod archive;
mod layer;
mod publish;
mod pull;

pub(crate) use publish::ImagePublisher;
pub(crate) use pull::{ImageFetcher, TREE};
