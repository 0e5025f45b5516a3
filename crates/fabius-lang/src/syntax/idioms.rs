//! What people write who know Promela, PlusCal, P, ZING or C, and what to write instead.

/// A word where a declaration should begin.
pub fn declaration(word: &str) -> Option<&'static str> {
    Some(match word {
        "byte" | "bit" | "short" | "unsigned" | "pid" | "char" | "long" | "boolean" | "integer" => {
            "variables are declared `var x: u8 = 0;`; types are `bool`, `int`, `0..7`, `u8` and others"
        }
        "variable" | "variables" | "VARIABLE" | "VARIABLES" | "extern" | "let" | "global" | "static" | "shared" => {
            "variables are declared one by one: `var x: int = 0;`"
        }
        "mtype" => "names are declared `enum Message { Request, Reply }`",
        "chan" => "channels are declared with the type of messages and room for some: `channel c: int[1];`",
        "active" | "proctype" | "machine" | "fair" | "class" => {
            "threads are declared `process p[2] { .. }`, `process p[i in 0..1] { .. }` or as `proc p() { .. }` and started \
             with `spawn p();`"
        }
        "ltl" | "never" | "temporal" | "liveness" => {
            "what holds in every state is `invariant name: e;`; what happens at last `property name: eventually e;` or \
             `property name: e leads to f;`"
        }
        "spec" | "monitor" => "what holds in every state is `invariant name: e;`; or keep it in variables and `assert`",
        "typedef" | "struct" => "records are declared `record Node { value: int, next: ref Node }`",
        "inline" | "macro" | "define" | "operator" => {
            "what has a value is a function, `fn f(a: int) -> int { a + 1 }`; what does something is a `proc`"
        }
        "procedure" | "def" | "func" | "function" | "void" | "method" => {
            "procedures are declared `proc name(a: int) -> int { .. }`"
        }
        "event" => {
            "messages are values: `enum Event { Ping, Pong }` or a `record`, sent through a `channel c: Event[2];`"
        }
        "assume" | "assert" => "it stands in a body; what holds in every state is `invariant name: e;`",
        "begin" | "algorithm" | "main" => "a program begins with `init { .. }` or `process p[2] { .. }`",
        _ => return None,
    })
}

/// A word where a statement should begin.
pub fn statement(word: &str) -> Option<&'static str> {
    Some(match word {
        "goto" => "there are no jumps: use `loop { .. }`, `while e { .. }`, `break;`, `continue;` and procedures",
        "switch" | "case" => "write `match x { A { .. } B, C { .. } else { .. } }`",
        "run" | "async" | "start" | "go" => "a thread is started `spawn p();`",
        "call" => "a procedure is called `p();`",
        "do" => {
            "`do :: a -> .. od` is written `loop { select { when a { .. } or when b { .. } } }`; see `while e { .. }`, too"
        }
        "either" => "a free choice is written `choose { .. } or { .. }`",
        "with" => "any value of some is written `let x = any 0..2;`",
        "when" | "wait" => "waiting for a condition is written `await e;`",
        "d_step" => "several statements in one step are written `atomic { .. }`",
        "byte" | "bit" | "short" | "unsigned" | "char" | "long" | "boolean" | "integer" => {
            "locals are declared `var x: u8 = 0;`"
        }
        "const" => "a local that does not change is declared `let x = 3;`; constants stand outside of bodies",
        "send" => "messages are sent `c.send(e);`",
        "receive" => "messages are received `let x = c.receive();`",
        "raise" | "announce" => {
            "messages are sent `c.send(e);`, and what is watched is a shared variable; there are no exceptions"
        }
        "try" | "throw" | "catch" => "there are no exceptions: return a result that says it, and look at it with `if`",
        "foreach" => "write `for i in 0..len(a) - 1 { .. }`, or `forall v in a: e` as a value",
        "fork" => "threads are started `let h = spawn p();`",
        "elif" | "elsif" | "elseif" => "write `else if`",
        "else" => "`else` follows the `}` of an `if`, or of the branches of a `select`",
        "or" => "`or` follows the `}` of `choose { .. }`, or of a branch of `select`",
        _ => return None,
    })
}

/// A name of a type that is not declared.
pub fn type_name(name: &str) -> Option<&'static str> {
    Some(match name {
        "byte" | "char" => "a byte is `u8`",
        "bit" => "one bit is `0..1`",
        "short" => "16 bits with a sign are `i16`",
        "long" => "64 bits with a sign are `i64`; `int` has no bounds",
        "boolean" | "Bool" | "BOOLEAN" => "it is called `bool`",
        "integer" | "Int" | "Nat" | "nat" | "unsigned" => "integers are `int`; with bounds `0..7`, with a width `u8`",
        "pid" => "the handle of a thread is a `thread`; a number is an `int`",
        "mutex" | "Mutex" => "it is called `lock`",
        "chan" | "channel" | "Channel" => "channels are declared outside of bodies: `channel c: int[1];`",
        "seq" | "Seq" | "list" | "queue" | "deque" | "stack" | "vector" => {
            "a sequence is `seq[int; 4]`, of at most 4 elements; messages wait in a `channel c: int[4];`"
        }
        "set" | "Set" => "a set of values of a finite type is `set[0..3]`; one of threads is a `thread_set`",
        "bag" | "Bag" | "multiset" => "a bag of values of a finite type is `bag[0..3; 4]`, with at most 4 in it",
        "string" | "String" => "there are no strings: name the values by an `enum`",
        _ => return None,
    })
}

/// A name of a procedure that is not declared.
pub fn procedure(name: &str) -> Option<&'static str> {
    Some(match name {
        "printf" | "printm" | "println" | "log" => "values are shown in traces by `print(x);`",
        "nfull" | "nempty" | "full" | "empty" => "ask for the number of messages: `len(c) < 3`, `len(c) == 0`",
        "Len" | "length" | "size" | "sizeof" | "Cardinality" => "the number of elements or messages is `len(a)`",
        "rand" | "random" | "nondet" | "choose" | "Choose" => "any of some values is `any 0..2`; either Boolean is `*`",
        "lock" | "pthread_mutex_lock" => "`var m: lock;` is acquired by `m.acquire();`",
        "unlock" | "pthread_mutex_unlock" => "a lock is released by `m.release();`",
        "Append" | "Head" | "Tail" => {
            "a sequence has `q.push(e);`, `let x = q.pop_front();`, `q[0]`; messages wait in a channel: `c.send(e);`"
        }
        "enabled" | "timeout" => "`select { when a { .. } else { .. } }` does something if nothing else can",
        _ => return None,
    })
}
