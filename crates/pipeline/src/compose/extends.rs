use super::merge;
use std::collections::HashMap;
use std::sync::Arc;
use yaml::diagnostic::{Diagnostic, Diagnostics, Unread};
use yaml::source::{FileId, Span};
use yaml::suggest::did_you_mean;
use yaml::{Entry, Kind, Limits, Mapping, Node};

/// The maximum length of a chain of bases.
const LONGEST_CHAIN: usize = 11;

/// How many mistyped names get a suggestion, which takes a comparison with every name of the file.
const MOST_ADVICE: usize = 50;

/// Applies `extends` of every entry of the file. An entry whose `extends` is wrong stays unchanged.
pub(super) fn apply(
    root: &Arc<Node>,
    server_file: Option<FileId>,
    limits: &Limits,
    diagnostics: &mut Diagnostics,
) -> Arc<Node> {
    let uses_extends = |entry: &Entry| bases(&entry.value, server_file).is_some();
    let Some(entries) = root.as_mapping() else {
        return Arc::clone(root);
    };
    if !entries.values().any(uses_extends) {
        return Arc::clone(root);
    }
    let mut extender = Extender {
        entries,
        server_file,
        diagnostics,
        done: HashMap::new(),
        open: Vec::new(),
        keys_left: Some(limits.nodes),
        advice_left: MOST_ADVICE,
    };
    let mut composed = Mapping::with_capacity(entries.len());
    for (name, entry) in entries {
        let done = extender.extended(name, &entry.value);
        let value = done.map_or_else(|| Arc::clone(&entry.value), |done| done.node);
        let entry = Entry {
            value,
            ..entry.clone()
        };
        composed.insert(Arc::clone(name), entry);
    }
    Arc::new(Node::new(Kind::Mapping(composed), root.span))
}

struct Extender<'e> {
    entries: &'e Mapping,
    server_file: Option<FileId>,
    diagnostics: &'e mut Diagnostics,
    /// The extended entries; `None` for those with a mistake.
    done: HashMap<Arc<str>, Option<Extended>>,
    /// The entries being extended, outermost first.
    open: Vec<Arc<str>>,
    /// How many more keys may be copied from bases; `None` once the limit was exceeded.
    keys_left: Option<u32>,
    /// How many more mistyped names get a suggestion.
    advice_left: usize,
}

#[derive(Clone)]
struct Extended {
    node: Arc<Node>,
    /// The length of its longest chain of bases.
    chain: usize,
}

impl Extender<'_> {
    /// Returns an entry merged over its bases; `None` after a mistake, which is reported once.
    fn extended(&mut self, name: &Arc<str>, value: &Arc<Node>) -> Option<Extended> {
        let Some(bases) = bases(value, self.server_file) else {
            let node = Arc::clone(value);
            return Some(Extended { node, chain: 0 });
        };
        if let Some(done) = self.done.get(name) {
            return done.clone();
        }
        self.open.push(Arc::clone(name));
        let extended = self.extend(name, value, bases);
        self.open.pop();
        self.done.insert(Arc::clone(name), extended.clone());
        extended
    }

    fn extend(&mut self, name: &str, value: &Arc<Node>, bases: &Node) -> Option<Extended> {
        let mut merged: Option<Arc<Node>> = None;
        let mut chain = 0;
        for base_name in self.base_names(name, bases)? {
            let base = self.base(name, &base_name, bases)?;
            chain = chain.max(base.chain + 1);
            merged = Some(match merged {
                None => base.node,
                Some(before) => self.merge(before, &base.node)?,
            });
        }
        if chain > LONGEST_CHAIN {
            self.refuse_depth(name, bases);
            return None;
        }
        let node = match merged {
            None => Arc::clone(value),
            Some(base) => self.merge(base, value)?,
        };
        Some(Extended { node, chain })
    }

    /// Returns the names under `extends`, all of which exist.
    fn base_names(&mut self, name: &str, node: &Node) -> Option<Vec<Arc<str>>> {
        let items: Vec<&Node> = match &node.kind {
            Kind::Null => Vec::new(),
            Kind::Sequence(items) => items.iter().map(AsRef::as_ref).collect(),
            _ => vec![node],
        };
        let mut names = Vec::with_capacity(items.len());
        let mut unknown = Vec::new();
        for item in items {
            let base = base_text(item);
            match self.entries.get_key_value(base.as_str()) {
                Some((base, _)) => names.push(Arc::clone(base)),
                None => unknown.push((base, item.span)),
            }
        }
        // An unknown base may be in a file that could not be read; the known ones are still
        // applied.
        if unknown.is_empty() || self.diagnostics.unread() == Unread::Files {
            return Some(names);
        }
        self.refuse_names(name, &unknown);
        None
    }

    fn refuse_names(&mut self, name: &str, unknown: &[(String, Span)]) {
        let help = self.advice_left.checked_sub(1).and_then(|left| {
            self.advice_left = left;
            if unknown[0].0.starts_with("!reference ") {
                let help = "`extends` is applied before references: name the base itself";
                return Some(help.to_owned());
            }
            let known = self.entries.keys().map(AsRef::as_ref);
            let others = known.filter(|&known| known != name);
            did_you_mean(&unknown[0].0, others)
        });
        let names: Vec<&str> = unknown.iter().map(|(base, _)| base.as_str()).collect();
        let message = format!("{name}: unknown keys in `extends` ({})", names.join(", "));
        let error = Diagnostic::error("unknown-base", message).at(unknown[0].1);
        self.report(error.with_help(help));
    }

    fn base(&mut self, name: &str, base: &Arc<str>, node: &Node) -> Option<Extended> {
        if let Some(at) = self.open.iter().position(|open| open == base) {
            let mut cycle: Vec<&str> = self.open[at..].iter().map(AsRef::as_ref).collect();
            cycle.push(base);
            let message = format!(
                "{name}: circular dependency in `extends`: {}",
                cycle.join(" -> ")
            );
            self.report(Diagnostic::error("extends-cycle", message).at(node.span));
            return None;
        }
        // Check before the recursion, so that a long chain cannot exhaust the stack.
        if self.open.len() > LONGEST_CHAIN + 1 {
            self.refuse_depth(name, node);
            return None;
        }
        let entries = self.entries;
        let entry = &entries[base];
        if entry.value.as_mapping().is_none() {
            let message = format!("{name}: the base `{base}` of `extends` is not a hash");
            let error = Diagnostic::error("invalid-base", message).at(node.span);
            self.report(error.with_related(entry.value.span, "this is not a hash"));
            return None;
        }
        self.extended(base, &entry.value)
    }

    fn merge(&mut self, base: Arc<Node>, over: &Arc<Node>) -> Option<Arc<Node>> {
        let mut keys_left = self.keys_left?;
        let merged = merge(base, over, &mut keys_left);
        self.keys_left = merged.is_some().then_some(keys_left);
        if merged.is_none() {
            let message = "`extends` copies more keys than a pipeline may have";
            self.report(Diagnostic::error("extends-too-large", message).at(over.span));
        }
        merged
    }

    fn refuse_depth(&mut self, name: &str, node: &Node) {
        let message = format!("{name}: `extends` is nested deeper than {LONGEST_CHAIN} levels");
        self.report(Diagnostic::error("extends-too-deep", message).at(node.span));
    }

    fn report(&mut self, error: Diagnostic) {
        self.diagnostics.push(error);
        self.diagnostics.note_unread(Unread::Parts);
    }
}

