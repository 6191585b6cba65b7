//! The other forms in which a secret shows up in a log.

use std::collections::BTreeSet;
use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// A derived form shorter than this would hide ordinary text.
const MIN_DERIVED: usize = 8;
/// The line lengths at which common tools break base64 text.
const BASE64_LINES: [usize; 2] = [64, 76];
/// Forms of larger secrets are not derived: nobody encodes a file into one line of a
/// log, and each form costs memory of the secret's size many times over.
const MAX_ENCODED: usize = 64 * 1024;

/// Returns the encoded forms of `secret` and the single lines of it, without the secret.
pub(crate) fn derived_patterns(secret: &[u8]) -> BTreeSet<Vec<u8>> {
    let mut forms = BTreeSet::new();
    lines(secret, &mut forms);
    if secret.len() <= MAX_ENCODED {
        base64(secret, &mut forms);
        percent(secret, &mut forms);
        json(secret, &mut forms);
        forms.insert(replace(secret, b'\'', b"'\\''"));
        forms.insert(replace(secret, b'\n', b"\r\n"));
    }
    forms.retain(|form| form.len() >= MIN_DERIVED && form != secret);
    forms
}

/// Each line alone: tools indent, prefix and reflow what they print.
fn lines(secret: &[u8], forms: &mut BTreeSet<Vec<u8>>) {
    if !secret.contains(&b'\n') {
        return;
    }
    for line in secret.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii();
        // The armour lines of a PEM file are the same for everybody.
        if !line.starts_with(b"-----") {
            forms.insert(line.to_vec());
        }
    }
}

/// The part of a base64 text that the secret alone determines, for each of the three
/// places at which it can stand in a group of three bytes; and the same up to the last
/// character for a secret at the end of the encoded data.
fn base64(secret: &[u8], forms: &mut BTreeSet<Vec<u8>>) {
    for before in 0..3 {
        let mut data = vec![0; before];
        data.extend_from_slice(secret);
        let encoded = STANDARD_NO_PAD.encode(&data).into_bytes();
        let first = (before * 8).div_ceil(6);
        let determined = data.len() * 8 / 6;
        if first >= determined {
            continue;
        }
        for last in [determined, encoded.len()] {
            let form = &encoded[first..last];
            forms.insert(url_alphabet(form));
            forms.insert(form.to_vec());
        }
        if before == 0 {
            for length in BASE64_LINES
                .into_iter()
                .filter(|length| *length < encoded.len())
            {
                forms.extend(encoded.chunks(length).map(<[u8]>::to_vec));
            }
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

/// Percent encoding as strict encoders, browsers and forms do it, both hex cases.
fn percent(secret: &[u8], forms: &mut BTreeSet<Vec<u8>>) {
    for kept in ["-_.~", "-_.!~*'()", "-_.*", "-_.~/", "-_.~/:@!$&'()*+,;="] {
        for space in ["%20", "+"] {
            let mut upper = String::new();
            let mut lower = String::new();
            for byte in secret {
                let character = char::from(*byte);
                if byte.is_ascii_alphanumeric() || kept.contains(character) {
                    upper.push(character);
                    lower.push(character);
                } else if *byte == b' ' {
                    upper.push_str(space);
                    lower.push_str(space);
                } else {
                    push_hex(&mut upper, format_args!("%{byte:02X}"));
                    push_hex(&mut lower, format_args!("%{byte:02x}"));
                }
            }
            forms.insert(upper.into_bytes());
            forms.insert(lower.into_bytes());
        }
    }
}

fn push_hex(text: &mut String, hex: std::fmt::Arguments<'_>) {
    text.write_fmt(hex).expect("a string takes any text");
}

/// How far a JSON encoder escapes beyond what it must.
#[derive(Clone, Copy)]
enum JsonEscaping {
    Minimal,
    Slash,
    Html,
    Ascii,
}

fn json(secret: &[u8], forms: &mut BTreeSet<Vec<u8>>) {
    let Ok(text) = std::str::from_utf8(secret) else {
        return;
    };
    for escaping in [
        JsonEscaping::Minimal,
        JsonEscaping::Slash,
        JsonEscaping::Html,
        JsonEscaping::Ascii,
    ] {
        forms.insert(escape_json(text, escaping).into_bytes());
    }
}

fn escape_json(text: &str, escaping: JsonEscaping) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match (character, escaping) {
            ('"', _) => escaped.push_str("\\\""),
            ('\\', _) => escaped.push_str("\\\\"),
            ('\n', _) => escaped.push_str("\\n"),
            ('\r', _) => escaped.push_str("\\r"),
            ('\t', _) => escaped.push_str("\\t"),
            ('\u{8}', _) => escaped.push_str("\\b"),
            ('\u{c}', _) => escaped.push_str("\\f"),
            ('/', JsonEscaping::Slash) => escaped.push_str("\\/"),
            ('<' | '>' | '&', JsonEscaping::Html) | ('\0'..' ', _) => {
                push_unicode(&mut escaped, character);
            }
            (_, JsonEscaping::Ascii) if !character.is_ascii() => {
                push_unicode(&mut escaped, character);
            }
            _ => escaped.push(character),
        }
    }
    escaped
}

fn push_unicode(text: &mut String, character: char) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        push_hex(text, format_args!("\\u{unit:04x}"));
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

    fn has(secret: &str, form: &str) -> bool {
        derived_patterns(secret.as_bytes()).contains(form.as_bytes())
    }

    #[test]
    fn base64_covers_the_three_alignments() {
        let secret = b"s3cr3t-value/with+more";
        let forms = derived_patterns(secret);
        for before in 0..3 {
            for after in 0..3 {
                let mut data = vec![b'x'; before];
                data.extend_from_slice(secret);
                data.resize(data.len() + after, b'y');
                let encoded = STANDARD_NO_PAD.encode(&data);
                let found = forms.iter().any(|form| {
                    encoded.len() - form.len() <= 6
                        && encoded.contains(&*String::from_utf8_lossy(form))
                });
                assert!(found, "{before} bytes before, {after} after");
            }
        }
    }

    #[test]
    fn secret_at_the_end_of_base64_is_hidden_to_the_last_character() {
        // "user:hunter2hunter" is what basic authentication encodes.
        let encoded = STANDARD_NO_PAD.encode("user:hunter2hunter");
        let forms = derived_patterns(b"hunter2hunter");
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
    fn only_long_lines_stand_alone() {
        assert!(has("first line\nab\nthird line", "third line"));
        assert!(!has("first line\nab\nthird line", "ab"));
        assert!(!has(
            "-----BEGIN KEY-----\nabcdefghi",
            "-----BEGIN KEY-----"
        ));
    }

    #[test]
    fn short_forms_are_left_out() {
        assert!(derived_patterns(b"abc").is_empty());
        assert!(derived_patterns(b"abcde").is_empty());
    }
}
