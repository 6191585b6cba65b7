//! Finds included files through a scripted library.

mod bounds;
mod components;
mod errors;
mod files;
mod scripted;
