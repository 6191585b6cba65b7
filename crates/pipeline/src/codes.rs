/// What a code of a [`Diagnostic`](super::Diagnostic) stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeInfo {
    /// The code, for example `unknown-keyword`.
    pub code: &'static str,
    /// What it means, in one sentence without a final dot.
    pub meaning: &'static str,
}

/// All codes, in alphabetical order. A code that is given anywhere has a line here, and one in the
/// guide.
pub const CODES: &[CodeInfo] = &[
    info(
        "alias-bomb",
        "aliases of YAML would unfold to more values than a pipeline may have",
    ),
    info(
        "anchor-cycle",
        "an alias of YAML stands inside the value that it names",
    ),
    info(
        "child-too-deep",
        "a child pipeline starts pipelines deeper than GitLab lets them nest",
    ),
    info(
        "dependency-not-needed",
        "`dependencies` names a job that is not among the `needs` of the job",
    ),
    info(
        "doubtful-release",
        "a `release` has a value that GitLab accepts and that does not do what it seems to",
    ),
    info(
        "duplicate-input",
        "an input is declared twice, in the file and in one that its header includes",
    ),
    info(
        "duplicate-key",
        "a key is given twice in one mapping; the last one counts",
    ),
    info("duplicate-need", "`needs` names the same job twice"),
    info(
        "duplicate-pipelines",
        "the rules of a job let it run both for a push and for a merge request, at the same time",
    ),
    info("empty-file", "the file has no content"),
    info("exclusive-keywords", "two keywords exclude each other"),
    info("extends-cycle", "jobs extend each other in a circle"),
    info(
        "extends-too-deep",
        "a chain of `extends` is longer than GitLab allows",
    ),
    info(
        "extends-too-large",
        "jobs take over more values by `extends` than a pipeline may have",
    ),
    info("file-too-large", "the file has more bytes than are read"),
    info(
        "gitlab-limit",
        "the file is larger or deeper than a GitLab with default settings reads",
    ),
    info(
        "hidden-job",
        "the name of a job begins with `./` or `../`, so it is hidden, perhaps unawares",
    ),
    info(
        "include-artifact",
        "a file of a job is included where only a child pipeline may include one",
    ),
    info(
        "include-component",
        "a component is included in a dialect that has none",
    ),
    info(
        "include-denied",
        "an included file may not be read by whoever asks, or its server may not be asked",
    ),
    info(
        "include-extension",
        "an included file is named neither `.yml` nor `.yaml`",
    ),
    info(
        "include-integrity",
        "an included file is not the one that its digest names",
    ),
    info("include-left-out", "an include is left out by the dialect"),
    info(
        "include-missing",
        "an included file, its project or its commit is not there",
    ),
    info(
        "include-no-project",
        "a local file is included from a file that is in no project",
    ),
    info(
        "include-not-fetched",
        "an include is not fetched: offline, locked, or of a kind that cannot be had here",
    ),
    info(
        "include-outside",
        "the path of an included file leads out of the project",
    ),
    info(
        "include-undecided",
        "a condition of an include has no answer",
    ),
    info("include-unreadable", "an included file cannot be read"),
    info(
        "includes-too-large",
        "the included files hold more values than a pipeline may have",
    ),
    info(
        "inputs-without-header",
        "inputs were given to a file that declares none with `spec:inputs`",
    ),
    info(
        "interpolation-limit",
        "`$[[ ]]` would replace more than GitLab allows",
    ),
    info("invalid-base", "`extends` names something that is no job"),
    info(
        "invalid-dotenv",
        "a line of a file with variables is no assignment",
    ),
    info(
        "invalid-expression",
        "an expression of `rules:if`, or of another place that takes one, cannot be read",
    ),
    info(
        "invalid-file",
        "the file is no mapping of jobs and keywords",
    ),
    info("invalid-include", "an `include` cannot be read"),
    info(
        "invalid-input",
        "an input does not fit its declaration, or the declaration is no declaration",
    ),
    info(
        "invalid-interpolation",
        "what stands in `$[[ ]]` cannot be read",
    ),
    info(
        "invalid-job-name",
        "a job has a name that GitLab does not accept",
    ),
    info(
        "invalid-key",
        "a key of a mapping is no text, number or truth value",
    ),
    info(
        "invalid-on-stop",
        "`environment:on_stop` names a job that cannot stop the environment",
    ),
    info("invalid-pattern", "a regular expression cannot be read"),
    info(
        "invalid-reference",
        "`!reference` is not followed by a list of keys",
    ),
    info(
        "invalid-step",
        "a step of `run` has an expression or a reference that cannot be read",
    ),
    info("invalid-value", "a keyword has a value that it cannot have"),
    info(
        "invalid-variable",
        "a variable in a file of yours cannot be read",
    ),
    info(
        "invalid-variable-name",
        "a variable has a name that no process can have in its environment",
    ),
    info("later-stage", "a job needs a job of a later stage"),
    info(
        "mask-refused",
        "a variable cannot be masked as GitLab masks variables",
    ),
    info("missing-input", "an input without default was not given"),
    info("missing-script", "a job has no commands"),
    info(
        "more-documents",
        "the file has more documents of YAML than are read",
    ),
    info("needs-cycle", "jobs need each other in a circle"),
    info("nested-too-deep", "values are nested deeper than is read"),
    info("no-jobs", "the file has no visible job"),
    info(
        "not-local",
        "a keyword is not honoured by a local run, or means something else there",
    ),
    info("nul-character", "the file holds a NUL character"),
    info(
        "reference-cycle",
        "references of `!reference` lead in a circle",
    ),
    info("reserved-name", "a job has the name of a keyword"),
    info(
        "server-error",
        "GitLab, which was asked to read the file, says that it is wrong",
    ),
    info(
        "server-warning",
        "GitLab, which was asked to read the file, has doubts about it",
    ),
    info(
        "too-many-includes",
        "the pipeline includes more files than GitLab allows",
    ),
    info("too-many-inputs", "a pipeline is given too many inputs"),
    info("too-many-jobs", "the pipeline has more jobs than are made"),
    info("too-many-needs", "a job needs more jobs than GitLab allows"),
    info(
        "unknown-alias",
        "an alias of YAML names no anchor before it",
    ),
    info("unknown-base", "`extends` names a job that is not there"),
    info(
        "unknown-dependency",
        "`dependencies` names a job that is not there",
    ),
    info(
        "unknown-input",
        "an input was given that the file does not declare",
    ),
    info("unknown-keyword", "a keyword is not known where it stands"),
    info(
        "unknown-matrix-name",
        "`needs:parallel:matrix` names a variable that the matrix does not have",
    ),
    info("unknown-need", "`needs` names a job that is not there"),
    info(
        "unknown-reference",
        "`!reference` names keys that are not there",
    ),
    info(
        "unknown-section",
        "a file of yours has a section that means nothing",
    ),
    info(
        "unknown-stage",
        "a job has a stage that is not among the `stages`",
    ),
    info("unknown-tag", "a tag of YAML is not known, and is left out"),
    info(
        "unreadable-file",
        "the file is not there, or cannot be read",
    ),
    info(
        "yaml-class",
        "a tag of YAML asks for an object of a class, which GitLab refuses",
    ),
    info(
        "yaml-date",
        "a value is a date, which GitLab refuses unless it is quoted",
    ),
    info("yaml-syntax", "the text is no YAML"),
];

const fn info(code: &'static str, meaning: &'static str) -> CodeInfo {
    CodeInfo { code, meaning }
}

/// Returns what a code stands for.
pub fn code_info(code: &str) -> Option<&'static CodeInfo> {
    let found = CODES.binary_search_by(|info| info.code.cmp(code));
    found.ok().map(|at| &CODES[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_in_order_and_found() {
        assert!(CODES.is_sorted_by(|one, next| one.code < next.code));
        let found = CODES.iter().all(|info| code_info(info.code) == Some(info));
        assert!(found && code_info("no-such-code").is_none());
    }
}
