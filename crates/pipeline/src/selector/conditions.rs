use crate::glob::{GlobError, NameGlob};

/// A condition such as `OS=deb*` on the variables of an instance.
#[derive(Debug)]
pub(super) struct Condition<'t> {
    key: &'t str,
    value: &'t str,
    /// Absent when an instance has exactly this value.
    glob: Option<NameGlob>,
}

impl<'t> Condition<'t> {
    /// Reads a condition; `known` are the values that instances have.
    ///
    /// # Errors
    ///
    /// When the value is a glob with too many alternatives.
    pub(super) fn new(key: &'t str, value: &'t str, known: &[&str]) -> Result<Self, GlobError> {
        let is_glob = !known.contains(&value) && NameGlob::has_wildcards(value);
        let glob = is_glob.then(|| NameGlob::new(value)).transpose()?;
        Ok(Self { key, value, glob })
    }

    /// Returns whether an instance with these values matches.
    pub(super) fn holds(&self, matrix: &[(String, String)]) -> bool {
        let mut values = matrix.iter().filter(|(key, _)| key == self.key);
        values.any(|(_, value)| match &self.glob {
            Some(glob) => glob.is_match(value),
            None => value == self.value,
        })
    }
}

/// Splits `test[OS=debian,ARCH=arm]` into the name and the conditions on its instances.
pub(super) fn split(text: &str) -> Option<(&str, Vec<(&str, &str)>)> {
    let inner_and_name = text.strip_suffix(']')?;
    let mut brackets = inner_and_name.match_indices('[');
    brackets.find_map(|(at, _)| {
        let conditions = conditions(&inner_and_name[at + 1..])?;
        let name = inner_and_name[..at].trim_end();
        (!name.is_empty()).then_some((name, conditions))
    })
}

fn conditions(text: &str) -> Option<Vec<(&str, &str)>> {
    let parts = split_list(text).into_iter();
    let pairs: Option<Vec<_>> = parts.map(pair).collect();
    pairs.filter(|pairs| !pairs.is_empty())
}

fn pair(part: &str) -> Option<(&str, &str)> {
    let (key, value) = part.split_once('=')?;
    let key = key.trim();
    let is_word = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    (!key.is_empty() && is_word(key)).then_some((key, value.trim()))
}

/// Splits a list at its commas, except those in brackets and braces: `a,test[OS=x,ARCH=y],{b,c}`
/// has three entries. Empty entries are dropped.
pub fn split_list(list: &str) -> Vec<&str> {
    let mut entries = Vec::new();
    let mut start = 0;
    let mut open: Vec<char> = Vec::new();
    for (at, letter) in list.char_indices() {
        match letter {
            '[' if is_closed(&list[at..], ']') => open.push(']'),
            '{' if is_closed(&list[at..], '}') => open.push('}'),
            _ if open.last() == Some(&letter) => {
                open.pop();
            }
            ',' if open.is_empty() => {
                entries.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    entries.push(&list[start..]);
    let entries = entries.into_iter().map(str::trim);
    entries.filter(|entry| !entry.is_empty()).collect()
}

/// Returns whether a bracket at the beginning of a text is closed.
fn is_closed(text: &str, close: char) -> bool {
    text.contains(close)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_brackets_do_not_split() {
        let check = |list: &str, expect: &[&str]| assert_eq!(split_list(list), expect, "{list}");
        check("a,b", &["a", "b"]);
        check(" a , ,b,", &["a", "b"]);
        check("", &[]);
        check("test[OS=x,ARCH=y],b", &["test[OS=x,ARCH=y]", "b"]);
        check("{a,b}*,build: [a, b]", &["{a,b}*", "build: [a, b]"]);
        check("[a,b", &["[a", "b"]);
        check("a],b", &["a]", "b"]);
        check("test[OS={a,[b]},X=1],c", &["test[OS={a,[b]},X=1]", "c"]);
    }
}
