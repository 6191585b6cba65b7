/// Parses a number of bytes: a number with an optional unit.
pub(super) fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" | "k" => 1_000,
        "mb" | "m" => 1_000_000,
        "gb" | "g" => 1_000_000_000,
        "tb" | "t" => 1_000_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "tib" => 1 << 40,
        _ => return None,
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let bytes = whole.parse::<u64>().ok()?.checked_mul(factor)?;
    if part.is_empty() {
        return (!number.ends_with('.')).then_some(bytes);
    }
    let digits = u32::try_from(part.len())
        .ok()
        .filter(|digits| *digits <= 6)?;
    let fraction = part.parse::<u64>().ok()?.checked_mul(factor)?;
    bytes.checked_add(fraction / 10_u64.pow(digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Option<u64>) {
        assert_eq!(parse_size(text), expect, "{text:?}");
    }

    #[test]
    fn sizes_have_units() {
        check("10 GB", Some(10_000_000_000));
        check("1.5GiB", Some(1_610_612_736));
        check(" 500 mb ", Some(500_000_000));
        check("0", Some(0));
        check("2T", Some(2_000_000_000_000));
        check("0.25 kB", Some(250));
        for wrong in [
            "", "GB", "-1 GB", "1,5 GB", "1. GB", ".5 GB", "1.2.3", "ten", "1 GBit",
        ] {
            check(wrong, None);
        }
        for wrong in ["99999999999999999999", "99999999 TB", "1.0000001 GB"] {
            check(wrong, None);
        }
    }
}
