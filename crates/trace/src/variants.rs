//! The other forms of a secret in a log.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use crate::quoting::{JSON, OTHERS, Rank, push_hex};

/// The shortest part of a base64 text that is masked, in characters.
///
/// Only secrets of three or four bytes have parts of four, and five bytes have at least six at each alignment. So a part
/// is hardly more common than its secret: in text that is all base64, one of four occurs by chance once in 16 MiB, one of
/// six once in 64 GiB.
const MIN_BASE64: usize = 4;
/// The shortest last line of a base64 text that is masked. A shorter one encodes at most five bytes of more than 48, and
/// short patterns slow down the search for all.
const MIN_BASE64_REST: usize = 8;
/// The shortest line that is masked alone: logs are full of words of four letters.
const MIN_LINE: usize = 5;
/// The line lengths at which common tools break base64 text.
const BASE64_LINES: [usize; 2] = [64, 76];
/// The shortest secret that is masked in hexadecimal digits, which are all digits for some secrets.
const MIN_HEX: usize = 4;
/// The length of a line of `xxd -p`.
const HEX_LINE: usize = 60;
/// Larger secrets are not encoded: they are files rather than passwords or keys, and their forms would take twenty times
/// their size.
const MAX_ENCODED: usize = 8 * 1024;
/// The largest total size of encoded forms, enough for the likely forms of a thousand passwords.
pub(crate) const MAX_ENCODED_TOTAL: usize = 512 * 1024;

/// Returns the encoded forms and the single lines of all secrets.
///
/// If there are too many forms, unlikely ones of long secrets are dropped first. Lines never are: they are not longer than
/// the secrets.
pub(crate) fn derived_patterns<'a>(secrets: impl Iterator<Item = &'a [u8]>) -> BTreeSet<Vec<u8>> {
    let mut secrets: Vec<&[u8]> = secrets.collect();
    secrets.sort_by_key(|secret| secret.len());
    let mut patterns = BTreeSet::new();
    let mut left = MAX_ENCODED_TOTAL;
    for rank in [Rank::Likely, Rank::Possible, Rank::Rare] {
        for secret in &secrets {
            // The following secrets are not shorter, and neither are their forms.
            if secret.len() > left.min(MAX_ENCODED) {
                break;
            }
            for form in Forms::of(secret, rank) {
                if form.len() <= left && !patterns.contains(&form) {
                    left -= form.len();
                    patterns.insert(form);
                }
            }
        }
    }
    for secret in secrets {
        patterns.extend(lines(secret).map(<[u8]>::to_vec));
    }
    patterns
}

/// Returns each line alone: tools indent, prefix and reflow their output.
fn lines(secret: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = secret.split(|byte| *byte == b'\n');
    let lines = lines.map(<[u8]>::trim_ascii);
    lines.filter(|line| line.len() >= MIN_LINE && line.len() < secret.len() && !is_ordinary(line))
}

/// Returns whether many secrets have such a line: the armour of a PEM file, a ruler.
fn is_ordinary(line: &[u8]) -> bool {
    let armour = line.starts_with(b"-----BEGIN ") || line.starts_with(b"-----END ");
    let ruler = line.iter().all(|byte| *byte == line[0]);
    armour && line.ends_with(b"-----") || ruler
}

/// Collects the encoded forms of one rank.
///
/// Forms other than base64 are not shorter than the secret and reveal as much, so they are masked at any length.
struct Forms {
    rank: Rank,
    forms: BTreeSet<Vec<u8>>,
}

impl Forms {
    fn of(secret: &[u8], rank: Rank) -> BTreeSet<Vec<u8>> {
        let mut forms = Self {
            rank,
            forms: BTreeSet::new(),
        };
        base64(secret, &mut forms);
        percent(secret, &mut forms);
        hex(secret, &mut forms);
        escaped(secret, &mut forms);
        forms.add(Rank::Likely, || replace(secret, b'\'', b"'\\''"));
        forms.add(Rank::Likely, || replace(secret, b'\'', b"'\"'\"'"));
        forms.add(Rank::Likely, || replace(secret, b'\n', b"\r\n"));
        forms.add(Rank::Possible, || replace(secret, b'\'', b"''"));
        forms.add(Rank::Possible, || replace(secret, b'"', b"\"\""));
        forms.forms.remove(secret);
        forms.forms
    }

    fn add(&mut self, rank: Rank, form: impl FnOnce() -> Vec<u8>) {
        if rank == self.rank {
            self.forms.insert(form());
        }
    }
}

