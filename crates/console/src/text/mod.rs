//! Text for people: cleaned, measured, painted, and with units.

mod clean;
mod count;
mod durations;
mod outlook;
mod output_features;
mod shell_words;
mod sizes;
mod style;
mod table;
mod width;

pub(crate) use clean::{Cleaner, is_plain, last_state};
pub use clean::{is_direction, shown_name, strip_controls};
pub use count::counted;
pub(crate) use count::{counted_ends, of_them_reused};
pub use durations::age;
pub(crate) use durations::{clock, seconds, until};
pub use outlook::announcement;
pub(crate) use outlook::left;
pub use output_features::OutputFeatures;
pub use shell_words::{is_variable_name, shell_argument, shell_quoted};
pub use sizes::size;
pub use style::{Mark, Style, Tone};
pub use table::{Row, grid};
pub(crate) use width::cut;
pub use width::{columns, fit};
