#!/usr/bin/env python3
"""Runs the loom tests of released crates, as they come from crates.io, with loom and with fabius-loom.

Prints for each crate: tests passed, CPU seconds, executions. Every test runs in a process of its own with a time limit. No
source of a crate is in this repository: cargo fetches them, and the copies are made below the folder for temporary files. The
lines that are added to the copy of loom print how many executions a model took, or how many there were until it failed.

Usage: bench/peer-tests/crates.py [CRATE..] [--only TEXT] [--seconds N] [--tool loom|fabius]
Environment: FABIUS (the workspace; default: that of the script)
"""

import argparse
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(os.environ.get("FABIUS") or Path(__file__).resolve().parents[2])
WORK = Path(tempfile.gettempdir()) / "fabius-peer-tests"

# Name, version, the flags for rustc, of cargo test, and the variables that the crate's own CI sets; a part of the tests' names.
CRATES = [
    ("async-event", "0.2.1", "--cfg async_event_loom", "--lib", {}, "loom"),
    ("bytes", "1.12.1", "--cfg loom", "--lib", {}, ""),
    ("concurrent-queue", "2.5.0", "--cfg loom", "--test loom --features loom", {}, ""),
    ("cordyceps", "0.3.5", "--cfg loom", "--lib --all-features", {}, "loom"),
    ("crossbeam-epoch", "0.9.21", "--cfg crossbeam_loom --cfg crossbeam_sanitize", "--test loom --features loom", {"LOOM_MAX_PREEMPTIONS": "2"}, ""),
    ("diatomic-waker", "0.2.3", "--cfg diatomic_waker_loom", "--lib", {}, "loom"),
    ("event-listener", "5.4.2", "--cfg loom", "--test loom --features loom", {}, ""),
    ("left-right", "0.11.8", "--cfg loom", "--test loom", {"LOOM_MAX_PREEMPTIONS": "3"}, ""),
    ("maitake-sync", "0.2.2", "--cfg loom", "--lib --all-features", {"LOOM_MAX_PREEMPTIONS": "2"}, ""),
    ("multishot", "0.3.2", "--cfg multishot_loom", "--lib", {}, "loom"),
    ("oneshot", "0.1.13", "--cfg oneshot_loom", "--test loom --features loom", {}, ""),
    ("parking", "2.2.1", "--cfg loom", "--test loom --features loom", {}, ""),
    ("sharded-slab", "0.1.7", "--cfg loom", "--lib", {"LOOM_MAX_PREEMPTIONS": "2"}, ""),
    ("st3", "0.4.1", "--cfg st3_loom", "--test integration", {}, "loom"),
    ("tachyonix", "0.3.1", "--cfg tachyonix_loom", "--lib", {}, "loom"),
    ("thingbuf", "0.1.6", "--cfg loom", "--lib", {"LOOM_MAX_PREEMPTIONS": "2"}, ""),
    ("tokio", "1.54.1", "--cfg loom --cfg tokio_unstable", "--lib --features full,test-util", {"LOOM_MAX_PREEMPTIONS": "2", "LOOM_MAX_BRANCHES": "10000"}, ""),
]
LOOMS = {"0.7": "0.7.2", "0.5": "0.5.6"}


def fetch():
    """Where cargo has put the sources of each package."""
    folder = WORK / "fetch"
    (folder / "src").mkdir(parents=True, exist_ok=True)
    (folder / "src/lib.rs").touch()
    packages = [(name, version) for name, version, *_ in CRATES] + [("loom", v) for v in LOOMS.values()]
    lines = [f'p{i} = {{ package = "{name}", version = "={version}" }}' for i, (name, version) in enumerate(packages)]
    text = '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n[dependencies]\n' + "\n".join(lines) + "\n"
    (folder / "Cargo.toml").write_text(text)
    metadata = subprocess.run(["cargo", "metadata", "--format-version=1"], cwd=folder, check=True, stdout=subprocess.PIPE)
    found = {(p["name"], p["version"]): Path(p["manifest_path"]).parent for p in json.loads(metadata.stdout)["packages"]}
    return {package: found[package] for package in packages}


def copy(source, name):
    """A copy that is no part of a workspace, without its choice of versions, and newer than what was built of one before."""
    to = WORK / "sources" / name
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(source, to, copy_function=shutil.copy)
    for path in [to, *to.rglob("*")]:
        path.chmod(path.stat().st_mode | 0o200)
    (to / "Cargo.lock").unlink(missing_ok=True)
    return to


COUNT = """
static EXECUTIONS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

fn so_far() {
    eprintln!("loom: {} executions", EXECUTIONS.load(std::sync::atomic::Ordering::Relaxed));
}

fn say_at_each_panic() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            so_far();
            hook(panic);
        }));
    });
}
"""


def counting(source, series):
    """A copy of loom that prints how many executions there were, when a model is complete and at each panic."""
    to = copy(source, f"loom-{series}")
    model = to / "src/model.rs"
    text = model.read_text()
    for line, more in [
        ('info!(parent: None, "Completed in {} iterations", i - 1);', "so_far();"),
        ("let mut scheduler = Scheduler::new(", "say_at_each_panic(); let mut scheduler = Scheduler::new("),
        ("scheduler.run(&mut execution,", "EXECUTIONS.fetch_add(1, std::sync::atomic::Ordering::Relaxed); scheduler.run(&mut execution,"),
    ]:
        if line not in text:
            sys.exit(f"loom {series} no longer has the line `{line}`")
        text = text.replace(line, more)
    model.write_text(text + COUNT)
    return to


