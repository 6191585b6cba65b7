//! The scenarios that reach the fail points.

/// Jobs that use everything outside the program: artifacts, reports, caches, an environment, background processes, a
/// read-only directory, a child pipeline. The counted jobs write a line to `COUNT` at the end of their script.
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

/// The jobs that write to `COUNT`.
pub(super) const COUNTING: [&str; 3] = ["make", "use", "inner"];

/// The number of ended pipelines at which the next run removes some.
pub(super) const OLD_PIPELINES: u64 = 11;
/// The directory of the run played after them.
pub(super) const RUN: &str = "pipelines/12";

/// A setup and the command played after it.
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
    /// A run after another that was killed together with its guardian in the middle of a job.
    AfterDeath,
    /// A killed run whose journal ends in a torn line is resumed.
    Resumed,
    /// A job replaces a cache; another on an overlay receives many files and a cache that exceeds the space.
    Inputs,
    /// The artifacts of a job are packed, replacing a file on another file system.
    Packed,
    /// The artifacts of a job are extracted into a directory.
    GotOut,
    /// Everything that runs left behind is removed.
    Cleaned,
    /// A run reuses jobs of an earlier one.
    Reused,
    /// Two jobs of a driver, which start the helper command for their files. Its fail points are in processes of their
    /// own.
    Driver,
}

pub(super) const SCENARIOS: [Scenario; 12] = [
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
    Scenario::Driver,
];

/// A driver that runs jobs on this host, and notes its private directories.
pub(super) const DRIVER: &str = "
echo \"$TMPDIR\" >>NOTES
[ \"$1\" != run ] || exec \"$2\"
";

impl Scenario {
    /// Returns whether the whole pipeline runs, so that the run can be resumed.
    pub(super) fn is_whole(self) -> bool {
        matches!(self, Self::Copies | Self::Resumed)
    }
}
