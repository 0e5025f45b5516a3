#!/usr/bin/env python3
"""Mutants of released crates: who finds them, loom or fabius-loom, within the same number of preemptions, and how fast.

One place of a crate is changed at a time: an ordering becomes weaker, a read-modify-write becomes a load and a store, a store is
left out. The crate's own loom tests are run one after the other until one fails. It ends with a failure if loom finds a mutant
that fabius-loom does not. As with crates.py, no source of a crate is in this repository.

Usage: bench/peer-tests/mutants.py [CRATE..] [--every N] [--from N] [--seconds N] [--preemptions N]
"""

import argparse
import os
import re
import shutil
import sys

from crates import CRATES, WORK, both_looms, build, copy, fetch, run, tests_of

ORDERING = re.compile(r"\b(?:Ordering::)?(Acquire|Release|AcqRel|SeqCst)\b(?=\s*[,)])")
WEAKER = {"Acquire": ["Relaxed"], "Release": ["Relaxed"], "AcqRel": ["Acquire", "Release"], "SeqCst": ["Relaxed"]}
VALUE = r"((?:[^(),]|\([^()]*\))+)"
RMW = re.compile(r"((?:\bself\b|\b\w+)(?:\.\w+)*)\.(fetch_add|fetch_sub|fetch_or|fetch_and|swap)\(\s*" + VALUE + r",\s*" + VALUE + r"\)")
STORE = re.compile(r"((?:\bself\b|\b\w+)(?:\.\w+)*)\.store\(\s*" + VALUE + r",\s*" + VALUE + r"\);")
NEW = {"fetch_add": "old.wrapping_add({})", "fetch_sub": "old.wrapping_sub({})", "fetch_or": "old | {}", "fetch_and": "old & {}", "swap": "{}"}


def code(text):
    """How much of a file is no test: what follows `#[cfg(test)]` on a module is one."""
    test = re.search(r"^\s*#\[cfg\((?:all\()?test.*\]\s*\n\s*(?:pub )?mod \w+ \{", text, re.M)
    return test.start() if test else len(text)


def is_code(text, at):
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return "//" not in line and not line.lstrip().startswith("use ")


def mutants(folder):
    """Each as (what, path, text of the file)."""
    found = []
    for path in sorted((folder / "src").rglob("*.rs")):
        if re.search(r"test|loom", str(path.relative_to(folder))):
            continue
        text = path.read_text()
        end = code(text)

        def change(match, new, what):
            if match.start() < end and is_code(text, match.start()):
                line = text.count("\n", 0, match.start()) + 1
                place = f"{path.relative_to(folder)}:{line}"
                found.append((f"{place} {what}", path, text[: match.start()] + new + text[match.end() :]))

        for match in ORDERING.finditer(text):
            was = match.group(1)
            for now in WEAKER[was]:
                change(match, match.group(0).replace(was, now), f"{was} -> {now}")
        for match in RMW.finditer(text):
            of, name, value, _ = match.groups()
            strong = "core::sync::atomic::Ordering::SeqCst"
            new = f"{{ let at = &{of}; let value = {value}; let old = at.load({strong}); at.store({NEW[name].format('value')}, {strong}); old }}"
            change(match, new, f"{name} in two")
        for match in STORE.finditer(text):
            change(match, ";", "store left out")
    return found


def first_failure(folder, crate, looms, target, environment, seconds):
    """How the tests end, until one fails: `found`, `missed`, `late` if a test was cut, `none` if it does not compile; CPU seconds, executions."""
    binaries, said = build(folder, crate, looms, target)
    if said:
        return "none", 0.0, 0, ""
    ended, cpu_all, executions_all = "missed", 0.0, 0
    for binary in binaries:
        for test in tests_of(binary, folder, crate[5]):
            end, cpu, executions, _ = run(binary, test, environment, folder, seconds)
            cpu_all, executions_all = cpu_all + cpu, executions_all + executions
            if end in ("FAILED", "ABORTED"):
                return "found", cpu_all, executions_all, test
            ended = "late" if end == "TIMEOUT" else ended
    return ended, cpu_all, executions_all, ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("crates", nargs="*", help="crates to mutate; all if none is named")
    parser.add_argument("--every", type=int, default=1, help="one mutant of so many")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the number of the first")
    parser.add_argument("--seconds", type=int, default=20, help="CPU time for each test")
    parser.add_argument("--preemptions", type=int, default=2, help="at most so many, with both")
    asked = parser.parse_args()
    sources = fetch()
    looms = both_looms(sources)
    worse, cpu_of = [], {"loom": 0.0, "fabius": 0.0}
    counts = {}
    for crate in [c for c in CRATES if not asked.crates or c[0] in asked.crates]:
        name, version, _, _, variables, _ = crate
        folder = copy(sources[name, version], f"mutants-{name}-{version}")
        environment = {**os.environ, **variables, "LOOM_MAX_PREEMPTIONS": str(asked.preemptions)}
        for what, path, text in mutants(folder)[asked.first :: asked.every]:
            was = path.read_text()
            path.write_text(text)
            ends = {}
            for tool in ["loom", "fabius"]:
                ends[tool] = first_failure(folder, crate, looms[tool], WORK / f"target-{tool}", environment, asked.seconds)
                if ends[tool][0] == "none":
                    break
            path.write_text(was)
            if len(ends) < 2:
                continue
            loom, fabius = ends["loom"], ends["fabius"]
            counts[loom[0], fabius[0]] = counts.get((loom[0], fabius[0]), 0) + 1
            if loom[0] == fabius[0] == "found":
                cpu_of["loom"], cpu_of["fabius"] = cpu_of["loom"] + loom[1], cpu_of["fabius"] + fabius[1]
            if loom[0] == "found" and fabius[0] != "found":
                worse.append(f"{name}: {what} ({loom[3]})")
            columns = "  ".join(f"{tool} {e[0]:<6} {e[1]:7.2f} s {e[2]:>8}" for tool, e in ends.items())
            print(f"{columns}  {name} {what}  {fabius[3] or loom[3]}", flush=True)
        shutil.rmtree(folder)
    print("\nloom, fabius-loom: mutants")
    for (loom, fabius), count in sorted(counts.items()):
        print(f"{loom}, {fabius}: {count}")
    print(f"CPU seconds to the failure where both find one: loom {cpu_of['loom']:.2f}, fabius-loom {cpu_of['fabius']:.2f}")
    print(f"found by loom and not by fabius-loom: {len(worse)}", *worse, sep="\n    ")
    sys.exit(bool(worse))


if __name__ == "__main__":
    main()
