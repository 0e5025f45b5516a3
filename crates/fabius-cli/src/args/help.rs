//! What `--help` says below the options.

pub const EXIT_CODES: &str = "\
Exit codes:
  0  no bug (within the bounds that the answer names), or nothing to report
  1  bug; for `fmt --check`: some file is not formatted
  2  bad input or usage, or an output that could not be written
  3  unknown: a limit or Ctrl-C stopped the search";

pub const DECIDE_HELP: &str = "\
`fabius FILE` is short for `fabius decide FILE`, for `fabius trace FILE` if the file is a
recorded run (.ctp), and for `fabius replay FILE` if it is a saved trace (.json).

Exploration, bounded model checking and, where there are processes of any number, engines for
these work side by side, with bounds that grow. The first bug or proof is the answer; whatever
it is, a bug is replayed before it is shown. The answer says who gave it, and what the others
had covered by then.

Examples:
  fabius examples/bluetooth.fab
  fabius examples/bluetooth_any_fixed.fab
  fabius examples/fig10.fab --const N=6 --time 30s
  fabius examples/account.fab --engine bmc

Exit codes:
  0  no bug within the bounds that the answer names, or verified
  1  bug
  2  bad input or usage, or an output that could not be written
  3  unknown: a limit or Ctrl-C stopped the search";

pub const CHECK_HELP: &str = "\
By default schedules are explored in order of their preemptions: none, one, two, .. until every
schedule has been explored or a limit stops the search. So the first bug found needs the fewest
preemptions.

Examples:
  fabius check examples/bluetooth.fab
  fabius check examples/bluetooth.fab --trace bug.trace.json
  fabius check examples/bluetooth.fab --bound delays --max 2 --stats
  fabius check examples/philosophers.fab --const N=4 --json
  fabius check examples/bluetooth.fab --strategy pct:3 --executions 1000 --seed 7
  fabius check models/*.fab --max 2 --junit results.xml --sarif results.sarif

Exit codes, of several files the worst (2, 1, 3, 0):
  0  no bug within the bounds that the answer names, or verified
  1  bug
  2  bad input or usage, or an output that could not be written
  3  unknown: a limit or Ctrl-C stopped the search";

pub const VERIFY_HELP: &str = "\
The program is translated to a sequential one, whose loops and calls are followed as far as
--unwind and --recursion say; a solver looks for values for which an assertion fails. What is
found is run again in the reference semantics before it is shown. Deadlocks are looked for with
--rounds only.

Examples:
  fabius verify examples/bluetooth.fab --rounds 2
  fabius verify examples/fig10.fab --const N=8 --zields 8
  fabius verify examples/account.fab
  fabius verify examples/bluetooth.fab --dump smt2 question.smt2

Exit codes:
  0  no bug within the bounds that the answer names
  1  bug
  2  bad input or usage, or an output that could not be written
  3  unknown: a limit or Ctrl-C stopped the search";

pub const TRACE_HELP: &str = "\
A recorded run of a message-passing program (docs/messages.md describes the text) stands for all
runs that take the same path with their messages in other orders. A solver looks for one that is
a bug; what it finds is run again, step by step, before it is shown. Other paths of the program
are other traces.

Examples:
  fabius trace examples/mcapi.ctp
  fabius trace examples/mcapi.ctp --property deadlock --buffering zero
  fabius trace examples/mcapi.ctp --enumerate
  fabius trace examples/mcapi.ctp --encoding match-pair --stats

Exit codes:
  0  no order of the messages is a bug on this path
  1  bug
  2  bad input or usage, or an output that could not be written
  3  unknown: a limit or Ctrl-C stopped the search";

pub const RUN_HELP: &str = "\
The program runs in a process of its own, its threads one at a time, again and again: without
preemptions first, then with one, two, .. Memory is restored in between. So the first bug found
needs the fewest. Data races become scheduling points; if nothing else fails, they are the bug.

Examples:
  fabius cc queue_test.c -o queue_test
  fabius run ./queue_test
  fabius run ./queue_test --trace bug.json --html bug.html
  fabius run ./queue_test --replay bug.json
  fabius run ./queue_test --strategy pct:3 --executions 100000 -- --items 4

Exit codes:
  0  no bug within the bounds that the answer names, or verified
  1  bug
  2  bad input or usage, or an output that could not be written
  3  unknown: a limit or Ctrl-C stopped the search, or the program needs what is not supported";

pub const CC_HELP: &str = "\
All arguments are the compiler's. `fabius cc --with gcc-13 ..` names the compiler; -v prints its
command.

Examples:
  fabius cc -O1 test.c -o test
  make CC=\"fabius cc\" CXX=\"fabius c++\"";

pub const TRANSLATE_HELP: &str = "\
The printed program is one of Fabius again. It makes guesses of states and takes back (`assume`)
those that were wrong; it fails its last assertion in the executions in which the concurrent
program fails one.

Examples:
  fabius translate examples/bluetooth.fab --to sequential --delays 1
  fabius translate examples/fig10.fab --to single-buffer --zields 3

Exit codes:
  0  done
  2  bad input or usage
  3  a limit or Ctrl-C stopped it; nothing is printed";

pub const COMPARE_HELP: &str = "\
Strategies: icb (preemptions, the fewest first), delay:round-robin and delay:depth-first
(delays, the fewest first), dfs, random, pct:D (random priorities with D - 1 points of change),
db:N (depth-first, executions cut after N steps), idfs (the shortest executions first).

Those that go from low costs to higher ones are also searched as `fabius check` does, to count
what is within each bound. Then every strategy runs executions one after the other from the
beginning, up to the first bug, without leaving any out. A file that ends in `.json` holds what
was measured before: what --json printed, or what `fabius::compare` saved of a Rust test; it is
read and drawn as it is.

Examples:
  fabius compare corpus/coverage/safe/work_stealing_queue.fab --points sync
  fabius compare examples/bluetooth.fab --strategies icb,delay:round-robin,random --seeds 20
  fabius compare corpus/threads/bug/*.fab --svg plots --csv plots
  fabius compare target/fabius/queue.comparison.json --svg plots

Exit codes:
  0  done, whether or not there are bugs
  2  bad input or usage, or an output that could not be written
  3  Ctrl-C stopped it; what is printed is not complete";

pub const REPORT_HELP: &str = "\
The page holds everything and needs no network: send it to a colleague. The source is shown if
the program is found unchanged, at the path in the trace, from the current directory and from
the trace's. The traces that Rust tests save are read too.

Example:
  fabius report bug.json -o bug.html

Exit codes:
  0  done
  2  bad input, or a page that could not be written";

pub const REPLAY_HELP: &str = "\
The program is looked for at the path in the trace, from the current directory and from the
trace's. When standard input is a terminal you step through the trace; otherwise it is printed.

Exit codes:
  1  the bug happened again
  2  bad input: the trace is damaged, edited, of another program or of another version of Fabius";

pub const COMPLETIONS_HELP: &str = "\
Examples:
  fabius completions bash > ~/.local/share/bash-completion/completions/fabius
  fabius completions zsh > ~/.zfunc/_fabius
  fabius completions fish > ~/.config/fish/completions/fabius.fish";

#[cfg(test)]
mod tests {
    /// Longer lines are broken by the terminal's width, or by the 100 columns that are taken for one.
    #[test]
    fn no_line_is_broken() {
        let texts = include_str!("help.rs").split("#[cfg(test)]").next().unwrap_or_default();
        let long: Vec<&str> = texts.lines().filter(|line| line.len() > 100).collect();
        assert!(long.is_empty(), "{long:?}");
    }
}