/// Returns the `extends` of an entry, unless the server applied it.
fn bases(value: &Node, server_file: Option<FileId>) -> Option<&Arc<Node>> {
    let bases = value.get("extends")?;
    (server_file != Some(bases.span.file)).then_some(bases)
}

/// Returns an item of `extends` as text, whether or not it is a name.
fn base_text(node: &Node) -> String {
    if let Kind::Reference(path) = &node.kind {
        return format!("!reference [{}]", path.join(", "));
    }
    let text = node.to_scalar_text();
    text.unwrap_or_else(|| node.to_json().to_string())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, check_refused, compose_text};
    use std::fmt::Write as _;

    #[test]
    fn mappings_are_merged_and_other_values_replaced() {
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
    fn chains_may_have_eleven_bases() {
        // R-GLCI-154
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
        check_refused(&job(11), &["extends-too-deep"]);
        // A chain of 50,000 bases is refused at the limit and not followed further.
        check_refused(&job(50_000), &["extends-too-deep"]);
    }

    #[test]
    fn wrong_bases_are_refused_with_one_precise_error() {
        check_refused("j: {extends: .nope, script: x}", &["unknown-base"]);
        check_refused("j: {extends: 1, script: x}", &["unknown-base"]);
        check_refused("j: {extends: j, script: x}", &["extends-cycle"]);
        check_refused(".t: text\nj: {extends: .t, script: x}", &["invalid-base"]);
        let (_, diagnostics) = compose_text(".a: {extends: .b}\n.b: {extends: .a}\n");
        insta::assert_snapshot!(diagnostics, @r"
        error[extends-cycle]: .b: circular dependency in `extends`: .a -> .b -> .a
         --> ci.yml:2:15
          |
        2 | .b: {extends: .a}
          |               ^^
        ");
        let (_, diagnostics) =
            compose_text(".b: {k: .b}\nj: {extends: !reference [.b, k], script: x}\n");
        insta::assert_snapshot!(diagnostics, @r"
        error[unknown-base]: j: unknown keys in `extends` (!reference [.b, k])
         --> ci.yml:2:14
          |
        2 | j: {extends: !reference [.b, k], script: x}
          |              ^^^^^^^^^^^^^^^^^^
          |
          = help: `extends` is applied before references: name the base itself
        ");
        let (_, diagnostics) = compose_text(".setup: {}\nj: {extends: [.stup], script: x}\n");
        insta::assert_snapshot!(diagnostics, @r"
        error[unknown-base]: j: unknown keys in `extends` (.stup)
         --> ci.yml:2:15
          |
        2 | j: {extends: [.stup], script: x}
          |               ^^^^^
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
        check_refused(&text, &["extends-too-large"]);
    }
}
