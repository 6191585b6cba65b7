use super::reader::{Field, Reader};
use yaml::Node;

/// The stage before all others.
pub const FIRST_STAGE: &str = ".pre";
/// The stage after all others.
pub const LAST_STAGE: &str = ".post";

/// The stages of a file without `stages`, except for the two edges.
const DEFAULT_STAGES: [&str; 3] = ["build", "test", "deploy"];

/// Reads `stages` and adds the two edges, `.pre` and `.post`.
///
/// An empty list stays empty, and an edge in a nested list stays in its position: GitLab removes
/// edges before it flattens.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Vec<String>> {
    let Some(items) = field.node.as_sequence() else {
        reader.refuse(field, "should be an array of strings");
        return None;
    };
    // The depth counts from the outermost list.
    reader.flattened(field)?;
    let edges = [FIRST_STAGE, LAST_STAGE];
    let is_edge = |item: &Node| item.as_str().is_some_and(|name| edges.contains(&name));
    let mut names = Vec::new();
    for item in items.iter().filter(|item| !is_edge(item)) {
        for node in reader.flattened(Field {
            node: item,
            ..field
        })? {
            let Some(name) = node.as_str() else {
                reader.refuse(Field { node, ..field }, "should be an array of strings");
                return None;
            };
            names.push(name.to_owned());
        }
    }
    if items.is_empty() {
        return Some(names);
    }
    Some(with_edges(names))
}

/// Returns the stages of a file without `stages`.
pub(super) fn default_stages() -> Vec<String> {
    with_edges(DEFAULT_STAGES.map(str::to_owned).to_vec())
}

/// Puts `.pre` before and `.post` behind the stages.
fn with_edges(inner: Vec<String>) -> Vec<String> {
    std::iter::once(FIRST_STAGE.to_owned())
        .chain(inner)
        .chain([LAST_STAGE.to_owned()])
        .collect()
}
