//! Settings: what holds where the command line says nothing.
//!
//! [`SECTIONS`] is the table of all settings. The reader of files with its check of keys, the variables,
//! `config show`, the JSON schema, the file of `config init` and the page of the guide are made from it.
//! What is weaker first: what is built in, the user's file (`config.toml` beside the state), the project's
//! file (`.runwright.toml`), variables `RUNWRIGHT_*`, options.
//!
//! The project's file comes with a clone, from a stranger perhaps. So it says nothing about which servers
//! are trusted, nor about anything of the user's: such sections and keys are the `users_alone`.
//!
//! # How an option gets a setting
//!
//! 1. Give it a row in the section `run` of `table.rs`; its name is that of the option. That is all for
//!    options with a value: the command line puts `--name value` in front of the words of each command
//!    that has the same option (the same name, and the same name of its value), unless the user gave it.
//! 2. A switch needs a way to say no where a file says yes: `--name=false`. In the arguments it is
//!    `#[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true,
//!    default_missing_value = "true", default_value_t = false, hide_default_value = true,
//!    hide_possible_values = true, value_name = "BOOL")] name: bool`.
//! 3. An option that says as much, or the opposite, belongs in `yields_to`, by its name.
//! 4. `RUNWRIGHT_WRITE_PAGES=1 cargo test -p runwright-workstation --lib settings` writes the page and the schemas anew.

mod error;
mod instance;
mod jobs;
mod key;
mod kind;
mod layer;
mod layered_value;
mod origin;
mod page;
mod place;
mod read;
mod reader;
mod schema;
mod section;
#[expect(clippy::module_inception, reason = "the noun of this directory")]
mod settings;
mod settings_file;
mod size;
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
pub use page::settings_page;
pub(crate) use reader::{Table, Value, parse as parse_toml};
pub use section::{SectionShape, SettingSection};
pub use settings::{CacheSettings, GarbageSettings, IncludeSettings, Settings};
pub use settings_file::SettingsFile;
use size::parse_size;
pub use table::SECTIONS;
pub use value::SettingValue;
