use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::source::Span;
use crate::yaml::{Entry, Kind, Limits, Mapping, Node};
use std::collections::HashMap;
use std::sync::Arc;

/// Replaces every `!reference` by the value it names.
pub(super) fn apply(
    root: &Arc<Node>,
    limits: &Limits,
    diagnostics: &mut Diagnostics,
) -> Option<Arc<Node>> {
    if !root.has_references() {
        return Some(Arc::clone(root));
    }
    let mut resolver = Resolver {
        root,
        limits,
        done: HashMap::new(),
        open: Vec::new(),
    };
    match resolver.resolve(root, 0) {
        Ok(done) => Some(done),
        Err(error) => {
            diagnostics.push(*error);
            None
        }
    }
}

struct Resolver<'r> {
    root: &'r Arc<Node>,
    limits: &'r Limits,
    done: HashMap<Vec<Arc<str>>, Arc<Node>>,
    /// The references being resolved now, outermost first.
    open: Vec<Vec<Arc<str>>>,
}

type Resolved = Result<Arc<Node>, Box<Diagnostic>>;

impl Resolver<'_> {
    fn resolve(&mut self, node: &Arc<Node>, depth: u16) -> Resolved {
        if !node.has_references() {
            return Ok(Arc::clone(node));
        }
        if depth > self.limits.depth {
            let message = format!("references lead deeper than {} levels", self.limits.depth);
            return Err(error("nested-too-deep", message, node.span).into());
        }
        let kind = match &node.kind {
            Kind::Reference(path) => return self.reference(path, node.span, depth),
            Kind::Sequence(items) => {
                let items = items.iter().map(|item| self.resolve(item, depth + 1));
                Kind::Sequence(items.collect::<Result<_, _>>()?)
            }
            Kind::Mapping(entries) => {
                let mut resolved = Mapping::with_capacity(entries.len());
                for (key, entry) in entries {
                    let value = self.resolve(&entry.value, depth + 1)?;
                    let entry = Entry {
                        value,
                        ..entry.clone()
                    };
                    resolved.insert(Arc::clone(key), entry);
                }
                Kind::Mapping(resolved)
            }
            _ => return Ok(Arc::clone(node)),
        };
        let resolved = Node::new(kind, node.span);
        if resolved.weight() > self.limits.nodes {
            let message = "the references here stand for too many values".to_owned();
            return Err(error("alias-bomb", message, node.span).into());
        }
        Ok(Arc::new(resolved))
    }

    fn reference(&mut self, path: &[Arc<str>], span: Span, depth: u16) -> Resolved {
        if let Some(done) = self.done.get(path) {
            return Ok(Arc::clone(done));
        }
        if self.open.iter().any(|open| open == path) {
            let message = format!(
                "!reference [{}] is part of a circular chain",
                path.join(", ")
            );
            return Err(error("reference-cycle", message, span).into());
        }
        let target = Arc::clone(self.target(path, span)?);
        self.open.push(path.to_vec());
        let resolved = self.resolve(&target, depth + 1);
        self.open.pop();
        let resolved = resolved?;
        self.done.insert(path.to_vec(), Arc::clone(&resolved));
        Ok(resolved)
    }

    fn target(&self, path: &[Arc<str>], span: Span) -> Result<&Arc<Node>, Box<Diagnostic>> {
        let mut node = self.root;
        for key in path {
            node = node.get(key).ok_or_else(|| not_found(path, span))?;
        }
        match node.kind {
            Kind::Null | Kind::Bool(false) => Err(not_found(path, span).into()),
            _ => Ok(node),
        }
    }
}

fn not_found(path: &[Arc<str>], span: Span) -> Diagnostic {
    let message = format!("!reference [{}] could not be found", path.join(", "));
    error("unknown-reference", message, span)
}

fn error(code: &'static str, message: String, span: Span) -> Diagnostic {
    Diagnostic::error(code, message).at(span)
}

#[cfg(test)]
mod tests {
    use super::super::tests::compose_text;
    use std::fmt::Write as _;

    fn check(text: &str, job: &str, expect: &serde_json::Value) {
        let (root, diagnostics) = compose_text(text);
        let root = root.unwrap_or_else(|| panic!("{text:?} is refused: {diagnostics}"));
        assert_eq!(
            &root.get(job).unwrap().to_json(),
            expect,
            "resolving {text:?}"
        );
    }

    fn check_refused(text: &str, code: &str) {
        let (root, diagnostics) = compose_text(text);
        assert!(root.is_none(), "{text:?} is accepted");
        assert_eq!(
            diagnostics.errors().next().unwrap().code,
            code,
            "{diagnostics}"
        );
    }

    #[test]
    fn references_stand_for_values_and_keep_their_nesting() {
        let setup = ".s: {script: [a, b], image: {name: i}}\n";
        check(
            &format!(
                "{setup}j: {{script: [!reference [.s, script], c], image: !reference [.s, image, name]}}"
            ),
            "j",
            &serde_json::json!({"script": [["a", "b"], "c"], "image": "i"}),
        );
        check(
            ".a: {x: !reference [.b, x]}\n.b: {x: [1]}\nj: {x: !reference [.a, x]}\n",
            "j",
            &serde_json::json!({"x": [1]}),
        );
        check(
            ".b: {x: [1]}\n.e: {script: !reference [.b, x]}\nj: {extends: .e}\n",
            "j",
            &serde_json::json!({"script": [1], "extends": ".e"}),
        );
    }

    #[test]
    fn references_that_lead_nowhere_are_refused() {
        check_refused("j: {script: !reference [.s, script]}", "unknown-reference");
        check_refused(
            ".s: {x: null}\nj: {y: !reference [.s, x]}",
            "unknown-reference",
        );
        check_refused(
            ".s: [a]\nj: {y: !reference [.s, \"0\"]}",
            "unknown-reference",
        );
        check_refused(
            "a: {x: !reference [b, x]}\nb: {x: !reference [a, x]}",
            "reference-cycle",
        );
        check_refused("a: {x: !reference [a]}", "reference-cycle");
    }

    #[test]
    fn a_bomb_of_references_is_refused() {
        let mut text = ".a0: {x: [1,1,1,1,1,1,1,1,1]}\n".to_owned();
        for level in 1..9 {
            let reference = format!("!reference [.a{}, x],", level - 1).repeat(9);
            writeln!(text, ".a{level}: {{x: [{reference}]}}").unwrap();
        }
        check_refused(&text, "alias-bomb");
    }
}
