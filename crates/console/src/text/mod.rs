//! Text for people: cleaned, measured, painted, and with units.

mod clean;
mod columns;
mod outlook;
mod output_features;
mod quantities;
mod shell_words;
mod style;

pub(crate) use clean::{Cleaner, is_plain, last_state};
pub use clean::{is_direction, shown_name, strip_controls};
pub(crate) use columns::cut;
pub use columns::{Row, columns, fit, grid};
pub use executor_core::counted;
pub use outlook::announcement;
pub(crate) use outlook::left;
pub use output_features::OutputFeatures;
pub use quantities::{age, size};
pub(crate) use quantities::{clock, counted_ends, of_them_reused, seconds, until};
pub use shell_words::{is_variable_name, shell_argument, shell_quoted};
pub use style::{Mark, Style, Tone};
