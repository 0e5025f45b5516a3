#!/usr/bin/env python3
"""Mutants of released crates: who finds them, loom or fabius-loom, within the same number of preemptions, and
after how many executions.

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
from dataclasses import dataclass
from statistics import median

from crates import CRATES, WORK, both_looms, build, copy, fetch, run, tests_of

ORDERING = re.compile(r"\b(?:Ordering::)?(Acquire|Release|AcqRel|SeqCst)\b(?=\s*[,)])")
ATOMIC = "core::sync::atomic::Ordering"
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
                # In full: the name need not be imported.
                change(match, f"{ATOMIC}::{now}", f"{was} -> {now}")
        for match in RMW.finditer(text):
            of, name, value, _ = match.groups()
            strong = f"{ATOMIC}::SeqCst"
            new = f"{{ let at = &{of}; let value = {value}; let old = at.load({strong}); at.store({NEW[name].format('value')}, {strong}); old }}"
            change(match, new, f"{name} in two")
        for match in STORE.finditer(text):
            change(match, ";", "store left out")
    return found


def first_failure(folder, crate, looms, target, environment, seconds):
    """How the tests end, until one fails: `found`, `missed`, `late` if a test was cut, `none` if it does not compile; the test
    that fails, its executions and CPU seconds, or the executions of all."""
    binaries, said = build(folder, crate, looms, target)
    if said:
        return End("none")
    ended, executions_all = "missed", 0
    for binary in binaries:
        for test in tests_of(binary, folder, crate[5]):
            end, cpu, executions, _ = run(binary, test, environment, folder, seconds)
            if end in ("FAILED", "ABORTED"):
                return End("found", test, executions, cpu)
            ended, executions_all = "late" if end == "TIMEOUT" else ended, executions_all + executions
    return End(ended, executions=executions_all)


@dataclass
class End:
    how: str
    test: str = ""
    executions: int = 0
    cpu: float = 0.0

    def __str__(self):
        return f"{self.how:<6} {self.executions:>7} {self.cpu:6.2f} s"


def row(name, ends):
    """What is in the table of a crate, or of all: mutants, found by either, by one alone; executions of the test that fails
    where it is the same one and both say how many they were, and CPU seconds of that."""
    both = [(loom, ours) for loom, ours in ends if loom.how == ours.how == "found"]
    counted = [(a, b) for a, b in both if a.test == b.test and a.executions and b.executions]
    same = [(a.executions, b.executions) for a, b in counted]
    one, other = [sum(loom.how == "found" for loom, _ in ends), sum(ours.how == "found" for _, ours in ends)]
    fewer, as_many = sum(b < a for a, b in same), sum(a == b for a, b in same)
    medians = [str(round(median(column))) if same else "" for column in (list(zip(*same)) or [[], []])]
    sums = [str(sum(column)) for column in (list(zip(*same)) or [[], []])]
    cpu = [f"{sum(end.cpu for end in column):.2f}" for column in (list(zip(*counted)) or [[], []])]
    cells = [name, len(ends), one, other, one - len(both), other - len(both), len(same), *medians, *sums, fewer, as_many, *cpu]
    return "| " + " | ".join(map(str, cells)) + " |"


HEAD = """
| crate | mutants | loom | ours | loom alone | ours alone | counted | median, loom | ours | sum, loom | ours | fewer | equal | CPU s, loom | ours |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"""


# What those crates ask rustc for whose other dependencies compile with all of that: what they share is built once.
FLAGS = "--cfg loom --cfg diatomic_waker_loom --cfg multishot_loom"


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
    worse, rows, all_ends = [], [], []
    for crate in [c for c in CRATES if not asked.crates or c[0] in asked.crates]:
        name, version, flags, cargo, variables, part = crate
        if flags in FLAGS:
            crate = (name, version, FLAGS, cargo, variables, part)
        folder = copy(sources[name, version], f"mutants-{name}-{version}")
        # To say where a panic was takes longer than most of these tests.
        environment = {**os.environ, **variables, "LOOM_MAX_PREEMPTIONS": str(asked.preemptions), "RUST_BACKTRACE": "0"}
        ends = []
        for what, path, text in [("unchanged", None, None), *mutants(folder)[asked.first :: asked.every]]:
            was = path and path.read_text()
            if path:
                path.write_text(text)
            both = []
            for tool in ["loom", "fabius"]:
                both.append(first_failure(folder, crate, looms[tool], WORK / f"target-{tool}", environment, asked.seconds))
                if both[-1].how == "none":
                    break
            if path:
                path.write_text(was)
            if len(both) < 2:
                continue
            loom, ours = both
            print(f"loom {loom}  ours {ours}  {name} {what}  {loom.test} {ours.test if ours.test != loom.test else ''}", flush=True)
            if not path:
                if "found" in (loom.how, ours.how):
                    sys.exit(f"{name} fails as it is")
                continue
            ends.append((loom, ours))
            if loom.how == "found" and ours.how != "found":
                worse.append(f"{name}: {what} ({loom.test})")
        rows.append(row(f"{name} {version}", ends))
        all_ends += ends
        shutil.rmtree(folder)
        print(HEAD, rows[-1], sep="\n", flush=True)
    print(HEAD, *rows, row("all", all_ends), sep="\n")
    print(f"\nfound by loom and not by fabius-loom: {len(worse)}", *worse, sep="\n    ")
    sys.exit(bool(worse))


if __name__ == "__main__":
    main()
