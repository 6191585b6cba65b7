//! One job in containers: its preparation, its files, its stages, and the removal of all it made.

pub(crate) mod container;
pub mod create;
pub(crate) mod created_resources;
pub(crate) mod files;
pub(crate) mod prepare;
pub(crate) mod prepared;
pub(crate) mod resume;
pub(crate) mod shared;
pub(crate) mod stage;
pub(crate) mod terminal;
