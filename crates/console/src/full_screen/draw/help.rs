/// What the keys do: the page of the guide shows the same.
const HELP: &str = "\
Everywhere
  Tab            from the jobs to the log and back
  [ ]            the job before, the next job
  p              start a manual job, or a delayed one now
  P              the same with variables: NAME=VALUE NAME=VALUE
  r              retry the job, however it ended
  c   C          cancel the job, the whole pipeline
  s              a shell in the job, beside its script while it runs
  d              details of the job: what it waits for, needs, left
  z              the log alone, to read it or to copy from it
  e              find errors in the log
  w              wrap long lines, or cut them
  m              the mouse chooses, or marks text
  M              what was said until now
  q              quit: the run ends, or asks if jobs still run
  Ctrl-C         the same; twice ends everything at once
  Ctrl-Z         suspend; `fg` comes back
  Ctrl-L         draw all anew

Jobs
  arrows, hjkl   choose a job
  PgUp PgDn g G  a page, the first, the last
  n   N          the next job that failed, the one before
  /              only jobs whose names contain a text; Esc: all
  Enter          to its log

Log
  arrows, j k    a line; h l and the arrows go sideways, 0 back
  PgUp PgDn      a page; also Space and b, Ctrl-U and Ctrl-D half a page
  g              the beginning
  G, End         the end, and follow what comes
  /              search; small letters find capitals too
  n   N          the next hit, the one before
  Enter, o       fold or unfold a section
  F              fold or unfold all
  Esc            end the search, then back to the jobs

Signs
  \u{2022} runs   \u{2713} ended well   \u{2717} failed   ! failed and may   \u{25a0} canceled
  \u{25cb} waits for you   \u{b7} about to start   - skipped
  \u{25c2} the selected job needs it   \u{25b8} it needs the selected job";

/// Returns the lines of the help.
pub(super) fn lines() -> Vec<String> {
    HELP.lines().map(ToOwned::to_owned).collect()
}
