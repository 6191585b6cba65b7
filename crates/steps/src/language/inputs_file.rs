//! Reads a user's file with inputs.

use super::error::LanguageError;
use super::value::Value;
use super::yaml::{self, Node};
use std::collections::BTreeMap;

/// Parses inputs: a name and a value for each, as YAML or JSON.
///
/// # Errors
///
/// Describes the error and its position.
pub fn parse_inputs(text: &str) -> Result<BTreeMap<String, Value>, LanguageError> {
    let mut documents = yaml::documents(text)?.into_iter();
    match (documents.next(), documents.next()) {
        (None | Some(Node::Null), None) => Ok(BTreeMap::new()),
        (Some(Node::Map(inputs)), None) => {
            let inputs = inputs.iter();
            Ok(inputs
                .map(|(name, it)| (name.clone(), it.to_value()))
                .collect())
        }
        (_, Some(_)) => Err(LanguageError::new("expected one document, found several")),
        (Some(_), None) => Err(LanguageError::new(
            "expected a name and a value for each input, such as `who: Sally`",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_a_yaml_or_json_mapping() {
        let check = |text: &str, expect: &str| {
            let inputs = parse_inputs(text).map(|inputs| {
                let inputs = inputs.iter();
                let inputs: Vec<_> = inputs
                    .map(|(name, value)| format!("{name}={}", value.to_json()))
                    .collect();
                inputs.join(" ")
            });
            assert_eq!(
                inputs.unwrap_or_else(|wrong| wrong.to_string()),
                expect,
                "{text}"
            );
        };
        check("", "");
        check(
            "who: Sally\ntimes: 2\nof: [1, '1']",
            "of=[1,\"1\"] times=2 who=\"Sally\"",
        );
        check(r#"{"a": {"b": null}}"#, r#"a={"b":null}"#);
        check("a: 1\n---\nb: 2", "expected one document, found several");
        let names = "expected a name and a value for each input, such as `who: Sally`";
        check("[1]", names);
        assert!(
            parse_inputs("a: [")
                .unwrap_err()
                .to_string()
                .starts_with("line ")
        );
    }
}
