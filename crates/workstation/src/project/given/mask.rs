/// The fewest characters of a value that GitLab masks.
const SHORTEST: usize = 8;

/// Returns why GitLab would not take a value as masked, if it would not.
pub(super) fn mask_problem(value: &str, is_raw: bool) -> Option<&'static str> {
    if value.contains(['\n', '\r']) {
        return Some("it has several lines");
    }
    if value.contains(char::is_whitespace) {
        return Some("it has blanks");
    }
    if value.chars().count() < SHORTEST {
        return Some("it is shorter than 8 characters");
    }
    let fits = |c: char| c.is_ascii_alphanumeric() || "_+=/@:.~-".contains(c);
    if !is_raw && !value.chars().all(fits) {
        return Some(
            "it has characters besides letters, digits and `_+=/@:.~-`, which needs `expand: false`",
        );
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_gitlab_masks_have_no_problem() {
        let check = |value: &str, is_raw: bool, fits: bool| {
            assert_eq!(mask_problem(value, is_raw).is_none(), fits, "of {value:?}");
        };
        check("abcdefg8", false, true);
        check("a_+=/@:.~-", false, true);
        check("short", false, false);
        check("two words here", true, false);
        check("line\nand another", true, false);
        check("pa$$word!", false, false);
        check("pa$$word!", true, true);
    }
}
