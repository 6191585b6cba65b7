//! The `info` of a runner, which is compared by its shape.

use super::difference::Differences;
use serde_json::Value;

/// Compares the fields of `info`. A feature that is true has to be true in the recording as well.
pub(super) fn compare(expected: &Value, found: &Value, differences: &mut Differences) {
    compare_fields("", expected, found, differences);
}

fn compare_fields(path: &str, expected: &Value, found: &Value, differences: &mut Differences) {
    let (Some(expected), Some(fields)) = (expected.as_object(), found.as_object()) else {
        if !same_type(expected, found) {
            let text = format!("expected a value like {expected}, found {found}");
            differences.add(format!("info: type of {path}"), text);
        }
        if path.starts_with("features.") && found == true && expected == false {
            differences.add(
                format!("info: feature {path}"),
                "expected false, found true",
            );
        }
        return;
    };
    let below = |key: &str| match path {
        "" => key.to_owned(),
        _ => format!("{path}.{key}"),
    };
    for (key, value) in expected {
        match fields.get(key) {
            Some(field) => compare_fields(&below(key), value, field, differences),
            None => differences.add(
                format!("info: missing {}", below(key)),
                format!("expected a value like {value}"),
            ),
        }
    }
    for (key, field) in fields
        .iter()
        .filter(|(key, _)| !expected.contains_key(*key))
    {
        differences.add(
            format!("info: extra {}", below(key)),
            format!("found {field}"),
        );
    }
}

fn same_type(one: &Value, other: &Value) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn shape_and_true_features_are_compared() {
        let expected = json!({"name": "a", "features": {"x": true, "y": false, "z": true}});
        let found = json!({"name": "b", "features": {"x": false, "y": true}, "labels": {}});
        let mut differences = Differences::default();
        compare(&expected, &found, &mut differences);
        let kinds: Vec<&str> = differences
            .all
            .iter()
            .map(|one| one.kind.as_str())
            .collect();
        assert_eq!(
            kinds,
            [
                "info: feature features.y",
                "info: missing features.z",
                "info: extra labels"
            ]
        );
    }
}
