mod command;
mod job;
mod options;

pub use command::CommandBuilder;
pub use job::JobBuilder;
pub use options::{OptionsBuilder, runner_config};
