//! What the options of a search do, on small programs.
//!
//! Length: one test for each option, with the programs in it.

mod common;

use common::{bug, build, build_text, plan, run, told};
use fabius_native::{Isolation, Plan, Walk, replay};
use fabius_trace::{Bound, BugKind, LinkKind, Mark, Points, SchedulerKind, Verdict};
use std::path::Path;
use std::time::Duration;

const LOST_UPDATE: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
static int count;
static void *add(void *unused) {
    int seen = count;
    count = seen + 1;
    return unused;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, add, 0);
    pthread_create(&b, 0, add, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    printf("counted to %d\n", count);
    assert(count == 2);
}
"#;

const LEAK: &str = "#include <stdlib.h>\nint main(void) { return malloc(10) == 0; }\n";

#[test]
fn a_race_beside_assembly_says_that_something_may_order_the_accesses() {
    let text = r#"
#include <pthread.h>
static int count;
static volatile int done;
static void *add(void *unused) {
    count = 1;
    BEGIN_DONE
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, add, 0);
    count = 2 + done;
    pthread_join(thread, 0);
}
"#;
    for (name, says, done) in [
        ("race_assembly.c", 1, "__asm__ volatile(\"lock addl $1, %0\" : \"+m\"(done) : : \"memory\");"),
        ("race_no_assembly.c", 0, "done = 1;"),
    ] {
        let report = run(&build_text(name, &text.replace("BEGIN_DONE", done)), &plan());
        assert_eq!(bug(&report).kind, BugKind::DataRace, "{name}");
        let said = report.notes.iter().filter(|note| note.starts_with("something may order these accesses: ")).count();
        assert_eq!(said, says, "{name}: {:?}", report.notes);
    }
}

#[test]
fn every_strategy_finds_the_lost_update() {
    let target = build_text("strategies.c", LOST_UPDATE);
    for walk in [Walk::DepthFirst, Walk::Random, Walk::Pct(3), Walk::Pos, Walk::Urw, Walk::Surw] {
        let report = run(&target, &Plan { walk, points: Points::All, executions: Some(10_000), ..plan() });
        assert_eq!(bug(&report).kind, BugKind::Assertion, "{walk:?}");
    }
}

#[test]
fn every_strategy_switches_before_the_end_of_the_process_and_at_files_and_requests() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let programs = ["main_returns_first.c", "stolen_byte.c", "ends_before_asked.c"];
    for target in programs.map(|name| build(&folder.join(name))) {
        for walk in [Walk::DepthFirst, Walk::Random, Walk::Pct(3), Walk::Pos, Walk::Urw, Walk::Surw] {
            let report = run(&target, &Plan { walk, executions: Some(10_000), ..plan() });
            assert_eq!(bug(&report).kind, BugKind::Assertion, "{walk:?} {}", target.program.display());
        }
    }
}

#[test]
fn bounds_count_what_they_say() {
    let target = build_text("bounds.c", LOST_UPDATE);
    let of =
        |bound, scheduler, max| told(&run(&target, &Plan { bound, scheduler, max, points: Points::All, ..plan() }));
    assert_eq!(of(Bound::Preemptions, SchedulerKind::Bag, None), "bug assertion 1");
    // With no preemption there is the race, but nobody is interrupted in the middle.
    assert_eq!(of(Bound::Preemptions, SchedulerKind::Bag, Some(0)), "bug data_race 0");
    assert_eq!(of(Bound::Delays, SchedulerKind::RoundRobin, None), "bug assertion 1");
}

#[test]
fn points_at_every_access_find_no_cheaper_bug() {
    let target = build_text("points.c", LOST_UPDATE);
    for points in [Points::Sync, Points::All] {
        assert_eq!(told(&run(&target, &Plan { points, ..plan() })), "bug assertion 1");
    }
}

#[test]
fn a_write_of_many_bytes_is_many_points_and_does_not_repeat_itself() {
    let text = "#include <pthread.h>\n#include <string.h>\nstatic char text[1600];\n\
        static void *fill(void *v) { memset(text, 1, sizeof text); return v; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, fill, 0); pthread_join(t, 0); return text[7] - text[1599]; }\n";
    let target = build_text("long_access.c", text);
    assert_eq!(told(&run(&target, &Plan { points: Points::All, ..plan() })), "verified");
}

