//! What is done with random input, and small collections of input that once mattered.
//!
//! Each function takes any bytes and panics when something is not as it must be. The programs of
//! this package make up bytes that reach new code (`cargo xtask fuzz loader --seconds 600`), and its
//! tests go through the files below `corpus`, so that what was once found stays mended.

mod expression;
mod glob;
mod interpolation;
mod loader;

pub use expression::expression;
pub use glob::glob;
pub use interpolation::interpolation;
pub use loader::loader;

/// What is done with any bytes, and its name.
pub type Target = (&'static str, fn(&[u8]));

/// All functions; each has a folder below `corpus`.
pub const TARGETS: [Target; 4] = [
    ("loader", loader),
    ("expression", expression),
    ("interpolation", interpolation),
    ("glob", glob),
];
