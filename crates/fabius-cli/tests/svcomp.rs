//! Tasks, properties, verdicts and witnesses of SV-COMP.

use crate::common::{expect, fabius, folder, json};
use std::path::Path;
use std::process::{Command, Output};
use yaml_rust2::{Yaml, YamlLoader};

const UNREACH: &str = "CHECK( init(main()), LTL(G ! call(reach_error())) )\n";
const RACE: &str = "CHECK( init(main()), LTL(G ! data-race) )\n";

const LOST_UPDATE: &str = r#"extern void abort(void);
extern void __assert_fail(const char *, const char *, unsigned, const char *);
void reach_error() { __assert_fail("0", "x.c", 3, "reach_error"); }
typedef unsigned long pthread_t;
union pthread_attr_t { char size[56]; long align; };
typedef union pthread_attr_t pthread_attr_t;
extern int pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
extern int pthread_join(pthread_t, void **);
int x;
void *run(void *p) { int seen = x; x = seen + 1; return 0; }
int main() {
    pthread_t a, b;
    pthread_create(&a, 0, run, 0);
    pthread_create(&b, 0, run, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    if (x != 2) { reach_error(); abort(); }
    return 0;
}
"#;

fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a file can be written");
    path.display().to_string()
}

fn last_line(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).lines().last().unwrap_or_default().into()
}

#[test]
fn a_property_decides_what_is_a_bug() {
    let folder = folder("svcomp_property");
    let program = file(&folder, "x.c", LOST_UPDATE);
    let unreach = file(&folder, "unreach-call.prp", UNREACH);
    let race = file(&folder, "no-data-race.prp", RACE);
    for command in ["check", "decide"] {
        let output = fabius(&[command, &program, "--property", &unreach, "--svcomp"]);
        expect(&output, 1, &["reach_error"]);
        assert_eq!(last_line(&output), "false(unreach-call)");
        let output = fabius(&[command, &program, "--property", &race, "--svcomp"]);
        expect(&output, 1, &["data race"]);
        assert_eq!(last_line(&output), "false(no-data-race)");
        let output = fabius(&[command, &program, "--property", "no-overflow", "--svcomp"]);
        expect(&output, 0, &[]);
        assert_eq!(last_line(&output), "true");
    }
    let output = fabius(&["check", &program, "--property", &unreach, "--max", "0", "--svcomp"]);
    expect(&output, 0, &[]);
    assert_eq!(last_line(&output), "unknown");
    let other = file(&folder, "termination.prp", "CHECK( init(main()), LTL(F end) )\n");
    expect(&fabius(&["check", &program, "--property", &other]), 2, &["a property that is not known", "unreach-call"]);
    expect(&fabius(&["check", &program, "--svcomp"]), 2, &["no property of a C program is asked about"]);
}

#[test]
fn what_is_not_followed_says_what_helps() {
    let folder = folder("svcomp_helps");
    let text = "int g; int main(void) { int *p, *q; if (p == q) g = 1; return 0; }";
    let output = fabius(&["check", &file(&folder, "x.c", text)]);
    expect(&output, 3, &["that nothing was written to", "= help: give it a value"]);
}

