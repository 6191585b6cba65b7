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

/// Compares what is said of the touched jobs.
fn check(text: &str, files: &[&str], inputs: &[(&str, &[&str])], expect: &[&str]) {
    let found = find(text, Some(files), inputs);
    let said = found.touched.iter();
    let said: Vec<String> = said
        .map(|it| format!("{}: {}", it.name, it.cause))
        .collect();
    assert_eq!(said, expect, "of {files:?} with {inputs:?}");
}

const THREE: &str = "
build: {stage: build, script: x, artifacts: {paths: [app]}}
lint: {stage: build, script: x}
test: {stage: test, script: x}
";

#[test]
fn a_job_is_touched_by_what_it_reads_and_by_what_is_behind_it() {
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
    // Nothing comes to later stages from a job without artifacts.
    check(THREE, &["a.c"], inputs, &["lint: `a.c` matches `*.c`"]);
    check(THREE, &["README.md"], inputs, &[]);
    check(THREE, &[], &[], &[]);
}

#[test]
fn what_is_not_known_touches_more() {
    check(
        THREE,
        &["b", "a"],
        &[("build", &[])],
        &[
            "lint: `a` changed, and nothing says what it reads",
            "test: `a` changed, and nothing says what it reads",
        ],
    );
    let all = find(THREE, None, &[("build", &[]), ("lint", &[]), ("test", &[])]);
    assert_eq!(all.touched.len(), 3);
    assert_eq!(all.touched[0].cause.to_string(), "what changed is unknown");
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
fn the_rule_that_held_says_what_a_job_reads() {
    const RULES: &str = "
variables: {DIR: src}
globs: {script: x, rules: [{if: $NO, changes: [x]}, {changes: ['$DIR/*.c']}]}
pattern: {script: x, rules: [{changes: {regexp: '\\.h$'}}]}
only: {script: x, only: {changes: [docs/**/*]}}
";
    // What changed is unknown to the rules here, so that all of them hold.
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
    // What is declared wins.
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
    let expect = "child: `lib/jobs.yaml` may be part of the pipeline that it starts";
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
fn patterns_are_globs_that_mean_folders_too() {
    let check = |pattern: &str, fitting: &[&str], others: &[&str]| {
        let pattern = InputPattern::new(pattern).unwrap();
        for path in fitting {
            assert!(pattern.fits(path), "{path} fits {pattern:?}");
        }
        for path in others {
            assert!(!pattern.fits(path), "{path} does not fit {pattern:?}");
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
