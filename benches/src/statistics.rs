//! Medians, which are less sensitive to noise than means.

use std::time::Duration;

/// Returns the median; the upper one of two middle values.
///
/// # Panics
///
/// Panics if `values` is empty.
pub fn median<T: PartialOrd + Copy>(values: &[T]) -> T {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.partial_cmp(b).expect("measured values compare"));
    sorted[sorted.len() / 2]
}

/// Returns how many times longer `time` is than `floor`.
pub fn ratio(time: Duration, floor: Duration) -> f64 {
    time.as_secs_f64() / floor.as_secs_f64()
}

/// Returns milliseconds with their fraction.
pub fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Returns mebibytes with their fraction.
#[expect(
    clippy::cast_precision_loss,
    reason = "sizes are shown with two digits"
)]
pub fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
