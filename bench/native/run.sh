#!/bin/bash
# Executions per second of processor time and the time of a scheduling point; random schedules, data races looked for in every
# execution.
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
        --stats > "$out/answer" || true; } 2>&1 | tail -1)
    local found points
    points=$(awk '$1 == "0" { print $NF }' "$out/answer" | tail -1)
    found=$(head -1 "$out/answer")
    awk -v t="$times" -v n="$count" -v name="$1" -v found="$found" -v p="${points:-0}" \
        'BEGIN { split(t, s, " "); c = s[1] + s[2]; point = p > 0 ? sprintf("%5.0f ns a point", c / p * 1e9) : ""
            printf "%-28s %9.0f executions per CPU second %16s   %s\n", name, n / c, point, found }'
}
for program in account bluetooth stack ring philosophers; do
    measure "$program" "$program.c"
done
for threads in 2 5 10 20 50 100; do
    count=$((2000000 / threads / threads + 400)) measure "account, $threads threads" -DTHREADS="$threads" account.c
done
