use std::collections::HashMap;
use std::sync::Arc;
use yaml::diagnostic::{Diagnostic, Diagnostics, Unread};
use yaml::source::Span;
use yaml::suggest::did_you_mean;
use yaml::{Entry, Kind, Limits, Mapping, Node};

/// How many mistyped paths get a suggestion.
const MOST_ADVICE: usize = 50;

/// Replaces every `!reference` by the value it names. An unresolved one is removed, and so is a
/// collection of nothing else.
pub(super) fn apply(root: &Arc<Node>, limits: &Limits, diagnostics: &mut Diagnostics) -> Arc<Node> {
    if !root.has_references() {
        return Arc::clone(root);
    }
    let mut resolver = Resolver {
        root,
        limits,
        diagnostics,
        done: HashMap::new(),
        open: Vec::new(),
        is_too_large: false,
        advice_left: MOST_ADVICE,
    };
    let done = resolver.resolve(root, 0);
    done.unwrap_or_else(|| Arc::new(Node::new(Kind::Mapping(Mapping::new()), root.span)))
}

struct Resolver<'r> {
    root: &'r Arc<Node>,
    limits: &'r Limits,
    diagnostics: &'r mut Diagnostics,
    /// The resolved paths; `None` after a mistake.
    done: HashMap<Vec<Arc<str>>, Option<Arc<Node>>>,
    /// The references being resolved, outermost first.
    open: Vec<Vec<Arc<str>>>,
    /// Whether the limit was exceeded, after which nothing more is resolved.
    is_too_large: bool,
    /// How many more mistyped keys get a suggestion.
    advice_left: usize,
}

impl<'r> Resolver<'r> {
    fn resolve(&mut self, node: &Arc<Node>, depth: u16) -> Option<Arc<Node>> {
        if !node.has_references() {
            return Some(Arc::clone(node));
        }
        if depth > self.limits.depth {
            self.refuse_depth(node.span);
            return None;
        }
        let kind = match &node.kind {
            Kind::Reference(path) => return self.reference(path, node.span, depth),
            Kind::Sequence(items) => {
                let resolved = items
                    .iter()
                    .filter_map(|item| self.resolve(item, depth + 1));
                let resolved: Vec<Arc<Node>> = resolved.collect();
                if resolved.is_empty() {
                    return None;
                }
                Kind::Sequence(resolved)
            }
            Kind::Mapping(entries) => {
                let mut resolved = Mapping::with_capacity(entries.len());
                for (key, entry) in entries {
                    let Some(value) = self.resolve(&entry.value, depth + 1) else {
                        continue;
                    };
                    let entry = Entry {
                        value,
                        ..entry.clone()
                    };
                    resolved.insert(Arc::clone(key), entry);
                }
                if resolved.is_empty() {
                    return None;
                }
                Kind::Mapping(resolved)
            }
            _ => return Some(Arc::clone(node)),
        };
        self.bounded(Node::new(kind, node.span))
    }

    /// Returns a resolved collection, unless it is too deep or too large.
    fn bounded(&mut self, node: Node) -> Option<Arc<Node>> {
        if node.depth() > self.limits.depth {
            self.refuse_depth(node.span);
        } else if node.weight() > self.limits.nodes {
            // Everything that contains it is too large as well; report it once.
            if !self.is_too_large {
                self.is_too_large = true;
                let message = "the references here expand to too many values".to_owned();
                self.report("alias-bomb", message, node.span);
            }
        } else {
            return Some(Arc::new(node));
        }
        None
    }

    /// Returns the value at a path; `None` after a mistake, which is reported once.
    fn reference(&mut self, path: &[Arc<str>], span: Span, depth: u16) -> Option<Arc<Node>> {
        if self.is_too_large {
            return None;
        }
        if let Some(done) = self.done.get(path) {
            return done.clone();
        }
        if let Some(at) = self.open.iter().position(|open| open == path) {
            let cycle = self.open[at..].iter().map(Vec::as_slice).chain([path]);
            let cycle: Vec<String> = cycle.map(shown).collect();
            let message = format!("!reference has a circular chain: {}", cycle.join(" -> "));
            self.report("reference-cycle", message, span);
            return None;
        }
        let target = self.target(path, span).map(Arc::clone);
        let resolved = target.and_then(|target| {
            self.open.push(path.to_vec());
            let resolved = self.resolve(&target, depth + 1);
            self.open.pop();
            resolved
        });
        self.done.insert(path.to_vec(), resolved.clone());
        resolved
    }