#[test]
fn races_are_judged_by_memory_orders() {
    let begin = "#include <pthread.h>\n#include <stdatomic.h>\natomic_int set, other; int data, plain;\n";
    let main = "int main(void) { pthread_t t; pthread_create(&t, 0, run, 0);";
    let folder = folder("svcomp_orders");
    let said = |text: &str, property: &str| {
        let program = file(&folder, "x.c", &format!("{begin}{text}"));
        last_line(&fabius(&["check", &program, "--property", property, "--svcomp"]))
    };
    let passed_on = |store: &str, load: &str| {
        format!(
            "void *run(void *p) {{ data = 1; atomic_store_explicit(&set, 1, memory_order_{store}); return 0; }}\n\
             {main} if (atomic_load_explicit(&set, memory_order_{load})) data = 2; return 0; }}\n"
        )
    };
    let race = "false(no-data-race)";
    for (store, load, word) in [
        ("release", "acquire", "true"),
        ("release", "relaxed", race),
        ("relaxed", "acquire", race),
        ("relaxed", "seq_cst", race),
        ("seq_cst", "seq_cst", "true"),
    ] {
        assert_eq!(said(&passed_on(store, load), "no-data-race"), word, "{store} {load}");
        assert_eq!(said(&passed_on(store, load), "unreach-call"), "true", "{store} {load}");
    }
    // Who takes a lock releases nothing, and a store of another ends a release.
    let failed = format!(
        "void *run(void *p) {{ data = 1; atomic_exchange_explicit(&set, 1, memory_order_acquire); return 0; }}\n\
         {main} if (atomic_exchange_explicit(&set, 1, memory_order_acquire)) data = 2; return 0; }}\n"
    );
    assert_eq!(said(&failed, "no-data-race"), race);
    let three = |second: &str| {
        format!(
            "void *run(void *p) {{ data = 1; atomic_store_explicit(&set, 1, memory_order_release); return 0; }}\n\
             void *more(void *p) {{ if (atomic_load_explicit(&set, memory_order_relaxed) == 1) {second}; return 0; }}\n\
             {main} pthread_t u; pthread_create(&u, 0, more, 0);\n\
             if (atomic_load_explicit(&set, memory_order_acquire) == 2) data = 2; return 0; }}\n"
        )
    };
    assert_eq!(said(&three("atomic_fetch_add_explicit(&set, 1, memory_order_relaxed)"), "no-data-race"), "true");
    assert_eq!(said(&three("atomic_store_explicit(&set, 2, memory_order_relaxed)"), "no-data-race"), race);
    // Of two variables more may be seen than is looked at.
    let two = format!(
        "void *run(void *p) {{ atomic_store_explicit(&set, 1, memory_order_release); \
         if (!atomic_load_explicit(&other, memory_order_acquire)) plain = 1; return 0; }}\n\
         {main} atomic_store_explicit(&other, 1, memory_order_release); \
         if (!atomic_load_explicit(&set, memory_order_acquire)) plain = 2; return 0; }}\n"
    );
    for property in ["unreach-call", "no-data-race"] {
        assert_eq!(said(&two, property), "unknown", "{property}");
    }
    // A lock that is not taken is another variable.
    let tries = format!(
        "pthread_mutex_t m; void *run(void *p) {{ atomic_store_explicit(&set, 1, memory_order_relaxed); pthread_mutex_lock(&m); return 0; }}\n\
         extern void reach_error(void); {main} if (pthread_mutex_trylock(&m) && !atomic_load_explicit(&set, memory_order_relaxed)) reach_error(); return 0; }}\n"
    );
    assert_eq!(said(&tries, "unreach-call"), "unknown");
    let program = file(&folder, "x.c", &format!("{begin}{two}"));
    expect(&fabius(&["check", &program]), 0, &["verified, but", "weak memory"]);
}

/// Also where the memory may be freed, and a plain access is a step with the question whether it is.
#[test]
fn a_plain_access_races_with_an_atomic_one_on_the_heap() {
    let folder = folder("svcomp_mixed");
    let text = |plain: &str| {
        format!(
            "#include <pthread.h>\n#include <stdlib.h>\nstruct s {{ int n, k; }} *p;\n\
             void *one(void *unused) {{ __atomic_fetch_add(&p->n, 1, __ATOMIC_SEQ_CST); return 0; }}\n\
             void *other(void *unused) {{ {plain}; return 0; }}\n\
             int main(void) {{ p = calloc(1, sizeof *p); pthread_t a, b; pthread_create(&a, 0, one, 0); \
             pthread_create(&b, 0, other, 0); pthread_join(a, 0); pthread_join(b, 0); free(p); return 0; }}\n"
        )
    };
    for (plain, word) in
        [("p->n = 5", "false(no-data-race)"), ("p->k = 5", "true"), ("__sync_fetch_and_add(&p->n, 2)", "true")]
    {
        let program = file(&folder, "x.c", &text(plain));
        let output = fabius(&["check", &program, "--property", "no-data-race", "--svcomp"]);
        assert_eq!(last_line(&output), word, "{plain}");
    }
}

