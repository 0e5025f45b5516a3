//! Executions that are dropped are told from those in which the process ends while threads run.

mod common;

use common::{Found, check_text};

const THREADS: &str = "#include <pthread.h>\n#include <stdlib.h>\nvoid __VERIFIER_assume(int);\nint x;\n\
                       void *run(void *p) { x = 1; return p; }\n";

#[test]
fn a_program_of_which_every_execution_is_dropped_is_not_verified() {
    for main in [
        "pthread_t t; pthread_create(&t, 0, run, 0); __VERIFIER_assume(0); return 0;",
        "pthread_t t; pthread_create(&t, 0, run, 0); pthread_join(t, 0); __VERIFIER_assume(0); return 0;",
        "pthread_t t; pthread_create(&t, 0, run, 0); pthread_join(t, 0); __VERIFIER_assume(x == 2); exit(0);",
        "__VERIFIER_assume(0); return 0;",
    ] {
        let found = check_text(&format!("{THREADS}int main(void) {{ {main} }}"), "sync");
        let Found::Other(said) = &found else { panic!("{main}: {found:?}") };
        assert!(said.contains("no execution completes"), "{main}: {said}");
    }
}

#[test]
fn a_process_that_ends_while_threads_run_has_come_to_its_end() {
    for main in [
        "pthread_t t; pthread_create(&t, 0, run, 0); return 0;",
        "pthread_t t; pthread_create(&t, 0, run, 0); exit(0);",
        "pthread_t t; pthread_create(&t, 0, run, 0); if (x == 7) __VERIFIER_assume(0); exit(0);",
        "exit(0); __VERIFIER_assume(0);",
    ] {
        let found =
            check_text(&format!("{THREADS}int main(void) {{ {main} }}").replace("int x", "_Atomic int x"), "sync");
        assert_eq!(found, Found::Verified, "{main}");
    }
}
