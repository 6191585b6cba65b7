//! Ending the processes of one stage inside a container that lives on.

/// Sends a signal to a process, to all of its session and to all that descend from these.
///
/// It needs nothing but a shell and `/proc`: an image may have no `ps` and no `pkill`.
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

/// How strongly a stage is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// It may tidy up.
    Terminate,
    /// It may not.
    Kill,
}

/// Returns the command that ends the tree of the process `process`.
pub(crate) fn command(shell: &str, signal: Signal, process: &str) -> Vec<String> {
    let signal = match signal {
        Signal::Terminate => "TERM",
        Signal::Kill => "KILL",
    };
    [shell, "-c", SEND, "sh", signal, process]
        .map(str::to_owned)
        .to_vec()
}