/// `verify` sees a deadlock, and it is none of what is asked.
#[test]
fn a_deadlock_is_no_violation_of_a_property() {
    let text = "#include <pthread.h>\nextern void reach_error(void);\npthread_mutex_t a, b;\n\
                static void *run(void *unused) {\n    pthread_mutex_lock(&a);\n    pthread_mutex_lock(&b);\n    return 0;\n}\n\
                int main(void) {\n    pthread_t t;\n    pthread_create(&t, 0, run, 0);\n    pthread_mutex_lock(&b);\n    pthread_mutex_lock(&a);\n    return 0;\n}\n";
    let program = file(&folder("svcomp_deadlock"), "x.c", text);
    expect(&fabius(&["verify", &program, "--rounds", "2"]), 1, &["deadlock"]);
    expect(&fabius(&["verify", &program, "--rounds", "2", "--property", "unreach-call"]), 0, &[]);
    expect(&fabius(&[&program, "--engine", "bmc", "--property", "unreach-call"]), 0, &[]);
}

#[test]
fn a_task_names_program_property_and_data_model() {
    let folder = folder("svcomp_task");
    let narrow = "void reach_error(void) {}\nint main(void) { if (sizeof(long) == 4) reach_error(); return 0; }\n";
    file(&folder, "narrow.c", narrow);
    file(&folder, "unreach-call.prp", UNREACH);
    file(&folder, "other.prp", "CHECK( init(main()), LTL(F end) )\n");
    let task = |model: &str| {
        let text = format!(
            "format_version: '2.0'\ninput_files: 'narrow.c'\nproperties:\n  - property_file: other.prp\n    \
             expected_verdict: true\n  - property_file: unreach-call.prp\n    expected_verdict: false\noptions:\n  \
             language: C\n  data_model: {model}\n"
        );
        file(&folder, &format!("{model}.yml"), &text)
    };
    let output = fabius(&["check", &task("ILP32"), "--svcomp"]);
    expect(&output, 1, &["reach_error"]);
    assert_eq!(last_line(&output), "false(unreach-call)");
    let output = fabius(&["check", &task("LP64"), "--svcomp"]);
    assert_eq!(last_line(&output), "true");
    expect(&fabius(&["check", &task("LP128")]), 2, &["the data model `LP128` is not known"]);
    let two =
        "input_files: narrow.c\nproperties:\n- property_file: unreach-call.prp\n- property_file: unreach-call.prp\n";
    expect(&fabius(&["check", &file(&folder, "two.yml", two)]), 2, &["several properties"]);
    expect(&fabius(&["check", &file(&folder, "none.yml", "a: 1\n")]), 2, &["it has no `input_files`"]);
}

#[test]
fn a_witness_leads_to_the_error() {
    let folder = folder("svcomp_witness");
    let program = file(&folder, "x.c", LOST_UPDATE);
    let witness = folder.join("witness.yml").display().to_string();
    expect(&fabius(&["check", &program, "--property", "unreach-call", "--witness", &witness]), 1, &[]);
    let text = std::fs::read_to_string(&witness).expect("the witness was written");
    let documents = YamlLoader::load_from_str(&text).expect("it is YAML");
    let entry = &documents[0][0];
    assert_eq!(entry["entry_type"].as_str(), Some("violation_sequence"));
    let task = &entry["metadata"]["task"];
    assert_eq!(task["input_files"][0].as_str(), Some(program.as_str()));
    assert_eq!(task["specification"].as_str(), Some(UNREACH.trim()));
    let sum = Command::new("sha256sum").arg(&program).output().expect("coreutils are there");
    let sum = String::from_utf8_lossy(&sum.stdout).split(' ').next().unwrap_or_default().to_string();
    assert_eq!(task["input_file_hashes"][program.as_str()].as_str(), Some(sum.as_str()));
    let segments = entry["content"].as_vec().expect("segments");
    let waypoints: Vec<&Yaml> = segments.iter().map(|s| &s["segment"][0]["waypoint"]).collect();
    assert!(waypoints.iter().all(|w| w["action"].as_str() == Some("follow")));
    let place = |w: &Yaml| (w["thread_id"].as_i64(), w["location"]["line"].as_i64());
    let last = waypoints.last().expect("there is a target");
    assert_eq!((last["type"].as_str(), place(last)), (Some("target"), (Some(0), Some(17))));
    // Both threads read before either writes.
    let run: Vec<_> = waypoints.iter().map(|w| place(w)).filter(|(_, line)| *line == Some(10)).collect();
    assert!(run.iter().any(|(t, _)| *t == Some(1)) && run.iter().any(|(t, _)| *t == Some(2)), "{run:?}");
}

