use super::{Class, Row, file_keywords, job_keywords};
use std::collections::HashMap;
use yaml::Node;
use yaml::diagnostic::{Diagnostic, Diagnostics};
use yaml::source::Span;

/// The code of all diagnostics about unsupported keywords.
pub const CODE: &str = "not-local";

/// The top-level keys that are not jobs; `default` is treated like a job.
const NO_JOBS: [&str; 5] = ["include", "variables", "stages", "workflow", "spec"];
/// The old top-level forms of keywords of `default`.
const LEGACY_DEFAULTS: [&str; 3] = ["cache", "image", "services"];

/// Reports the keywords of a composed file that a local run does not support, each once, at its
/// first use.
///
/// None is an error, because the file is valid: a keyword that would refuse its job is a warning
/// here.
pub fn diagnose(tree: &Node, diagnostics: &mut Diagnostics) {
    let mut uses = Uses::default();
    let of_jobs = by_first_key(job_keywords());
    let of_file = by_first_key(file_keywords());
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

/// Returns the rows of unsupported keywords by the first key of their paths.
fn by_first_key(rows: &'static [Row]) -> HashMap<&'static str, Vec<&'static Row>> {
    let mut by_key: HashMap<_, Vec<_>> = HashMap::new();
    for row in rows.iter().filter(|row| row.class != Class::Supported) {
        let key = row.keyword.split(':').next().unwrap_or_default();
        by_key.entry(key).or_default().push(row);
    }
    by_key
}

/// The uses of unsupported keywords, in the order of their first use.
#[derive(Default)]
struct Uses {
    found: Vec<(&'static Row, Span, usize)>,
    indices: HashMap<&'static str, usize>,
}

impl Uses {
    /// Searches the value of a row's first key for the rest of its path.
    fn visit(&mut self, row: &'static Row, value: &Node, key_span: Span) {
        let keys: Vec<&str> = row.keyword.split(':').skip(1).collect();
        self.descend(row, value, key_span, &keys);
    }

    fn descend(&mut self, row: &'static Row, value: &Node, span: Span, keys: &[&str]) {
        let Some((&key, rest)) = keys.split_first() else {
            if row.applies_to(value) {
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
        let index = self.indices.entry(row.keyword).or_insert(self.found.len());
        match self.found.get_mut(*index) {
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
            let diagnostic = match row.class {
                Class::Supported => continue,
                Class::Note => Diagnostic::note(CODE, message),
                Class::Warning => Diagnostic::warning(CODE, message),
                Class::Error => {
                    let warning = Diagnostic::warning(CODE, message);
                    warning.with_help(
                        "a local run refuses the job; select other jobs to run without it"
                            .to_owned(),
                    )
                }
            };
            diagnostics.push(diagnostic.at(span));
        }
    }
}
