//! Generates input for [`fuzz::expression`].
#![no_main]
#![expect(
    unsafe_code,
    reason = "libFuzzer calls the program through a function with a C name"
)]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::expression(data));
