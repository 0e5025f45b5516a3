#!/bin/bash
# Executions per second of processor time, random schedules, data races looked for in every execution.
#
#   cargo build --release -p fabius-cli && bench/native/run.sh target/release/fabius
set -eu
fabius=$(realpath "$1")
count=${2:-100000}
cd "$(dirname "$0")"
out=$(mktemp -d)
trap 'rm -r "$out"' EXIT
measure() {
    "$fabius" cc -O1 "${@:2}" -o "$out/program"
    TIMEFORMAT='%U %S'
    local times
    times=$( { time "$fabius" run "$out/program" --strategy random --executions "$count" --seed 1 --max-steps 1000000 \
        > "$out/answer" || true; } 2>&1 | tail -1)
    local found
    found=$(head -1 "$out/answer")
    awk -v t="$times" -v n="$count" -v name="$1" -v found="$found" \
        'BEGIN { split(t, s, " "); printf "%-28s %9.0f executions per CPU second   %s\n", name, n / (s[1] + s[2]), found }'
}
for program in account bluetooth stack ring philosophers; do
    measure "$program" "$program.c"
done
for threads in 2 10 50 100; do
    count=$((20000 / threads)) measure "account, $threads threads" -DTHREADS="$threads" account.c
done
