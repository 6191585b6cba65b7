//! `docker` and `kubernetes` of an image or a service.

use super::reader::{Field, Reader};
use serde_json::Value;
use yaml::Kind;

/// The maximum length of a platform's name.
const LONGEST_PLATFORM: usize = 64;
/// The maximum length of a user's name.
const LONGEST_USER: usize = 255;

/// Reads `docker`: the platform and the user.
pub(super) fn read_docker(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Value> {
    reader.mapping(field)?;
    reader.attributes(field, &["platform", "user"], |reader, key, field| {
        let most = match key {
            "platform" => LONGEST_PLATFORM,
            _ => LONGEST_USER,
        };
        check_length(reader, field, most);
    });
    Some(field.node.to_json())
}

/// Reads `kubernetes`: the user, by name or number.
pub(super) fn read_kubernetes(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Value> {
    reader.mapping(field)?;
    reader.attributes(field, &["user"], |reader, _, field| {
        if !matches!(field.node.kind, Kind::Int(_)) {
            check_length(reader, field, LONGEST_USER);
        }
    });
    Some(field.node.to_json())
}

fn check_length(reader: &mut Reader<'_>, field: Field<'_>, most: usize) {
    let text = reader.string(field);
    let length = text.map_or(1, |text| text.chars().count());
    if !(1..=most).contains(&length) {
        let words = format!("should have between 1 and {most} characters");
        reader.refuse(field, words);
    }
}
