use crate::job_log::without_colours;
use quick_xml::escape::escape;
use quick_xml::events::attributes::Attribute;
use quick_xml::events::{BytesText, Event};
use quick_xml::name::QName;
use quick_xml::writer::Writer;
use std::borrow::Cow;
use std::io;

/// A writer into memory.
pub(super) type XmlWriter = Writer<Vec<u8>>;

/// Returns an attribute whose value a reader returns unchanged, including line ends and tabs.
pub(super) fn attribute<'a>(key: &'a str, value: &str) -> Attribute<'a> {
    let legal = legal(value);
    let mut escaped = String::with_capacity(legal.len());
    for c in escape(&*legal).chars() {
        match c {
            // A reader replaces these by spaces unless they are escaped.
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

/// Writes text that a reader returns unchanged.
pub(super) fn write_text(writer: &mut XmlWriter, text: &str) -> io::Result<()> {
    // A reader turns a carriage return into a line end unless it is escaped.
    let escaped = escape(&*legal(text)).replace('\r', "&#13;");
    writer.write_event(Event::Text(BytesText::from_escaped(escaped)))
}

/// Returns text with only the characters that XML 1.0 allows: colours are removed, other control
/// characters replaced.
pub(super) fn legal(text: &str) -> Cow<'_, str> {
    let is_illegal = |c: char| matches!(c, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}');
    let plain = without_colours(text);
    if plain.contains(is_illegal) {
        Cow::Owned(plain.replace(is_illegal, "\u{fffd}"))
    } else {
        plain
    }
}
