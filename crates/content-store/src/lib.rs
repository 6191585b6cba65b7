//! Keeps trees of files by their content: the same bytes once, published whole or not at all.

mod digest;

pub use digest::Digest;
