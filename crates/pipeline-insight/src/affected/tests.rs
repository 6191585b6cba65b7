use super::{AffectedJobs, Changed, InputPattern, affected};
use pipeline::ResolvedPipeline;
use pipeline::context::PipelineContext;
use pipeline::create::create;
use pipeline::repository::NoRepository;
use std::collections::HashMap;

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn find(text: &str, files: Option<&[&str]>, inputs: &[(&str, &[&str])]) -> AffectedJobs {
    let (resolved, _) = ResolvedPipeline::from_text(".gitlab-ci.yml", text)
        .into_result()
        .unwrap_or_else(|found| panic!("{found:?}"));
    let context = PipelineContext::default();
    let creation = create(&resolved, &context, &NoRepository);
    let inputs: HashMap<&str, &[&str]> = inputs.iter().copied().collect();
    let files = files.map(owned);
    let own = owned(&[".gitlab-ci.yml", "ci/build.yml"]);
    let changed = Changed {
        files: files.as_deref(),
        pipeline_files: &own,
    };
    let inputs = |job: &str| inputs.get(job).map(|patterns| owned(patterns));
    affected(&creation, &context, &changed, &inputs)
}

/// Checks the affected jobs and their causes.
fn check(text: &str, files: &[&str], inputs: &[(&str, &[&str])], expect: &[&str]) {
    let found = find(text, Some(files), inputs);
    let lines = found.touched.iter();
    let lines: Vec<String> = lines
        .map(|it| format!("{}: {}", it.name, it.cause))
        .collect();
    assert_eq!(lines, expect, "of {files:?} with {inputs:?}");
}

const THREE: &str = "
build: {stage: build, script: x, artifacts: {paths: [app]}}
lint: {stage: build, script: x}
test: {stage: test, script: x}
";

#[test]
fn a_job_is_affected_by_files_it_reads_and_by_jobs_it_depends_on() {
    let inputs: &[(&str, &[&str])] = &[("build", &["src/**"]), ("lint", &["*.c"]), ("test", &[])];
    check(
        THREE,
        &["src/a/b.c"],
        inputs,
        &[
            "build: `src/a/b.c` matches `src/**`",
            "test: behind `build`",
        ],
    );
    // A job without artifacts does not affect later stages.
    check(THREE, &["a.c"], inputs, &["lint: `a.c` matches `*.c`"]);
    check(THREE, &["README.md"], inputs, &[]);
    check(THREE, &[], &[], &[]);
}

#[test]
fn unknown_files_affect_more_jobs() {
    check(
        THREE,
        &["b", "a"],
        &[("build", &[])],
        &[
            "lint: `a` changed, and it is unknown what it reads",
            "test: `a` changed, and it is unknown what it reads",
        ],
    );
    let all = find(THREE, None, &[("build", &[]), ("lint", &[]), ("test", &[])]);
    assert_eq!(all.touched.len(), 3);
    assert_eq!(
        all.touched[0].cause.to_string(),
        "it is unknown what changed"
    );
    check(
        THREE,
        &["x", "ci/build.yml"],
        &[("build", &[]), ("lint", &[]), ("test", &[])],
        &[
            "build: `ci/build.yml` is part of the pipeline",
            "lint: `ci/build.yml` is part of the pipeline",
            "test: `ci/build.yml` is part of the pipeline",
        ],
    );
}

#[test]
fn the_matching_rule_determines_what_a_job_reads() {
    const RULES: &str = "
variables: {DIR: src}
globs: {script: x, rules: [{if: $NO, changes: [x]}, {changes: ['$DIR/*.c']}]}
pattern: {script: x, rules: [{changes: {regexp: '\\.h$'}}]}
only: {script: x, only: {changes: [docs/**/*]}}
";
    // The rules do not know what changed, so all of them match.
    check(
        RULES,
        &["src/a.c"],
        &[],
        &["globs: `src/a.c` matches `$DIR/*.c`"],
    );
    check(RULES, &["b.h"], &[], &["pattern: `b.h` matches `/\\.h$/`"]);
    check(
        RULES,
        &["docs/a/b"],
        &[],
        &["only: `docs/a/b` matches `docs/**/*`"],
    );
    // Declared files have precedence.
    check(RULES, &["src/a.c"], &[("globs", &["lib/**"])], &[]);
}

#[test]
fn dependants_are_found_by_needs_dependencies_and_artifacts() {
    const GRAPH: &str = "
stages: [one, two, three]
a: {stage: one, script: x}
b: {stage: one, script: x, artifacts: {paths: [b]}}
needs: {stage: two, script: x, needs: [a]}
unfetched: {stage: two, script: x, needs: [{job: b, artifacts: false}]}
names: {stage: three, script: x, dependencies: [b]}
none: {stage: three, script: x, dependencies: []}
last: {stage: three, script: x}
";
    let quiet: Vec<(&str, &[&str])> = ["needs", "unfetched", "names", "none", "last"]
        .map(|name| (name, [].as_slice()))
        .to_vec();
    let inputs = |own: &[(&'static str, &'static [&'static str])]| [own, &quiet].concat();
    let declared = inputs(&[("a", &["a"]), ("b", &["b"])]);
    check(
        GRAPH,
        &["a"],
        &declared,
        &["a: `a` matches `a`", "needs: behind `a`"],
    );
    check(
        GRAPH,
        &["b"],
        &declared,
        &[
            "b: `b` matches `b`",
            "unfetched: behind `b`",
            "names: behind `b`",
            "last: behind `b`",
        ],
    );
}

#[test]
fn a_child_pipeline_may_be_in_any_yaml_file() {
    const CHILD: &str = "
child: {trigger: {include: ci/child.yml}, rules: [{changes: [src/**/*]}]}
other: {trigger: group/project, rules: [{changes: [src/**/*]}]}
";
    let expect = "child: `lib/jobs.yaml` may be part of the pipeline that it triggers";
    check(CHILD, &["lib/jobs.yaml"], &[], &[expect]);
    check(
        CHILD,
        &["src/a"],
        &[],
        &[
            "child: `src/a` matches `src/**/*`",
            "other: `src/a` matches `src/**/*`",
        ],
    );
}

#[test]
fn patterns_also_match_directories() {
    let check = |pattern: &str, matching: &[&str], others: &[&str]| {
        let pattern = InputPattern::new(pattern).unwrap();
        for path in matching {
            assert!(pattern.is_match(path), "{path} matches {pattern:?}");
        }
        for path in others {
            assert!(!pattern.is_match(path), "{path} does not match {pattern:?}");
        }
    };
    check("src", &["src", "src/a", "src/a/b"], &["srcs", "a/src"]);
    check("src/", &["src/a", "src/a/b"], &["src", "srcs/a"]);
    check(
        "src/**",
        &["src/a", "src/a/b", "src/"],
        &["src", "lib/src/a"],
    );
    check("/src/*.c", &["src/a.c"], &["src/a/b.c", "src/a.h"]);
    check("./a", &["a", "a/b"], &["b/a"]);
    check("**", &["a", "a/b", ".x/y"], &[]);
    check(".", &["a", "a/b"], &[]);
    check("*.md", &["a.md"], &["a/b.md"]);
    check("**/*.md", &["a.md", "a/b.md", "a/"], &["a.mdx"]);
    check("lib/{a,b}", &["lib/a/x", "lib/b"], &["lib/c"]);
    check("lib/a/*.c", &["lib/", "lib/a/"], &["lib/b/", "li/"]);
    check("A", &["A"], &["a"]);
}