/// Returns the part of a base64 text that depends only on the secret, for each of the three alignments in a group of three
/// bytes, and the same up to the last character for a secret at the end of the encoded data.
fn base64(secret: &[u8], forms: &mut Forms) {
    for before in 0..3 {
        let mut data = vec![0; before];
        data.extend_from_slice(secret);
        let encoded = STANDARD_NO_PAD.encode(&data).into_bytes();
        let first = (before * 8).div_ceil(6);
        for last in [data.len() * 8 / 6, encoded.len()] {
            if last < first + MIN_BASE64 {
                continue;
            }
            let form = &encoded[first..last];
            forms.add(Rank::Likely, || form.to_vec());
            forms.add(Rank::Possible, || url_alphabet(form));
        }
        if before == 0 {
            base64_lines(&encoded, forms);
        }
    }
}

fn base64_lines(encoded: &[u8], forms: &mut Forms) {
    let lengths = BASE64_LINES.into_iter();
    for length in lengths.filter(|length| *length < encoded.len()) {
        let lines = encoded.chunks(length);
        for line in lines.filter(|line| line.len() >= MIN_BASE64_REST) {
            forms.add(Rank::Likely, || line.to_vec());
        }
    }
}

fn url_alphabet(standard: &[u8]) -> Vec<u8> {
    let translated = standard.iter().map(|byte| match byte {
        b'+' => b'-',
        b'/' => b'_',
        other => *other,
    });
    translated.collect()
}

/// The bytes that URL encoders keep, and how unusual an encoder is.
const URL_ENCODERS: [(&str, usize); 5] = [
    ("-_.~", 0),
    ("-_.!~*'()", 0),
    ("-_.*", 1),
    ("-_.~/", 1),
    ("-_.~/:@!$&'()*+,;=", 2),
];

/// Percent encoding of strict encoders, browsers and forms, in both hex cases.
fn percent(secret: &[u8], forms: &mut Forms) {
    for (kept, unusual) in URL_ENCODERS {
        for (space, other_space) in [("%20", 0), ("+", 1)] {
            for (hex, other_hex) in [(HexCase::Upper, 0), (HexCase::Lower, 1)] {
                let rank = match unusual + other_space + other_hex {
                    0 => Rank::Likely,
                    1 => Rank::Possible,
                    _ => Rank::Rare,
                };
                forms.add(rank, || escape_url(secret, kept, space, hex).into_bytes());
            }
        }
    }
}

#[derive(Clone, Copy)]
enum HexCase {
    Upper,
    Lower,
}

fn escape_url(secret: &[u8], kept: &str, space: &str, hex: HexCase) -> String {
    let mut escaped = String::new();
    for byte in secret {
        let character = char::from(*byte);
        match hex {
            _ if byte.is_ascii_alphanumeric() || kept.contains(character) => {
                escaped.push(character);
            }
            _ if *byte == b' ' => escaped.push_str(space),
            HexCase::Upper => push_hex(&mut escaped, format_args!("%{byte:02X}")),
            HexCase::Lower => push_hex(&mut escaped, format_args!("%{byte:02x}")),
        }
    }
    escaped
}

/// Hexadecimal digits in both cases, and in the lines of `xxd -p`.
fn hex(secret: &[u8], forms: &mut Forms) {
    if secret.len() < MIN_HEX {
        return;
    }
    let mut lower = String::new();
    for byte in secret {
        push_hex(&mut lower, format_args!("{byte:02x}"));
    }
    for line in lower.as_bytes().chunks(HEX_LINE) {
        if lower.len() > HEX_LINE && line.len() >= MIN_BASE64_REST {
            forms.add(Rank::Possible, || line.to_vec());
        }
    }
    forms.add(Rank::Possible, || lower.to_uppercase().into_bytes());
    forms.add(Rank::Possible, || lower.into_bytes());
}

/// The forms in which shells and languages print a text.
fn escaped(secret: &[u8], forms: &mut Forms) {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:=+@%".contains(byte);
    if secret.iter().all(is_plain) {
        return;
    }
    let Ok(text) = std::str::from_utf8(secret) else {
        return;
    };
    for quoting in JSON.iter().chain(&OTHERS) {
        forms.add(quoting.rank, || quoting.of(text).into_bytes());
    }
    // A JSON text in a JSON text, such as a line of a structured log.
    for inner in &JSON {
        forms.add(Rank::Rare, || JSON[0].of(&inner.of(text)).into_bytes());
    }
}

