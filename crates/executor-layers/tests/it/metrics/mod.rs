//! The layer that counts.

mod bench;
mod jobs;
mod page;
mod scrape;
