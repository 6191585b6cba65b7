use super::reader::{Field, Reader};

/// The stage before all others.
pub const FIRST_STAGE: &str = ".pre";
/// The stage after all others.
pub const LAST_STAGE: &str = ".post";

/// The stages of a file that names none, without the two edges.
const DEFAULT_STAGES: [&str; 3] = ["build", "test", "deploy"];

/// Reads `stages`, without the two edges.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Vec<String>> {
    let items = match field.node.as_sequence() {
        Some(_) => reader.flattened(field)?,
        None => Vec::new(),
    };
    let names: Option<Vec<String>> = items
        .iter()
        .map(|item| item.as_str().map(ToOwned::to_owned))
        .collect();
    match names {
        Some(names) if field.node.as_sequence().is_some() => Some(names),
        _ => {
            reader.refuse(field, "should be an array of strings");
            None
        }
    }
}

/// Puts `.pre` before and `.post` behind the stages.
pub(super) fn with_edges(named: Option<Vec<String>>) -> Vec<String> {
    let named = named.unwrap_or_else(|| DEFAULT_STAGES.map(str::to_owned).to_vec());
    let is_edge = |name: &String| name == FIRST_STAGE || name == LAST_STAGE;
    let inner = named.into_iter().filter(|name| !is_edge(name));
    std::iter::once(FIRST_STAGE.to_owned())
        .chain(inner)
        .chain([LAST_STAGE.to_owned()])
        .collect()
}
