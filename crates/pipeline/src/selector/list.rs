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
