//! The differences between GitLab Runner and this runner that a file meets.

use super::file::runner_tables;
use super::keys::{groups, header};
use super::source::{SourceText, Span};
use super::value::{is_zero, key_span};
use super::{Known, Problem, ProblemKind};
use toml_edit::{Item, TableLike};

/// Returns one line for each difference, by position.
pub(super) fn explain(
    root: &dyn TableLike,
    source: &SourceText,
    known: &Known,
    problems: &[Problem],
) -> String {
    let mut lines = Lines {
        source,
        found: Vec::new(),
    };
    for problem in problems {
        if matches!(problem.kind, ProblemKind::NoEffect | ProblemKind::Refused) {
            let text = problem.text();
            lines.found.push((problem.line, problem.column, text));
        }
    }
    lines.add_keys(root, "");
    for runner in runner_tables(root) {
        lines.add_keys(runner, "runners");
        lines.add_defaults(runner, known);
    }
    lines.finish()
}

struct Lines<'s> {
    source: &'s SourceText,
    found: Vec<(usize, usize, String)>,
}

impl Lines<'_> {
    fn add(&mut self, span: Option<Span>, text: String) {
        let (line, column) = self.source.position(span.map_or(0, |span| span.start));
        self.found.push((line, column, text));
    }

    /// Adds the keys of a table that work differently.
    fn add_keys(&mut self, table: &dyn TableLike, path: &str) {
        let keys = groups().filter(|group| group.table == path);
        for key in keys.flat_map(|group| group.keys) {
            let Some(item) = table.get(key.name) else {
                continue;
            };
            if !key.difference.is_empty() {
                let text = format!("`{}` differs: {}", key.name, key.difference);
                self.add(key_span(table, key.name), text);
            }
            if key.name == "check_interval" && is_zero(item) {
                self.add(
                    key_span(table, key.name),
                    "`check_interval = 0` means 3 seconds, as in GitLab Runner".to_owned(),
                );
            }
        }
    }

    /// Adds the defaults of executors that differ, where the file does not set the key.
    fn add_defaults(&mut self, runner: &dyn TableLike, known: &Known) {
        let executor = runner.get("executor").and_then(Item::as_str);
        let executor = known.executors.iter().find(|it| Some(it.name) == executor);
        let used = executor.map_or(&[][..], |executor| executor.tables);
        for table in known
            .tables
            .iter()
            .filter(|table| used.contains(&table.name))
        {
            let item = runner.get(table.name);
            let keys = item.and_then(Item::as_table_like);
            let place = item
                .and_then(Item::span)
                .or_else(|| key_span(runner, "executor"));
            for difference in table.differences {
                if keys.is_some_and(|keys| keys.contains_key(difference.key)) {
                    continue;
                }
                let text = format!(
                    "`{}` of {} is {} by default, in GitLab Runner {}",
                    difference.key,
                    header(&format!("runners.{}", table.name)),
                    difference.here,
                    difference.in_gitlab_runner,
                );
                self.add(place.clone(), text);
            }
        }
    }

    fn finish(mut self) -> String {
        self.found.sort();
        self.found.dedup();
        let path = self.source.path.display();
        let lines = self.found.iter();
        let lines = lines.map(|(line, column, text)| format!("{path}:{line}:{column}: {text}"));
        lines.collect::<Vec<_>>().join("\n")
    }
}