#[test]
fn the_accesses_of_a_race_are_those_that_nothing_orders() {
    let text = "#include <pthread.h>\n#include <stdatomic.h>\nstatic atomic_int number, flag;\n\
        static void *set(void *v) {\n    *(int *)&number = 1;\n\
            atomic_store_explicit(&number, 2, memory_order_relaxed);\n\
            atomic_store_explicit(&flag, 1, memory_order_relaxed);\n    return v;\n}\n\
        int main(void) {\n    pthread_t t;\n    pthread_create(&t, 0, set, 0);\n\
            int is_set = atomic_load_explicit(&flag, memory_order_relaxed)\n\
                && atomic_load_explicit(&number, memory_order_relaxed);\n\
            pthread_join(t, 0);\n    return is_set;\n}\n";
    let target = build_text("behind.c", text);
    let report = run(&target, &plan());
    let message = &bug(&report).message;
    assert!(message.contains("write of set#1 at") && message.contains("behind.c:5"), "{message}");
    assert!(message.contains("atomic load of main#0 at") && message.contains("behind.c:14"), "{message}");
}

#[test]
fn reduction_changes_no_answer() {
    let target = build_text("reduction.c", LOST_UPDATE);
    let all = |reduction| run(&target, &Plan { reduction, points: Points::All, ..plan() });
    assert_eq!(told(&all(true)), told(&all(false)));
    let target = build_text(
        "reduced.c",
        "#include <pthread.h>\nstatic pthread_mutex_t a, b;\n\
        static void *use(void *m) { for (int i = 0; i < 2; i++) { pthread_mutex_lock(m); pthread_mutex_unlock(m); } return 0; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, use, &a); use(&b); pthread_join(t, 0); }\n",
    );
    let all = |reduction| run(&target, &Plan { reduction, ..plan() });
    let (with, without) = (all(true), all(false));
    assert_eq!((told(&with), told(&without)), ("verified".to_string(), "verified".to_string()));
    assert!(with.executions < without.executions);
}

/// Threads that are made by threads and end early, wait, choose whom to wake, and give way.
const OF_ALL_KINDS: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t any = PTHREAD_COND_INITIALIZER;
static int tickets;
static atomic_int order, left, ready;
static void *waits(void *number) {
    pthread_mutex_lock(&lock);
    while (tickets == 0) pthread_cond_wait(&any, &lock);
    tickets--;
    pthread_mutex_unlock(&lock);
    order = order * 4 + (int)(long)number;
    return 0;
}
static void *marks(void *unused) {
    left++;
    return unused;
}
static void *gives(void *unused) {
    pthread_t mark;
    pthread_create(&mark, 0, marks, 0);
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&lock);
        tickets++;
        pthread_cond_signal(&any);
        pthread_mutex_unlock(&lock);
    }
    pthread_join(mark, 0);
    ready = 1;
    return unused;
}
int main(void) {
    pthread_t threads[3];
    pthread_create(&threads[0], 0, waits, (void *)1);
    pthread_create(&threads[1], 0, waits, (void *)2);
    pthread_create(&threads[2], 0, gives, 0);
#ifdef YIELDS
    while (!ready) sched_yield();
#endif
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    assert(order != 2 * 4 + 1 || left == 0);
    return order == 3;
}
"#;

#[test]
fn what_is_done_without_asking_is_what_would_be_asked_for() {
    let same = OF_ALL_KINDS.replace("assert(order", "(void)(order");
    let yields = format!("#define YIELDS\n{same}");
    let programs = [("all_kinds.c", OF_ALL_KINDS), ("all_kinds_same.c", &same), ("all_kinds_yield.c", &yields)];
    let walks = [
        (Walk::Iterative, true, 50),
        (Walk::Iterative, false, 100),
        (Walk::DepthFirst, false, 30),
        (Walk::Random, true, 80),
        (Walk::Pct(3), true, 40),
    ];
    for (name, text) in programs {
        let target = build_text(name, text);
        for (walk, reduction, executions) in walks {
            let of = |isolation| {
                // Not made simpler: how far that comes depends on the clock.
                let (executions, shrinking) = (Some(executions), Duration::ZERO);
                let report = run(&target, &Plan { walk, isolation, reduction, executions, shrinking, ..plan() });
                let levels = report.levels.iter().map(|l| (l.bound, l.executions, l.states, l.transitions));
                let trace = match &report.verdict {
                    Verdict::Bug { trace } => trace.steps.iter().map(|s| s.turn.clone()).collect(),
                    _ => Vec::new(),
                };
                (told(&report), report.executions, levels.collect::<Vec<_>>(), trace)
            };
            // Where each execution has a process of its own, every step is asked for.
            assert_eq!(of(None), of(Some(Isolation::Process)), "{name} {walk:?} {reduction}");
        }
    }
}

