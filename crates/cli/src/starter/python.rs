use super::Files;

/// Writes a pipeline for a Python project: a check of the syntax, and the tests if pytest is used.
pub(super) fn pipeline(files: &(impl Files + ?Sized)) -> String {
    let settings = ["pyproject.toml", "setup.cfg", "tox.ini", "setup.py"];
    let names_pytest = |name: &&str| {
        let text = files.text(name);
        text.is_some_and(|text| text.contains("pytest"))
    };
    let has_tests = files.has("tests") || settings.iter().any(names_pytest);
    let mut text = "\
stages: [check, test]

# Where jobs run in containers, they need an image:
# default: {image: \"python:3\"}

compile:
  stage: check
  script:
    - python3 -m compileall -q -x '/\\.' .
"
    .to_owned();
    if has_tests {
        text.push_str(
            "
test:
  stage: test
  cache:
    key: pip
    paths: [.cache/pip/]
  variables:
    PIP_CACHE_DIR: $CI_PROJECT_DIR/.cache/pip
  script:
    - python3 -m venv .venv
    - .venv/bin/pip install --quiet --editable . pytest
    - .venv/bin/python -m pytest
",
        );
    }
    text
}
