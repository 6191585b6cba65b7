//! What is kept, restored, shown and swept, on real directories.

mod adversity;
mod life;
mod support;
