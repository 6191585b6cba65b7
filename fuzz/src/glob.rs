use pipeline::glob::Glob;

/// Matches the second line of the bytes against the first.
///
/// # Panics
///
/// If a path does not match itself with all characters escaped.
pub fn glob(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (pattern, path) = text.split_once('\n').unwrap_or((&text, &text));
    if let Ok(glob) = Glob::new(pattern) {
        let _ = glob.is_match(path);
    }
    if !path.is_empty() && path.len() < 200 {
        let glob = Glob::new(&escaped(path)).expect("it has no braces");
        assert!(glob.is_match(path), "{path:?} does not match itself");
    }
}

fn escaped(path: &str) -> String {
    let mut escaped = String::new();
    for letter in path.chars() {
        // A slash separates parts of the path, even after a backslash.
        if letter != '/' {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}
