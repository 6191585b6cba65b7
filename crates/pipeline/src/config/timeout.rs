use super::reader::{Field, Reader};
use executor_core::parse_duration;

/// The longest `timeout`: one month.
const LONGEST: u64 = 30 * 24 * 60 * 60;

/// Reads `timeout`, in seconds.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Option<u64> {
    let duration = field.node.as_str().and_then(parse_duration);
    match duration.map(|duration| duration.as_secs()) {
        None => {
            let help = match field.node.to_scalar_text() {
                Some(text) if parse_duration(&text).is_some() => {
                    format!("put quotes around it: `\"{text}\"`")
                }
                _ => "write for example `1h 30m`; a bare number in quotes is seconds".to_owned(),
            };
            reader.refuse_with_help(field, "should be a duration", Some(help));
            None
        }
        Some(seconds) if seconds > LONGEST => {
            reader.refuse(field, "should not exceed the limit of a month");
            None
        }
        seconds => seconds,
    }
}