def build(folder, crate, looms, target):
    """The binaries of the tests of the copy of a crate, or what the compiler said."""
    _, _, rustc, cargo, _, _ = crate
    (folder / "Cargo.lock").unlink(missing_ok=True)
    command = ["cargo", "test", "--quiet", "--release", "--no-run", "--message-format=json", *cargo.split()]
    for series, path in looms.items():
        key = f"patch.crates-io.loom-{series.replace('.', '-')}"
        command += ["--config", f'{key}.package="loom"', "--config", f'{key}.path="{path}"']
    environment = {
        **os.environ,
        "RUSTFLAGS": rustc + " --cap-lints allow",
        "CARGO_TARGET_DIR": str(target),
        "CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS": "true",
        "CARGO_PROFILE_RELEASE_DEBUG": "false",
        "CARGO_PROFILE_RELEASE_OPT_LEVEL": "3",
        "CARGO_PROFILE_RELEASE_LTO": "false",
        "CARGO_PROFILE_RELEASE_PANIC": "unwind",
    }
    output = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    binaries, messages = [], []
    for line in output.stdout.splitlines():
        message = json.loads(line) if line.startswith("{") else {}
        if message.get("executable"):
            binaries.append(message["executable"])
        if message.get("message", {}).get("level") == "error":
            messages.append(message["message"]["rendered"])
    return binaries, "" if output.returncode == 0 else "\n".join(messages) + output.stderr


def run(binary, test, environment, folder, seconds):
    """How a test ends, its CPU time, its executions, and what it prints."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [binary, "--exact", test, "--nocapture", "--test-threads=1"]
    limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    try:
        done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=10 * seconds, preexec_fn=limit)
        output, ended = done.stdout, {0: "ok", 101: "FAILED", -signal.SIGXCPU: "TIMEOUT"}.get(done.returncode, "ABORTED")
    except subprocess.TimeoutExpired as late:
        output, ended = late.stdout or b"", "TIMEOUT"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = output.decode(errors="replace")
    if ended == "ok" and re.search(r"\.\.\. ignored|0 passed", text):
        ended = "ignored"
    # loom's number is that of all models so far, that of fabius of each by itself.
    executions = max([int(n) for n in re.findall(r"loom: (\d+) executions\b", text)], default=0)
    executions += sum(int(n) for n in re.findall(r"(?:; |found after )(\d+) executions? in ", text))
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return ended, cpu, executions, text


def both_looms(sources):
    """The folders of each series of loom, for each tool."""
    return {
        "loom": {series: counting(sources["loom", version], series) for series, version in LOOMS.items()},
        "fabius": {"0.7": ROOT / "patch/loom", "0.5": ROOT / "patch/loom-0.5"},
    }


def tests_of(binary, folder, part):
    """The names of its tests that have this part."""
    listed = subprocess.run([binary, "--list"], stdout=subprocess.PIPE, text=True, cwd=folder).stdout
    return [test for test in re.findall(r"^(.*): test$", listed, re.M) if part in test]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("crates", nargs="*", help="crates to run; all if none is named")
    parser.add_argument("--only", default="", help="a part of the names of tests")
    parser.add_argument("--seconds", type=int, default=60, help="CPU time for each test")
    parser.add_argument("--tool", choices=["loom", "fabius"], help="one of the two")
    asked = parser.parse_args()
    crates = [c for c in CRATES if not asked.crates or c[0] in asked.crates]
    tools = [asked.tool] if asked.tool else ["loom", "fabius"]

    sources = fetch()
    looms = both_looms(sources)
    worse = []
    print(f"{'crate':<24} {'tool':<7} {'passed':>9} {'CPU s':>8} {'executions':>11}", flush=True)
    for crate in crates:
        name, version, _, _, variables, part = crate
        folder = copy(sources[name, version], f"{name}-{version}")
        ends = {}
        for tool in tools:
            binaries, said = build(folder, crate, looms[tool], WORK / "target")
            output = WORK / "output" / tool / name
            shutil.rmtree(output, ignore_errors=True)
            output.mkdir(parents=True)
            ends[tool] = {}
            if said:
                (output / "compiler.txt").write_text(said)
                print(f"{name + ' ' + version:<24} {tool:<7} does not compile: {output / 'compiler.txt'}", flush=True)
                continue
            cpu_all, executions_all = 0.0, 0
            for binary in binaries:
                for test in tests_of(binary, folder, part):
                    if asked.only not in test:
                        continue
                    ended, cpu, executions, text = run(binary, test, {**os.environ, **variables}, folder, asked.seconds)
                    (output / (test.replace("::", ".") + ".txt")).write_text(text[-100_000:])
                    if ended == "ignored":
                        continue
                    ends[tool][test] = (ended, cpu, executions)
                    cpu_all, executions_all = cpu_all + cpu, executions_all + executions
            passed = sum(e == "ok" for e, _, _ in ends[tool].values())
            count = f"{passed}/{len(ends[tool])}"
            print(f"{name + ' ' + version:<24} {tool:<7} {count:>9} {cpu_all:>8.2f} {executions_all:>11}", flush=True)
            for test, (ended, cpu, executions) in ends[tool].items():
                if ended != "ok" or cpu > asked.seconds / 4:
                    print(f"    {ended:<8} {test} ({cpu:.1f} s, {executions} executions)", flush=True)
        if len(tools) == 2:
            good = [t for t, (ended, _, _) in ends["loom"].items() if ended == "ok"]
            worse += [f"{name}: {t}" for t in good if ends["fabius"].get(t, ("missing",))[0] != "ok"]
    if len(tools) == 2:
        print(f"\npass with loom and not with fabius-loom: {len(worse)}", *worse, sep="\n    ")
    print(f"output of each test: {WORK / 'output'}")
    sys.exit(bool(worse))


if __name__ == "__main__":
    main()
