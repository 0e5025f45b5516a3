#!/usr/bin/env python3
"""Random rounds of loops, built by an optimizing compiler: whether the failure of each is found.

    python3 bench/rounds/random_rounds.py SEED COUNT [--level 1|2|3]

Each round computes something of eight words with straight-line code, between operations that change nothing, and asks about it. A model
here says what it answers before and after one word has changed; the program checks the model. Then Fabius explores a program that fails
once the answer has changed often enough (`crates/rounds`). Exit status 1: a failure was missed."""

import argparse
import pathlib
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
ALL = (1 << 64) - 1


def signed(x, bits=64):
    x &= (1 << bits) - 1
    return x - (1 << bits) if x >> (bits - 1) else x


def deep(x, times):
    return x if times == 0 else (deep(x >> 1, times - 1) ^ times) & ALL


def byte_swapped(x):
    return int.from_bytes(x.to_bytes(8, "little"), "big")


ONES = 0x0101010101010101
# Expressions of one value or of two, with their models.
OF_ONE = [
    ("({a} as u8) as u64", lambda a: a & 255),
    ("({a} as u32) as u64", lambda a: a & 0xFFFFFFFF),
    ("({a} as i8) as i64 as u64", lambda a: signed(a, 8) & ALL),
    ("({a} as i32) as i64 as u64", lambda a: signed(a, 32) & ALL),
    ("({a} >> 8) as u8 as u64", lambda a: a >> 8 & 255),
    ("({a} >> 32)", lambda a: a >> 32),
    ("{a}.wrapping_add(3)", lambda a: (a + 3) & ALL),
    ("{a}.wrapping_sub(5)", lambda a: (a - 5) & ALL),
    ("{a}.wrapping_sub(1 << 31)", lambda a: (a - (1 << 31)) & ALL),
    ("{a}.wrapping_mul(3)", lambda a: a * 3 & ALL),
    ("{a}.wrapping_mul(10)", lambda a: a * 10 & ALL),
    ("{a}.count_ones() as u64", lambda a: bin(a).count("1")),
    ("{a}.leading_zeros() as u64", lambda a: 64 - a.bit_length()),
    ("{a}.swap_bytes()", byte_swapped),
    ("{a}.rotate_left(9)", lambda a: (a << 9 | a >> 55) & ALL),
    ("(!{a})", lambda a: ~a & ALL),
    ("{a}.wrapping_neg()", lambda a: -a & ALL),
    ("({a} & !15)", lambda a: a & ~15 & ALL),
    ("({a} & 7)", lambda a: a & 7),
    ("({a} | 1)", lambda a: a | 1),
    ("({a} / 7)", lambda a: a // 7),
    ("({a} % 5)", lambda a: a % 5),
    ("({a} == 0) as u64", lambda a: int(a == 0)),
    ("(({a} as i64) < 2) as u64", lambda a: int(signed(a) < 2)),
    ("{a}.saturating_sub(1)", lambda a: max(a - 1, 0)),
    ("jump({a})", lambda a: [3, 9, 4, 17, 80, 2, 40, 7][min(a, 7)]),
    ("table({a})", lambda a: [7, 7, 1, 0, 7, 2, 9, 9][a & 7]),
    ("deep({a}, 3)", lambda a: deep(a, 3)),
    ("boxed({a})", lambda a: a),
    ("sum_below({a} & 7)", lambda a: sum(range(a & 7))),
    ("black_box({a})", lambda a: a),
    ("part(all, 0, {a} as u8)", lambda a: ONES & ~255 | a & 255),
    ("part(all, 1, {a} as u8)", lambda a: ONES & ~0xFF00 | (a & 255) << 8),
    ("part(all, 1, {a} as u32)", lambda a: (a & 0xFFFFFFFF) << 32 | ONES & 0xFFFFFFFF),
    ("byte_of_stack({a})", lambda a: 0x0202020202020200 | a & 255),
    ("by_lanes({a})", lambda a: a),
    ("turns_over({a})", lambda a: int((a + 7) & ALL < (a + 3) & ALL)),
    ("((black_box(({a} & 0xffff) as f64) * 2.0) as u64)", lambda a: (a & 0xFFFF) * 2),
]
OF_TWO = [
    ("({a} ^ {b})", lambda a, b: a ^ b),
    ("{a}.wrapping_add({b})", lambda a, b: (a + b) & ALL),
    ("{a}.wrapping_sub({b})", lambda a, b: (a - b) & ALL),
    ("({a} & {b})", lambda a, b: a & b),
    ("({a} | {b})", lambda a, b: a | b),
    ("({a} == {b}) as u64", lambda a, b: int(a == b)),
    ("({a} < {b}) as u64", lambda a, b: int(a < b)),
    ("(({a} as i64) < ({b} as i64)) as u64", lambda a, b: int(signed(a) < signed(b))),
    ("(({a} as u8) < ({b} as u8)) as u64", lambda a, b: int((a & 255) < (b & 255))),
    ("{a}.max({b})", max),
    ("({a} as i64).min({b} as i64) as u64", lambda a, b: min(signed(a), signed(b)) & ALL),
    ("({a} >> ({b} & 63))", lambda a, b: a >> (b & 63)),
    ("high_of_sum({a}, {b})", lambda a, b: ((a << 64 | b) + (b << 64 | a)) >> 64 & ALL),
    ("({a} / ({b} | 1))", lambda a, b: a // (b | 1)),
    ("{a}.abs_diff({b})", lambda a, b: abs(a - b)),
    ("if {a} == 1 {{ {b} }} else {{ 6 }}", lambda a, b: b if a == 1 else 6),
    ("chosen({a} & 1 == 1, {b}, 4)", lambda a, b: b if a & 1 else 4),
    ("spilled({a}, {b}).0", lambda a, b: a),
    ("spilled({a}, {b}).1", lambda a, b: b),
    ("same_slices({a}, {b})", lambda a, b: int(a == b)),
    ("{a}.checked_sub({b}).unwrap_or(33)", lambda a, b: a - b if a >= b else 33),
]
# Operations that change nothing.
BETWEEN = [
    "drop(all.other_lock.lock().unwrap());",
    "black_box(all.other_lock.try_lock().is_ok());",
    "all.other_lock.lock().map(|held| black_box(*held)).unwrap();",
    "all.other.load(SeqCst);",
    "all.other.fetch_add(0, SeqCst);",
    "let _ = all.other.compare_exchange(9, 1, SeqCst, SeqCst);",
    "drop(all.counted.clone());",
    "fence(SeqCst);",
    "drop(black_box(Box::new(3u64)));",
]
# What is read of a word.
READS = [
    ("all.word({n})", lambda w: w),
    ("all.word({n})", lambda w: w),
    ("all.word({n})", lambda w: w),
    ("read::<u8>(all, {n}, 0) as u64", lambda w: w & 255),
    ("read::<u16>(all, {n}, 0) as u64", lambda w: w & 0xFFFF),
    ("read::<u32>(all, {n}, 0) as u64", lambda w: w & 0xFFFFFFFF),
    ("read::<u32>(all, {n}, 4) as u64", lambda w: w >> 32),
    ("read::<i8>(all, {n}, 7) as i64 as u64", lambda w: signed(w >> 56, 8) & ALL),
]
# What the word is before and after.
CHANGES = [
    (0, 1), (0, 2), (1, 0), (1, 2), (2, 1), (2, 3), (3, 7), (5, 4), (16, 0), (0, 256), (65536, 0), (0, 1 << 32), (1, 1 << 32 | 1),
    (0, ALL), (0, ALL - 4), (0, 1 << 63), (1, 1 << 63 | 1), (1 << 33, (1 << 33) + 16), (1 << 33, (1 << 32) + 16), (1 << 34, 1 << 35),
    (0x101010101, 0x201010101), ((1 << 32) + (1 << 31), 1 << 32),
]


def condition(rng, old, new):
    """What is not so of a value before, and is after."""
    low = ((old ^ new) & -(old ^ new)).bit_length() - 1
    ways = [
        f"{{v}} == {new}",
        f"{{v}} != {old}",
        f"{{v}} {'>' if new > old else '<'} {old}",
        f"({{v}} as i64) {'>' if signed(new) > signed(old) else '<'} {signed(old)}i64",
        f"({{v}} >> {low}) & 1 == {new >> low & 1}",
    ]
    return rng.choice(ways)


def program(rng, number):
    """The source of a function, and the program that asks it."""
    while True:
        old, new = rng.choice(CHANGES)
        at = rng.randrange(8)
        words = [rng.choice([old, old, new, 0, 1, 2]) for _ in range(8)] if rng.random() < 0.6 else [old] * 8
        words[at] = old
        changed = words[:at] + [new] + words[at + 1 :]
        lines, values = [], []

        def add(text, before, after):
            lines.append(f"let v{len(values)} = {text};")
            values.append((before, after))

        others = [n for n in range(8) if n != at]
        for n in rng.sample([at] + rng.sample(others, rng.randrange(2, 6)), k=3) + [at]:
            text, model = rng.choice(READS)
            add(text.format(n=n), model(words[n]), model(changed[n]))
        for _ in range(rng.randrange(1, 6)):
            if rng.random() < 0.4:
                lines.append(rng.choice(BETWEEN))
                continue
            text, model = rng.choice(OF_ONE + OF_TWO)
            a, b = rng.randrange(len(values)), rng.randrange(len(values))
            of = [values[a]] if (text, model) in OF_ONE else [values[a], values[b]]
            add(text.format(a=f"v{a}", b=f"v{b}"), model(*(v[0] for v in of)), model(*(v[1] for v in of)))
        lines += [f"black_box(v{n});" for n in range(len(values)) if rng.random() < 0.4]
        differ = [n for n, (before, after) in enumerate(values) if before != after]
        if not differ:
            continue
        n = rng.choice(differ[-2:])
        ask = condition(rng, *values[n]).format(v=f"v{n}")
        body = "\n    ".join(lines + [ask])
        place = rng.choice(["UnderALock", "BeforeALock", "BetweenLoads"])
        source = f"#[inline(never)]\nfn asks_{number}(all: &Shared) -> bool {{\n    {body}\n}}\n"
        return source, f"Program {{ asks: asks_{number}, words: {words}, at: {at}, to: {new}, place: Place::{place} }}"


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("seed", type=int)
    options.add_argument("count", type=int)
    options.add_argument("--level", default="3", choices=["1", "2", "3"], help="of optimization")
    given = options.parse_args()
    if given.count < 1:
        options.error("COUNT is at least 1")
    rng = random.Random(given.seed)
    sources, programs = zip(*(program(rng, number) for number in range(given.count)))
    table = ",\n        ".join(programs)
    text = (ROOT / "bench/rounds/asks.rs").read_text() + "\n" + "\n".join(sources)
    text += f"\nfn main() {{\n    explore(&[\n        {table},\n    ]);\n}}\n"
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "src").mkdir()
        (folder / "src/main.rs").write_text(text)
        (folder / "Cargo.toml").write_text(
            f'[package]\nname = "random-rounds"\nversion = "0.0.0"\nedition = "2024"\n\n[workspace]\n\n'
            f'[dependencies]\nfabius = {{ path = "{ROOT}/crates/fabius" }}\nrounds = {{ path = "{ROOT}/crates/rounds" }}\n\n'
            f"[profile.release]\nopt-level = {given.level}\n"
        )
        (folder / "Cargo.lock").write_text((ROOT / "Cargo.lock").read_text())
        target = ROOT / "target/random-rounds"
        run = ["cargo", "run", "--quiet", "--release", "--target-dir", target]
        status = subprocess.run(run, cwd=folder).returncode
    if status not in (0, 1):
        print("the programs could not be built or explored", file=sys.stderr)
    sys.exit(status)


if __name__ == "__main__":
    main()
