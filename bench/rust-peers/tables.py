#!/usr/bin/env python3
"""The tables of docs/speed.md about Rust tests: `cargo build --release && ./tables.py [rates|exhaust|bugs]`.

Rates are executions per CPU second, the median of three runs that alternate between the tools."""

import json
import statistics
import subprocess
import sys

BINARY = "target/release/rust-peers"


def run(tool, strategy, program, seconds, seed=1, most=None):
    command = [BINARY, tool, strategy, program, "--secs", str(seconds), "--seed", str(seed)]
    if most:
        command += ["--max", str(most)]
    try:
        out = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 20).stdout
        return json.loads(out.strip().splitlines()[-1])
    except (subprocess.TimeoutExpired, IndexError):
        return {"executions": 0, "per_cpu_sec": 0, "end": "timeout"}


def rates():
    programs = ["mcounter-ok:4:4", "counter-ok:4:4", "phil-ok:3", "buffer-ok:2:2:2", "wsq-ok:2:4", "window-ok:50"]
    columns = [("loom", "2"), ("shuttle", "dfs"), ("fabius", "dfs"), ("shuttle", "random"), ("fabius", "random"),
               ("shuttle", "pct3"), ("fabius", "pct3"), ("fabius", "2"), ("fabius", "none")]
    print("| program | " + " | ".join(" ".join(c) for c in columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for program in programs:
        found = {c: [] for c in columns}
        for _ in range(3):
            for c in columns:
                found[c].append(run(*c, program, 1)["per_cpu_sec"])
        print(f"| {program} | " + " | ".join(f"{statistics.median(found[c]) / 1000:.0f}k" for c in columns) + " |", flush=True)


def exhaust():
    programs = ["mcounter-ok:2:1", "mcounter-ok:2:3", "mcounter-ok:3:2", "phil-ok:3", "buffer-ok:2:1:1", "wsq-ok:1:2",
                "wsq-ok:2:2", "window-ok:5"]
    columns = [("loom", "none"), ("loom", "2"), ("shuttle", "dfs"), ("fabius", "none"), ("fabius", "icb"), ("fabius", "1"),
               ("fabius", "2"), ("fabius", "3")]
    print("| program | " + " | ".join(" ".join(c) for c in columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for program in programs:
        cells = []
        for c in columns:
            r = run(*c, program, 10)
            cells.append(f"{r['executions']}" if r["end"] == "complete" else f">{r['executions']}")
        print(f"| {program} | " + " | ".join(cells) + " |", flush=True)


def bugs():
    programs = ["mcounter:2:1", "mcounter:3:3", "mcounter-min:2:3", "phil:3", "buffer:2:2:1", "wsq:1:2", "wsq:2:3",
                "window:10", "window:50"]
    columns = [("shuttle", s) for s in ["random", "urw", "pct2", "pct3"]]
    columns += [("fabius", s) for s in ["default", "random", "urw", "surw", "pos", "pct2", "pct3"]]
    print("| program | " + " | ".join(" ".join(c) for c in columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for program in programs:
        cells = []
        for tool, strategy in columns:
            seeds = [1] if strategy == "default" else range(1, 22)
            found = [run(tool, strategy, program, 5, seed, 20000) for seed in seeds]
            hits = [r["executions"] for r in found if r["end"] == "bug"]
            all_found = len(hits) == len(found)
            cells.append(f"{statistics.median(hits):.0f}" if all_found else f"{len(hits)} of {len(found)}")
        print(f"| {program} | " + " | ".join(cells) + " |", flush=True)


wanted = sys.argv[1:] or ["rates", "exhaust", "bugs"]
for name in wanted:
    print(f"\n{name}\n")
    {"rates": rates, "exhaust": exhaust, "bugs": bugs}[name]()
