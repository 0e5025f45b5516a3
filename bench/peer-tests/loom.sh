#!/usr/bin/env bash
# Runs loom's own public tests, unchanged, against fabius-loom, and prints a table of them, test by test.
#
# The tests are not in this repository: cargo fetches loom's sources from crates.io, and the tests are copied from there
# into a crate below the target folder.
#
# Usage: bench/peer-tests/loom.sh
# Environment: FABIUS (the workspace; default: that of the script)
set -euo pipefail

VERSION=0.7.2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=${FABIUS:-$(cd "$here/../.." && pwd)}
target=${CARGO_TARGET_DIR:-$root/target}
work=$target/peer-tests/loom
mkdir -p "$work/fetch/src" "$work/crate/src"

# 1. Fetch the sources of loom and find its folder.
cat >"$work/fetch/Cargo.toml" <<TOML
[package]
name = "fetch"
version = "0.0.0"
edition = "2021"
[dependencies]
loom = "=$VERSION"
[workspace]
TOML
: >"$work/fetch/src/lib.rs"
cargo fetch --quiet --manifest-path "$work/fetch/Cargo.toml"
manifest=$(cargo metadata --format-version=1 --manifest-path "$work/fetch/Cargo.toml" |
    python3 -c 'import json,sys; print(next(p["manifest_path"] for p in json.load(sys.stdin)["packages"] if p["name"] == "loom"))')

# 2. A crate with its tests and the renamed dependency.
rm -rf "$work/crate/tests"
cp -r "$(dirname "$manifest")/tests" "$work/crate/tests"
chmod -R u+w "$work/crate/tests"
: >"$work/crate/src/lib.rs"
cat >"$work/crate/Cargo.toml" <<TOML
[package]
name = "loom-tests"
version = "0.0.0"
edition = "2018"
[features]
futures = []
default = ["futures"]
[dev-dependencies]
loom = { package = "fabius-loom", path = "$root/crates/fabius-loom" }
futures-util = "0.3"
[profile.dev]
opt-level = 1
[workspace]
TOML

# 3. Every file of tests by itself, so that one that does not compile keeps no other from running.
export CARGO_TARGET_DIR=$work/target
for file in "$work"/crate/tests/*.rs; do
    name=$(basename "$file" .rs)
    if output=$(RUSTFLAGS="--cap-lints warn" timeout 300 cargo test --quiet --manifest-path "$work/crate/Cargo.toml" --test "$name" -- --format=pretty 2>&1); then :; fi
    if grep -q "^error" <<<"$output" && ! grep -q "^test " <<<"$output"; then
        echo "$name: DOES NOT COMPILE"
        grep -m 3 "^error" <<<"$output" | sed 's/^/    /'
    else
        grep -E "^test .* \.\.\. " <<<"$output" | sed "s/^test /$name::/" || echo "$name: ended early"
    fi
done
