//! What happens around a job while it runs: to its container, to the way to the engine, to the engine.

mod cut;
mod daemon;
mod entry;
mod lost;
mod rights;
mod stop;
mod warm;
mod way;
