#!/usr/bin/env bash
# Runs shuttle's own public tests, unchanged, against fabius-shuttle, and prints a table of them, test by test.
#
# The tests are not in this repository: cargo fetches shuttle's sources from crates.io, and the tests are copied from there
# into a crate below the target folder. Every test runs in a process of its own, with a time limit, because some end in an
# abort or an endless execution when they fail.
#
# Usage: bench/peer-tests/shuttle.sh [FILTER]     FILTER: a part of test names
# Environment: SECONDS_PER_TEST (60), JOBS (number of processors), FABIUS (the workspace; default: that of the script)
set -euo pipefail

VERSION=0.9.9
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=${FABIUS:-$(cd "$here/../.." && pwd)}
filter=${1:-}
limit=${SECONDS_PER_TEST:-60}
jobs=${JOBS:-$(nproc)}
target=${CARGO_TARGET_DIR:-$root/target}
work=$target/peer-tests/shuttle
mkdir -p "$work/fetch/src" "$work/crate/src"

# 1. Fetch the sources of shuttle and find its folder.
cat >"$work/fetch/Cargo.toml" <<TOML
[package]
name = "fetch"
version = "0.0.0"
edition = "2021"
[dependencies]
shuttle = "=$VERSION"
[workspace]
TOML
: >"$work/fetch/src/lib.rs"
cargo fetch --quiet --manifest-path "$work/fetch/Cargo.toml"
manifest=$(cargo metadata --format-version=1 --manifest-path "$work/fetch/Cargo.toml" |
    python3 -c 'import json,sys; print(next(p["manifest_path"] for p in json.load(sys.stdin)["packages"] if p["name"] == "shuttle"))')
source=$(dirname "$manifest")

# 2. A crate with its tests and the renamed dependency.
rm -rf "$work/crate/tests"
cp -r "$source/tests" "$work/crate/tests"
chmod -R u+w "$work/crate/tests"
: >"$work/crate/src/lib.rs"
cat >"$work/crate/Cargo.toml" <<TOML
[package]
name = "shuttle-tests"
version = "0.0.0"
edition = "2021"
[features]
annotation = []
vector-clocks = []
[dev-dependencies]
shuttle = { package = "fabius-shuttle", path = "$root/crates/fabius-shuttle" }
futures = "0.3.15"
pin-project = "1.1.3"
proptest = "1.0.0"
proptest-derive = "0.5.0"
rand = "0.8"
regex = "1.5.5"
rustversion = "1"
tempfile = "3.2.0"
test-log = { version = "0.2.8", default-features = false, features = ["trace"] }
tracing = { version = "0.1.36", default-features = false, features = ["std"] }
tracing-subscriber = { version = "0.3.9", features = ["env-filter"] }
trybuild = "1.0"
[profile.dev]
opt-level = 1
[workspace]
TOML

# 3. One test uses an internal crate of shuttle by name and would keep its whole file from compiling: it is cut out.
# `ui` compiles against the expected output of a compiler, with the paths of shuttle's own crates in it.
python3 - "$work/crate/tests" <<'PYTHON'
import pathlib, re, sys
file = pathlib.Path(sys.argv[1]) / "basic/thread.rs"
text = file.read_text()
begin = text.index("    #[test]\n    fn destroyed_last_key()")
end = text.index("\n    }\n", begin) + len("\n    }\n")
file.write_text(text[:begin] + text[end:])
PYTHON
echo "left out: basic::thread::*::destroyed_last_key: it tests shuttle_engine::thread_support, an internal crate"

# 4. Build, list, and run.
export CARGO_TARGET_DIR=$work/target
cargo test --quiet --no-run --manifest-path "$work/crate/Cargo.toml" ${CARGO_FLAGS:-}
binaries=$(cargo test --no-run --message-format=json --manifest-path "$work/crate/Cargo.toml" ${CARGO_FLAGS:-} 2>/dev/null |
    python3 -c '
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if m.get("reason") == "compiler-artifact" and m.get("executable") and "test" in m["target"]["kind"]:
        print(m["target"]["name"], m["executable"])')

run_one() {
    local binary=$1 test=$2
    local output status=0
    output=$(cd "$WORK/crate" && timeout --kill-after=1 "$LIMIT" "$binary" --exact "$test" --test-threads=1 2>&1) || status=$?
    case $status in
    0) if grep -q ' ignored$\|\.\.\. ignored' <<<"$output"; then echo "ignored  $test"; else echo "ok       $test"; fi ;;
    124 | 137) echo "TIMEOUT  $test" ;;
    101) echo "FAILED   $test" ;;
    *) echo "ABORTED  $test" ;;
    esac
    mkdir -p "$WORK/output"
    printf '%s\n' "$output" | tail -c 20000 >"$WORK/output/${test//::/.}.txt"
}
export -f run_one
export WORK=$work LIMIT=$limit

table=$work/table.txt
: >"$table"
while read -r name binary; do
    "$binary" --list 2>/dev/null | sed -n 's/: test$//p' | { grep -F -- "$filter" || true; } |
        xargs -P "$jobs" -I{} bash -c 'run_one "$@"' _ "$binary" {} >>"$table"
done <<<"$binaries"

sort -k2 "$table"
echo
cut -c1-8 "$table" | sort | uniq -c
echo "output of each test: $work/output"
