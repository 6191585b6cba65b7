use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, value_parser};
use std::ops::Deref;
use std::path::PathBuf;

const ID: &str = "cwd";

/// The directory to work in, which is also an option of the program: a command may have it from there.
#[derive(Debug, Clone, Default)]
pub(crate) struct DirectoryArg(Option<PathBuf>);

impl DirectoryArg {
    /// Returns the option.
    pub(crate) fn option() -> Arg {
        Arg::new(ID)
            .short('C')
            .long(ID)
            .value_name("DIR")
            .value_parser(value_parser!(PathBuf))
            .help("The directory to work in, instead of the current one")
    }
}

impl Deref for DirectoryArg {
    type Target = Option<PathBuf>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Args for DirectoryArg {
    fn augment_args(command: Command) -> Command {
        if command.get_arguments().any(|it| it.get_id() == ID) {
            return command;
        }
        command.arg(Self::option())
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for DirectoryArg {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self(matches.get_one(ID).cloned()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
