use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::suggest::did_you_mean;
use crate::yaml::{Entry, Kind, Limits, Mapping, Node};
use std::collections::HashMap;
use std::sync::Arc;

/// How many bases may stand in one chain below a job.
const LONGEST_CHAIN: usize = 11;

/// Applies `extends` of every entry of the file.
pub(super) fn apply(
    root: &Arc<Node>,
    limits: &Limits,
    diagnostics: &mut Diagnostics,
) -> Option<Arc<Node>> {
    let entries = root.as_mapping()?;
    let uses_extends = |entry: &Entry| entry.value.get("extends").is_some();
    if !entries.values().any(uses_extends) {
        return Some(Arc::clone(root));
    }
    let mut extender = Extender {
        entries,
        done: HashMap::new(),
        open: Vec::new(),
        copies_left: limits.nodes,
    };
    let mut composed = Mapping::with_capacity(entries.len());
    let mut failed = false;
    for (name, entry) in entries {
        let value = match extender.extended(name) {
            Ok(done) => done.node,
            Err(error) => {
                failed = true;
                if let Some(error) = error {
                    diagnostics.push(*error);
                }
                continue;
            }
        };
        let entry = Entry {
            value,
            ..entry.clone()
        };
        composed.insert(Arc::clone(name), entry);
    }
    if failed {
        return None;
    }
    Some(Arc::new(Node::new(Kind::Mapping(composed), root.span)))
}

struct Extender<'e> {
    entries: &'e Mapping,
    /// `None` for entries whose error was reported already.
    done: HashMap<Arc<str>, Option<Extended>>,
    /// The entries being extended now, outermost first.
    open: Vec<Arc<str>>,
    /// How many more keys may be copied from bases.
    copies_left: u32,
}

#[derive(Clone)]
struct Extended {
    node: Arc<Node>,
    /// The longest chain of bases below.
    chain: usize,
}

/// An error, or `None` for one that was reported before.
type Failure = Option<Box<Diagnostic>>;

impl Extender<'_> {
    fn extended(&mut self, name: &Arc<str>) -> Result<Extended, Failure> {
        if let Some(done) = self.done.get(name) {
            return done.clone().ok_or(None);
        }
        self.open.push(Arc::clone(name));
        let result = self.extend(name);
        self.open.pop();
        self.done
            .insert(Arc::clone(name), result.as_ref().ok().cloned());
        result
    }

    fn extend(&mut self, name: &Arc<str>) -> Result<Extended, Failure> {
        let value = &self.entries[name].value;
        let Some(bases_node) = value.get("extends") else {
            let node = Arc::clone(value);
            return Ok(Extended { node, chain: 0 });
        };
        let mut merged: Option<Arc<Node>> = None;
        let mut chain = 0;
        for base_name in self.base_names(name, bases_node)? {
            let base = self.base(name, &base_name, bases_node)?;
            chain = chain.max(base.chain + 1);
            merged = Some(match merged {
                None => base.node,
                Some(before) => self.merge(&before, &base.node)?,
            });
        }
        if chain > LONGEST_CHAIN {
            let message = format!("{name}: `extends` is nested deeper than {LONGEST_CHAIN} levels");
            return error("extends-too-deep", message, bases_node);
        }
        let node = match merged {
            None => Arc::clone(value),
            Some(base) => self.merge(&base, value)?,
        };
        Ok(Extended { node, chain })
    }

    /// Returns the names under `extends`, all of which exist.
    fn base_names(&self, name: &str, node: &Node) -> Result<Vec<Arc<str>>, Failure> {
        let items = match &node.kind {
            Kind::Sequence(items) => items.iter().map(AsRef::as_ref).collect(),
            _ => vec![node],
        };
        let mut names = Vec::with_capacity(items.len());
        let mut unknown = Vec::new();
        for item in items {
            let base = item.to_scalar_text().unwrap_or_default();
            match self.entries.get_key_value(base.as_str()) {
                Some((base, _)) => names.push(Arc::clone(base)),
                None => unknown.push(base),
            }
        }
        if unknown.is_empty() {
            return Ok(names);
        }
        let known = self.entries.keys().map(AsRef::as_ref);
        let help = did_you_mean(&unknown[0], known.filter(|&known| known != name));
        let message = format!("{name}: unknown keys in `extends` ({})", unknown.join(", "));
        let error = Diagnostic::error("unknown-base", message).at(node.span);
        Err(Some(Box::new(error.with_help(help))))
    }

    fn base(&mut self, name: &str, base: &Arc<str>, node: &Node) -> Result<Extended, Failure> {
        if let Some(at) = self.open.iter().position(|open| open == base) {
            let mut cycle: Vec<&str> = self.open[at..].iter().map(AsRef::as_ref).collect();
            cycle.push(base);
            let message = format!(
                "{name}: circular dependency in `extends`: {}",
                cycle.join(" -> ")
            );
            return error("extends-cycle", message, node);
        }
        // The check comes before the descent, so that a long chain cannot exhaust the stack.
        if self.open.len() > LONGEST_CHAIN + 1 {
            let message = format!("{name}: `extends` is nested deeper than {LONGEST_CHAIN} levels");
            return error("extends-too-deep", message, node);
        }
        if self.entries[base].value.as_mapping().is_none() {
            let message = format!("{name}: the base `{base}` of `extends` is not a hash");
            return error("invalid-base", message, node);
        }
        self.extended(base)
    }

    /// Puts `over` on top of `base`: mappings are united key by key, all else is replaced.
    fn merge(&mut self, base: &Arc<Node>, over: &Arc<Node>) -> Result<Arc<Node>, Failure> {
        let (Kind::Mapping(below), Kind::Mapping(above)) = (&base.kind, &over.kind) else {
            return Ok(Arc::clone(over));
        };
        let copies = crate::source::clamp(below.len() + above.len());
        let Some(copies_left) = self.copies_left.checked_sub(copies) else {
            let message = "`extends` copies more keys than a pipeline may have".to_owned();
            return error("extends-too-large", message, over);
        };
        self.copies_left = copies_left;
        let mut merged = below.clone();
        for (key, entry) in above {
            let value = match below.get(key) {
                Some(before) => self.merge(&before.value, &entry.value)?,
                None => Arc::clone(&entry.value),
            };
            let entry = Entry {
                value,
                ..entry.clone()
            };
            merged.insert(Arc::clone(key), entry);
        }
        Ok(Arc::new(Node::new(Kind::Mapping(merged), over.span)))
    }
}

