use super::ServerReading;
use super::place::{Place, place};
use std::sync::Arc;
use yaml::diagnostic::{Diagnostic, Diagnostics};
use yaml::source::{FileId, Span};
use yaml::{Kind, Limits, Node, load};

/// The texts that a finding of the server can be about, each with what is in it.
struct Texts {
    /// The file that the server was asked about.
    own: FileId,
    /// What is in it, and in what was merged, as far as they can be read.
    contents: [Option<Arc<Node>>; 2],
}

/// Adds what the server found, each with its place as far as its words tell it: in the file that
/// was sent, or else in what was merged.
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
    // What is wrong with the texts is the server's to say here.
    let mut unheard = Diagnostics::default();
    unheard.sources_mut().clone_from(diagnostics.sources());
    let mut content = |file| Some(load(file, limits, &mut unheard)?.content);
    let texts = Texts {
        own,
        contents: [content(own), merged.and_then(content)],
    };
    let server = reading.server;
    for words in reading.errors {
        let error = Diagnostic::error("server-error", format!("{server}: {}", one_line(words)));
        diagnostics.push(texts.placed(error, words, diagnostics));
    }
    for words in reading
        .warnings
        .iter()
        .filter(|words| !is_found_here(words))
    {
        let message = format!("{server}: {}", one_line(words));
        let warning = Diagnostic::warning("server-warning", message);
        diagnostics.push(texts.placed(warning, words, diagnostics));
    }
}

/// Returns whether a warning is one that this program has too.
fn is_found_here(words: &str) -> bool {
    words.contains("may allow multiple pipelines to run for a single action")
}

impl Texts {
    fn placed(&self, finding: Diagnostic, words: &str, found: &Diagnostics) -> Diagnostic {
        match self.span(words, found) {
            Some(span) => finding.at(span),
            None => finding,
        }
    }

    fn span(&self, words: &str, found: &Diagnostics) -> Option<Span> {
        let mut contents = self.contents.iter().flatten();
        match place(words)? {
            Place::Line { line, column } => {
                let text = found.sources().file(self.own).text();
                offset(text, line, column).map(|at| Span::of_offset(self.own, text, at))
            }
            Place::Key(path) => contents.find_map(|content| find(content, path)),
            Place::Unknown(path, key) => contents.find_map(|content| {
                let all = find(content, &format!("{path}:{key}"));
                all.or_else(|| find(content, path))
            }),
            Place::File(name) => contents.find_map(|content| entry_span(content, name)),
            Place::Job(name) => contents.find_map(|content| key_span(content, name)),
        }
    }
}

/// Returns the place of what a path of the server means, as far down as it is there.
///
/// The names in it are joined by colons, and may hold colons themselves: the longest that is there
/// is meant.
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

/// Returns the longest key of a mapping that `path` begins with, and what is behind it.
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
    // An instance is named by its job and what `parallel` adds.
    let entry = entries.get(name).or_else(|| {
        let job = name.split_once(": [").map(|(job, _)| job);
        let job = job.or_else(|| name.rsplit_once(' ').map(|(job, _)| job));
        entries.get(job?)
    });
    entry.map(|entry| entry.key_span)
}

/// Returns the place of the include that names a file or project.
fn entry_span(content: &Node, name: &str) -> Option<Span> {
    let names = |node: &Node| {
        let text = node.as_str().filter(|text| !text.is_empty());
        text.is_some_and(|text| text.trim_start_matches('/') == name.trim_start_matches('/'))
    };
    let mut waiting = vec![content.get("include")?];
    while let Some(node) = waiting.pop() {
        match &node.kind {
            _ if names(node) => return Some(node.span),
            Kind::Sequence(items) => waiting.extend(items.iter().rev()),
            Kind::Mapping(entries) => waiting.extend(entries.values().rev().map(|it| &it.value)),
            _ => {}
        }
    }
    None
}

/// Returns the offset of a line and column, both from 1; of what is behind the text, its end.
fn offset(text: &str, line: usize, column: usize) -> Option<usize> {
    let line_start = match line.checked_sub(2) {
        None => 0,
        Some(before) => text.match_indices('\n').nth(before)?.0 + 1,
    };
    let line = text[line_start..].split('\n').next().unwrap_or_default();
    let before = line.char_indices().nth(column.saturating_sub(1));
    Some(line_start + before.map_or(line.len(), |(at, _)| at))
}

/// Returns the words of another program as one line.
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

    /// Returns the text that the place of the server's words begins with.
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
        let error = diagnostics.errors().next().expect("one was given");
        let start = error.span?.start as usize;
        Some(TEXT[start..].chars().take(8).collect())
    }

    #[test]
    fn what_a_server_says_is_found_in_the_file() {
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
    fn what_is_in_no_file_of_the_project_is_found_in_what_was_merged() {
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
        fn no_words_and_no_file_make_a_reader_panic(
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
