use super::{Class, Row, table};
use std::collections::HashMap;
use yaml::Node;
use yaml::diagnostic::{Diagnostic, Diagnostics};
use yaml::source::Span;

/// The code of all findings about what a local run does not honour.
pub const CODE: &str = "not-local";

/// The top-level keys that hold no job; `default` does, in a way.
const NO_JOBS: [&str; 5] = ["include", "variables", "stages", "workflow", "spec"];
/// The old top-level forms of keywords of `default`.
const LEGACY_DEFAULTS: [&str; 3] = ["cache", "image", "services"];

/// Adds what a local run does not honour of a composed file, once for each keyword, where the file
/// has it first.
///
/// None of it is an error: the file is right. What would refuse a job is a warning here.
pub fn diagnose(tree: &Node, diagnostics: &mut Diagnostics) {
    let mut uses = Uses::default();
    let of_jobs = by_first_key(table::of_jobs());
    let of_file = by_first_key(table::of_file());
    for (name, entry) in tree.as_mapping().into_iter().flatten() {
        let rows = |rows: &HashMap<&str, Vec<&'static Row>>, key: &str| {
            rows.get(key).cloned().unwrap_or_default()
        };
        for row in rows(&of_file, name) {
            uses.visit(row, &entry.value, entry.key_span);
        }
        if LEGACY_DEFAULTS.contains(&name.as_ref()) {
            for row in rows(&of_jobs, name) {
                uses.visit(row, &entry.value, entry.key_span);
            }
        }
        if name.starts_with('.') || NO_JOBS.contains(&name.as_ref()) {
            continue;
        }
        for (key, entry) in entry.value.as_mapping().into_iter().flatten() {
            for row in rows(&of_jobs, key) {
                uses.visit(row, &entry.value, entry.key_span);
            }
        }
    }
    uses.report(diagnostics);
}

/// Returns the rows that could say something, by the first key of their paths.
fn by_first_key(rows: &'static [Row]) -> HashMap<&'static str, Vec<&'static Row>> {
    let mut by_key: HashMap<_, Vec<_>> = HashMap::new();
    for row in rows.iter().filter(|row| row.class != Class::Honoured) {
        let key = row.keyword.split(':').next().unwrap_or_default();
        by_key.entry(key).or_default().push(row);
    }
    by_key
}

/// Where keywords are used, in the order they were found first.
#[derive(Default)]
struct Uses {
    found: Vec<(&'static Row, Span, usize)>,
    places: HashMap<&'static str, usize>,
}

impl Uses {
    /// Looks below the value of a row's first key for the rest of its path.
    fn visit(&mut self, row: &'static Row, value: &Node, key_span: Span) {
        let keys: Vec<&str> = row.keyword.split(':').skip(1).collect();
        self.descend(row, value, key_span, &keys);
    }

    fn descend(&mut self, row: &'static Row, value: &Node, span: Span, keys: &[&str]) {
        let Some((&key, rest)) = keys.split_first() else {
            if row.is_asked_by(value) {
                self.add(row, span);
            }
            return;
        };
        if let Some(items) = value.as_sequence() {
            for item in items {
                self.descend(row, item, span, keys);
            }
        } else if let Some(entry) = value.as_mapping().and_then(|entries| entries.get(key)) {
            self.descend(row, &entry.value, entry.key_span, rest);
        }
    }

    fn add(&mut self, row: &'static Row, span: Span) {
        let place = self.places.entry(row.keyword).or_insert(self.found.len());
        match self.found.get_mut(*place) {
            Some((_, _, count)) => *count += 1,
            None => self.found.push((row, span, 1)),
        }
    }

    fn report(self, diagnostics: &mut Diagnostics) {
        for (row, span, count) in self.found {
            let others = match count {
                1 => String::new(),
                2 => " (and in one more place)".to_owned(),
                _ => format!(" (and in {} more places)", count - 1),
            };
            let message = format!("`{}`{others}: {}", row.keyword, row.text);
            let finding = match row.class {
                Class::Honoured => continue,
                Class::Note => Diagnostic::note(CODE, message),
                Class::Warning => Diagnostic::warning(CODE, message),
                Class::Error => {
                    let warning = Diagnostic::warning(CODE, message);
                    warning.with_help(
                        "a local run refuses the job; leave it out to run the others".to_owned(),
                    )
                }
            };
            diagnostics.push(finding.at(span));
        }
    }
}