    /// Follows a path through mappings; null or false at its end counts as missing.
    fn target(&mut self, path: &[Arc<str>], span: Span) -> Option<&'r Arc<Node>> {
        let mut node = self.root;
        for (at, key) in path.iter().enumerate() {
            let Some(next) = node.get(key) else {
                if at > 0 && self.is_partial(&path[0]) {
                    return None;
                }
                let left = self.advice_left.checked_sub(1);
                self.advice_left = left.unwrap_or_default();
                let help = left.and_then(|_| missing_key(node, &path[..at], key));
                self.refuse_path(path, span, help);
                return None;
            };
            node = next;
        }
        if matches!(node.kind, Kind::Null | Kind::Bool(false)) {
            let help = format!(
                "its value is {}, which cannot be referred to",
                node.kind_name()
            );
            self.refuse_path(path, span, Some(help));
            return None;
        }
        Some(node)
    }

    /// Returns whether an entry may lack keys because its bases were not applied.
    fn is_partial(&self, name: &str) -> bool {
        let extends = self.root.get(name).and_then(|entry| entry.get("extends"));
        extends.is_some() && self.diagnostics.unread() != Unread::Nothing
    }

    fn refuse_path(&mut self, path: &[Arc<str>], span: Span, help: Option<String>) {
        let message = format!("!reference {} could not be found", shown(path));
        let error = Diagnostic::error("unknown-reference", message).at(span);
        self.diagnostics.push(error.with_help(help));
        self.diagnostics.note_unread(Unread::Parts);
    }

    fn refuse_depth(&mut self, span: Span) {
        let message = format!(
            "references are nested deeper than {} levels",
            self.limits.depth
        );
        self.report("nested-too-deep", message, span);
    }

    fn report(&mut self, code: &'static str, message: String, span: Span) {
        self.diagnostics
            .push(Diagnostic::error(code, message).at(span));
        self.diagnostics.note_unread(Unread::Parts);
    }
}

/// Returns a suggestion for a key that `node`, which is at `before`, does not have.
fn missing_key(node: &Node, before: &[Arc<str>], key: &str) -> Option<String> {
    const MOST_SHOWN: usize = 10;
    let Some(entries) = node.as_mapping() else {
        let (path, kind) = (shown(before), node.kind_name());
        return Some(format!(
            "{path} is {kind}; only a hash has keys to refer to"
        ));
    };
    let nearest = did_you_mean(key, entries.keys().map(AsRef::as_ref));
    if nearest.is_some() || before.is_empty() || entries.len() > MOST_SHOWN {
        return nearest;
    }
    let keys: Vec<&str> = entries.keys().map(AsRef::as_ref).collect();
    Some(format!("{} has: {}", shown(before), keys.join(", ")))
}

fn shown(path: &[Arc<str>]) -> String {
    format!("[{}]", path.join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, check_refused};
    use std::fmt::Write as _;

    #[test]
    fn references_are_replaced_and_keep_their_nesting() {
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
    fn unresolved_references_are_refused() {
        check_refused(
            "j: {script: !reference [.s, script]}",
            &["unknown-reference"],
        );
        check_refused(
            ".s: {x: null}\nj: {y: !reference [.s, x]}",
            &["unknown-reference"],
        );
        check_refused(
            ".s: [a]\nj: {y: !reference [.s, \"0\"]}",
            &["unknown-reference"],
        );
        check_refused(
            "a: {x: !reference [b, x]}\nb: {x: !reference [a, x]}",
            &["reference-cycle"],
        );
        check_refused("a: {x: !reference [a]}", &["reference-cycle"]);
    }

    #[test]
    fn a_bomb_of_references_is_refused() {
        let mut text = ".a0: {x: [1,1,1,1,1,1,1,1,1]}\n".to_owned();
        for level in 1..9 {
            let reference = format!("!reference [.a{}, x],", level - 1).repeat(9);
            writeln!(text, ".a{level}: {{x: [{reference}]}}").unwrap();
        }
        check_refused(&text, &["alias-bomb"]);
    }
}