#[test]
fn of_an_integer_of_any_value_those_are_tried_that_matter() {
    let folder = folder("svcomp_any");
    let text = "extern int __VERIFIER_nondet_int(void);\nvoid reach_error(void) {}\n\
                int main(void) {\n    int n = __VERIFIER_nondet_int();\n    if (n == 12345678) reach_error();\n    return 0;\n}\n";
    let program = file(&folder, "any.c", text);
    expect(&fabius(&["check", &program]), 1, &["reach_error"]);
    let trace = folder.join("any.json").display().to_string();
    expect(&fabius(&["check", &program, "--trace", &trace]), 1, &["reach_error"]);
    expect(&fabius(&["replay", &trace]), 1, &["12345678"]);
    let squared = file(&folder, "squared.c", &text.replace("n == 12345678", "n * n == 1000000"));
    expect(&fabius(&["compare", &squared]), 2, &["chooses any integer in line 4"]);
    expect(&fabius(&["check", &squared]), 3, &["not all values of a choice were tried, at 5:"]);
    let output = fabius(&["decide", &program, "--property", "unreach-call", "--svcomp"]);
    expect(&output, 1, &["reach_error"]);
    assert_eq!(last_line(&output), "false(unreach-call)");
    expect(&fabius(&["decide", &program]), 1, &["reach_error"]);
}

#[test]
fn what_the_preprocessor_makes_of_the_headers_of_the_system_is_taken() {
    let folder = folder("svcomp_headers");
    let headers = [
        "assert.h",
        "ctype.h",
        "errno.h",
        "fcntl.h",
        "inttypes.h",
        "limits.h",
        "math.h",
        "pthread.h",
        "sched.h",
        "semaphore.h",
        "setjmp.h",
        "signal.h",
        "stdarg.h",
        "stdbool.h",
        "stddef.h",
        "stdint.h",
        "stdio.h",
        "stdlib.h",
        "string.h",
        "sys/time.h",
        "sys/types.h",
        "time.h",
        "unistd.h",
        "wchar.h",
    ];
    let includes: String = headers.iter().map(|h| format!("#include <{h}>\n")).collect();
    let body = LOST_UPDATE.split_once("int x;").expect("the program").1;
    let text = format!("{includes}void reach_error() {{ assert(0); }}\nint x;{body}");
    let program = file(&folder, "x.c", &text);
    for options in [&[][..], &["-D_GNU_SOURCE", "-O2"], &["-P"]] {
        let preprocessed = folder.join("x.i").display().to_string();
        let mut compiler = Command::new("cc");
        compiler.args(["-E", &program, "-o", &preprocessed]).args(options);
        match compiler.status() {
            Ok(status) => assert!(status.success()),
            Err(_) => return eprintln!("NOT TESTED: there is no C compiler on this machine"),
        }
        let output = fabius(&["check", &preprocessed, "--property", "unreach-call", "--json"]);
        assert_eq!(json(&output)["verdict"], "bug", "{options:?}: {}", String::from_utf8_lossy(&output.stdout));
    }
}

#[test]
fn a_function_without_a_body_is_assumed_on_request_and_the_answer_says_so() {
    let folder = folder("svcomp_havoc");
    let text = "#include <assert.h>\nunsigned char get(int *p); void put(int);\n\
                int main(void) { int n = 1; unsigned char c = get(&n); put(c); get(0); assert(n == 1 && c OP 255); return 0; }\n";
    let right = file(&folder, "right.c", &text.replace("OP", "<="));
    let wrong = file(&folder, "wrong.c", &text.replace("OP", "<"));
    expect(&fabius(&["check", &right]), 2, &["`get` has no body", "--havoc"]);
    let words = "`get` and `put` have no bodies: they are taken to return any value and to change nothing";
    for command in ["check", "verify", "decide"] {
        let verified = fabius(&[command, &right, "--havoc"]);
        expect(&verified, 0, &[words]);
        let text = String::from_utf8_lossy(&verified.stdout);
        assert!(!text.contains("verified: "), "{command}: {text}");
        expect(&fabius(&[command, &wrong, "--havoc"]), 1, &["assertion failed", words]);
    }
    let document = json(&fabius(&["check", &right, "--havoc", "--json"]));
    assert_eq!(document["bounds"]["limits"][0], words);
    let output = fabius(&["check", &right, "--havoc", "--property", "unreach-call", "--svcomp"]);
    assert_eq!(last_line(&output), "unknown");
    let pointer = file(&folder, "pointer.c", "int *get(void);\nint main(void) { return *get(); }\n");
    expect(&fabius(&["check", &pointer, "--havoc"]), 2, &["`get` has no body, and a `int *` cannot be anything"]);
    let wide = file(&folder, "wide.c", "int get(int);\nint main(void) {\n    return get(1) == 2;\n}\n");
    expect(&fabius(&["check", &wide, "--havoc"]), 0, &["`get` has no body"]);
}

