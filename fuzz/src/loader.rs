use pipeline::{Pipeline, ResolvedPipeline};
use yaml::source::SourceMap;
use yaml::{Kind, Limits, LoadedFile, Node};

/// Reads the bytes as a pipeline file.
///
/// # Panics
///
/// If a value of the tree has a location outside of the text.
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
    assert!(
        !shown.contains('\u{1b}'),
        "a message contains control characters"
    );
    if let Some(loaded) = &checked.value {
        let sources = checked.diagnostics.sources();
        check_locations(&loaded.content, sources);
        let _ = loaded.content.to_json();
    } else {
        assert!(checked.diagnostics.has_errors(), "refused without an error");
    }
    let whole = Pipeline::from_text("ci.yml", &text);
    let _ = whole.diagnostics.to_string();
    let _ = ResolvedPipeline::from_text("ci.yml", &text);
}

/// Checks the locations of a tree. Aliases are followed; the limits bound their number.
fn check_locations(node: &Node, sources: &SourceMap) {
    let text = sources.file(node.span.file).text();
    let covered = text.get(node.span.bytes());
    assert!(covered.is_some(), "{:?} is outside of the text", node.span);
    match &node.kind {
        Kind::Sequence(items) => items.iter().for_each(|item| check_locations(item, sources)),
        Kind::Mapping(entries) => {
            for entry in entries.values() {
                check_locations(&entry.value, sources);
            }
        }
        _ => {}
    }
}
