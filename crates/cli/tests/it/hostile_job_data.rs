//! Inputs that have caused harm in other programs on the way from job to job; see `hostile_inputs`.

use crate::project::{Project, files_below};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

#[test]
fn cache_keys_cannot_escape_the_cache_directory() {
    // input 28
    let project = Project::empty_directory();
    let pwned = project.scratch().join("pwned");
    let long = "k".repeat(4096);
    let command = format!("$$(touch {})", pwned.display());
    let keys = [
        "..",
        "../a",
        "../../../../b",
        "%2e%2e%2fc",
        "d\\..\\..\\e",
        "/etc/f",
        "g-protected ",
        "-rf",
        "*",
        &command,
        &long,
    ];
    // Written in the pipeline file, most of the keys are refused.
    let mut pipeline = String::new();
    for (number, key) in keys.iter().enumerate() {
        let key = serde_json::to_string(key).unwrap();
        writeln!(
            pipeline,
            "job-{number}:
  variables: {{KEY: {key}}}
  cache: {{key: $KEY, paths: [kept]}}
  script:
    - cat kept/file || echo nothing-kept
    - mkdir -p kept && echo value-{number} >kept/file"
        )
        .unwrap();
    }
    project.write(".gitlab-ci.yml", &pipeline);
    project.git(&["init", "-q", "-b", "main"]);
    project.commit();
    let first = project.runwright(&["run"]).expect_code(0);
    let count = first.stdout.matches("| nothing-kept\n").count();
    assert_eq!(count, keys.len(), "{first:?}");
    let second = project.runwright(&["run"]).expect_code(0);
    for number in 0..keys.len() {
        let value = format!("| value-{number}\n");
        assert!(second.stdout.contains(&value), "{number}: {second:?}");
    }
    assert!(!second.stdout.contains("| nothing-kept\n"), "{second:?}");
    assert!(!pwned.exists());
    let keys = fs::read_dir(project.home().join("caches/keys")).unwrap();
    for entry in keys {
        let name = entry.unwrap().file_name().display().to_string();
        let is_digest = name.len() == 64 && name.bytes().all(|it| it.is_ascii_hexdigit());
        assert!(is_digest, "{name}");
    }
    let beside: Vec<_> = fs::read_dir(project.scratch()).unwrap().flatten().collect();
    assert_eq!(beside.len(), 2, "{beside:?}");
    let half = files_below(&project.home().join("caches/tmp"));
    assert_eq!(half, Vec::<PathBuf>::new());
}

#[test]
fn dotenv_reports_have_the_limits_and_messages_of_gitlab() {
    // input 29
    let project = Project::with_pipeline(
        "stages: [a, b]
write:
  stage: a
  script: [sh -c \"$MAKE\" > report]
  artifacts: {reports: {dotenv: report}}
read: {stage: b, script: ['echo \"A is <$A>\"']}
",
    );
    let check = |make: &str, code: i32, expect: &str| {
        let make = format!("MAKE={}", make.replace('$', "$$"));
        let done = project.runwright(&["run", "--variable", &make]);
        let done = done.expect_code(code).expect_text(expect);
        assert!(!done.all().contains("panicked"), "{done:?}");
    };
    check("echo A=1", 0, "A is <1>");
    check("echo A=1; echo A=2", 0, "A is <2>");
    // A value is neither executed nor used as a file name.
    check("echo 'A=$(exit 1)`exit 1`'", 0, "A is <$(exit 1)`exit 1`>");
    check("echo A", 1, "Invalid Format (report, line 1)");
    check(
        "echo A=1; echo; echo B=2",
        1,
        "Invalid Format (report, line 2)",
    );
    let key = "Validation failed: Key can contain only letters, digits and '_'.";
    check("echo export A=1", 1, key);
    check("echo =1", 1, "Validation failed: Key can't be blank");
    let too_big = "Dotenv Artifact Too Big. Maximum Allowable Size: 5120 (report)";
    check(
        "printf A=; head -c 5000000 /dev/zero | tr '\\0' x",
        1,
        too_big,
    );
    let too_many = "Dotenv files cannot have more than 20 variables (report, line 21)";
    check("for i in $(seq 21); do echo V$i=1; done", 1, too_many);
    check(
        "head -c 1000 /dev/zero",
        1,
        "Invalid Format (report, line 1)",
    );
    check("printf 'A=1\\0002\\n'", 1, "Value has a NUL character");
    assert!(project.leftovers().is_empty(), "{:?}", project.leftovers());
}
