//! Random expressions, compared with a reference implementation that evaluates their trees.

use pipeline::expression::{Expression, Value, Variables};
use proptest::prelude::*;

/// The tree of an expression.
#[derive(Debug, Clone)]
enum Tree {
    Leaf(&'static str),
    Not(Box<Tree>),
    Binary(Box<Tree>, &'static str, Box<Tree>),
}

/// The result of a tree; `Unfit` is an operand that `=~` cannot use.
#[derive(Debug, Clone, PartialEq)]
enum Yield {
    Null,
    Boolean(bool),
    Text(String),
    Pattern(&'static str),
    Unfit,
}

const LEAVES: [&str; 16] = [
    "$UNSET", "$EMPTY", "$BLANK", "$WORD", "$FALSE", "$REGEX", "$BROKEN", "null", "true", "false",
    "'aB'", "\"\"", "\"a'\"", "/aB/", "/^a/", "/^$/",
];

fn variable(name: &str) -> Option<&'static str> {
    Some(match name {
        "EMPTY" => "",
        "BLANK" => " \t",
        "WORD" => "ab",
        "FALSE" => "false",
        "REGEX" => "/b$/i",
        "BROKEN" => "/(/",
        _ => return None,
    })
}

struct Known;

impl Variables for Known {
    fn get(&self, name: &str) -> Option<&str> {
        variable(name)
    }
}

fn leaf(text: &'static str) -> Yield {
    match text {
        "null" => Yield::Null,
        "true" | "false" => Yield::Boolean(text == "true"),
        _ if text.starts_with('/') => Yield::Pattern(text),
        _ => match text.strip_prefix('$') {
            Some(name) => variable(name).map_or(Yield::Null, |value| Yield::Text(value.to_owned())),
            None => Yield::Text(text[1..text.len() - 1].to_owned()),
        },
    }
}

/// Returns whether a text matches one of the few known patterns; `None` if it is not a pattern.
fn pattern_matches(pattern: &str, text: &str) -> Option<bool> {
    Some(match pattern {
        "/aB/" => text.contains("aB"),
        "/^a/" => text.starts_with('a'),
        "/^$/" => text.is_empty(),
        "/b$/i" => text.ends_with(['b', 'B']),
        _ => return None,
    })
}

fn is_blank(value: &Yield) -> bool {
    match value {
        Yield::Null | Yield::Boolean(false) | Yield::Unfit => true,
        Yield::Text(text) => text.trim().is_empty(),
        Yield::Boolean(true) | Yield::Pattern(_) => false,
    }
}

fn reference(tree: &Tree) -> Yield {
    let (left, sign, right) = match tree {
        Tree::Leaf(text) => return leaf(text),
        Tree::Not(inner) => match reference(inner) {
            Yield::Unfit => return Yield::Unfit,
            value => return Yield::Boolean(is_blank(&value)),
        },
        Tree::Binary(left, sign, right) => (reference(left), *sign, right),
    };
    if left == Yield::Unfit {
        return Yield::Unfit;
    }
    let is_falsy = matches!(left, Yield::Null | Yield::Boolean(false));
    if (sign == "&&" && is_falsy) || (sign == "||" && !is_falsy) {
        return left;
    }
    let right = reference(right);
    match (sign, &right) {
        (_, Yield::Unfit) => Yield::Unfit,
        ("&&" | "||", _) => right,
        ("==", _) => Yield::Boolean(are_equal(&left, &right)),
        ("!=", _) => Yield::Boolean(!are_equal(&left, &right)),
        _ => match is_match(&left, &right) {
            Some(is_match) => Yield::Boolean(is_match == (sign == "=~")),
            None => Yield::Unfit,
        },
    }
}

fn are_equal(left: &Yield, right: &Yield) -> bool {
    match (left, right) {
        (Yield::Boolean(flag), Yield::Text(text)) | (Yield::Text(text), Yield::Boolean(flag)) => {
            *text == flag.to_string()
        }
        _ => left == right,
    }
}

fn is_match(left: &Yield, right: &Yield) -> Option<bool> {
    let text = match left {
        Yield::Text(text) => text.clone(),
        Yield::Boolean(flag) => flag.to_string(),
        _ => String::new(),
    };
    let is_pattern = matches!(left, Yield::Pattern(_));
    match right {
        Yield::Boolean(true) if !is_pattern => None,
        Yield::Text(right) if !is_pattern => {
            Some(pattern_matches(right, &text).unwrap_or_else(|| right.contains(&text)))
        }
        Yield::Pattern(pattern) if !is_pattern => pattern_matches(pattern, &text),
        _ => Some(false),
    }
}

/// Returns how loosely the outermost operator of a tree binds.
fn looseness(tree: &Tree) -> u8 {
    match tree {
        Tree::Leaf(_) => 0,
        Tree::Not(_) => 1,
        Tree::Binary(_, "&&", _) => 3,
        Tree::Binary(_, "||", _) => 4,
        Tree::Binary(..) => 2,
    }
}

/// Writes a tree with minimal parentheses, or with one more pair around everything.
fn write(tree: &Tree, spaces: &str, loosest: u8, out: &mut String) {
    let needs_parentheses = looseness(tree) > loosest;
    if needs_parentheses {
        out.push('(');
    }
    match tree {
        Tree::Leaf(text) => out.push_str(text),
        Tree::Not(inner) => {
            out.push('!');
            out.push_str(spaces);
            write(inner, spaces, 1, out);
        }
        Tree::Binary(left, sign, right) => {
            let own = looseness(tree);
            write(left, spaces, own, out);
            for part in [spaces, sign, spaces] {
                out.push_str(part);
            }
            write(right, spaces, own - 1, out);
        }
    }
    if needs_parentheses {
        out.push(')');
    }
}

fn trees() -> impl Strategy<Value = Tree> {
    let leaf = proptest::sample::select(&LEAVES[..]).prop_map(Tree::Leaf);
    leaf.prop_recursive(5, 24, 2, |inner| {
        let signs = proptest::sample::select(&["==", "!=", "=~", "!~", "&&", "||"][..]);
        let binary = (inner.clone(), signs, inner.clone());
        prop_oneof![
            1 => inner.prop_map(|tree| Tree::Not(Box::new(tree))),
            5 => binary.prop_map(|(left, sign, right)| {
                Tree::Binary(Box::new(left), sign, Box::new(right))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn expressions_agree_with_the_reference(
        tree in trees(),
        spaces in proptest::sample::select(&["", " ", "\n\t "][..]),
    ) {
        let mut text = String::new();
        write(&tree, spaces, 4, &mut text);
        let expression = Expression::parse(&text);
        prop_assert!(expression.is_ok(), "{} {:?}", text, expression);
        let expression = expression.unwrap();
        let is = match expression.evaluate(&Known) {
            Value::Null => Yield::Null,
            Value::Boolean(flag) => Yield::Boolean(flag),
            Value::Text(text) => Yield::Text(text.to_owned()),
            Value::Pattern(pattern) => leaf(LEAVES.iter().find(|leaf| **leaf == pattern.to_string()).unwrap()),
        };
        let expect = match reference(&tree) {
            Yield::Unfit => Yield::Null,
            value => value,
        };
        prop_assert_eq!(is, expect.clone(), "{}", text);
        prop_assert_eq!(expression.is_true(&Known), !is_blank(&expect), "{}", text);
        prop_assert_eq!(expression.trace(&Known).is_true, !is_blank(&expect), "{}", text);
    }

    #[test]
    fn errors_have_a_range_in_the_text(
        text in "([$a/é\"'()\\\\\n]|[ =!~&|{}\\[\\]%-]|\\$A|==|=~|&&|\\|\\||\\$\\[\\[ inputs\\.a \\]\\]|/ab/|null|true){0,14}",
    ) {
        match Expression::parse(&text) {
            Ok(expression) => {
                let is_true = expression.is_true(&Known);
                prop_assert_eq!(expression.trace(&Known).is_true, is_true);
            }
            Err(error) => prop_assert!(text.get(error.range.clone()).is_some(), "{} {:?}", text, error),
        }
    }
}
