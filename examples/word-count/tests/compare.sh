#!/bin/sh
# Compares the program with wc(1) on the sample.
set -eu
expected=$(wc -lw <tests/sample.txt | awk '{ print $1, $2 }')
actual=$(out/word-count <tests/sample.txt | awk '{ print $1, $2 }')
if [ "$expected" != "$actual" ]; then
    echo "expected '$expected', got '$actual'" >&2
    exit 1
fi
echo "lines and words agree with wc: $actual"