#[test]
fn the_first_race_ends_the_search_if_asked() {
    let target = build_text("first_race.c", LOST_UPDATE);
    let report = run(&target, &Plan { first_race: true, ..plan() });
    let trace = bug(&report);
    assert_eq!((trace.kind, trace.cost), (BugKind::DataRace, 0));
    assert!(trace.message.contains("count") && trace.message.contains("first_race.c:8"), "{}", trace.message);
    assert!(trace.links.iter().any(|l| l.kind == LinkKind::Race), "the two accesses are linked");
}

#[test]
fn several_processes_explore_what_one_explores() {
    let text = "#include <pthread.h>\nstatic int volatile x, y;\n\
        static void *use(void *v) { for (int i = 0; i < 3; i++) { x++; y--; } return v; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, use, 0); use(0); pthread_join(t, 0); }\n";
    let target = build_text("processes.c", text);
    let of = |jobs| {
        let report = run(&target, &Plan { jobs, reduction: false, max: Some(2), ..plan() });
        (told(&report), report.executions, report.levels.iter().map(|l| l.executions).collect::<Vec<_>>())
    };
    let one = of(1);
    assert!(one.1 > 100, "there is something to share: {one:?}");
    assert_eq!(of(3), one);
    let walk = |jobs| run(&target, &Plan { jobs, walk: Walk::Random, executions: Some(500), ..plan() }).executions;
    assert_eq!((walk(1), walk(4)), (500, 500));
}

#[test]
fn executions_that_differ_get_processes_of_their_own_and_the_answer_says_so() {
    let text = "#include <sys/stat.h>\nint main(void) { return umask(077) == 077 ? *(volatile int *)0 : 0; }\n";
    let target = build_text("mask.c", text);
    let report = run(&target, &plan());
    assert_eq!(told(&report), "verified");
    assert!(report.notes.iter().any(|n| n.contains("a process of its own")), "{:?}", report.notes);
}

#[test]
fn processes_have_the_same_numbers_in_every_run() {
    let text = "#include <pthread.h>\n#include <unistd.h>\nstatic int number[64];\n\
        static void *add(void *v) { number[(getpid() + getppid()) & 63]++; return v; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, add, 0); add(0); pthread_join(t, 0); }\n";
    let report = run(&build_text("numbers.c", text), &plan());
    assert_eq!(told(&report), "bug data_race 0");
    assert_eq!(report.notes, Vec::<String>::new());
}

