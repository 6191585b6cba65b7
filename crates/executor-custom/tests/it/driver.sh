#!/bin/sh
# A driver that runs each stage on this host: `driver.sh NOTES PHASE [SCRIPT STAGE]`.
notes=$1 phase=$2
case $phase in
config)
    echo "$TMPDIR" >>"$notes"
    echo '{"builds_dir_is_shared": true, "driver": {"name": "host", "version": "1"}}'
    ;;
run)
    # The script handles the signal, which its whole group gets.
    trap : TERM
    "$3"
    code=$?
    [ "$code" = 0 ] && exit
    echo "$code" >"$BUILD_EXIT_CODE_FILE"
    exit "$BUILD_FAILURE_EXIT_CODE"
    ;;
esac
