//! A signal to all processes of a script.

/// A script for `sh` that sends a signal, its first argument, to a process, the second one, its session and their
/// descendants.
///
/// It needs only a shell and `/proc`: an environment may have neither `ps` nor `pkill`.
pub const SIGNAL_TREE: &str = r#"signal=$1 first=$2
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
