//! The ways in which points are reached.

/// Jobs with all that reaches outside: artifacts, reports, caches, an environment, background
/// processes, a read-only directory, a child pipeline. Those that count write a line to `COUNT` at the
/// end of their script.
pub(super) const PIPELINE: &str = "
stages: [first, second]
make:
  stage: first
  resource_group: one
  environment: {name: test}
  cache: {key: kept, paths: [store]}
  script:
    - setsid nohup sleep 600 >/dev/null 2>&1 &
    - mkdir -p out/deep store && echo made >out/deep/file && cp out/deep/file store/file && ln -sf file store/link
    - ln -s deep/file out/link
    - echo VERSION=1 >build.env
    - mkdir kept && chmod 500 kept
    - echo make >>COUNT
  after_script: [echo after]
  artifacts: {paths: [out], reports: {dotenv: build.env}}
use:
  stage: second
  resource_group: one
  cache: {key: kept, paths: [store], policy: pull}
  script: [cat out/link, 'echo version $VERSION', echo use >>COUNT]
sub:
  stage: second
  trigger: {include: [{local: child.yml}], strategy: depend}
wait:
  stage: first
  when: manual
  script: [echo waiting, 'setsid sleep 600 &', sleep 600]
probe:
  stage: first
  when: manual
  script: [echo probed]
many:
  stage: first
  when: manual
  cache: {key: many, paths: [blocked]}
  script:
    - mkdir many && for i in $(seq 70); do echo $i >many/$i; done
    - echo new >blocked/file && rm -r blocked/link && ln -s file blocked/link
  artifacts: {paths: [many]}
take:
  stage: second
  when: manual
  needs: [many]
  script: [cat many/70]
stumble:
  stage: second
  when: manual
  needs: [{job: many, artifacts: false}]
  cache: {key: many, paths: [blocked], policy: pull}
  script: ['test ! -e blocked/file']
";

/// The child pipeline.
pub(super) const CHILD: &str = "
inner: {script: [echo inner >>COUNT]}
";

/// The jobs that count.
pub(super) const COUNTING: [&str; 3] = ["make", "use", "inner"];

/// So many ended pipelines make the next run remove some.
pub(super) const OLD_PIPELINES: u64 = 11;
/// The directory of the run that is played then.
pub(super) const RUN: &str = "pipelines/12";

/// What was done before, and what is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scenario {
    /// A whole run in copies of the tree.
    Copies,
    /// A run in the tree itself.
    InPlace,
    /// Two jobs on overlays.
    Overlays,
    /// A run in a Git worktree.
    Worktree,
    /// A run after another that was killed together with its guardian, in the middle of a job.
    AfterDeath,
    /// A killed run is gone on with, the last line of whose journal is torn.
    Resumed,
    /// A job replaces a cache, and another on an overlay gets many files and a cache that has no room.
    Inputs,
    /// What a job left is packed, over a file that is elsewhere.
    Packed,
    /// What a job left is put into a directory.
    GotOut,
    /// All that runs left is removed.
    Cleaned,
    /// A run takes jobs from an earlier one.
    Reused,
}

pub(super) const SCENARIOS: [Scenario; 11] = [
    Scenario::Copies,
    Scenario::InPlace,
    Scenario::Overlays,
    Scenario::Worktree,
    Scenario::AfterDeath,
    Scenario::Resumed,
    Scenario::Inputs,
    Scenario::Packed,
    Scenario::GotOut,
    Scenario::Cleaned,
    Scenario::Reused,
];

impl Scenario {
    /// Returns whether all of the pipeline is run, which can be gone on with.
    pub(super) fn is_whole(self) -> bool {
        matches!(self, Self::Copies | Self::Resumed)
    }
}
