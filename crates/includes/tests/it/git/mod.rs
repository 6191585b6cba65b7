//! Projects that are asked by Git: the real one, over a real SSH and HTTP.

mod asker;
mod fallback;
mod http;
mod kept;
mod killed;
mod ssh;

pub(crate) use killed::silent_servers;
