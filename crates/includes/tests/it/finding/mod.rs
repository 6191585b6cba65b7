//! From what an include names to questions, and from their answers to files.

mod bounds;
mod components;
mod errors;
mod files;
mod scripted;
