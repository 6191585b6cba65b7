use super::ServerReading;
use super::subject::Subject;
use std::sync::Arc;
use yaml::diagnostic::{Diagnostic, Diagnostics};
use yaml::source::{FileId, Span};
use yaml::{Kind, Limits, Node, load};

/// The texts that a message of the server can be about, with their content.
struct Texts {
    /// The file that was sent to the server.
    own: FileId,
    /// The content of that file and of the merged text, if they can be read.
    contents: [Option<Arc<Node>>; 2],
}

/// Adds the server's errors and warnings, each with the location that its wording implies: in the
/// file that was sent, or else in the merged text.
pub(crate) fn report(
    reading: &ServerReading<'_>,
    own: FileId,
    merged: Option<FileId>,
    limits: &Limits,
    diagnostics: &mut Diagnostics,
) {
    if reading.errors.is_empty() && reading.warnings.is_empty() {
        return;
    }
    // The server has reported the problems of these texts; ours are dropped.
    let mut dropped = Diagnostics::default();
    dropped.sources_mut().clone_from(diagnostics.sources());
    let mut content = |file| Some(load(file, limits, &mut dropped)?.content);
    let texts = Texts {
        own,
        contents: [content(own), merged.and_then(content)],
    };
    let server = reading.server;
    for words in reading.errors {
        let error = Diagnostic::error("server-error", format!("{server}: {}", one_line(words)));
        diagnostics.push(texts.located(error, words, diagnostics));
    }
    for words in reading
        .warnings
        .iter()
        .filter(|words| !is_reported_locally(words))
    {
        let message = format!("{server}: {}", one_line(words));
        let warning = Diagnostic::warning("server-warning", message);
        diagnostics.push(texts.located(warning, words, diagnostics));
    }
}

/// Returns whether this program reports the same warning.
fn is_reported_locally(words: &str) -> bool {
    words.contains("may allow multiple pipelines to run for a single action")
}

impl Texts {
    fn located(&self, diagnostic: Diagnostic, words: &str, found: &Diagnostics) -> Diagnostic {
        match self.span(words, found) {
            Some(span) => diagnostic.at(span),
            None => diagnostic,
        }
    }

    fn span(&self, words: &str, found: &Diagnostics) -> Option<Span> {
        let mut contents = self.contents.iter().flatten();
        match Subject::of(words)? {
            Subject::Line { line, column } => {
                let text = found.sources().file(self.own).text();
                offset(text, line, column).map(|at| Span::of_offset(self.own, text, at))
            }
            Subject::Key(path) => contents.find_map(|content| find(content, path)),
            Subject::Unknown(path, key) => contents.find_map(|content| {
                let all = find(content, &format!("{path}:{key}"));
                all.or_else(|| find(content, path))
            }),
            Subject::File(name) => contents.find_map(|content| entry_span(content, name)),
            Subject::Job(name) => contents.find_map(|content| key_span(content, name)),
        }
    }
}

/// Returns the location of the longest existing prefix of a server's path.
///
/// The names in it are joined by colons and may contain colons themselves: the longest existing
/// name wins.
fn find(content: &Node, path: &str) -> Option<Span> {
    let job = path.strip_prefix("jobs:");
    let (mut rest, mut node) = (job.unwrap_or(path), content);
    let mut found = None;
    while let Some((key, below)) = longest_key(node, rest) {
        let entry = node.as_mapping()?.get(key)?;
        found = Some(entry.key_span);
        node = &entry.value;
        match below {
            Some(below) => rest = below,
            None => break,
        }
    }
    found
}

/// Returns the longest key of a mapping that is a prefix of `path`, and the rest of the path.
fn longest_key<'p>(node: &Node, path: &'p str) -> Option<(&'p str, Option<&'p str>)> {
    let entries = node.as_mapping()?;
    if entries.contains_key(path) {
        return Some((path, None));
    }
    let colons = path.rmatch_indices(':');
    colons
        .map(|(at, _)| (&path[..at], Some(&path[at + 1..])))
        .find(|(key, _)| entries.contains_key(key))
}

fn key_span(content: &Node, name: &str) -> Option<Span> {
    let entries = content.as_mapping()?;
    // The name of an instance is that of its job and a suffix from `parallel`.
    let entry = entries.get(name).or_else(|| {
        let job = name.split_once(": [").map(|(job, _)| job);
        let job = job.or_else(|| name.rsplit_once(' ').map(|(job, _)| job));
        entries.get(job?)
    });
    entry.map(|entry| entry.key_span)
}

/// Returns the location of the include that names a file or project.
fn entry_span(content: &Node, name: &str) -> Option<Span> {
    let names = |node: &Node| {
        let text = node.as_str().filter(|text| !text.is_empty());
        text.is_some_and(|text| text.trim_start_matches('/') == name.trim_start_matches('/'))
    };
    let mut stack = vec![content.get("include")?];
    while let Some(node) = stack.pop() {
        match &node.kind {
            _ if names(node) => return Some(node.span),
            Kind::Sequence(items) => stack.extend(items.iter().rev()),
            Kind::Mapping(entries) => stack.extend(entries.values().rev().map(|it| &it.value)),
            _ => {}
        }
    }
    None
}

