"""Prints fresh random programs with their facts, in the form of the files beside this one: fresh.py ORACLE SEED COUNT.

ORACLE is the folder of an oracle `weak.py` with `random_program`, `Program` and `explore`.
"""

import random
import sys

sys.path.insert(0, sys.argv[1])
import weak

rng, count = random.Random(int(sys.argv[2])), int(sys.argv[3])


def front(pairs):
    return " ".join(f"{d},{p}" for d, p in sorted(pairs))


blocks = []
while len(blocks) < count:
    number = len(blocks)
    program = weak.random_program(rng, f"fresh-{sys.argv[2]}-{number}", weak.PROFILES[number % len(weak.PROFILES)])
    found, _ = weak.explore(weak.Program(program), limit=3000)
    if found is None:
        continue
    lines = [program["name"]] + ["  thread: " + "; ".join(thread) for thread in program["threads"]]
    lines += [f"  {name}: {front(found[key])}" for name, key in (("race", weak.RACE), ("blocked", weak.BLOCKED)) if key in found]
    lines += [f"  {text} @ {front(pairs)}" for text, pairs in sorted(found.items()) if text not in (weak.RACE, weak.BLOCKED)]
    blocks.append("\n".join(lines))
print("\n\n".join(blocks))
