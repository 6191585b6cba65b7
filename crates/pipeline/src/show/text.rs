use super::origin::{is_same_part, of_entry};
use super::scalar::{block, inline};
use crate::{Origin, Origins};
use yaml::source::Span;
use yaml::{Entry, Kind, Node};

/// Readers refuse longer keys on one line with their values.
const LONGEST_KEY: usize = 1_000;

/// The comments after values.
#[derive(Debug, Clone, Copy)]
pub enum Comments<'o> {
    /// Nothing.
    None,
    /// The origin of each value.
    Origins(&'o Origins),
}

/// Returns a tree as YAML.
pub fn to_yaml(root: &Node, comments: Comments<'_>) -> String {
    let origins = match comments {
        Comments::None => None,
        Comments::Origins(origins) => Some(origins),
    };
    let mut writer = Writer {
        out: String::new(),
        origins,
    };
    match &root.kind {
        Kind::Mapping(entries) if !entries.is_empty() => writer.children(root, 0),
        Kind::Sequence(items) if !items.is_empty() => writer.children(root, 0),
        _ => {
            writer.value(root, 0, "");
        }
    }
    writer.out
}

struct Writer<'o> {
    out: String,
    origins: Option<&'o Origins>,
}

impl Writer<'_> {
    /// Writes the entries of a mapping or list, each on its own lines.
    fn children(&mut self, node: &Node, indent: usize) {
        match &node.kind {
            Kind::Mapping(entries) => {
                for (number, (key, entry)) in entries.iter().enumerate() {
                    // A blank line separates top-level entries.
                    if indent == 0 && number > 0 {
                        self.out.push('\n');
                    }
                    self.indent(indent);
                    self.entry(key, entry, indent);
                }
            }
            Kind::Sequence(items) => {
                for item in items {
                    self.indent(indent);
                    self.item(node.span, item, indent);
                }
            }
            _ => {}
        }
    }

    /// Writes a key and its value on a line that is already indented.
    fn entry(&mut self, key: &str, entry: &Entry, indent: usize) {
        let written = if entry.key_is_text {
            inline(key)
        } else {
            key.to_owned()
        };
        if written.len() > LONGEST_KEY {
            self.out.push_str("? ");
            self.out.push_str(&written);
            self.out.push('\n');
            self.indent(indent);
        } else {
            self.out.push_str(&written);
        }
        self.out.push(':');
        let origin = self.origins.and_then(|origins| of_entry(entry, origins));
        let comment = comment(origin);
        self.out.push(' ');
        if self.value(&entry.value, indent, &comment) {
            self.children(&entry.value, indent + 2);
        }
    }

    /// Writes an item of a list, with a comment if its origin differs from the list's.
    fn item(&mut self, list: Span, item: &Node, indent: usize) {
        self.out.push_str("- ");
        let origin = self.origins.and_then(|origins| {
            let is_from_other_part = !is_same_part(list, item.span, origins);
            is_from_other_part.then(|| origins.of(item.span))?
        });
        let comment = comment(origin);
        match &item.kind {
            Kind::Mapping(entries) if !entries.is_empty() => {
                for (number, (key, entry)) in entries.iter().enumerate() {
                    if number > 0 {
                        self.indent(indent + 2);
                    }
                    self.entry(key, entry, indent + 2);
                }
            }
            Kind::Sequence(items) if !items.is_empty() => {
                for (number, inner) in items.iter().enumerate() {
                    if number > 0 {
                        self.indent(indent + 2);
                    }
                    self.item(item.span, inner, indent + 2);
                }
            }
            _ => {
                self.value(item, indent, &comment);
            }
        }
    }

    /// Writes the rest of a line, and for a block the lines below it; returns whether entries or
    /// items must follow.
    fn value(&mut self, node: &Node, indent: usize, comment: &str) -> bool {
        let text = match &node.kind {
            Kind::Mapping(entries) if !entries.is_empty() => return self.open(comment),
            Kind::Sequence(items) if !items.is_empty() => return self.open(comment),
            Kind::Mapping(_) => "{}".to_owned(),
            Kind::Sequence(_) => "[]".to_owned(),
            Kind::Null => "null".to_owned(),
            Kind::Bool(flag) => flag.to_string(),
            Kind::Int(number) => number.to_string(),
            Kind::Float(number) if number.is_nan() => ".nan".to_owned(),
            Kind::Float(number) if number.is_infinite() => {
                let sign = if *number < 0.0 { "-" } else { "" };
                format!("{sign}.inf")
            }
            Kind::Float(_) => node.to_scalar_text().unwrap_or_default(),
            Kind::Reference(path) => {
                let keys: Vec<String> = path.iter().map(|key| flow(key)).collect();
                format!("!reference [{}]", keys.join(", "))
            }
            Kind::String(text) => {
                if let Some((header, lines)) = block(text) {
                    self.line(header, comment);
                    for line in lines {
                        if !line.is_empty() {
                            self.indent(indent + 2);
                        }
                        self.line(line, "");
                    }
                    return false;
                }
                inline(text)
            }
        };
        self.line(&text, comment);
        false
    }

    /// Ends the line of a key whose entries or items follow.
    fn open(&mut self, comment: &str) -> bool {
        self.out.truncate(self.out.trim_end_matches(' ').len());
        self.line("", comment);
        true
    }

    fn line(&mut self, text: &str, comment: &str) {
        self.out.push_str(text);
        self.out.push_str(comment);
        self.out.push('\n');
    }

    fn indent(&mut self, indent: usize) {
        self.out.extend(std::iter::repeat_n(' ', indent));
    }
}

