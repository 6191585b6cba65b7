use serde_json::Value;

/// What `expect` says for people only.
const REMARKS: [&str; 3] = ["note", "error_gist", "error_at"];

/// Returns whether all that `expect` names is so in `got`.
pub(super) fn holds(expect: &Value, got: &Value) -> bool {
    let Some(expect) = expect.as_object() else {
        return false;
    };
    let mut named = expect
        .iter()
        .filter(|(key, _)| !REMARKS.contains(&key.as_str()));
    // A vector that expects nothing proves nothing.
    let says_something = named.clone().next().is_some();
    says_something && named.all(|(key, expected)| holds_under(key, expected, &got[key]))
}

fn holds_under(key: &str, expected: &Value, got: &Value) -> bool {
    match (key, expected) {
        // Of jobs, a few may be named, and of each a few fields.
        ("jobs", Value::Object(jobs)) => jobs.iter().all(|(name, fields)| match fields {
            Value::Object(fields) => {
                let job = &got[name];
                job.is_object()
                    && fields
                        .iter()
                        .all(|(field, value)| equal(value, &job[field]))
            }
            status => &got[name] == status,
        }),
        ("stages", Value::Object(stages)) => {
            stages.iter().all(|(name, status)| &got[name] == status)
        }
        _ => equal(expected, got),
    }
}

/// Returns whether two values are equal; of numbers, the value counts and not how it is written.
fn equal(expected: &Value, got: &Value) -> bool {
    match (expected, got) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let in_other = |(key, value)| other.get(key).is_some_and(|found| equal(value, found));
            one.len() == other.len() && one.iter().all(in_other)
        }
        _ => expected == got,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_expected_must_be_there_and_more_may_be() {
        let check = |expect: Value, got: Value, holds_so: bool| {
            assert_eq!(holds(&expect, &got), holds_so, "{expect} against {got}");
        };
        check(json!({}), json!({"valid": true}), false);
        check(json!(null), json!({"valid": true}), false);
        check(json!({"note": "x"}), json!({"valid": true}), false);
        check(
            json!({"valid": true, "note": "x"}),
            json!({"valid": true}),
            true,
        );
        check(json!({"valid": true}), json!({"valid": false}), false);
        let got = json!({"jobs": {"a": {"stage": "x", "tags": ["t"]}, "b": {}}});
        check(json!({"jobs": {"a": {"tags": ["t"]}}}), got.clone(), true);
        check(json!({"jobs": {"a": {"tags": []}}}), got.clone(), false);
        check(json!({"jobs": {"a": {"retry": null}}}), got.clone(), true);
        check(json!({"jobs": {"c": {"retry": null}}}), got.clone(), false);
        check(json!({"jobs": {"c": {}}}), got, false);
        check(
            json!({"jobs": {"a": "failed"}}),
            json!({"jobs": {"a": "success"}}),
            false,
        );
    }
}
