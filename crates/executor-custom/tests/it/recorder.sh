#!/bin/sh
# Notes a call and then does what the test planned for it: `recorder.sh DIRECTORY PHASE FIRST-ARG [SCRIPT STAGE]`.
directory=$1 phase=$2
number=$(($(cat "$directory/count") + 1))
echo "$number" >"$directory/count"
call=$directory/calls/$number
mkdir -p "$call"
cat "/proc/$$/environ" >"$call/environ"
printf '%s\n' "$@" >"$call/argv"
pwd >"$call/cwd"
umask >"$call/umask"
streams=$(readlink "/proc/$$/fd/0" "/proc/$$/fd/1" "/proc/$$/fd/2")
echo "$streams" >"$call/streams"
{ echo $$; cut -d ' ' -f 5 "/proc/$$/stat"; } >"$call/group"
find . -mindepth 1 -maxdepth 2 -printf '%P %m\n' | sort >"$call/files"
cp response.json "$call/response"
[ "$phase" = run ] && cp "$4" "$call/script"
name=$phase${5:+.$5}
echo "$name" >>"$directory/names"
plan=$directory/plan/$name.$(grep -cFx "$name" "$directory/names")
[ -e "$plan" ] || plan=$directory/plan/$name
[ -e "$plan" ] && . "$plan"
exit 0
