use pipeline::{Pipeline, ResolvedPipeline};
use yaml::source::SourceMap;
use yaml::{Kind, Limits, LoadedFile, Node};

/// Reads the bytes as a pipeline file, as far as they let it.
///
/// # Panics
///
/// When a value of the tree has a place outside of the text.
pub fn loader(data: &[u8]) {
    let Ok(text) = yaml::decode(data.to_vec()) else {
        return;
    };
    let limits = Limits {
        nodes: 50_000,
        ..Limits::default()
    };
    let checked = LoadedFile::from_text("ci.yml", &text, &limits);
    let shown = checked.diagnostics.to_string();
    assert!(!shown.contains('\u{1b}'), "a message steers the terminal");
    if let Some(loaded) = &checked.value {
        let sources = checked.diagnostics.sources();
        check_places(&loaded.content, sources);
        let _ = loaded.content.to_json();
    } else {
        assert!(checked.diagnostics.has_errors(), "refused without a word");
    }
    let whole = Pipeline::from_text("ci.yml", &text);
    let _ = whole.diagnostics.to_string();
    let _ = ResolvedPipeline::from_text("ci.yml", &text);
}

/// Checks the places of a tree; aliases are followed, but what was loaded is within its limits.
fn check_places(node: &Node, sources: &SourceMap) {
    let text = sources.file(node.span.file).text();
    let covered = text.get(node.span.bytes());
    assert!(covered.is_some(), "{:?} is outside of the text", node.span);
    match &node.kind {
        Kind::Sequence(items) => items.iter().for_each(|item| check_places(item, sources)),
        Kind::Mapping(entries) => {
            for entry in entries.values() {
                check_places(&entry.value, sources);
            }
        }
        _ => {}
    }
}
