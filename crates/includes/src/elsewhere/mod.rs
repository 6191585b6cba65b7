//! From what an `include` names to questions, and from their answers to files.

mod address;
mod asker;
mod component;
mod finder;
mod gather;
mod integrity;
mod project;
mod reference;
mod refused;
mod remote;
mod settings;
mod template;
mod version;

pub use gather::Elsewhere;
pub use settings::{ElsewhereSettings, OwnProject, TEMPLATES};
