//! The pipeline files that do not depend on the contents of a project.

/// The head of every file.
pub(super) const HEAD: &str = "\
# The pipeline of this project: `runwright run` runs it here, GitLab runs it for each push.
# `runwright list` shows its jobs, `runwright lint` checks it.

";

pub(super) const CARGO: &str = "\
stages: [build, test]

default:
  # Where jobs run in containers, they need an image:
  # image: rust:1
  cache:
    key: cargo
    paths: [target/]

build:
  stage: build
  script:
    - cargo build --all-targets

test:
  stage: test
  script:
    - cargo test
";

pub(super) const GO: &str = "\
stages: [check, test]

# Where jobs run in containers, they need an image:
# default: {image: golang:1}

vet:
  stage: check
  script:
    - go vet ./...

test:
  stage: test
  script:
    - go build ./...
    - go test ./...
";

pub(super) const PLAIN: &str = "\
stages: [build, test]

# Where jobs run in containers, they need an image:
# default: {image: debian:stable-slim}

build:
  stage: build
  script:
    - mkdir -p out
    - echo \"put the commands here that build the project\" | tee out/build.txt
  artifacts:
    paths: [out/]

test:
  stage: test
  script:
    - test -s out/build.txt
    - echo \"put the commands here that test it\"
";
