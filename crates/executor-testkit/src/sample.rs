//! Expensive tests that take turns in continuous integration.

/// The variable with a text that selects a sample of the cases: continuous integration sets it to the commit.
pub const SAMPLE: &str = "RUNWRIGHT_TEST_SAMPLE";

/// Returns whether it is the turn of one of several tests that show much the same at great expense. Without a sample it always is.
pub fn is_turn(turn: u64, of: u64) -> bool {
    let sample = std::env::var(SAMPLE).ok();
    sample.is_none_or(|sample| sample.bytes().map(u64::from).sum::<u64>() % of == turn)
}
