//! Our lines in a hook.

/// The first of our lines.
const BEGIN: &str = "# >>> runwright: managed lines >>>\n";
/// The last of our lines.
const END: &str = "# <<< runwright: managed lines <<<\n";
/// The first line of a hook with our lines alone.
const HEAD: &str = "#!/bin/sh\n";
/// The suffix of an original hook that is not a shell script.
pub(super) const KEPT: &str = ".before-runwright";

/// The lines between them. Git writes the refs to standard input once, so the lines repeat it for the rest of the
/// hook. Git's variables for the hook are unset, since they would affect our git commands.
const LINES: &str = r#"# Runs the jobs that a push touches before it: `runwright hook uninstall` removes these lines,
# and `RUNWRIGHT_SKIP_HOOK=1 git push` skips them.
runwright_pushed=$(cat)
if [ "${RUNWRIGHT_SKIP_HOOK:-0}" = 1 ]; then
  :
elif ! command -v runwright >/dev/null 2>&1; then
  echo "warning: runwright is not in the PATH: nothing is run before this push" >&2
else
  (
    unset $(git rev-parse --local-env-vars)
    printf '%s\n' "$runwright_pushed" | runwright hook run "$@"
  ) || exit 1
fi
if [ -x "$0.before-runwright" ]; then
  if [ -n "$runwright_pushed" ]; then
    printf '%s\n' "$runwright_pushed" | "$0.before-runwright" "$@" || exit $?
  else
    "$0.before-runwright" "$@" </dev/null || exit $?
  fi
fi
if [ -n "$runwright_pushed" ]; then
  exec <<RUNWRIGHT_PUSHED
$runwright_pushed
RUNWRIGHT_PUSHED
else
  exec </dev/null
fi
unset runwright_pushed
"#;

/// Returns whether a hook has our lines.
pub(super) fn is_in(hook: &[u8]) -> bool {
    range(hook).is_some()
}

/// Returns a hook of our lines alone.
pub(super) fn alone() -> Vec<u8> {
    [HEAD, BEGIN, LINES, END].concat().into_bytes()
}

/// Inserts our lines into a hook; `None` if it is not a shell script.
pub(super) fn insert(hook: &[u8]) -> Option<Vec<u8>> {
    let end = hook.iter().position(|&byte| byte == b'\n')? + 1;
    let (head, rest) = hook.split_at(end);
    is_shell(head).then(|| {
        let lines = [BEGIN, LINES, END].concat();
        [head, lines.as_bytes(), rest].concat()
    })
}

/// Removes our lines from a hook, if it has them; `None` if nothing else is in it.
pub(super) fn remove(hook: &[u8]) -> Option<Vec<u8>> {
    let Some((start, end)) = range(hook) else {
        return Some(hook.to_vec());
    };
    let rest = [&hook[..start], &hook[end..]].concat();
    (rest != HEAD.as_bytes()).then_some(rest)
}

/// Returns the range of our lines.
fn range(hook: &[u8]) -> Option<(usize, usize)> {
    let start = find(hook, BEGIN.as_bytes())?;
    let end = start + find(&hook[start..], END.as_bytes())? + END.len();
    Some((start, end))
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

/// Returns whether the first line of a script names a shell that understands our lines.
fn is_shell(head: &[u8]) -> bool {
    let Some(command) = std::str::from_utf8(head)
        .ok()
        .and_then(|it| it.strip_prefix("#!"))
    else {
        return false;
    };
    let mut words = command.split_whitespace();
    let Some(program) = words.next() else {
        return false;
    };
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let shell = match name(program).as_str() {
        "env" => words.next().map(name).unwrap_or_default(),
        shell => shell.to_owned(),
    };
    ["sh", "bash", "dash", "ksh", "mksh", "ash", "zsh"].contains(&shell.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_inserted_and_removed_from_shell_scripts() {
        for hook in [
            "#!/bin/sh\nexit 3\n",
            "#!/usr/bin/env bash\nset -e\n\ttrue",
            "#!/bin/bash -e\n",
            "#! /bin/dash\n\u{e9}\n",
        ] {
            let with = insert(hook.as_bytes()).expect("a script");
            assert!(is_in(&with) && !is_in(hook.as_bytes()));
            assert!(
                with.starts_with(
                    hook.split_inclusive('\n')
                        .next()
                        .unwrap_or_default()
                        .as_bytes()
                )
            );
            assert_eq!(remove(&with).expect("a rest"), hook.as_bytes());
        }
        // A hook of the first line alone counts as ours.
        let odd = insert(HEAD.as_bytes()).expect("a script");
        assert_eq!(remove(&odd), None);
    }

    #[test]
    fn other_programs_are_left_alone() {
        for hook in [
            "",
            "exit 1\n",
            "#!/usr/bin/python3\n",
            "#!/bin/sh",
            "\u{7f}ELF\n",
            "#!\n",
            "#!/usr/bin/env\n",
        ] {
            assert_eq!(insert(hook.as_bytes()), None, "{hook:?}");
        }
        assert_eq!(remove(&alone()), None);
        assert_eq!(remove(b"exit 1\n"), Some(b"exit 1\n".to_vec()));
        let half = [HEAD, BEGIN].concat();
        assert_eq!(remove(half.as_bytes()), Some(half.clone().into_bytes()));
    }
}
