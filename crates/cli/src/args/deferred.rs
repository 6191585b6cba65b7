use clap::{ArgMatches, Args, Command, FromArgMatches};
use std::ops::{Deref, DerefMut};

/// Arguments of a subcommand that are declared only when the subcommand is parsed or explained.
///
/// Declaring the arguments of all subcommands takes longer than the rest of parsing.
#[derive(Debug)]
pub(crate) struct Deferred<T>(Box<T>);

impl<T> Deferred<T> {
    pub(crate) fn into_inner(self) -> T {
        *self.0
    }
}

impl<T> Deref for Deferred<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Deferred<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: Args> Args for Deferred<T> {
    fn augment_args(command: Command) -> Command {
        command.defer(declare::<T>)
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(declare::<T>)
    }
}

/// Declares the arguments; the subcommand keeps the description that its variant has.
fn declare<T: Args>(command: Command) -> Command {
    let about = command.get_about().cloned().unwrap_or_default();
    T::augment_args(command).about(about)
}

impl<T: FromArgMatches> FromArgMatches for Deferred<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        T::from_arg_matches(matches).map(|args| Self(Box::new(args)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}
