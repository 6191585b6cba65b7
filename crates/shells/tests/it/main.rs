//! Scripts under real shells, real git, and as text.

mod support;
mod user_stage;
