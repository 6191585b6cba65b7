use crate::job_log::without_colours;
use quick_xml::escape::escape;
use quick_xml::events::attributes::Attribute;
use quick_xml::events::{BytesText, Event};
use quick_xml::name::QName;
use quick_xml::writer::Writer;
use std::borrow::Cow;
use std::io;

/// Writes into memory.
pub(super) type XmlWriter = Writer<Vec<u8>>;

/// Returns an attribute that is read as `value`, line ends and tabs included.
pub(super) fn attribute<'a>(key: &'a str, value: &str) -> Attribute<'a> {
    let legal = legal(value);
    let mut escaped = String::with_capacity(legal.len());
    for c in escape(&*legal).chars() {
        match c {
            // A reader takes these for spaces when they stand there as they are.
            '\n' => escaped.push_str("&#10;"),
            '\r' => escaped.push_str("&#13;"),
            '\t' => escaped.push_str("&#9;"),
            c => escaped.push(c),
        }
    }
    Attribute {
        key: QName(key),
        value: Cow::Owned(escaped),
    }
}

/// Writes text that is read as it is.
pub(super) fn write_text(writer: &mut XmlWriter, text: &str) -> io::Result<()> {
    // A reader makes a line end of every carriage return that stands there as it is.
    let escaped = escape(&*legal(text)).replace('\r', "&#13;");
    writer.write_event(Event::Text(BytesText::from_escaped(escaped)))
}

/// Returns text with no character that XML 1.0 cannot hold, in whatever way it is written: colours
/// are left out, other control characters replaced.
pub(super) fn legal(text: &str) -> Cow<'_, str> {
    let is_illegal = |c: char| matches!(c, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}');
    let plain = without_colours(text);
    if plain.contains(is_illegal) {
        Cow::Owned(plain.replace(is_illegal, "\u{fffd}"))
    } else {
        plain
    }
}