fn error<T>(code: &'static str, message: String, node: &Node) -> Result<T, Failure> {
    let error = Diagnostic::error(code, message).at(node.span);
    Err(Some(Box::new(error)))
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
            "extending {text:?}"
        );
    }

    fn check_refused(text: &str, code: &str) {
        let (root, diagnostics) = compose_text(text);
        assert!(root.is_none(), "{text:?} is accepted");
        let codes: Vec<&str> = diagnostics.errors().map(|error| error.code).collect();
        assert_eq!(codes, [code], "{diagnostics}");
    }

    #[test]
    fn mappings_unite_and_all_else_is_replaced() {
        let bases = ".a: {v: {x: 1, y: 1}, l: [1], n: 1}\n.b: {v: {x: 2}, retry: {max: 2}}\n";
        check(
            &format!("{bases}j: {{extends: [.a, .b], v: {{z: 3}}, l: [9], n: null, retry: 1}}"),
            "j",
            &serde_json::json!({
                "v": {"x": 2, "y": 1, "z": 3}, "l": [9], "n": null, "retry": 1,
                "extends": [".a", ".b"]
            }),
        );
    }

    #[test]
    fn chains_are_followed_up_to_eleven_bases() {
        let chain = |bases: usize| {
            (1..=bases).fold(".l0: {image: i}\n".to_owned(), |text, level| {
                text + &format!(".l{level}: {{extends: .l{}}}\n", level - 1)
            })
        };
        let job = |last: usize| format!("{}j: {{extends: .l{last}}}\n", chain(last));
        check(
            &job(10),
            "j",
            &serde_json::json!({"image": "i", "extends": ".l10"}),
        );
        check_refused(&job(11), "extends-too-deep");
        let (root, _) = compose_text(&job(50_000));
        assert!(
            root.is_none(),
            "a chain of 50,000 bases is refused, not followed"
        );
    }

    #[test]
    fn wrong_bases_are_refused_with_one_precise_error() {
        check_refused("j: {extends: .nope, script: x}", "unknown-base");
        check_refused("j: {extends: 1, script: x}", "unknown-base");
        check_refused("j: {extends: j, script: x}", "extends-cycle");
        check_refused(".t: text\nj: {extends: .t, script: x}", "invalid-base");
        let (_, diagnostics) = compose_text(".a: {extends: .b}\n.b: {extends: .a}\n");
        insta::assert_snapshot!(diagnostics, @r"
        error[extends-cycle]: .b: circular dependency in `extends`: .a -> .b -> .a
         --> ci.yml:2:15
          |
        2 | .b: {extends: .a}
          |               ^^
        ");
        let (_, diagnostics) = compose_text(".setup: {}\nj: {extends: [.stup], script: x}\n");
        insta::assert_snapshot!(diagnostics, @r"
        error[unknown-base]: j: unknown keys in `extends` (.stup)
         --> ci.yml:2:14
          |
        2 | j: {extends: [.stup], script: x}
          |              ^^^^^^
          |
          = help: did you mean `.setup`?
        ");
    }

    #[test]
    fn copying_a_large_base_into_many_jobs_is_bounded() {
        let mut text = ".big:\n".to_owned();
        for key in 0..10_000 {
            writeln!(text, "  k{key}: 1").unwrap();
        }
        for job in 0..1_000 {
            writeln!(text, "j{job}: {{extends: .big}}").unwrap();
        }
        let (root, diagnostics) = compose_text(&text);
        assert!(root.is_none());
        assert_eq!(
            diagnostics.errors().next().unwrap().code,
            "extends-too-large"
        );
    }
}