/// What the format asks of a witness: of a violation, or of correctness.
fn follows_the_format(text: &str) {
    let documents = YamlLoader::load_from_str(text).expect("it is YAML");
    let [Yaml::Hash(entry)] = documents[0].as_vec().expect("a list").as_slice() else { panic!("one entry") };
    assert_eq!(entry.len(), 3);
    let entry = &documents[0][0];
    let metadata = &entry["metadata"];
    let version = metadata["format_version"].as_str().expect("a version");
    let digits = |text: &str, form: &str| {
        text.len() == form.len()
            && text.chars().zip(form.chars()).all(|(c, f)| match f {
                'x' => c.is_ascii_hexdigit(),
                '9' => c.is_ascii_digit(),
                _ => c == f,
            })
    };
    assert!(digits(metadata["uuid"].as_str().expect("a uuid"), "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"));
    assert!(digits(metadata["creation_time"].as_str().expect("a time"), "9999-99-99T99:99:99Z"));
    for field in ["name", "version"] {
        assert!(metadata["producer"][field].as_str().is_some(), "{field}");
    }
    let task = &metadata["task"];
    let files = task["input_files"].as_vec().expect("files");
    for file in files {
        let hash = task["input_file_hashes"][file.as_str().expect("a name")].as_str().expect("a hash");
        assert!(hash.len() == 64 && hash.chars().all(|c| c.is_ascii_hexdigit()));
    }
    assert!(task["specification"].as_str().is_some_and(|s| s.starts_with("CHECK( init(main()), LTL(G")));
    assert!(matches!(task["data_model"].as_str(), Some("LP64" | "ILP32")));
    assert_eq!(task["language"].as_str(), Some("C"));
    if entry["entry_type"].as_str() == Some("invariant_set") {
        assert_eq!(version, "2.0");
        for one in entry["content"].as_vec().expect("invariants") {
            let invariant = &one["invariant"];
            assert!(matches!(invariant["type"].as_str(), Some("loop_invariant" | "location_invariant")));
            assert!(files.contains(&invariant["location"]["file_name"]));
            assert!(invariant["location"]["line"].as_i64().is_some_and(|n| n > 0));
            assert!(invariant["value"].as_str().is_some());
            assert_eq!(invariant["format"].as_str(), Some("c_expression"));
        }
        return;
    }
    assert_eq!(entry["entry_type"].as_str(), Some("violation_sequence"));
    let segments = entry["content"].as_vec().expect("segments");
    for (i, segment) in segments.iter().enumerate() {
        let [one] = segment["segment"].as_vec().expect("waypoints").as_slice() else { panic!("one waypoint") };
        let waypoint = &one["waypoint"];
        assert_eq!(waypoint["action"].as_str(), Some("follow"));
        assert_eq!(waypoint["thread_id"].as_i64().is_some(), version == "2.2");
        let location = &waypoint["location"];
        assert!(files.contains(&location["file_name"]) && location["line"].as_i64().is_some_and(|n| n > 0));
        let constraint = &waypoint["constraint"];
        let kind = waypoint["type"].as_str().expect("a type");
        // The target is the last one, and has no constraint.
        assert_eq!(kind == "target", i + 1 == segments.len());
        match kind {
            "target" => assert!(constraint.is_badvalue()),
            "assumption" => assert_eq!(constraint["format"].as_str(), Some("c_expression")),
            "function_return" => {
                assert_eq!(constraint["format"].as_str(), Some("acsl_expression"));
                assert!(constraint["value"].as_str().is_some_and(|v| v.starts_with("\\result == ")));
                assert!(location["column"].as_i64().is_some());
            }
            other => panic!("{other}"),
        }
    }
}

