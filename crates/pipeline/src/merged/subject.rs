/// What a message of a server is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject<'w> {
    /// A line and a column of a text, both from 1.
    Line {
        /// The line.
        line: usize,
        /// The column.
        column: usize,
    },
    /// A path of keys joined by colons: `jobs:build:artifacts`.
    Key(&'w str),
    /// The path of a mapping and its unknown key.
    Unknown(&'w str, &'w str),
    /// A job, by its name.
    Job(&'w str),
    /// An included file, by its path, its URL or its project.
    File(&'w str),
}

/// The words that follow a path of keys.
const BEHIND_PATHS: [&str; 4] = [" config ", " may allow ", " dependencies ", " needs "];

impl<'w> Subject<'w> {
    /// Infers the subject of a message of GitLab's lint from its wording.
    pub(super) fn of(words: &'w str) -> Option<Self> {
        of_line(words)
            .or_else(|| of_job(words))
            .or_else(|| of_key(words))
            .or_else(|| of_file(words))
    }
}

/// Reads `... at line 3 column 5`, the end of a YAML parser's message.
fn of_line(words: &str) -> Option<Subject<'_>> {
    // A message about an included file starts with that file's name.
    let is_of_own_file = words.starts_with("(<unknown>)") || !words.starts_with('(');
    let (_, at) = words.rsplit_once(" at line ").filter(|_| is_of_own_file)?;
    let (line, rest) = at.split_once(" column ")?;
    let column: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some(Subject::Line {
        line: line.parse().ok()?,
        column: column.parse().ok()?,
    })
}

/// Reads `build job: undefined need: x`, `build: unknown keys in `extends` (.x)` and the like.
fn of_job(words: &str) -> Option<Subject<'_>> {
    let quoted = words.strip_prefix('`').or(words.strip_prefix('\''));
    let quoted = quoted.and_then(|rest| rest.split_once(['`', '\'']));
    if let Some((name, _)) = quoted.filter(|(_, rest)| rest.starts_with(" job")) {
        return Some(Subject::Job(name));
    }
    let about = [
        " job: ",
        ": unknown keys in `extends`",
        ": circular dependency detected in `extends`",
        ": nesting too deep in `extends`",
        " has the following needs duplicated",
    ];
    let mut about = about.iter();
    let name = about.find_map(|&behind| Some(words.split_once(behind)?.0))?;
    Some(Subject::Job(name.strip_prefix("jobs:").unwrap_or(name)))
}

/// Reads `jobs:build:artifacts config should be a hash`.
fn of_key(words: &str) -> Option<Subject<'_>> {
    if let Some(path) = words.strip_prefix("jobs:") {
        let mut behind = BEHIND_PATHS.iter().filter_map(|behind| path.find(behind));
        let end = behind.next().or_else(|| path.find(' '));
        // A job's name may contain spaces; then the key behind it is not located, which is
        // harmless.
        let end = end.unwrap_or(path.len());
        let path = &words[..("jobs:".len() + end)];
        return Some(unknown_key(words, path).unwrap_or(Subject::Key(path)));
    }
    let (path, _) = words.split_once(" config ")?;
    let of_path = || unknown_key(words, path).unwrap_or(Subject::Key(path));
    (!path.contains(' ')).then(of_path)
}

/// Reads `... config contains unknown keys: a, b`.
fn unknown_key<'w>(words: &'w str, path: &'w str) -> Option<Subject<'w>> {
    let (_, keys) = words.split_once(" config contains unknown keys: ")?;
    let first = keys.split(", ").next()?;
    Some(Subject::Unknown(path, first))
}

/// Reads ``Local file `ci/a.yml` does not exist!`` and the like.
fn of_file(words: &str) -> Option<Subject<'_>> {
    let (before, rest) = words.split_once('`')?;
    let (name, _) = rest.split_once('`')?;
    let about = [
        "",
        "Local file ",
        "Project ",
        "Remote file ",
        "File ",
        "Included file ",
        "Component ",
        "Template file ",
    ];
    about.contains(&before).then_some(Subject::File(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wordings_are_recognized() {
        let check = |words: &str, expect: Option<Subject<'_>>| {
            assert_eq!(Subject::of(words), expect, "{words}");
        };
        let key = |path| Some(Subject::Key(path));
        let unknown = |path, key| Some(Subject::Unknown(path, key));
        check(
            "jobs:b config contains unknown keys: a, c",
            unknown("jobs:b", "a"),
        );
        check(
            "default config contains unknown keys: x",
            unknown("default", "x"),
        );
        check("jobs:a b:script config x", key("jobs:a b:script"));
        check(
            "jobs:job may allow multiple pipelines to run for a single action due to `rules:when`",
            key("jobs:job"),
        );
        check(
            "jobs:b dependencies the a should be part of needs",
            key("jobs:b"),
        );
        check(
            "jobs:b:rules:rule if invalid syntax",
            key("jobs:b:rules:rule"),
        );
        check(
            "jobs config should contain at least one visible job",
            key("jobs"),
        );
        check("variables config should be a hash", key("variables"));
        check("default:image config x", key("default:image"));
        check("include config y", key("include"));
        let job = |name| Some(Subject::Job(name));
        check(
            "test job: chosen stage x does not exist; available stages",
            job("test"),
        );
        check("a b 1/2 job: undefined need: build", job("a b 1/2"));
        check("test: unknown keys in `extends` (.nope)", job("test"));
        check(
            "test: circular dependency detected in `extends`",
            job("test"),
        );
        check("test has the following needs duplicated: a.", job("test"));
        check("`test` job needs `x` job", job("test"));
        check(
            "'test' job needs 'x' job, but 'x' is not in any stage",
            job("test"),
        );
        let line = |line, column| Some(Subject::Line { line, column });
        check("(<unknown>): mapping values at line 3 column 5", line(3, 5));
        check("Invalid YAML at line 12 column 1 (Psych)", line(12, 1));
        check("(ci/a.yml): mapping values at line 3 column 5", None);
        check("x at line three column 5", None);
        check("x at line 3 column ", None);
        check("x at line 99999999999999999999999 column 1", None);
        let file = |name| Some(Subject::File(name));
        check("Local file `a.yml` does not exist!", file("a.yml"));
        check("Project `a/b` not found or access denied!", file("a/b"));
        check("`a.yml`: Invalid configuration format", file("a.yml"));
        check("The word `a.yml` is odd", None);
        check("", None);
        check("jobs:", key("jobs:"));
    }
}
