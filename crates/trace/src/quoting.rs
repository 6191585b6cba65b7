//! How shells, languages and markup quote a text.

use std::fmt::Write;

use self::Code::{Braces, Byte, Octal, Python, Raw, Unicode, UpperHex};
use self::Rank::{Likely, Possible, Rare};

/// How likely a form occurs, the most likely first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rank {
    Likely,
    Possible,
    Rare,
}

/// How a quoted text shows a character for which there is no short escape.
#[derive(Clone, Copy)]
enum Code {
    Raw,
    /// `\303`, for each byte.
    Octal,
    /// `\xc3`, for each byte.
    Byte,
    /// `\xe9`, `\u20ac` or `\U0001f600`, as Python.
    Python,
    /// `\x1B`, as JavaScript.
    UpperHex,
    /// `\u00e9`, in two parts above the first plane, as JSON.
    Unicode,
    /// `\u{e9}`, as Rust.
    Braces,
}

impl Code {
    fn push(self, text: &mut String, character: char) {
        let code = u32::from(character);
        let utf8 = &mut [0; 4];
        let bytes = character.encode_utf8(utf8).bytes();
        match self {
            Self::Raw => text.push(character),
            Self::Octal => bytes.for_each(|byte| push_hex(text, format_args!("\\{byte:03o}"))),
            Self::Byte => bytes.for_each(|byte| push_hex(text, format_args!("\\x{byte:02x}"))),
            Self::Python if code <= 0xff => push_hex(text, format_args!("\\x{code:02x}")),
            Self::Python if code <= 0xffff => push_hex(text, format_args!("\\u{code:04x}")),
            Self::Python => push_hex(text, format_args!("\\U{code:08x}")),
            Self::UpperHex => push_hex(text, format_args!("\\x{code:02X}")),
            Self::Unicode => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    push_hex(text, format_args!("\\u{unit:04x}"));
                }
            }
            Self::Braces => push_hex(text, format_args!("\\u{{{code:x}}}")),
        }
    }
}

/// How a program quotes a text.
pub(crate) struct Quoting {
    pub(crate) rank: Rank,
    /// The characters that it escapes with a backslash before them.
    backslash: &'static str,
    /// The characters for which it has other escapes.
    short: &'static [Escapes],
    control: Code,
    /// For characters beyond ASCII.
    wide: Code,
}

/// Characters with their escapes.
type Escapes = &'static [(char, &'static str)];

const LINES: Escapes = &[('\n', "\\n"), ('\r', "\\r"), ('\t', "\\t")];
const FEEDS: Escapes = &[('\u{8}', "\\b"), ('\u{c}', "\\f")];
const BELLS: Escapes = &[('\u{7}', "\\a"), ('\u{b}', "\\v")];
const XML: Escapes = &[('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;")];
const QUOTE: Escapes = &[('"', "&quot;")];
const APOSTROPHE: Escapes = &[('\'', "&#39;")];
const BASH: &[Escapes] = &[LINES, FEEDS, BELLS, &[('\u{1b}', "\\E")]];

const fn quoting(
    rank: Rank,
    backslash: &'static str,
    short: &'static [Escapes],
    control: Code,
    wide: Code,
) -> Quoting {
    Quoting {
        rank,
        backslash,
        short,
        control,
        wide,
    }
}

/// JSON, of which most strings in double quotes are; the first has the fewest escapes.
pub(crate) const JSON: [Quoting; 4] = {
    const HTML: Escapes = &[('<', "\\u003c"), ('>', "\\u003e"), ('&', "\\u0026")];
    [
        quoting(Likely, "\"\\", &[LINES, FEEDS], Unicode, Raw),
        quoting(Possible, "\"\\/", &[LINES, FEEDS], Unicode, Raw),
        quoting(Possible, "\"\\", &[LINES, FEEDS, HTML], Unicode, Raw),
        quoting(Possible, "\"\\", &[LINES, FEEDS], Unicode, Unicode),
    ]
};

/// The characters that `printf %q` of bash escapes anywhere.
const BASH_SPECIAL: &str = " \t\n!\"$&'()*,;<>?[\\]^`{|}";

/// Quoted texts besides [`JSON`].
pub(crate) const OTHERS: [Quoting; 18] = [
    // `declare -p` and `export -p` of bash, whose other way is that of `printf %q`: $'..'.
    quoting(Likely, "\"\\$`", &[], Raw, Raw),
    quoting(Likely, "'\\", BASH, Octal, Raw),
    quoting(Possible, "'\\", BASH, Octal, Octal),
    quoting(Likely, BASH_SPECIAL, &[], Raw, Raw),
    // `repr` of Python, for text and for bytes; it escapes a quote only if there are both kinds.
    quoting(Likely, "\\", &[LINES], Byte, Raw),
    quoting(Likely, "'\\", &[LINES], Byte, Raw),
    quoting(Possible, "\\", &[LINES], Byte, Python),
    quoting(Possible, "'\\", &[LINES], Byte, Python),
    quoting(Possible, "\\", &[LINES], Byte, Byte),
    quoting(Possible, "'\\", &[LINES], Byte, Byte),
    // `%q` of Go, `{:?}` of Rust, `util.inspect` of JavaScript.
    quoting(Possible, "\"\\", &[LINES, FEEDS, BELLS], Byte, Raw),
    quoting(Possible, "\"\\", &[LINES], Braces, Raw),
    quoting(Rare, "'\\", &[LINES, FEEDS], UpperHex, Raw),
    // XML and HTML.
    quoting(Possible, "", &[XML], Raw, Raw),
    quoting(Possible, "", &[XML, QUOTE], Raw, Raw),
    quoting(Possible, "", &[XML, QUOTE, APOSTROPHE], Raw, Raw),
    quoting(Possible, "", &[XML, QUOTE, &[('\'', "&#x27;")]], Raw, Raw),
    quoting(Rare, "", &[XML, &[('"', "&#34;")], APOSTROPHE], Raw, Raw),
];

impl Quoting {
    /// Returns a text as it stands between the quotes.
    pub(crate) fn of(&self, text: &str) -> String {
        let mut quoted = String::with_capacity(text.len());
        for character in text.chars() {
            let mut short = self.short.iter().copied().flatten();
            let short = short.find(|(escaped, _)| *escaped == character);
            match (short, character) {
                (Some((_, short)), _) => quoted.push_str(short),
                (None, _) if self.backslash.contains(character) => {
                    quoted.extend(['\\', character]);
                }
                (None, '\0'..' ' | '\x7f') => self.control.push(&mut quoted, character),
                (None, ..='\x7f') => quoted.push(character),
                _ => self.wide.push(&mut quoted, character),
            }
        }
        quoted
    }
}

pub(crate) fn push_hex(text: &mut String, hex: std::fmt::Arguments<'_>) {
    text.write_fmt(hex).expect("a string takes any text");
}
