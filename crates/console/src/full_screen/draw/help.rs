/// What the keys do: the page of the guide shows the same.
const HELP: &str = "\
Everywhere
  Tab            from the jobs to the log and back
  [ ]            the job before, the next job
  p              start a manual job, or a delayed one at once
  P              the same with variables: NAME=VALUE NAME=VALUE
  r              retry the job, whatever its result
  c   C          cancel the job, the whole pipeline
  s              a shell in the job, also while its script runs
  d              details: what the job waits for, its needs and artifacts
  z              show only the log, to read or copy it
  e              find errors in the log
  w              wrap or cut long lines
  m              use the mouse to select jobs, or to mark text
  M              all messages so far
  q              quit; asks first while jobs are running
  Ctrl-C         the same; a second one ends everything at once
  Ctrl-Z         suspend; `fg` comes back
  Ctrl-L         redraw the screen

Jobs
  arrows, hjkl   choose a job
  PgUp PgDn g G  a page, the first, the last
  n   N          the next failed job, the previous one
  /              filter jobs by name; Esc shows all
  Enter          go to its log

Log
  arrows, j k    a line; h l and the arrows go sideways, 0 back
  PgUp PgDn      a page; also Space and b, Ctrl-U and Ctrl-D half a page
  g              the beginning
  G, End         the end, and follow new lines
  /              search; lower case also finds upper case
  n   N          the next match, the previous one
  Enter, o       fold or unfold a section
  F              fold or unfold all
  Esc            end the search, then back to the jobs

Signs
  \u{2022} runs   \u{2713} success   \u{2717} failed   ! allowed failure   \u{25a0} canceled
  \u{25cb} waits for you   \u{b7} about to start   - skipped
  \u{25c2} the selected job needs it   \u{25b8} it needs the selected job";

/// Returns the lines of the help.
pub(super) fn lines() -> Vec<String> {
    HELP.lines().map(ToOwned::to_owned).collect()
}