fn replace(secret: &[u8], byte: u8, with: &[u8]) -> Vec<u8> {
    let mut replaced = Vec::with_capacity(secret.len());
    for found in secret {
        if *found == byte {
            replaced.extend_from_slice(with);
        } else {
            replaced.push(*found);
        }
    }
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    fn derived(secret: &[u8]) -> BTreeSet<Vec<u8>> {
        derived_patterns([secret].into_iter())
    }

    fn has(secret: &str, form: &str) -> bool {
        derived(secret.as_bytes()).contains(form.as_bytes())
    }

    #[test]
    fn base64_covers_the_three_alignments() {
        let secret = b"s3cr3t-value/with+more";
        let forms = derived(secret);
        for before in 0..3 {
            for after in 0..3 {
                let mut data = vec![b'x'; before];
                data.extend_from_slice(secret);
                data.resize(data.len() + after, b'y');
                let encoded = STANDARD_NO_PAD.encode(&data);
                let found = forms.iter().any(|form| {
                    encoded.contains(&*String::from_utf8_lossy(form))
                        && encoded.len() - form.len() <= 6
                });
                assert!(found, "{before} bytes before, {after} after");
            }
        }
    }

    #[test]
    fn secret_at_the_end_of_base64_is_masked_completely() {
        // "user:hunter2hunter" is what basic authentication encodes.
        let encoded = STANDARD_NO_PAD.encode("user:hunter2hunter");
        let forms = derived(b"hunter2hunter");
        assert!(forms.iter().any(|form| encoded.as_bytes().ends_with(form)));
    }

    #[test]
    fn url_and_json_forms() {
        assert!(has("p@ss/word ok", "p%40ss%2Fword%20ok"));
        assert!(has("p@ss/word ok", "p%40ss%2fword+ok"));
        assert!(has("say \"hi\"\n<now>", "say \\\"hi\\\"\\n<now>"));
        assert!(has(
            "say \"hi\"\n<now>",
            "say \\\"hi\\\"\\n\\u003cnow\\u003e"
        ));
        assert!(has("it's a secret", "it'\\''s a secret"));
    }

    #[test]
    fn only_long_lines_are_masked_alone() {
        assert!(has("first line\nhunter2\nthird", "hunter2"));
        assert!(has("first line\n  p@ss!\r\nthird", "p@ss!"));
        assert!(!has("first line\nab\nthird line", "ab"));
        assert!(!has("first line\n--------\nthird line", "--------"));
        let key = "-----BEGIN KEY-----\nabcdefghi\n-----END KEY-----";
        assert!(has(key, "abcdefghi"));
        assert!(!has(key, "-----BEGIN KEY-----"));
        assert!(!has(key, "-----END KEY-----"));
    }

    #[test]
    fn short_secrets_are_masked_in_base64_at_every_alignment() {
        for secret in ["p@ss", "ab\"cd", "secret", "hunter2"] {
            let forms = derived(secret.as_bytes());
            for before in 0..3 {
                let text = format!("{}{secret} and more", "-".repeat(before));
                let encoded = STANDARD_NO_PAD.encode(text);
                let found = forms
                    .iter()
                    .any(|form| encoded.contains(&*String::from_utf8_lossy(form)));
                assert!(found, "{secret} behind {before} bytes");
            }
        }
    }

    #[test]
    fn shortest_parts_of_base64_are_left_out() {
        assert!(derived(b"ab").is_empty());
        assert!(derived(b"abcd").iter().all(|form| form.len() >= MIN_BASE64));
        assert!(derived(b"abcde").iter().all(|form| form.len() >= 6));
    }

    #[test]
    fn short_secrets_lose_no_likely_form_to_long_ones() {
        let mut secrets: Vec<_> = (0..100)
            .map(|n| format!("{n} / {}", "+".repeat(8000)))
            .collect();
        secrets.push("p@ss word".to_owned());
        let patterns = derived_patterns(secrets.iter().map(String::as_bytes));
        let bytes: usize = patterns.iter().map(Vec::len).sum();
        assert!(bytes <= MAX_ENCODED_TOTAL);
        for form in Forms::of(b"p@ss word", Rank::Likely) {
            assert!(patterns.contains(&form));
        }
    }

    #[test]
    fn lines_of_large_secrets_are_not_counted() {
        let lines: Vec<_> = (0..100_000).map(|n| format!("line {n}")).collect();
        let patterns = derived(lines.join("\n").as_bytes());
        assert!(lines.iter().all(|line| patterns.contains(line.as_bytes())));
    }
}
