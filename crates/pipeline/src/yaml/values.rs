use super::{Limits, Node, load};
use crate::diagnostic::{Checked, Diagnostics};
use std::sync::Arc;

/// Loads the YAML of a file that is no pipeline, for example one with variables; `name` is what
/// messages call it. A file without any value is null.
pub fn load_values(name: &str, text: &str) -> Checked<Arc<Node>> {
    // Comments alone are no mistake in a file that may be empty.
    let has_value = text.lines().map(str::trim).any(|line| {
        let is_remark = line.is_empty() || line.starts_with('#') || line == "---";
        !is_remark
    });
    let text = if has_value { text } else { "~" };
    let (mut diagnostics, file) = Diagnostics::of_file(name, text);
    let loaded = load(file, &Limits::default(), &mut diagnostics);
    Checked {
        value: loaded.map(|loaded| loaded.content),
        diagnostics,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_values_is_no_mistake() {
        for text in ["", "\n# later\n", "---\n"] {
            let (node, _) = load_values("v.yml", text).into_result().expect("no errors");
            assert!(node.is_null(), "{text:?}");
        }
        let (node, _) = load_values("v.yml", "A: yes").into_result().expect("read");
        assert_eq!(
            node.get("A").and_then(|it| it.to_scalar_text()).as_deref(),
            Some("true")
        );
        assert!(load_values("v.yml", "A: [").diagnostics.has_errors());
    }
}