#[test]
fn what_is_verified_has_a_witness_and_what_is_unknown_has_none() {
    let folder = folder("svcomp_correct");
    let head = "void reach_error(void) {}\nint __VERIFIER_nondet_int(void);\nint other(void);\n";
    let program = |body: &str| file(&folder, "program.c", &format!("{head}int main(void) {{ {body} return 0; }}\n"));
    let witness = folder.join("correct.yml").display().to_string();
    let asked = |program: &str, more: &[&str]| {
        let all = [&["check", program, "--property", "unreach-call", "--svcomp", "--witness", &witness], more].concat();
        fabius(&all)
    };
    expect(
        &asked(&program("int n = __VERIFIER_nondet_int(); if (n != n) reach_error();"), &["--havoc"]),
        3,
        &["unknown"],
    );
    expect(&asked(&program("if (other() == 7) return 1;"), &["--havoc"]), 0, &["unknown"]);
    assert!(!std::path::Path::new(&witness).exists());
    expect(&asked(&program("int n = __VERIFIER_nondet_int(); if (n > 3 && n < 3) reach_error();"), &[]), 0, &["true"]);
    let text = std::fs::read_to_string(&witness).expect("the witness was written");
    follows_the_format(&text);
    assert!(text.contains("invariant_set"), "{text}");
    expect(&fabius(&["replay", &witness]), 2, &["it is a `invariant_set`"]);
}

#[test]
fn a_witness_holds_the_values_and_is_read_back() {
    let folder = folder("svcomp_read_back");
    let text = "#include <assert.h>\n#include <pthread.h>\nint __VERIFIER_nondet_int(void);\nunsigned long __VERIFIER_nondet_ulong(void);\n\
                _Bool __VERIFIER_nondet_bool(void);\nvoid __VERIFIER_assume(int);\nvoid reach_error(void) { assert(0); }\nstatic int x;\n\
                static void *run(void *unused) {\n    int n = __VERIFIER_nondet_int();\n    __VERIFIER_assume(n < -5);\n    x = x - n;\n    return 0;\n}\n\
                int main(void) {\n    pthread_t a, b;\n    unsigned long n = 0;\n    if (__VERIFIER_nondet_bool()) n = __VERIFIER_nondet_ulong();\n    \
                pthread_create(&a, 0, run, 0);\n    pthread_create(&b, 0, run, 0);\n    pthread_join(a, 0);\n    pthread_join(b, 0);\n    \
                if (x == 4242 && n > 1ul << 63)\n        reach_error();\n    return 0;\n}\n";
    let program = file(&folder, "values.c", text);
    let witness = folder.join("values.yml").display().to_string();
    expect(&fabius(&["verify", &program, "--property", "unreach-call", "--witness", &witness]), 1, &[]);
    let written = std::fs::read_to_string(&witness).expect("the witness was written");
    follows_the_format(&written);
    // One for each of the four calls.
    assert_eq!(written.matches("function_return").count(), 4, "{written}");
    expect(&fabius(&["replay", &witness]), 1, &["assertion failed: reach_error"]);
    // Another value, another line of the target, another program, another property.
    let value = |text: &str| text.replacen("\\\\result == -", "\\\\result == -1", 1);
    let changed = [
        (value(&written), "the witness does not show a bug"),
        (written.replacen("type: \"target\"", "type: \"branching\"", 1), "a waypoint of type `branching` is not taken"),
        (written.replace("violation_sequence", "invariant_set"), "it is a `invariant_set`"),
        (written.replace("format_version: \"2.2\"", "format_version: \"1.0\""), "its format is 1.0"),
        (written.replace("call(reach_error())", "data-race"), "the witness does not show a bug"),
        (written.replacen("action: \"follow\"", "action: \"avoid\"", 1), "a waypoint to avoid is not taken"),
    ];
    for (n, (text, words)) in changed.iter().enumerate() {
        assert_ne!(text, &written, "{n}");
        let edited = file(&folder, &format!("edited{n}.yml"), text);
        expect(&fabius(&["replay", &edited, "--program", &program]), 2, &[words]);
    }
    let other = file(&folder, "other.c", &format!("{text}\n"));
    expect(&fabius(&["replay", &witness, "--program", &other]), 2, &["not the program of this witness"]);
}

