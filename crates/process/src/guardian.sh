# Ends the processes of a run and removes its files if the runner dies. $1 is the run's journal.
#
# Standard input is a pipe whose other end only the runner has open: a line "done"
# dismisses the guardian, the end of the file means that the runner is dead.
# No variable here has the run's marker, so the guardian does not kill itself.

trap '' HUP INT QUIT TERM PIPE TSTP TTIN TTOU

if read -r word && [ "$word" = done ]; then
    exit 0
fi

journal=$1
tab=$(printf '\t')
newline='
'
# The current records without an incomplete last line. The next start may take over directories that must
# survive, and remove the journal, while this script runs. If the records cannot be read completely,
# everything is left to the next start.
records=$(cat "$journal" && echo .) || exit 0
records=${records%"${records##*"$newline"}"}

# Succeeds if the record "$1<tab>$2" stands: a later line "-$1<tab>$2" revokes it.
stands() {
    standing=
    while IFS=$tab read -r sign noted; do
        if [ "$noted" = "$2" ]; then
            case $sign in
                "$1") standing=1 ;;
                "-$1") standing= ;;
            esac
        fi
    done <<END
$records
END
    [ -n "$standing" ]
}

# Calls "$1 value" for each complete record of kind $2.
each() {
    while IFS=$tab read -r kind value; do
        if [ "$kind" = "$2" ] && stands "$kind" "$value"; then
            "$1" "$value"
        fi
    done <<END
$records
END
}

remove_below() {
    for below in "$1"/*/; do
        if [ -d "$below" ]; then
            remove_below "${below%/}"
        fi
    done
    rmdir "$1" 2>/dev/null
}

end_cgroup() {
    case $1 in
        /*/runwright-*) ;;
        *) return ;;
    esac
    attempt=0
    while [ -d "$1" ] && [ "$attempt" -lt 400 ]; do
        echo 1 >"$1/cgroup.kill"
        remove_below "$1"
        attempt=$((attempt + 1))
        if [ -d "$1" ]; then
            sleep 0.02
        fi
    done
}

name=RUNWRIGHT_PROCESS_MARKER

# Lists the processes with the marker $1, of process $2 or of all, by a file below /proc: the environment or the limits.
marked() {
    with_marker "$@"
    # The limit on file locks begins with the first 36 bits of the marker and has 8 more digits; see `limits.rs`.
    run=$((0x${1%"${1#?????????}"}))
    for file in $(grep -lsE "^Max file locks .* $run[0-9]{8} +locks" /proc/${2-[0-9]*}/limits); do
        # A dead process that is not collected yet has limits, but no environment.
        grep -qs '^State:.[ZX]' "${file%limits}status" || echo "$file"
    done
}

# Lists the environments with the marker $1, as `marked` does.
# A runner inside a job puts the job's marker and a slash before its own.
# Some versions of grep stop at a zero byte, which separates variables.
if printf 'a\000b' | grep -qF b; then
    with_marker() {
        grep -lsF -e "$name=$1" -e "/$1" /proc/${2-[0-9]*}/environ
    }
else
    with_marker() {
        for environ in /proc/${2-[0-9]*}/environ; do
            if tr '\000' '\n' <"$environ" | grep -qF -e "$name=$1" -e "/$1"; then
                echo "$environ"
            fi
        done
    }
fi

end_marked() {
    # A short or empty marker would match other processes.
    if [ "${#1}" -lt 32 ]; then
        return
    fi
    case $1 in
        *[!0-9a-f.]*) return ;;
    esac
    # A list misses a process that starts another one and ends meanwhile, and
    # also its child, so several rounds must find nothing.
    round=0
    quiet=0
    while [ "$quiet" -lt 10 ] && [ "$round" -lt 400 ]; do
        quiet=$((quiet + 1))
        for file in $(marked "$1"); do
            pid=${file#/proc/}
            pid=${pid%%/*}
            # The process id may have been reused since.
            if [ -n "$(marked "$1" "$pid")" ]; then
                kill -9 "$pid"
                quiet=0
            fi
        done
        round=$((round + 1))
        sleep 0.01
    done
}

# Prints the mount points at and below $1.
mounted() {
    while read -r _ _ _ _ point _; do
        case $point in
            # Blanks and backslashes are octal escapes.
            *\\*) point=$(printf '%b' "$point") ;;
        esac
        case $point/ in
            "$1"/*) printf '%s\n' "$point" ;;
        esac
    done </proc/self/mountinfo
}

end_mount() {
    case $1/ in
        */../* | */./*) return ;;
        /?*/?*/) ;;
        *) return ;;
    esac
    # A symbolic link in the path could lead to files that are not the run's.
    if [ "$(cd -P -- "$1" && pwd -P)" != "$1" ]; then
        return
    fi
    attempt=0
    while [ -n "$(mounted "$1")" ] && [ "$attempt" -lt 16 ]; do
        umount -- "$1" || umount -l -- "$1"
        attempt=$((attempt + 1))
    done
}

# Succeeds if $1 is at or below a directory that must survive.
is_left() {
    sought=$1
    left=
    each note_left left
    [ -n "$left" ]
}

note_left() {
    case $sought/ in
        "$1"/*) left=1 ;;
    esac
}

remove_dir() {
    case $1/ in
        */../* | */./*) return ;;
        /?*/?*/) ;;
        *) return ;;
    esac
    if is_left "$1"; then
        return
    fi
    if [ -L "$1" ] || [ ! -d "$1" ]; then
        return
    fi
    # Mounts of a job must not be emptied. The newest is on top.
    attempt=0
    while [ -n "$(mounted "$1")" ] && [ "$attempt" -lt 64 ]; do
        umount -l -- "$(mounted "$1" | tail -n 1)" || break
        attempt=$((attempt + 1))
    done
    if [ -n "$(mounted "$1")" ]; then
        unfinished=1
        return
    fi
    # A job may have made directories read-only.
    rm -rf -- "$1" || {
        chmod -R u+rwx -- "$1"
        rm -rf -- "$1"
    }
}

exec 2>/dev/null
unfinished=
each end_cgroup cgroup
each end_marked marker
each end_mount mount
each remove_dir dir
if [ -n "$unfinished" ]; then
    exit 0
fi

# The next start reports records of other kinds.
while IFS=$tab read -r kind value; do
    case $kind in
        '' | runner | cgroup | marker | mount | dir | -*) ;;
        *)
            if stands "$kind" "$value"; then
                exit 0
            fi
            ;;
    esac
done <<END
$records
END
rm -f -- "$journal"
