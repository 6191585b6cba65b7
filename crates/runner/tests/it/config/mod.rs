//! `config.toml`: reading, problems with their positions, and edits.

mod cache;
mod certificates;
mod edit;
mod every_key;
mod explain;
mod guide;
mod known;
mod problems;
