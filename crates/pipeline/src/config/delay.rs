use super::reader::{Field, Reader};
use executor_core::parse_duration;

/// The longest `start_in`: one week.
const LONGEST_DELAY: u64 = 7 * 24 * 60 * 60;

/// Reads `start_in`.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Option<String> {
    let text = field.node.as_str();
    let delay = text.and_then(parse_duration);
    match delay.map(|delay| delay.as_secs()) {
        None => {
            reader.refuse(field, "should be a duration, for example `30 minutes`");
            None
        }
        Some(seconds) if seconds > LONGEST_DELAY => {
            reader.refuse(field, "should not exceed the limit of a week");
            None
        }
        Some(_) => text.map(ToOwned::to_owned),
    }
}

/// Checks that the mapping `field` has `start_in` if and only if the job is delayed.
pub(super) fn check(reader: &mut Reader<'_>, field: Field<'_>, is_delayed: bool) {
    let given = field.node.get("start_in").filter(|node| !node.is_null());
    match given {
        None if is_delayed => {
            let words = "with `when: delayed` needs `start_in`";
            let help = Some("add for example `start_in: 30 minutes`");
            reader.refuse_part_with_help(field, "when", words, help);
        }
        Some(_) if !is_delayed => {
            let words = "may have `start_in` only with `when: delayed`";
            let help = Some("add `when: delayed`, or remove it");
            reader.refuse_part_with_help(field, "start_in", words, help);
        }
        _ => {}
    }
}
