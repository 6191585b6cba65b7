use executor_core::TestTotals;
use std::borrow::Cow;

/// The number of failed tests of a job that are listed; all are counted.
const MAX_FAILURES: usize = 50;

/// Returns the text of a file, with invalid characters replaced.
///
/// The encoding is UTF-16, which PowerShell writes, if a byte order mark says so, and otherwise UTF-8.
pub(super) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let wide = |rest: &[u8], unit: fn([u8; 2]) -> u16| {
        let units = rest.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
        let text =
            char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER));
        Cow::Owned(text.collect())
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest),
        _ => String::from_utf8_lossy(bytes),
    }
}

/// Returns the text of an XML file, which may declare an older encoding in its first line.
pub(super) fn decode_xml(bytes: &[u8]) -> Cow<'_, str> {
    let line = bytes.split(|byte| *byte == b'>').next().unwrap_or_default();
    let line = String::from_utf8_lossy(&line[..line.len().min(200)]).to_ascii_lowercase();
    let is_latin = line.starts_with("<?xml") && line.contains("iso-8859-1");
    if is_latin && std::str::from_utf8(bytes).is_err() {
        // Latin-1 bytes are the first 256 characters of Unicode.
        return bytes.iter().map(|byte| char::from(*byte)).collect();
    }
    decode(bytes)
}

/// Adds the tests of another report.
pub(crate) fn merge(totals: &mut TestTotals, more: TestTotals) {
    totals.total += more.total;
    totals.failed += more.failed;
    totals.errors += more.errors;
    totals.skipped += more.skipped;
    totals.seconds += more.seconds;
    let room = MAX_FAILURES.saturating_sub(totals.failures.len());
    totals.failures.extend(more.failures.into_iter().take(room));
}

/// Returns whether another failed test can be listed.
pub(super) fn has_room(totals: &TestTotals) -> bool {
    totals.failures.len() < MAX_FAILURES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_decoded_by_its_byte_order_mark() {
        let check = |bytes: &[u8], expect: &str| assert_eq!(decode(bytes), expect, "{bytes:x?}");
        check(b"A=1", "A=1");
        check(b"\xef\xbb\xbfA=1", "A=1");
        check(b"\xff\xfeA\0=\0\xe9\0", "A=\u{e9}");
        check(b"\xfe\xff\0A\0=\0\xe9", "A=\u{e9}");
        check(b"A=\xe9", "A=\u{fffd}");
        check(b"\xff\xfe\x00\xd8", "\u{fffd}");
        check(b"", "");
    }

    #[test]
    fn xml_may_declare_an_older_encoding() {
        let check =
            |bytes: &[u8], expect: &str| assert_eq!(decode_xml(bytes), expect, "{bytes:x?}");
        let head = "<?xml version='1.0' encoding='ISO-8859-1'?>";
        let with = |text: &[u8]| [head.as_bytes(), text].concat();
        check(&with(b"<a>\xe4</a>"), &format!("{head}<a>\u{e4}</a>"));
        // Many tools write this line and then UTF-8.
        check(&with("\u{e4}".as_bytes()), &format!("{head}\u{e4}"));
        check(b"<a>iso-8859-1 \xe4", "<a>iso-8859-1 \u{fffd}");
        check(b"", "");
    }
}
