/// The meaning of a code of a [`Diagnostic`](super::Diagnostic).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeInfo {
    /// The code, for example `unknown-keyword`.
    pub code: &'static str,
    /// The meaning, in one sentence without a final dot.
    pub meaning: &'static str,
}

/// All codes, in alphabetical order. Every code in use is listed here and in the guide.
pub const CODES: &[CodeInfo] = &[
    info(
        "alias-bomb",
        "YAML aliases would expand to more values than a pipeline may have",
    ),
    info(
        "anchor-cycle",
        "a YAML alias refers to a value that contains it",
    ),
    info(
        "block-without-header",
        "`$[[ ]]` in a file without a header stays as it is",
    ),
    info(
        "child-too-deep",
        "child pipelines are nested deeper than GitLab allows",
    ),
    info(
        "dependency-not-needed",
        "`dependencies` names a job that is not among the `needs` of the job",
    ),
    info(
        "doubtful-release",
        "a `release` has a value that GitLab accepts but that does not do what it suggests",
    ),
    info(
        "duplicate-input",
        "an input is declared both in the file and in a file that its header includes",
    ),
    info(
        "duplicate-key",
        "a mapping has the same key twice; the last one counts",
    ),
    info("duplicate-need", "`needs` names the same job twice"),
    info(
        "duplicate-pipelines",
        "the rules of a job let it run both for a push and for a merge request, at the same time",
    ),
    info("empty-file", "the file has no content"),
    info("empty-need", "`needs` has an empty entry, which is ignored"),
    info(
        "empty-rule-needs",
        "`needs` of a rule names no job, so the job keeps its own",
    ),
    info("exclusive-keywords", "two keywords exclude each other"),
    info("extends-cycle", "jobs extend each other in a cycle"),
    info(
        "extends-too-deep",
        "a chain of `extends` is longer than GitLab allows",
    ),
    info(
        "extends-too-large",
        "jobs inherit more values through `extends` than a pipeline may have",
    ),
    info("file-too-large", "the file exceeds the size limit"),
    info(
        "gitlab-limit",
        "the file is larger or deeper than a GitLab with default settings accepts",
    ),
    info(
        "hidden-job",
        "the name of a job begins with `./` or `../`, so the job is hidden, perhaps by accident",
    ),
    info(
        "include-artifact",
        "an artifact is included outside of a child pipeline",
    ),
    info(
        "include-component",
        "a component is included in a dialect without components",
    ),
    info(
        "include-denied",
        "access to an included file is denied, or its server may not be contacted",
    ),
    info(
        "include-extension",
        "the name of an included file ends in neither `.yml` nor `.yaml`",
    ),
    info(
        "include-integrity",
        "an included file does not match its digest",
    ),
    info("include-left-out", "the dialect skips an include"),
    info(
        "include-missing",
        "an included file, its project or its commit does not exist",
    ),
    info(
        "include-no-project",
        "a local file is included from a file that belongs to no project",
    ),
    info(
        "include-not-fetched",
        "an include is not fetched: offline, locked, of an unknown GitLab, or of a kind that is not supported",
    ),
    info(
        "include-outside",
        "the path of an included file points outside the project",
    ),
    info(
        "include-undecided",
        "a condition of an include cannot be evaluated",
    ),
    info("include-unreadable", "an included file cannot be read"),
    info(
        "includes-too-large",
        "the included files have more values than a pipeline may have",
    ),
    info(
        "inputs-without-header",
        "inputs are passed to a file without `spec:inputs`",
    ),
    info(
        "interpolation-limit",
        "the file has more `$[[ ]]` interpolations than GitLab allows",
    ),
    info("invalid-base", "`extends` names an entry that is not a job"),
    info(
        "invalid-dotenv",
        "a line of a file with variables is not an assignment",
    ),
    info(
        "invalid-expression",
        "an expression, such as that of `rules:if`, is invalid",
    ),
    info(
        "invalid-file",
        "the file is not a mapping of jobs and keywords",
    ),
    info("invalid-include", "an `include` is invalid"),
    info(
        "invalid-input",
        "an input does not match its declaration, or the declaration is invalid",
    ),
    info(
        "invalid-interpolation",
        "the content of `$[[ ]]` is invalid",
    ),
    info(
        "invalid-job-name",
        "a job has a name that GitLab does not accept",
    ),
    info(
        "invalid-key",
        "a key of a mapping is not a string, number or boolean",
    ),
    info(
        "invalid-on-stop",
        "`environment:on_stop` names a job that cannot stop the environment",
    ),
    info("invalid-pattern", "a regular expression is invalid"),
    info(
        "invalid-reference",
        "`!reference` is not followed by a list of keys",
    ),
    info(
        "invalid-step",
        "a step of `run` has an invalid expression or reference",
    ),
    info("invalid-value", "a keyword has an invalid value"),
    info(
        "invalid-variable",
        "a variable in one of your files is invalid",
    ),
    info(
        "invalid-variable-name",
        "a variable has a name that cannot be an environment variable",
    ),
    info("later-stage", "a job needs a job of a later stage"),
    info(
        "left-out-need",
        "a job in the pipeline needs one that its rules leave out",
    ),
    info(
        "literal-variable",
        "a keyword in which variables are not expanded refers to one",
    ),
    info(
        "mask-refused",
        "a variable cannot be masked as GitLab masks variables",
    ),
    info("missing-input", "an input without a default has no value"),
    info("missing-script", "a job has no commands"),
    info(
        "more-documents",
        "the file has more YAML documents than are read",
    ),
    info("needs-cycle", "jobs need each other in a cycle"),
    info("nested-too-deep", "values are nested too deep"),
    info("no-jobs", "the file has no visible job"),
    info(
        "no-pipeline",
        "rules leave out the pipeline, or all of its jobs",
    ),
    info(
        "not-created",
        "a condition, a cache key or a name cannot be evaluated, so the pipeline cannot be created",
    ),
    info(
        "not-local",
        "a local run ignores a keyword or treats it differently",
    ),
    info("nul-character", "the file contains a NUL character"),
    info(
        "reference-cycle",
        "`!reference` tags refer to each other in a cycle",
    ),
    info("reserved-name", "a job has the name of a keyword"),
    info(
        "reversed-match",
        "`=~` has text on its right that is not a regular expression, so the left text is looked for in it",
    ),
    info(
        "server-error",
        "the GitLab that read the file reported an error",
    ),
    info(
        "server-warning",
        "the GitLab that read the file reported a warning",
    ),
    info(
        "too-many-includes",
        "the pipeline includes more files than GitLab allows",
    ),
    info(
        "too-many-inputs",
        "too many inputs are passed to a pipeline",
    ),
    info("too-many-jobs", "the pipeline has too many jobs"),
    info("too-many-needs", "a job needs more jobs than GitLab allows"),
    info("unknown-alias", "a YAML alias has no anchor before it"),
    info("unknown-base", "`extends` names a job that does not exist"),
    info(
        "unknown-dependency",
        "`dependencies` names a job that does not exist",
    ),
    info(
        "unknown-input",
        "an input is passed that the file does not declare",
    ),
    info("unknown-keyword", "a keyword is unknown or misplaced"),
    info(
        "unknown-matrix-name",
        "`needs:parallel:matrix` names a variable that the matrix does not have",
    ),
    info("unknown-need", "`needs` names a job that does not exist"),
    info(
        "unknown-reference",
        "`!reference` names keys that do not exist",
    ),
    info(
        "unknown-section",
        "one of your files has an unknown section",
    ),
    info(
        "unknown-stage",
        "a job has a stage that is not among the `stages`",
    ),
    info("unknown-tag", "a YAML tag is unknown and ignored"),
    info(
        "unreadable-file",
        "the file does not exist or cannot be read",
    ),
    info(
        "unused-input",
        "an input is set that no file takes, or for a component that is not included",
    ),
    info("variable-cycle", "variables refer to each other in a cycle"),
    info(
        "variables-too-large",
        "the values of variables are larger than a job may have",
    ),
    info(
        "yaml-class",
        "a YAML tag asks for an object of a Ruby class, which GitLab refuses",
    ),
    info(
        "yaml-date",
        "a value is a date, which GitLab refuses unless it is quoted",
    ),
    info("yaml-syntax", "the text is not valid YAML"),
];

const fn info(code: &'static str, meaning: &'static str) -> CodeInfo {
    CodeInfo { code, meaning }
}

/// Returns the meaning of a code.
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
