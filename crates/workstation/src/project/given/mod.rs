//! Variables from files: those of `--variables-file`, of the project and of the user.
//!
//! A file is YAML (`NAME: value`, or a hash that says more) or lines of `NAME=value`; its first line
//! tells which. The formats are those of gitlab-ci-local, so that its users bring their files along,
//! and GitLab's words for what a variable is (`type`, `masked`, `protected`, `environment_scope`,
//! `expand`) are read too. Every variable keeps the file and the line it is from.
//!
//! In YAML, plain text that begins with `/` or `~` names a file, whose content the variable brings as
//! a file of its own; where there is no such file, it is text.

mod dotenv;
mod home_file;
mod mask;
mod value;
mod variables_file;

pub(crate) use dotenv::parse as parse_dotenv;
pub(crate) use home_file::HomeFile;
pub(crate) use variables_file::VariablesFile;
