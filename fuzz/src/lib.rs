//! Fuzz targets, and small collections of input that once found errors.
//!
//! Each function accepts any bytes and panics on an error. The programs of this package generate
//! bytes that reach new code (`cargo xtask fuzz loader --seconds 600`), and its tests run the files
//! below `corpus` as regression tests.

mod expression;
mod glob;
mod interpolation;
mod loader;

pub use expression::expression;
pub use glob::glob;
pub use interpolation::interpolation;
pub use loader::loader;

/// The name of a target and its function.
pub type Target = (&'static str, fn(&[u8]));

/// All targets; each has a directory below `corpus`.
pub const TARGETS: [Target; 4] = [
    ("loader", loader),
    ("expression", expression),
    ("interpolation", interpolation),
    ("glob", glob),
];
