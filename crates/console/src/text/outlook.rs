//! How long a run will take, in words.

use super::clock;
use executor_core::HumanDuration;
use pipeline_insight::forecast::Outlook;
use std::time::Duration;

/// A run that takes less time is over before anybody has read how long it will take.
const WORTH_A_WORD: Duration = Duration::from_secs(1);

/// Returns the announcement of a run: `about 2m 10s, if as usual`.
pub fn announcement(outlook: &Outlook) -> Option<String> {
    if outlook.total < WORTH_A_WORD {
        return None;
    }
    Some(format!(
        "{}, if as usual{}",
        total(outlook),
        unknown(outlook)
    ))
}

/// Returns how long a run takes: `about 2m 10s`, or `at least` that.
fn total(outlook: &Outlook) -> String {
    let word = if outlook.is_at_least() {
        "at least"
    } else {
        "about"
    };
    format!("{word} {:.0}", HumanDuration(outlook.total))
}

/// Returns the number of jobs without a forecast: `; of 2 jobs it is not known`.
fn unknown(outlook: &Outlook) -> String {
    match outlook.unknown.len() {
        0 => String::new(),
        1 => "; 1 job has no known time".to_owned(),
        many => format!("; {many} jobs have no known time"),
    }
}

/// Returns the time left: `about 1:58 left`.
pub(crate) fn left(outlook: &Outlook) -> String {
    let word = if outlook.is_at_least() {
        "at least"
    } else {
        "about"
    };
    format!("{word} {} left", clock(outlook.left))
}