#[test]
fn witnesses_of_each_property_are_read_back() {
    let folder = folder("svcomp_properties");
    let threads = file(&folder, "threads.c", LOST_UPDATE);
    let memory = file(
        &folder,
        "memory.c",
        "#include <stdlib.h>\nint main(void) {\n    int *p = malloc(sizeof(int));\n    free(p);\n    *p = 1;\n    return 0;\n}\n",
    );
    let overflow =
        file(&folder, "overflow.c", "int main(void) {\n    int n = 2147483647;\n    n = n + 1;\n    return 0;\n}\n");
    let leak = file(
        &folder,
        "leak.c",
        "#include <stdlib.h>\nint main(void) {\n    int *p = malloc(sizeof(int));\n    *p = 1;\n    return 0;\n}\n",
    );
    let one = file(
        &folder,
        "one.c",
        "int __VERIFIER_nondet_int(void);\nvoid reach_error(void) {}\nint main(void) {\n    int n = __VERIFIER_nondet_int();\n    \
         if (n != 7)\n        return 0;\n    reach_error();\n}\n",
    );
    // The target of what goes wrong in a function of the library is where it is called.
    let library = file(
        &folder,
        "library.c",
        "#include <pthread.h>\n#include <string.h>\nint __VERIFIER_nondet_int(void);\nchar a[4];\nvoid *run(void *p) {\n    \
         if (__VERIFIER_nondet_int() == 7)\n        strcpy(a, p);\n    return 0;\n}\nint main(void) {\n    pthread_t t;\n    \
         pthread_create(&t, 0, run, \"hello\");\n    pthread_join(t, 0);\n    return 0;\n}\n",
    );
    for (program, property) in [
        (&threads, "unreach-call"),
        (&threads, "no-data-race"),
        (&one, "unreach-call"),
        (&library, "valid-memsafety"),
        (&memory, "valid-memsafety"),
        (&overflow, "no-overflow"),
        (&leak, "valid-memcleanup"),
    ] {
        let witness = folder.join("witness.yml").display().to_string();
        expect(&fabius(&["check", program, "--property", property, "--witness", &witness]), 1, &[]);
        let written = std::fs::read_to_string(&witness).expect("the witness was written");
        follows_the_format(&written);
        assert!(
            program != &library || written.rsplit("target").next().is_some_and(|t| t.contains("line: 7\n")),
            "{written}"
        );
        expect(&fabius(&["replay", &witness]), 1, &[]);
    }
}

#[test]
fn a_witness_holds_the_value_of_a_choice_that_was_narrowed() {
    let folder = folder("svcomp_narrowed");
    let text = "int __VERIFIER_nondet_int(void);\nvoid __VERIFIER_assume(int);\nvoid reach_error(void) {}\nint n, a[4];\nint main(void) {\n    \
                n = __VERIFIER_nondet_int();\n    __VERIFIER_assume(n > 0 && n < 4);\n    a[n] = n * n;\n    if (a[3]) reach_error();\n}\n";
    let program = file(&folder, "narrowed.c", text);
    let witness = folder.join("narrowed.yml").display().to_string();
    expect(&fabius(&["check", &program, "--property", "unreach-call", "--witness", &witness]), 1, &[]);
    let written = std::fs::read_to_string(&witness).expect("the witness was written");
    assert!(written.contains("\\\\result == 3"), "{written}");
    expect(&fabius(&["replay", &witness]), 1, &["assertion failed: reach_error"]);
    expect(&fabius(&["check", &program, "--property", "unreach-call", "--natively"]), 1, &["seen in the real binary"]);
}

#[test]
fn what_is_solved_decides_programs_of_one_thread() {
    let folder = folder("svcomp_one_thread");
    let program = |condition: &str| {
        let text = format!(
            "int __VERIFIER_nondet_int(void);\nvoid reach_error(void) {{}}\nint main(void) {{ int x = __VERIFIER_nondet_int(); \
             if ({condition}) reach_error(); return 0; }}\n"
        );
        file(&folder, "one.c", &text)
    };
    let said = |program: &str, more: &[&str]| fabius(&[&["decide", program, "--time", "100"], more].concat());
    expect(&said(&program("x * 3 == 123456789"), &["--data-model", "ILP32"]), 1, &["chose 41152263"]);
    expect(&said(&program("x * x == 3"), &[]), 0, &["verified"]);
    for condition in ["x * 3 == 123456789", "x * x == 3"] {
        let output = said(&program(condition), &["--property", "no-data-race", "--svcomp"]);
        expect(&output, 0, &[]);
        assert_eq!(last_line(&output), "true", "{condition}");
    }
}