#[test]
fn an_exception_that_nobody_catches_has_the_place_where_it_was_thrown() {
    let report = run(&build(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/uncaught.cpp")), &plan());
    let message = &bug(&report).message;
    let expected = "an exception of type std::runtime_error is not caught, at ";
    assert!(message.starts_with(expected) && message.ends_with("uncaught.cpp:4"), "{message}");
}

#[test]
fn lines_of_inlined_functions_are_named() {
    let text = "// flags: -O1\n#include <pthread.h>\nint number;\n\
        static inline __attribute__((always_inline)) void set(int to) {\n    number = to;\n}\n\
        static void *run(void *v) {\n    set(1);\n    return v;\n}\n\
        int main(void) {\n    pthread_t t;\n    pthread_create(&t, 0, run, 0);\n    set(2);\n    pthread_join(t, 0);\n}\n";
    let report = run(&build_text("inlined.c", text), &plan());
    let writes: Vec<_> = bug(&report).steps.iter().flat_map(|s| &s.actions).filter(|a| a.at.line == 5).collect();
    for function in ["run", "main"] {
        assert!(writes.iter().any(|a| a.stack.ends_with(&[function.into(), "set".into()])), "{function} in {writes:?}");
    }
}

#[test]
fn every_kind_of_access_is_seen() {
    let kinds = [
        "number++;",
        "bits.few = 3;",
        "large = 5;",
        "one = other;",
        "many = more;",
        "memcpy(text, text + 20, 7);",
        "memset(text, 0, (size_t)v);",
        "strcpy(text, \"text\");",
        "*(int *)(text + 1) = 3;",
        "numbers[(long)v & 3] = 1;",
        "flag = flag + 1; number = 1;",
    ];
    for (index, kind) in kinds.iter().enumerate() {
        let text = format!(
            "#include <pthread.h>\n#include <string.h>\nstatic int number, numbers[4];\nstatic volatile int flag;\n\
            static struct {{ unsigned few : 3, more : 5; }} bits;\nstatic __int128 large;\n\
            static struct {{ int a[8]; }} one, other;\nstatic struct {{ int a[64]; }} many, more;\nstatic char text[64];\n\
            static void *run(void *v) {{ {kind} return v; }}\n\
            int main(void) {{ pthread_t t; pthread_create(&t, 0, run, (void *)9); run((void *)9); pthread_join(t, 0); }}\n"
        );
        let report = run(&build_text(&format!("kind_{index}.c"), &text), &plan());
        assert_eq!(bug(&report).kind, BugKind::DataRace, "{kind}");
    }
}

#[test]
fn deep_recursion_leaves_a_short_trace() {
    let text = "static volatile int count;\n\
        static int call(int n) { count = n; return n == 0 ? 0 : 1 + call(n - 1); }\n\
        int main(void) { return 100 / (call(3000) - 3000); }\n";
    let report = run(&build_text("recursion.c", text), &plan());
    let stacks = bug(&report).steps.iter().flat_map(|s| &s.actions).map(|a| a.stack.len());
    assert!(stacks.max().is_some_and(|most| (10..100).contains(&most)));
}

#[test]
fn memory_that_is_left_is_a_bug_if_asked() {
    let target = build_text("leak.c", LEAK);
    assert_eq!(told(&run(&target, &plan())), "verified");
    assert_eq!(told(&run(&target, &Plan { leaks: true, ..plan() })), "bug leak 0");
    // The C library keeps its buffers.
    let hello = build_text("hello.c", "#include <stdio.h>\nint main(void) { printf(\"hello\\n\"); }\n");
    assert_eq!(told(&run(&hello, &Plan { leaks: true, ..plan() })), "verified");
}

#[test]
fn what_only_weak_memory_shows_is_not_looked_for_which_is_said() {
    for (order, is_said) in [("relaxed", true), ("seq_cst", false)] {
        let (store, load) = (format!("1, memory_order_{order}"), format!("memory_order_{order}"));
        let text = format!(
            "#include <pthread.h>\n#include <stdatomic.h>\nstatic atomic_int x, y;\n\
            static void *run(void *v) {{ atomic_store_explicit(&x, {store}); atomic_load_explicit(&y, {load}); return v; }}\n\
            int main(void) {{ pthread_t t; pthread_create(&t, 0, run, 0); atomic_store_explicit(&y, {store});\n\
            atomic_load_explicit(&x, {load}); pthread_join(t, 0); }}\n"
        );
        let report = run(&build_text(&format!("buffers_{order}.c"), &text), &plan());
        assert_eq!(told(&report), "verified");
        assert_eq!(report.limits.iter().any(|limit| limit.contains("only weak memory shows")), is_said, "{order}");
    }
}

/// Sixteen bytes are compared and exchanged; another thread was joined before; there is one variable, and where depends on who comes first.
const SEVERAL: [(&str, bool, &str); 3] = [
    (
        "wide.c",
        true,
        "typedef unsigned __int128 u; static u x, y;\n\
        static void put(u *at) { u e = 0; __atomic_compare_exchange_n(at, &e, (u)1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED); }\n\
        static void *run(void *v) { put(&x); put(&y); return v; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, run, 0); put(&y); put(&x); pthread_join(t, 0); }\n",
    ),
    (
        "after.c",
        false,
        "static atomic_int x, y; static void *run(void *v) { return v; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, run, 0); pthread_join(t, 0);\n\
        atomic_store_explicit(&y, 1, memory_order_relaxed); atomic_load_explicit(&x, memory_order_relaxed); }\n",
    ),
    (
        "one.c",
        false,
        "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static atomic_int *p;\n\
        static void *run(void *v) { char *mine = v ? malloc(100) : 0; pthread_mutex_lock(&m);\n\
        if (!p) { p = malloc(sizeof *p); *p = 0; } pthread_mutex_unlock(&m);\n\
        atomic_fetch_add_explicit(p, 1, memory_order_relaxed); free(mine); return 0; }\n\
        int main(void) { pthread_t a, b; pthread_create(&a, 0, run, (void *)1); pthread_create(&b, 0, run, 0);\n\
        pthread_join(a, 0); pthread_join(b, 0); }\n",
    ),
];

#[test]
fn several_variables_in_one_execution_may_show_more_while_there_are_other_threads() {
    for (name, is_said, text) in SEVERAL {
        let text = format!("#include <pthread.h>\n#include <stdatomic.h>\n#include <stdlib.h>\n{text}");
        let report = run(&build_text(name, &text), &plan());
        assert_eq!(told(&report), "verified", "{name}");
        assert_eq!(report.limits.iter().any(|limit| limit.contains("only weak memory shows")), is_said, "{name}");
    }
}

#[test]
fn a_trace_names_lines_functions_variables_and_values_and_can_be_run_again() {
    let target = build_text("trace.c", LOST_UPDATE);
    let report = run(&target, &plan());
    let trace = bug(&report);
    assert!(trace.message.contains("assert(count == 2) fails") && trace.message.contains("trace.c:18"));
    assert_eq!(trace.lanes.iter().map(|l| l.name.as_str()).collect::<Vec<_>>(), ["main#0", "add#1", "add#2"]);
    assert_eq!(trace.steps.iter().filter(|s| s.mark == Some(Mark::Preemption)).count(), 1);
    let actions: Vec<_> = trace.steps.iter().flat_map(|s| &s.actions).collect();
    let write = actions.iter().find(|a| a.text == "count = seen + 1;").expect("the line is shown");
    assert!(write.stack.last().is_some_and(|f| f == "add"));
    let change = &write.changes[0];
    assert_eq!((change.variable.as_str(), change.old.as_str(), change.new.as_str()), ("count", "0", "1"));
    let again = replay(&target, &plan(), trace).expect("it can be run again");
    assert_eq!((bug(&again).kind, bug(&again).cost), (BugKind::Assertion, 1));
}

#[test]
fn where_a_thread_ended_is_told_of_what_uses_its_stack() {
    let text = "#include <pthread.h>\nstatic __thread int x;\nstatic void *leaves(void *unused) { return &x; }\n\
        int main(void) {\n    pthread_t t;\n    int *left;\n    pthread_create(&t, 0, leaves, 0);\n\
        pthread_join(t, (void **)&left);\n    return *left;\n}\n";
    let report = run(&build_text("variable.c", text), &plan());
    let said = &bug(&report).message;
    assert!(said.starts_with("a thread-local variable of a thread that has ended is read, at "), "{said}");
    assert!(said.contains("; leaves#1 ended at ") && said.ends_with("variable.c:3"), "{said}");
    for (end, line) in [("return p;", 5), ("pthread_exit(p);", 5)] {
        let text = format!(
            "#include <pthread.h>\nstatic void *leaves(void *unused) {{\n    int x = 7;\n    int *volatile p = &x;\n    {end}\n}}\n\
             int main(void) {{\n    pthread_t t;\n    void *left;\n    pthread_create(&t, 0, leaves, 0);\n\
             pthread_join(t, &left);\n    *(int *)left = 3;\n}}\n"
        );
        let report = run(&build_text("ended.c", &text), &plan());
        let message = &bug(&report).message;
        assert!(message.contains("the stack of a thread that has ended is written, at "), "{message}");
        assert!(message.contains("ended.c:12; leaves#1 ended at "), "{message}");
        let ends = bug(&report).steps.iter().flat_map(|s| &s.actions);
        let ends: Vec<_> = ends.filter(|a| a.note.as_deref() == Some("the thread ends")).map(|a| a.at.line).collect();
        assert!(ends.len() == 1 && (line..=line + 1).contains(&ends[0]), "{ends:?}");
    }
}

#[test]
fn parts_of_variables_have_their_names() {
    let text = r#"
#include <assert.h>
#include <pthread.h>
struct node { struct node *next; int value; };
static struct { pthread_mutex_t lock; struct { long low; union { int whole; char parts[4]; }; } inner; } queue;
static struct node table[3];
static short grid[2][3];
static int flags[4];
static void *set(void *unused) {
    pthread_mutex_lock(&queue.lock);
    queue.inner.low = 5;
    queue.inner.whole = 1 << 24;
    queue.inner.parts[1] = 1;
    table[1].value = 2;
    table[2].next = &table[1];
    grid[1][2] = 3;
    flags[2] = 4;
    pthread_mutex_unlock(&queue.lock);
    return unused;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, set, 0);
    pthread_join(t, 0);
    pthread_mutex_lock(&queue.lock);
    assert(flags[2] == 0);
}
"#;
    let report = run(&build_text("parts.c", text), &plan());
    let actions = bug(&report).steps.iter().flat_map(|s| &s.actions);
    let changed: Vec<&str> = actions.flat_map(|a| &a.changes).map(|c| c.variable.as_str()).collect();
    let parts = ["queue.inner.low", "queue.inner.whole", "queue.inner.parts[1]", "table[1].value", "table[2].next"];
    assert_eq!(changed, [&parts[..], &["grid[1][2]", "flags[2]"]].concat());
    let text = "#include <pthread.h>\nstatic struct { int used; pthread_mutex_t lock[2]; } account;\n\
        int main(void) { pthread_mutex_lock(&account.lock[1]); pthread_mutex_lock(&account.lock[1]); }\n";
    let report = run(&build_text("locked.c", text), &plan());
    assert!(bug(&report).message.contains("pthread_mutex_lock account.lock[1] at"), "{}", bug(&report).message);
}

#[test]
fn blocks_of_the_heap_are_named_by_the_types_of_what_points_to_them() {
    let text = r#"
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
typedef struct { long low; int whole; } pair;
struct node { struct node *next; int value; pair pairs[2]; pthread_mutex_t lock; };
static struct node *head;
static void *work(void *argument) {
    struct node *mine = argument;
    int *numbers = malloc(12);
    pair *pairs = calloc(4, sizeof *pairs);
    pthread_mutex_lock(&mine->lock);
    mine->value = 3;
    mine->pairs[1].whole = 4;
    numbers[2] = 5;
    pairs[3].low = 6;
    head->next = mine;
    pthread_mutex_unlock(&mine->lock);
    return 0;
}
int main(void) {
    pthread_t t;
    head = calloc(1, sizeof *head);
    pthread_create(&t, 0, work, calloc(1, sizeof *head));
    pthread_join(t, 0);
    assert(head->next->value == 0);
}
"#;
    let report = run(&build_text("blocks.c", text), &plan());
    let actions = bug(&report).steps.iter().flat_map(|s| &s.actions);
    let changed: Vec<String> = actions.flat_map(|a| &a.changes).map(|c| format!("{}: {}", c.variable, c.new)).collect();
    for name in ["node #1.value: 3", "node #1.pairs[1].whole: 4", "int #1[2]: 5", "pair #1[3].low: 6"] {
        assert!(changed.iter().any(|c| c == name), "{name} in {changed:?}");
    }
    // Through a variable that is not in the frame.
    assert!(changed.iter().any(|c| c.starts_with("node #2.next: ")), "{changed:?}");
}

#[test]
fn neighbours_within_eight_bytes_have_names_and_values_of_their_own() {
    let text = "#include <assert.h>\n#include <pthread.h>\n#include <stdatomic.h>\n\
        static _Alignas(8) struct { atomic_int first, second; volatile short third, fourth; } parts;\n\
        int main(void) {\n    parts.second = -1;\n    parts.fourth = -2;\n    assert(parts.second == 0);\n}\n";
    let report = run(&build_text("neighbours.c", text), &plan());
    let actions: Vec<_> = bug(&report).steps.iter().flat_map(|s| &s.actions).collect();
    let changes: Vec<_> = actions.iter().flat_map(|a| &a.changes).collect();
    assert!(changes.iter().any(|c| c.variable == "parts.second" && c.new == "-1"), "{changes:?}");
    let notes: Vec<_> = actions.iter().filter_map(|a| a.note.as_deref()).collect();
    assert!(notes.iter().any(|n| n.contains("parts.fourth = ")) && notes.contains(&"parts.second = -1"), "{notes:?}");
}

#[test]
fn a_schedule_that_does_not_fit_is_refused() {
    let target = build_text("misfit.c", LOST_UPDATE);
    let mut trace = bug(&run(&target, &plan())).clone();
    trace.steps[0].turn.task = 9;
    let report = replay(&target, &plan(), &trace).expect("it can be run");
    assert!(told(&report).contains("does not fit"), "{}", told(&report));
}

#[test]
fn arguments_are_given_to_the_program_and_restored() {
    let text = r#"
#include <assert.h>
#include <string.h>
int main(int argc, char **argv) {
    assert(argc == 2 && strcmp(argv[1], "three") == 0);
    argv[1][0] = 'x';
}
"#;
    let mut target = build_text("arguments.c", text);
    target.args = vec!["three".into()];
    assert_eq!(told(&run(&target, &plan())), "verified");
}

#[test]
fn a_program_that_is_not_ours_is_refused() {
    let mut target = build_text("ours.c", LEAK);
    target.program = "/bin/true".into();
    let problem = fabius_native::explore(&target, &plan(), &std::sync::atomic::AtomicBool::new(false), &|_| {});
    assert!(matches!(problem, Err(fabius_native::Problem::NotOurs(_))), "{problem:?}");
}

#[test]
fn without_control_a_program_runs_as_ever() {
    let target = build_text("free.c", LOST_UPDATE);
    let output = std::process::Command::new(&target.program).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("counted to "));
}

