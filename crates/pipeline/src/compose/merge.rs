use std::sync::Arc;
use yaml::source::clamp;
use yaml::{Entry, Kind, Mapping, Node};

/// Merges `over` into `base`: mappings key by key; other values are replaced.
///
/// A mapping of `base` without other owners is changed in place; a shared one is copied. The keys
/// visited and copied are subtracted from `keys_left`; nothing is returned when those run out.
pub(crate) fn merge(
    mut base: Arc<Node>,
    over: &Arc<Node>,
    keys_left: &mut u32,
) -> Option<Arc<Node>> {
    let Kind::Mapping(above) = &over.kind else {
        return Some(Arc::clone(over));
    };
    if base.as_mapping().is_none() {
        return Some(Arc::clone(over));
    }
    let mut below = take_mapping(&mut base, keys_left)?;
    *keys_left = keys_left.checked_sub(clamp(above.len()))?;
    for (key, entry) in above {
        let value = match below.get_mut(key) {
            Some(before) => {
                let nothing = Arc::new(Node::new(Kind::Null, over.span));
                let before = std::mem::replace(&mut before.value, nothing);
                merge(before, &entry.value, keys_left)?
            }
            None => Arc::clone(&entry.value),
        };
        let entry = Entry {
            value,
            ..entry.clone()
        };
        below.insert(Arc::clone(key), entry);
    }
    Some(Arc::new(Node::new(Kind::Mapping(below), over.span)))
}

/// Takes the entries out of a mapping, or copies them when the mapping is shared.
fn take_mapping(node: &mut Arc<Node>, keys_left: &mut u32) -> Option<Mapping> {
    if let Some(own) = Arc::get_mut(node) {
        let Kind::Mapping(entries) = &mut own.kind else {
            return None;
        };
        return Some(std::mem::take(entries));
    }
    let entries = node.as_mapping()?;
    *keys_left = keys_left.checked_sub(clamp(entries.len()))?;
    Some(entries.clone())
}

#[cfg(test)]
mod tests {
    use super::super::tests::load_text;
    use super::*;

    fn check(base: &str, over: &str, expect: &serde_json::Value) {
        let merged = merge(load_text(base), &load_text(over), &mut 100).unwrap();
        assert_eq!(&merged.to_json(), expect, "{over:?} on {base:?}");
        let keys = |node: &Node| -> Vec<String> {
            let keys = node.as_mapping().unwrap().keys();
            keys.map(ToString::to_string).collect()
        };
        let own: Vec<String> = expect.as_object().unwrap().keys().cloned().collect();
        assert_eq!(keys(&merged).len(), own.len());
    }

    #[test]
    fn mappings_are_merged_and_other_values_replaced() {
        check(
            "{v: {x: 1, y: 1}, l: [1, 2], n: 1, retry: {max: 2}}",
            "{v: {x: 2, z: 2}, l: [3], n: null, retry: 1}",
            &serde_json::json!({"v": {"x": 2, "y": 1, "z": 2}, "l": [3], "n": null, "retry": 1}),
        );
    }

    #[test]
    fn shared_nodes_are_not_changed() {
        // R-PIPE-09
        let (base, over) = (load_text("{v: {x: 1}}"), load_text("{v: {y: 2}, w: 3}"));
        let before = (base.to_json(), over.to_json());
        let merged = merge(Arc::clone(&base), &over, &mut 100).unwrap();
        assert_eq!(
            merged.to_json(),
            serde_json::json!({"v": {"x": 1, "y": 2}, "w": 3})
        );
        assert_eq!((base.to_json(), over.to_json()), before);
    }

    #[test]
    fn the_cost_of_merging_is_bounded() {
        let (base, over) = (load_text("{a: 1, b: 1, c: 1}"), load_text("{d: 1, e: 1}"));
        assert!(merge(Arc::clone(&base), &over, &mut 5).is_some());
        assert!(merge(Arc::clone(&base), &over, &mut 4).is_none());
        let mut keys_left = 2;
        assert!(merge(load_text("{a: 1}"), &over, &mut keys_left).is_some());
        assert_eq!(keys_left, 0, "an unshared base costs nothing");
    }
}
