//! Tests of the store on real directories.

mod adversity;
mod life;
mod support;
