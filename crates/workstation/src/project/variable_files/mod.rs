//! Variables from files: of `--variables-file`, of the project and of the user.
//!
//! A file is YAML (`NAME: value`, or a hash with attributes) or lines of `NAME=value`, as its first line shows. The
//! formats are those of gitlab-ci-local, with GitLab's attributes (`type`, `masked`, `protected`,
//! `environment_scope`, `expand`). Every variable keeps its file and line.
//!
//! In YAML, plain text that starts with `/` or `~` and names an existing file makes a file variable with its content.

mod dotenv;
mod home_file;
mod value_reader;
mod variables_file;

pub(crate) use dotenv::parse as parse_dotenv;
pub(crate) use home_file::HomeFile;
pub(crate) use variables_file::VariablesFile;
