//! Settings: the defaults for everything that the command line leaves open.
//!
//! [`SECTIONS`] is the table of all settings. The file reader with its check of keys, the variables, `config show`,
//! the JSON schema, the file of `config init` and the page of the guide all derive from it. The layers, from weakest
//! to strongest: built-in values, the user's file (`config.toml` beside the state), the project's file
//! (`.runwright.toml`), variables `RUNWRIGHT_*`, options.
//!
//! The project's file comes with a clone, possibly from a stranger. It therefore cannot set which servers are
//! trusted, nor anything that belongs to the user: such sections and keys are marked `users_alone`.
//!
//! # How to add a setting for an option
//!
//! 1. Add a row to the section `run` of `table.rs`, with the name of the option, and a line to the method `fill` of
//!    the arguments that have it (`args/` of the command line), which sets the option unless the user gave it. A test
//!    there compares both for each command that has the option: the same name, and the same value name.
//! 2. A switch needs a way to override a file that turns it on: `--name=false`. In the arguments it is
//!    `#[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true,
//!    default_missing_value = "true", default_value_t = false, hide_default_value = true,
//!    hide_possible_values = true, value_name = "BOOL")] name: bool`.
//! 3. List options with the same or the opposite effect in `yields_to`, by name.
//! 4. `cargo xtask settings-docs` writes the reference in the guide and the schemas.

mod driver_table;
mod error;
mod instance;
mod jobs;
mod key;
mod kind;
mod kubernetes_table;
mod layer;
mod layered_value;
mod origin;
mod read;
mod reader;
mod schema;
mod section;
#[expect(clippy::module_inception, reason = "the noun of this directory")]
mod settings;
mod settings_file;
mod size;
mod ssh_table;
mod table;
mod template;
#[cfg(test)]
mod tests;
mod value;
mod variables;

pub use error::SettingsError;
pub use instance::{GitUse, InstanceSettings, SshServer, TokenSource};
pub use jobs::JobSettings;
pub use key::SettingKey;
pub use kind::SettingKind;
pub use layered_value::LayeredValue;
pub use origin::{FilePlace, SettingOrigin};
pub(crate) use reader::{Table, Value, parse as parse_toml};
pub use section::{SectionShape, SettingSection};
pub use settings::{CacheSettings, GarbageSettings, IncludeSettings, Settings};
pub use settings_file::SettingsFile;
use size::parse_size;
pub use table::SECTIONS;
pub use value::SettingValue;
