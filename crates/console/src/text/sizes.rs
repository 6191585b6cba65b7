//! Sizes as people read them.

/// Returns a size in the unit that suits it: `812 B`, `1.2 MB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut tenths = bytes / 100;
    for unit in UNITS {
        if tenths < 10_000 {
            return format!("{}.{} {unit}", tenths / 10, tenths % 10);
        }
        tenths /= 1000;
    }
    format!("{}.{} PB", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_a_unit() {
        let check = |bytes: u64, expect: &str| assert_eq!(size(bytes), expect, "{bytes}");
        check(0, "0 B");
        check(999, "999 B");
        check(1000, "1.0 kB");
        check(123_456, "123.4 kB");
        check(1_234_567_890, "1.2 GB");
        check(u64::MAX, "18446.7 PB");
    }
}