#[test]
fn a_limit_of_executions_is_no_answer() {
    let target = build_text("few.c", LEAK);
    let report = run(&target, &Plan { walk: Walk::Random, executions: Some(3), ..plan() });
    assert_eq!((told(&report).as_str(), report.executions), ("unknown Executions", 3));
}

#[test]
fn threads_that_give_locks_back_by_turns_do_not_wait_for_what_never_comes() {
    let text = r#"
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
static atomic_int times;
static inline void spins(pthread_spinlock_t *lock) { pthread_spin_init(lock, 0); }
static inline void is_one(sem_t *unit) { sem_init(unit, 0, 1); }
static inline void takes(atomic_int *lock) { while (atomic_exchange(lock, 1)) { } }
static inline int tries(atomic_int *lock) { return atomic_exchange(lock, 1); }
static inline void gives(atomic_int *lock) { atomic_store(lock, 0); }
typedef TYPE lock;
static lock a, b;
static void both(lock *first, lock *second) {
    for (;;) {
        TAKE(first);
        if (TRY(second) == 0) break;
        GIVE(first);
        BESIDES
    }
    GIVE(second);
    GIVE(first);
}
static void *other(void *unused) {
    both(&a, &b);
    return unused;
}
int main(void) {
    pthread_t thread;
    BEGIN(&a);
    BEGIN(&b);
    pthread_create(&thread, NULL, other, NULL);
    both(&b, &a);
    pthread_join(thread, NULL);
}
"#;
    // Its type, and what begins it, takes it, tries to and gives it back.
    let mutex = "pthread_mutex_t (void) pthread_mutex_lock pthread_mutex_trylock pthread_mutex_unlock";
    let spin = "pthread_spinlock_t spins pthread_spin_lock pthread_spin_trylock pthread_spin_unlock";
    let writes = "pthread_rwlock_t (void) pthread_rwlock_wrlock pthread_rwlock_trywrlock pthread_rwlock_unlock";
    let unit = "sem_t is_one sem_wait sem_trywait sem_post";
    let own = "atomic_int (void) takes tries gives";
    for (name, words, besides, limits) in [
        ("by_turns.c", mutex, "", 0),
        ("by_turns_seen.c", mutex, "times = 1;", 1),
        ("by_turns_spinning.c", spin, "", 1),
        ("by_turns_writing.c", writes, "", 1),
        ("by_turns_units.c", unit, "", 1),
        ("by_turns_with_atomics.c", own, "", 1),
    ] {
        let words = ["TYPE", "BEGIN", "TAKE", "TRY", "GIVE"].into_iter().zip(words.split(' '));
        let text = words.fold(text.replace("BESIDES", besides), |text, (what, is)| text.replace(what, is));
        let report = run(&build_text(name, &text), &Plan { max: Some(2), ..plan() });
        assert_eq!(told(&report), "bounded", "{name}");
        let said = report.limits.iter().filter(|limit| limit.contains("give them back by turns")).count();
        assert_eq!(said, limits, "{name}: {:?}", report.limits);
    }
}