/// Returns the offset of a line and column, both from 1; columns beyond the line mean its end.
fn offset(text: &str, line: usize, column: usize) -> Option<usize> {
    let line_start = match line.checked_sub(2) {
        None => 0,
        Some(before) => text.match_indices('\n').nth(before)?.0 + 1,
    };
    let line = text[line_start..].split('\n').next().unwrap_or_default();
    let before = line.char_indices().nth(column.saturating_sub(1));
    Some(line_start + before.map_or(line.len(), |(at, _)| at))
}

/// Joins the words of a message into one line.
fn one_line(words: &str) -> String {
    let words: Vec<&str> = words.split_whitespace().collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "\
include: [ci/a.yml, {project: g/p, file: /b.yml}]
stages: [build, a]
build:linux:
  script: make
  artifacts:
    reports: {junk: x}
'build':
  script: x
  parallel: {matrix: [{A: [x]}]}
";

    /// Returns the start of the text at the location of the server's message.
    fn found_at(words: &str) -> Option<String> {
        let mut diagnostics = Diagnostics::default();
        let own = diagnostics.sources_mut().add("ci.yml", TEXT);
        let errors = [words.to_owned()];
        let reading = ServerReading {
            server: "h",
            merged: None,
            jobs: &[],
            errors: &errors,
            warnings: &[],
        };
        report(&reading, own, None, &Limits::default(), &mut diagnostics);
        let error = diagnostics
            .errors()
            .next()
            .expect("the server reported one");
        let start = error.span?.start as usize;
        Some(TEXT[start..].chars().take(8).collect())
    }

    #[test]
    fn messages_of_the_server_are_located_in_the_file() {
        let check = |words: &str, expect: Option<&str>| {
            assert_eq!(found_at(words).as_deref(), expect, "{words}");
        };
        check(
            "jobs:build:linux:artifacts:reports config contains unknown keys: junk",
            Some("junk: x}"),
        );
        check(
            "jobs:build:linux:artifacts config contains unknown keys: gone",
            Some("artifact"),
        );
        check("Local file `ci/a.yml` does not exist!", Some("ci/a.yml"));
        check(
            "Project `g/p` not found or access denied! Make sure",
            Some("g/p, fil"),
        );
        check("`b.yml`: Invalid configuration format", Some("/b.yml}]"));
        check("Local file `c.yml` does not exist!", None);
        check("jobs:build:script config is odd", Some("script: "));
        check("jobs:build:parallel:matrix:number x", Some("matrix: "));
        check("build:linux job: undefined need: x", Some("build:li"));
        check("build: [x] job: undefined need: x", Some("'build':"));
        check("`build` job needs `x` job, but it is not", Some("'build':"));
        check(
            "stages config should be an array of strings",
            Some("stages: "),
        );
        check("jobs:other config is odd", None);
        check("The pipeline is odd", None);
        check(
            "(<unknown>): did not find expected key while parsing a block mapping at line 4 column 3",
            Some("script: "),
        );
        check("(<unknown>): x at line 99 column 3", None);
        check("(<unknown>): x at line 9 column 999", Some("\n"));
        check("(<unknown>): x at line 0 column 0", Some("include:"));
    }

    #[test]
    fn messages_about_included_files_are_located_in_the_merged_text() {
        let mut diagnostics = Diagnostics::default();
        let own = diagnostics.sources_mut().add("ci.yml", "include: x.yml\n");
        let text = "---\njob:\n  script: x\n";
        let merged = diagnostics.sources_mut().add("merged by h", text);
        let warnings = ["jobs:job config is odd".to_owned()];
        let reading = ServerReading {
            server: "h",
            merged: Some(text),
            jobs: &[],
            errors: &[],
            warnings: &warnings,
        };
        let limits = Limits::default();
        report(&reading, own, Some(merged), &limits, &mut diagnostics);
        insta::assert_snapshot!(diagnostics, @r"
        warning[server-warning]: h: jobs:job config is odd
         --> merged by h:2:1
          |
        2 | job:
          | ^^^
        ");
    }

    proptest! {
        #[test]
        fn no_message_and_no_file_cause_a_panic(
            start in prop::sample::select(vec!["", "jobs:", "`", "x job: ", "(<unknown>): "]),
            words in "\\PC{0,20}",
            end in prop::sample::select(vec!["", ": a", " config x", "`", " unknown keys: "]),
            line in 0_usize..9,
            column in 0_usize..99,
            text in "[a:ü\\-\\[\\]{} \r\n]{0,40}",
        ) {
            let mut diagnostics = Diagnostics::default();
            let own = diagnostics.sources_mut().add("ci.yml", text);
            let sentence = format!("{start}{words}{end}");
            let errors = [format!("{sentence} at line {line} column {column}"), sentence];
            let reading = ServerReading {
                server: "h",
                merged: None,
                jobs: &[],
                errors: &errors,
                warnings: &[],
            };
            report(&reading, own, None, &Limits::default(), &mut diagnostics);
            prop_assert!(!diagnostics.to_string().is_empty());
        }
    }
}
