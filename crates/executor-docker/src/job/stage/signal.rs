//! Signals to the processes of one stage in a container.

/// Sends a signal to a process, its session and their descendants.
///
/// Needs only a shell and `/proc`: an image may have neither `ps` nor `pkill`.
const SEND: &str = r#"signal=$1 first=$2
all=" $first "
more=1
while [ "$more" ]; do
  more=
  for dir in /proc/[0-9]*; do
    process=${dir#/proc/}
    case $all in *" $process "*) continue ;; esac
    read -r line 2>/dev/null <"$dir/stat" || continue
    set -- ${line##*) }
    case $all in
      *" $2 "*) ;;
      *) [ "$4" = "$first" ] || continue ;;
    esac
    all="$all$process "
    more=1
  done
done
for process in $all; do kill -"$signal" "$process" 2>/dev/null; done
exit 0"#;

/// The strength of a stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// TERM: the process may clean up.
    Terminate,
    /// KILL.
    Kill,
}

/// Returns the command that signals the tree of `process`.
pub(crate) fn command(shell: &str, signal: Signal, process: &str) -> Vec<String> {
    let signal = match signal {
        Signal::Terminate => "TERM",
        Signal::Kill => "KILL",
    };
    [shell, "-c", SEND, "sh", signal, process]
        .map(str::to_owned)
        .to_vec()
}