/// Returns a key for a list on one line.
fn flow(text: &str) -> String {
    let written = inline(text);
    if written == text && text.contains([',', '[', ']', '{', '}', ':']) {
        return format!("'{}'", text.replace('\'', "''"));
    }
    written
}

/// Returns the comment with an origin, including the spaces before it.
fn comment(origin: Option<Origin<'_>>) -> String {
    let Some(origin) = origin else {
        return String::new();
    };
    let safe = |text: &str| text.replace(char::is_control, "\u{fffd}");
    let key = origin.key.map(|key| format!(" ({})", safe(key)));
    format!(
        "  # {}:{}{}",
        safe(origin.file),
        origin.line,
        key.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Diagnostics;
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use std::sync::Arc;
    use yaml::{Limits, load};

    fn loaded(text: &str) -> (Arc<Node>, Origins) {
        let mut diagnostics = Diagnostics::default();
        let file = diagnostics.sources_mut().add("a b:\n#.yml", text);
        let loaded = load(file, &Limits::default(), &mut diagnostics);
        let tree = loaded
            .unwrap_or_else(|| panic!("{text:?}: {diagnostics}"))
            .content;
        let mut origins = Origins::default();
        origins.add(file, &tree, diagnostics.sources());
        (tree, origins)
    }

    #[test]
    fn every_value_has_its_origin_as_a_comment() {
        let text = "\
.base: &base
  image: ruby
  script: &commands [a, 'yes']
job:
  <<: *base
  before_script: *commands
  variables: {A: '0755', B: 1.50, \"1\": ~}
  rules:
    - if: $A == \"x\"
      changes: []
    - [x, [y]]
  after_script:
    - |
      one
        two
";
        let (root, origins) = loaded(text);
        let shown = to_yaml(&root, Comments::Origins(&origins));
        insta::assert_snapshot!(shown, @r#"
        .base:  # a b:�#.yml:1 (.base)
          image: ruby  # a b:�#.yml:2 (.base)
          script:  # a b:�#.yml:3 (.base)
            - a
            - "yes"

        job:  # a b:�#.yml:4 (job)
          image: ruby  # a b:�#.yml:2 (.base)
          script:  # a b:�#.yml:3 (.base)
            - a
            - "yes"
          before_script:  # a b:�#.yml:3 (.base)
            - a
            - "yes"
          variables:  # a b:�#.yml:7 (job)
            A: "0755"  # a b:�#.yml:7 (job)
            B: 1.5  # a b:�#.yml:7 (job)
            "1": null  # a b:�#.yml:7 (job)
          rules:  # a b:�#.yml:8 (job)
            - if: $A == "x"  # a b:�#.yml:9 (job)
              changes: []  # a b:�#.yml:10 (job)
            - - x
              - - "y"
          after_script:  # a b:�#.yml:12 (job)
            - |
              one
                two
        "#);
        let (again, _) = loaded(&shown);
        assert_eq!(again.to_json(), root.to_json());
    }

    /// Generates values from text that is special in YAML.
    fn values() -> impl Strategy<Value = Value> {
        let odd = "(yes|no|0755|1e3|12:30|2024-01-02|~|null|<<|\\.inf|[a-c:#\\-'\"\\\\ \n\t{}\\[\\],&*!|>%@`?=.0-9é日\u{7}\u{85}\u{2028}\u{feff}\r]){0,6}";
        let text = prop_oneof![
            odd.prop_map(Value::from),
            "[ a\n]{0,8}".prop_map(Value::from)
        ];
        let scalar = prop_oneof![
            8 => text,
            1 => any::<i64>().prop_map(Value::from),
            1 => any::<f64>().prop_map(Value::from),
            1 => any::<bool>().prop_map(Value::from),
            1 => Just(Value::Null),
        ];
        scalar.prop_recursive(4, 40, 5, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec((odd, inner), 0..5)
                    .prop_map(|entries| entries.into_iter().filter(is_not_merge_key).collect()),
            ]
        })
    }

    /// Excludes merge keys, which loading resolves.
    fn is_not_merge_key((key, _): &(String, Value)) -> bool {
        key != "<<"
    }

    fn node(value: &Value, span: Span) -> Arc<Node> {
        let kind = match value {
            Value::Null => Kind::Null,
            Value::Bool(flag) => Kind::Bool(*flag),
            Value::Number(number) => match number.as_i64() {
                Some(number) => Kind::Int(number.into()),
                None => Kind::Float(number.as_f64().unwrap()),
            },
            Value::String(text) => Kind::String(text.as_str().into()),
            Value::Array(items) => {
                Kind::Sequence(items.iter().map(|item| node(item, span)).collect())
            }
            Value::Object(entries) => Kind::Mapping(
                entries
                    .iter()
                    .map(|(key, value)| {
                        let entry = Entry {
                            key_span: span,
                            key_is_text: true,
                            merged: false,
                            value: node(value, span),
                        };
                        (Arc::from(key.as_str()), entry)
                    })
                    .collect(),
            ),
        };
        Arc::new(Node::new(kind, span))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn printed_values_read_back_the_same(value in values()) {
            let (some, origins) = loaded("job:\n  script: x\n");
            let value = json!({ "job": value });
            let root = node(&value, some.span);
            for comments in [Comments::None, Comments::Origins(&origins)] {
                let shown = to_yaml(&root, comments);
                let (own, _) = loaded(&shown);
                prop_assert_eq!(own.to_json(), value.clone(), "own loader, of\n{}", shown);
                let other: Value = serde_yaml::from_str(&shown).unwrap();
                prop_assert_eq!(other, value.clone(), "libyaml, of\n{}", shown);
            }
        }
    }

    #[test]
    fn long_keys_read_back_the_same() {
        let value = json!({ "job": { "k ".repeat(2_000): { "a": [1] } } });
        let (some, _) = loaded("job: 1\n");
        let root = node(&value, some.span);
        let shown = to_yaml(&root, Comments::None);
        assert_eq!(loaded(&shown).0.to_json(), value);
    }
}
