//! Encodes names of projects, files and branches as parts of an address. Each becomes exactly one part, whatever
//! it contains, so none can lead to another path on the server.

use crate::{ApiError, Thing};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Everything except RFC 3986's unreserved characters.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Returns the path of a project as one part.
pub(crate) fn project_id(path: &str) -> Result<String, ApiError> {
    encode(Thing::Project, path, is_relative(path))
}

/// Returns the path of a group as one part.
pub(crate) fn group_id(path: &str) -> Result<String, ApiError> {
    encode(Thing::Group, path, is_relative(path))
}

/// Returns the path of a file as one part.
pub(crate) fn file_id(path: &str) -> Result<String, ApiError> {
    encode(Thing::File, path, is_relative(path))
}

/// Returns the name of a branch, tag or commit as one part.
pub(crate) fn reference_id(name: &str) -> Result<String, ApiError> {
    encode(Thing::Reference, name, !matches!(name, "" | "." | ".."))
}

/// Returns whether a path is relative and stays below its start.
fn is_relative(path: &str) -> bool {
    path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

fn encode(what: Thing, name: &str, is_good: bool) -> Result<String, ApiError> {
    if !is_good || name.contains(char::is_control) {
        let name = name.escape_debug().to_string();
        return Err(ApiError::Invalid { what, name });
    }
    Ok(utf8_percent_encode(name, RESERVED).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use percent_encoding::percent_decode_str;
    use proptest::prelude::*;
    use web::Url;

    #[test]
    fn names_are_encoded_as_one_part() {
        let check = |name: &str, expect: Option<&str>| {
            assert_eq!(file_id(name).ok().as_deref(), expect, "{name}");
        };
        check("a/b.yml", Some("a%2Fb.yml"));
        check("a b/ä.yml", Some("a%20b%2F%C3%A4.yml"));
        check("100%/%2e%2e/x", Some("100%25%2F%252e%252e%2Fx"));
        check("a?b#c&d=e;f", Some("a%3Fb%23c%26d%3De%3Bf"));
        check("a\\..\\b", Some("a%5C..%5Cb"));
        check("..a/b..", Some("..a%2Fb.."));
        for bad in [
            "", "/a", "a/", "a//b", "a/../b", "..", "./a", "a/.", "a\nb", "a\0",
        ] {
            check(bad, None);
        }
    }

    #[test]
    fn branch_may_look_like_a_path() {
        let check = |name: &str, expect: Option<&str>| {
            assert_eq!(reference_id(name).ok().as_deref(), expect, "{name}");
        };
        check("feature/x", Some("feature%2Fx"));
        check("v1.0", Some("v1.0"));
        check("-x", Some("-x"));
        check("", None);
        check("..", None);
        check("a\u{1b}[2J", None);
    }

    proptest! {
        #[test]
        fn no_name_leads_elsewhere(name in any::<String>()) {
            for part in [project_id(&name), file_id(&name), reference_id(&name)] {
                let Ok(part) = part else { continue };
                let url = Url::parse(&format!("https://h/api/{part}/raw")).expect("an address");
                let parts: Vec<&str> = url.path_segments().expect("a path").collect();
                prop_assert_eq!(parts, ["api", &part, "raw"]);
                let read = percent_decode_str(&part).decode_utf8().expect("a text");
                prop_assert_eq!(read, &*name);
            }
        }
    }
}
