//! What is said of programs in Promela is what SPIN says.
//!
//! Length: a table of programs.
//!
//! Where there is no `spin`, or no C compiler, its answers, which are written beside the programs, are all that is compared.

mod common;

use common::{Said, Spin, answer, compiled, folder, is_there, spin};
use fabius_trace::Verdict;
use fabius_verify::{Plan, check, program_id};
use std::sync::atomic::AtomicBool;

/// A program: its name, its text, what SPIN says of it, and the states that SPIN stores if no process ends and none has
/// variables that are dead, so that the two have the same.
struct Case {
    name: &'static str,
    source: &'static str,
    said: Said,
    states: Option<u64>,
}

const fn case(name: &'static str, said: Said, source: &'static str) -> Case {
    Case { name, source, said, states: None }
}

const fn same(name: &'static str, said: Said, states: u64, source: &'static str) -> Case {
    Case { name, source, said, states: Some(states) }
}

use Said::{Bug, None as Fine};

const CASES: &[Case] = &[
    case("an `end` in front of a jump", Bug, "byte x; active proctype p() { x = 1; end: goto l; l: x == 2 }"),
    case(
        "an `end` in front of a block that begins with a jump",
        Bug,
        "byte x; inline f() { goto l } active proctype p() { x = 1; end: f(); x = 3; l: x == 2 }",
    ),
    case(
        "an `end` in front of `break`",
        Bug,
        "byte x; active proctype p() { do :: x == 0; x = 1; end: break od; x == 2 }",
    ),
    case(
        "who may send and receive at one place does not meet itself",
        Bug,
        "chan c = [0] of { byte }; byte x; active proctype p() { if :: c?x :: c!1 fi } active proctype q() { if :: c!2 :: skip fi }",
    ),
    case(
        "two who may both send and receive meet each other",
        Fine,
        "chan c = [0] of { byte }; byte met; active [2] proctype p() { byte x; if :: c?x :: c!1 fi; met++; assert(x < 2) }",
    ),
    case(
        "a lost update",
        Bug,
        "byte x; active [2] proctype p() { byte t; t = x; x = t + 1 } active proctype q() { x == 1; assert(x != 1) }",
    ),
    case(
        "whose sum is lost",
        Bug,
        "byte x, done; proctype p() { byte t; t = x; x = t + 1; done++ } init { atomic { run p(); run p() }; done == 2; assert(x == 2) }",
    ),
    case(
        "no update is lost",
        Fine,
        "byte x, done; active [2] proctype p() { atomic { x++; done++ } } active proctype q() { done == 2; assert(x == 2) }",
    ),
    case(
        "numbers are cut to their types",
        Fine,
        "byte x = 0; short s = 32767; int i = 2147483647; bit b; unsigned u : 3 = 7; active proctype p() { x--; assert(x == 255); s++; assert(s == -32768); i++; assert(i < 0); b = 3; assert(b == 1); u++; assert(u == 0); x = 300; assert(x == 44); assert(-7 / 2 == -3 && -7 % 2 == -1); b++; assert(b == 0); b--; assert(b == 1); assert((6 & 3) == 2 && (6 | 3) == 7 && (6 ^ 3) == 5 && (1 << 3) == 8 && (~0) == -1) }",
    ),
    case(
        "expressions have 32 bits",
        Fine,
        "byte x = 200, y = 100; active proctype p() { assert(x + y == 300); assert(x - y - y - y == -100); y = x + y; assert(y == 44); assert((x > y -> 5 : 6) == 5) }",
    ),
    case(
        "names of mtype count from the end",
        Fine,
        "mtype = { a, b, c }; mtype m; active proctype p() { assert(a == 3 && b == 2 && c == 1 && m == 0); m = b; assert(m == b && m != a) }",
    ),
    case(
        "names of several declarations",
        Fine,
        "mtype = { a, b }; mtype = { c }; byte x; active proctype p() { x = a; assert(x == 2 && b == 1); x = c; assert(x == 3) }",
    ),
    same(
        "turns",
        Fine,
        4,
        "bool t; active proctype p() { do :: !t -> t = true od } active proctype q() { do :: t -> t = false od }",
    ),
    same(
        "Peterson",
        Fine,
        38,
        "bool want[2]; byte turn, inside; active proctype p() { do :: want[0] = true; turn = 1; (!want[1] || turn == 0); inside++; assert(inside == 1); inside--; want[0] = false od } active proctype q() { do :: want[1] = true; turn = 0; (!want[0] || turn == 1); inside++; assert(inside == 1); inside--; want[1] = false od }",
    ),
    case(
        "Peterson without turns",
        Bug,
        "bool want[2]; byte inside; active proctype p() { do :: want[0] = true; inside++; assert(inside == 1); inside--; want[0] = false od } active proctype q() { do :: want[1] = true; (!want[0]); inside++; assert(inside == 1); inside--; want[1] = false od }",
    ),
    case(
        "alternating bits",
        Fine,
        "mtype = { msg, ack }; chan to = [2] of { mtype, bit }; chan from = [2] of { mtype, bit }; byte sent, got; active proctype sender() { bit out, in; do :: to!msg(out) -> from?ack(in); if :: in == out -> out = 1 - out; sent = (sent + 1) % 4 :: else fi od } active proctype receiver() { bit in; do :: to?msg(in) -> got = (got + 1) % 4; from!ack(in) od }",
    ),
    same(
        "a ring of messages",
        Fine,
        59,
        "chan c[3] = [1] of { byte }; byte n; active [3] proctype p() { do :: atomic { c[_pid]?[_] -> byte x; c[_pid]?x; n = x; x = 0 }; c[(_pid + 1) % 3]!n od } active proctype q() { c[0]!1; c[1]!2; do :: false od }",
    ),
    same(
        "readers and a writer",
        Fine,
        10,
        "byte readers; bool writing; active [3] proctype reader() { do :: atomic { !writing -> readers++ }; atomic { assert(!writing); readers-- } od } active proctype writer() { do :: atomic { readers == 0 && !writing -> writing = true }; assert(readers == 0); writing = false od }",
    ),
    same(
        "atomic that goes on when it can",
        Fine,
        12,
        "byte x, y; active [2] proctype p() { do :: atomic { x < 3 -> x++; y == 1; y = 0; x-- } od } active proctype q() { do :: y == 0 -> y = 1 od }",
    ),
    same(
        "steps of d_step and of options",
        Fine,
        6393,
        "byte x, y; active [2] proctype p() { do :: d_step { x < 2 -> x++; if :: x > y -> y = x :: x == y -> skip :: else fi } :: x == 2 -> x = 0 :: y > 0 -> y-- od }",
    ),
    same(
        "jumps among places",
        Fine,
        40,
        "byte x; active [2] proctype p() { a: x = 1 - x; if :: x == 0 -> goto a :: x == 1 -> x = 2; goto b :: x == 2 -> goto c fi; b: x = 0; goto a; c: atomic { x == 2 -> x = 1; goto b } }",
    ),
    case("who waits for ever", Bug, "bool x; active proctype p() { x }"),
    case("who has ended waits for nobody", Fine, "bool x; active proctype p() { x = true } active proctype q() { x }"),
    case(
        "a server waits for ever at the end",
        Fine,
        "chan c = [1] of { byte }; active proctype server() { byte x; end: do :: c?x od } active proctype client() { c!1; c!2 }",
    ),
    case(
        "who waits elsewhere is stuck",
        Bug,
        "chan c = [1] of { byte }; active proctype server() { byte x; do :: c?x od } active proctype client() { c!1; c!2 }",
    ),
    case(
        "a server at its end does not help who is stuck",
        Bug,
        "chan c = [1] of { byte }; chan d = [1] of { byte }; active proctype server() { byte x; end: do :: c?x od } active proctype client() { byte y; c!1; d?y }",
    ),
    case(
        "ends of channels without room",
        Fine,
        "mtype = { p, v }; chan s = [0] of { mtype }; byte in; active proctype guard() { end: do :: s!p -> s?v od } active [3] proctype user() { byte i; do :: i < 2 -> s?p; in++; assert(in == 1); in--; s!v; i++ :: else -> break od }",
    ),
    case(
        "in the middle such a channel is no end",
        Bug,
        "mtype = { p, v }; chan s = [0] of { mtype }; active proctype guard() { end: do :: s!p -> s?v od } active proctype user() { s?p }",
    ),
    case(
        "an end in the middle of atomic",
        Fine,
        "byte x; active proctype a() { atomic { x = 1; end: x == 2 }; x = 3 } active proctype b() { x == 1 }",
    ),
    case(
        "one wait is an end, and the next one is not",
        Bug,
        "byte x; active proctype a() { endfirst: x == 1; x == 2 } active proctype b() { x = 1 }",
    ),
    case("all wait at an end", Fine, "byte x; active [2] proctype a() { end: do :: x == 1 -> x = 0 :: x == 2 od }"),
    case("the end of a program", Fine, "active proctype p() { skip; end: false }"),
    case(
        "else is for what is left",
        Fine,
        "byte x = 3; active proctype p() { if :: x < 2 -> assert(false) :: x > 5 -> assert(false) :: else -> x = 7 fi; assert(x == 7) }",
    ),
    case(
        "an option without else waits",
        Bug,
        "byte x = 3; active proctype p() { if :: x < 2 -> skip :: x > 5 -> skip fi }",
    ),
    case(
        "any option that can be taken is",
        Bug,
        "byte x; active proctype p() { if :: x = 1 :: x = 2 :: x == 1 -> x = 3 :: true -> x = 4 fi; assert(x != 4) }",
    ),
    case(
        "only those that can be taken",
        Fine,
        "byte x; active proctype p() { if :: x = 1 :: x = 2 :: x == 1 -> x = 3 fi; assert(x != 3) }",
    ),
    case(
        "options inside of options",
        Bug,
        "byte x; active proctype p() { if :: if :: x == 0 -> x = 1 :: x == 9 -> x = 2 fi :: do :: x == 0 -> x = 5; break :: x == 7 -> break od fi; assert(x != 5) }",
    ),
    case(
        "jumps",
        Fine,
        "byte x; active proctype p() { again: x++; if :: x < 5 -> goto again :: else -> goto out fi; x = 100; out: assert(x == 5) }",
    ),
    case(
        "jumps into a loop and out of it",
        Fine,
        "byte x; active proctype p() { goto middle; do :: x < 10 -> x++; middle: x = x + 2; if :: x > 7 -> goto out :: else fi :: else -> assert(false) od; out: assert(x == 8) }",
    ),
    case(
        "atomic is one step",
        Fine,
        "byte x; active proctype p() { atomic { x = 1; x = 2 } } active proctype q() { assert(x != 1) }",
    ),
    case(
        "atomic that waits in the middle",
        Fine,
        "byte x, y; active proctype p() { atomic { x = 1; y == 1; x = 2; x = 3 } } active proctype q() { x == 1; y = 1; assert(x == 1 || x == 3) }",
    ),
    case(
        "atomic that waits in the middle lets others go on",
        Bug,
        "byte x, y; active proctype p() { atomic { x = 1; y == 1; x = 3 } } active proctype q() { x == 1; y = 1; assert(x == 3) }",
    ),
    case(
        "a jump out of atomic lets others go on",
        Bug,
        "byte x; active proctype p() { atomic { x = 1; goto l }; skip; l: x = 2 } active proctype q() { assert(x != 1) }",
    ),
    case(
        "a jump to atomic lets others go on",
        Bug,
        "byte x; active proctype p() { atomic { x = 1; goto l }; skip; l: atomic { x = 2; x = 3 } } active proctype q() { assert(x != 1) }",
    ),
    case(
        "a jump into the middle of atomic does not",
        Fine,
        "byte x; active proctype p() { atomic { x = 1; goto l }; skip; atomic { x = 5; l: x = 2; x = 3 } } active proctype q() { assert(x == 0 || x == 3 || x == 5) }",
    ),
    case(
        "a loop in atomic",
        Fine,
        "byte x, n; active proctype p() { atomic { do :: n < 5 -> x = 1; n++; if :: n == 3 -> x = 2 :: else -> x = 4 fi; x = 6 :: else -> break od; x = 0 } } active proctype q() { assert(x == 0) }",
    ),
    case(
        "a loop in atomic may end in two ways",
        Bug,
        "byte x, n; active proctype p() { atomic { do :: n < 3 -> n++ :: n > 1 -> break od; x = n } } active proctype q() { x > 0; assert(x == 3) }",
    ),
    case(
        "d_step takes the first that it can",
        Fine,
        "byte x; active proctype p() { d_step { if :: x = 1 :: x = 2 fi; do :: x < 5 -> x++ :: break od } assert(x == 5) }",
    ),
    case(
        "d_step may not wait in the middle",
        Bug,
        "byte x; active proctype p() { d_step { x = 1; x == 2; x = 3 } } active proctype q() { x = 2 }",
    ),
    case(
        "d_step waits at its beginning",
        Fine,
        "byte x; active proctype p() { d_step { x == 2; x = 3 } } active proctype q() { x = 2 }",
    ),
    case(
        "messages come in order",
        Fine,
        "chan c = [3] of { byte }; active proctype p() { c!1; c!2; c!3 } active proctype q() { byte x, y; c?x; c?y; assert(x == 1 && y == 2); c?3 }",
    ),
    case(
        "a message that does not fit waits",
        Bug,
        "chan c = [3] of { byte }; active proctype p() { c!1; c!2 } active proctype q() { c?2 }",
    ),
    case(
        "the first that fits",
        Fine,
        "chan c = [4] of { byte, byte }; active proctype p() { byte x; c!1,10; c!2,20; c!1,30; c??2,x; assert(x == 20 && len(c) == 2); c??1,x; assert(x == 10); c?_,x; assert(x == 30 && empty(c)) }",
    ),
    case(
        "sorted",
        Fine,
        "chan c = [4] of { byte, byte }; active proctype p() { byte x, y; c!!3,1; c!!1,2; c!!2,0; c!!1,1; assert(full(c)); c?x,y; assert(x == 1 && y == 1); c?x,y; assert(x == 1 && y == 2); c?x,y; assert(x == 2); c?x,_; assert(x == 3) }",
    ),
    case(
        "sorted into what is not",
        Fine,
        "chan c = [4] of { byte }; active proctype p() { byte x; c!3; c!1; c!!2; c?x; assert(x == 2); c?x; assert(x == 3); c?x; assert(x == 1) }",
    ),
    case(
        "a look at a message",
        Fine,
        "chan c = [2] of { byte, bool }; byte n; active proctype p() { byte x; c!4,true; assert(c?[4,true] && !c?[5,true] && nempty(c) && nfull(c)); c?<x,_>; assert(x == 4 && len(c) == 1); c!7,false; assert(c??[7,false] && !c?[7,false] && full(c)); c?eval(x),_; assert(c?[7,_]) }",
    ),
    case("a channel that is full", Bug, "chan c = [1] of { byte }; active proctype p() { c!1; c!2 }"),
    case(
        "channels as parameters",
        Fine,
        "chan a = [1] of { byte }; chan b = [2] of { byte }; proctype p(chan in; chan out) { byte x; in?x; out!x + 1 } init { byte x; atomic { run p(a, b) }; a!4; b?x; assert(x == 5) }",
    ),
    case(
        "channels in messages",
        Fine,
        "chan ask = [1] of { chan, byte }; active proctype server() { chan to; byte x; ask?to,x; to!x * 2 } active proctype client() { chan mine = [1] of { byte }; byte x; ask!mine,21; mine?x; assert(x == 42) }",
    ),
    case(
        "each process has its own channel",
        Fine,
        "chan ask = [2] of { chan, byte }; byte done; active proctype server() { chan to; byte x; ask?to,x; to!x; ask?to,x; to!x; end: false } proctype client(byte n) { chan mine = [1] of { byte }; byte x; ask!mine,n; mine?x; assert(x == n); done++ } init { atomic { run client(3); run client(4) } }",
    ),
    case(
        "arrays of channels",
        Fine,
        "chan c[2] = [1] of { byte }; active [2] proctype p() { byte x; c[1 - _pid]!_pid; c[_pid]?x; assert(x == 1 - _pid) }",
    ),
    case(
        "numbers of processes",
        Fine,
        "byte p1; proctype p(byte n) { assert(_pid == n) } init { assert(_pid == 0); atomic { p1 = run p(1); run p(2) }; assert(p1 == 1) }",
    ),
    case(
        "records and arrays",
        Bug,
        "typedef inner { byte a[2]; bool b } typedef outer { inner i[2]; short s = -3 } outer o; active proctype p() { byte k = 1; assert(o.s == -3); o.i[k].a[1 - k] = 300; o.i[0].b = true; assert(o.i[1].a[0] == 44 && o.i[0].b && !o.i[1].b); o.i[k + 1].b = true }",
    ),
    case(
        "first values of arrays",
        Fine,
        "byte a[3] = 4; int b[2] = { 1, 7 }; active proctype p() { byte c[2] = 9; assert(a[2] == 4 && b[0] == 1 && b[1] == 7 && c[1] == 9) }",
    ),
    case(
        "macros",
        Fine,
        "#define N 3\n#define TWICE(x) ((x) + (x))\n#define both(a, b) (a && b)\n#ifdef M\nbroken\n#elif N > 2\nbyte x = TWICE(N);\n#else\nbroken\n#endif\n#if !defined(M) && (N == 3 || broken)\n#define OK both(x == 6, \\\n true)\n#endif\nactive proctype p() { assert(OK) }",
    ),
    case(
        "inline macros",
        Fine,
        "byte x; inline add(to, n) { byte old = to; to = to + n; assert(to == old + n) } active proctype p() { add(x, 2); if :: add(x, 3) fi; assert(x == 5) }",
    ),
    case(
        "loops and choices of numbers",
        Fine,
        "byte x, i, s; active proctype p() { for (i : 1 .. 4) { s = s + i } assert(s == 10 && i == 5); select (x : 2 .. 4); assert(x >= 2 && x <= 4) }",
    ),
    case("any number may be chosen", Bug, "byte x; active proctype p() { select (x : 2 .. 4); assert(x != 4) }"),
    case(
        "what is declared in a loop begins anew",
        Fine,
        "byte i; active proctype p() { do :: i < 2 -> byte t = 7; bool f; assert(t == 7 && !f); t = 3; f = true; i++ :: else -> break od }",
    ),
    case(
        "names of blocks",
        Fine,
        "byte x = 1; active proctype p() { { byte y = 3; assert(y == 3) } { byte y; assert(y == 0) } assert(x == 1) }",
    ),
    case(
        "what is printed is no bug",
        Fine,
        "mtype = { a }; active proctype p() { printf(\"%d \\\"%e\\\" /* no comment */\\n\", 3, a); printm(a) }",
    ),
    case("always", Bug, "byte x; active proctype p() { do :: x < 3 -> x++ :: x = 0 od } ltl low { [] (x < 3) }"),
    case(
        "always, and it is so",
        Fine,
        "byte x; active proctype p() { do :: x < 2 -> x++ :: else -> x = 0 od } ltl low { [] (x < 3 && !(x > 2)) }",
    ),
    case(
        "atomic hides what is in its middle",
        Fine,
        "byte x; active proctype p() { do :: atomic { x = 3; x = 0 } od } ltl low { [] (x != 3) }",
    ),
    case(
        "not at the beginning",
        Bug,
        "byte x = 5; active proctype p() { x = 0; do :: x = 1 - x od } ltl low { [] (x < 3) }",
    ),
    case(
        "eventually",
        Fine,
        "byte x; active proctype p() { do :: x < 3 -> x++ :: x == 3 -> x = 3 od } ltl up { <> (x == 3) }",
    ),
    case(
        "who is left for something else is left anywhere",
        Fine,
        "byte x, y; active proctype p() { { x = 1; x = 2; x = 3 } unless { y == 1 -> assert(x < 3) } } active proctype q() { y = 1 }",
    ),
    case(
        "what is over is not left",
        Bug,
        "byte x, y; active proctype p() { { x = 1 } unless { y == 1 -> x = 5 }; x == 1; y == 1; assert(x == 1) } active proctype q() { y = 1 }",
    ),
    case(
        "who waits is left",
        Fine,
        "byte x, y; active proctype p() { { x == 7; x = 1 } unless { y == 1 -> x = 5 }; assert(x == 5) } active proctype q() { y = 1 }",
    ),
    case(
        "of two around each other the outer goes first",
        Bug,
        "byte x, y, r; active proctype p() { { { x = 1; x = 2; x == 7 } unless { y > 0 -> r = 1 } } unless { y > 0 -> r = 2 }; assert(r == 1) } active proctype q() { y = 1 }",
    ),
    case(
        "three around each other",
        Fine,
        "byte x, y; active proctype p() { { { { x = 1; x = 2; x == 50 } unless { y >= 1 -> x = 11; x == 51 } } unless { y >= 2 -> x = 12; x == 52 } } unless { y >= 3 -> x = 13 }; assert(x == 13) } active proctype q() { y = 1; y = 2; assert(x != 13); y = 3 }",
    ),
    case(
        "`atomic` is left in the middle",
        Fine,
        "byte x, y; active proctype p() { { atomic { x = 1; y = 1; x = 2; x = 3 } } unless { y == 1 -> assert(x == 1) } ; assert(x == 1) }",
    ),
    case(
        "`d_step` is not left in the middle",
        Fine,
        "byte x, y; active proctype p() { { d_step { x = 1; y = 1; x = 2; x = 3 }; x = 4 } unless { y == 1 -> assert(x == 3) } ; assert(x == 3) }",
    ),
    case(
        "`else` inside of what is left",
        Fine,
        "byte x, y; active proctype p() { { if :: x == 1 -> x = 2 :: else -> x = 3 fi; x = 4 } unless { y == 1 -> x = 5 }; assert(x > 3) } active proctype q() { y = 1 }",
    ),
    case(
        "options beside one that is left go, too",
        Fine,
        "byte x, y, z; active proctype p() { y = 1; if :: { x = 1 } unless { y == 1 -> x = 9 } :: z = 1 fi; assert(z == 0) }",
    ),
    case(
        "a selection is left as a whole",
        Fine,
        "byte x, y, z; active proctype p() { y = 1; if :: { if :: x = 1 :: x = 2 fi } unless { y == 1 -> x = 9 } :: z = 1 fi; assert(z == 0) }",
    ),
    case(
        "a loop whose option is left",
        Fine,
        "byte x, y; active proctype p() { do :: { x < 2 -> x++; x++ } unless { y == 1 -> break } :: x > 0 -> x-- od; assert(y == 1) } active proctype q() { y = 1 }",
    ),
    case(
        "what it is left for may choose",
        Bug,
        "byte x, y, z; active proctype p() { y = 1; if :: { x = 2 } unless { if :: y == 1 -> x = 8 :: y > 0 -> x = 9 fi } :: x = 1 fi; assert(x == 8) }",
    ),
    case(
        "a jump out of what is left",
        Fine,
        "byte x, y; active proctype p() { { x = 1; if :: x == 1 -> goto out :: else fi; x = 2 } unless { y == 1 -> x = 5 }; assert(x == 5 || x == 2); out: assert(x != 2) } active proctype q() { y = 1 }",
    ),
    case(
        "a jump into what is left",
        Fine,
        "byte x, y; active proctype p() { goto mid; { x = 1; mid: x = 2; x = 3 } unless { y == 1 -> x = 5 }; assert(x == 5 || x == 3) } active proctype q() { y = 1 }",
    ),
    case(
        "a block that waits is left",
        Fine,
        "byte x, y; active proctype p() { atomic { { y == 2; x = 2 } unless { y == 1 -> x = 5; x = 6 }; x = x + 10 } ; assert(x == 16) } active proctype q() { y = 1; assert(x != 5) }",
    ),
    case(
        "left for a message",
        Fine,
        "chan c = [1] of { byte }; byte x, v; active proctype p() { do :: { x = 1; x = 0 } unless { c?v -> break } od; assert(v == 3) } active proctype q() { c!3 }",
    ),
    case(
        "a loop of jumps is left",
        Fine,
        "byte x, y; active proctype p() { L: { x++; if :: x < 2 -> goto L :: else fi } unless { y == 1 -> x = 7 }; assert(x == 2 || x == 7) } active proctype q() { y = 1 }",
    ),
    case(
        "left and come back to",
        Fine,
        "byte x, y, z; active proctype p() { y = 1; do :: { x < 2 -> x++ } unless { y == 3 -> x = 9 } :: x == 2 -> y = 3; z++; assert(z < 3) :: x == 9 -> break od; assert(x == 9) }",
    ),
    case(
        "who goes on only where it may",
        Fine,
        "byte turn, n; active proctype a() provided (turn == 0) { n++; n++; turn = 1; } active proctype b() provided (turn == 1) { assert(n == 2); n = 5; turn = 0 }",
    ),
    case(
        "`atomic` stops where it may not go on",
        Fine,
        "byte t, n; active proctype a() provided (t == 0) { atomic { n = 1; t = 1; n = 2 } ; n = 3 } active proctype b() { t == 1 -> assert(n == 1); t = 0 }",
    ),
    case(
        "`d_step` does not stop where it may not go on",
        Bug,
        "byte t, n; active proctype a() provided (t == 0) { d_step { n = 1; t = 1; n = 2 } ; n = 3 } active proctype b() { t == 1 -> assert(n == 2); }",
    ),
    case(
        "`else` of who may not go on",
        Fine,
        "byte t, x, n; active proctype a() provided (t == 0) { do :: x == 1 -> break :: else -> n = 1; n = 0 od } active proctype b() { t = 1; x = 1; t = 0 }",
    ),
    case(
        "who may go on by number",
        Bug,
        "byte t; active [2] proctype a() provided (_pid == t) { skip; t++; assert(t < 3) }",
    ),
    case(
        "who is started and may not go on",
        Fine,
        "byte t = 1, n; proctype a(byte k) provided (t == 0) { n = n + k } init { run a(1); run a(2); assert(n == 0); t = 0; n == 3 }",
    ),
    case(
        "`else` in `atomic` of who may not go on",
        Fine,
        "byte t, n; active proctype a() provided (t < 2) { atomic { if :: t == 5 -> skip :: else -> t = 2 fi; n = 1 } ; n = 2 } active proctype b() { t == 2 -> assert(n == 0); t = 0 }",
    ),
    case(
        "who is left and may not go on",
        Fine,
        "byte x, y, z; active proctype p() provided (z == 0) { { x = 1; x = 2 } unless { y == 1 -> x = 5 }; assert(z == 0 || x >= 2) } active proctype q() { y = 1; z = 1; z = 0 }",
    ),
    case(
        "eventually without fairness",
        Bug,
        "byte x, y; active proctype p() { x = 1 } active proctype q() { do :: y = 1 - y od } ltl up { <> (x == 1) }",
    ),
    case(
        "again and again",
        Bug,
        "byte x; active proctype p() { do :: x = 1; x = 0 :: true -> break od; x = 2 } ltl again { [] <> (x == 0) }",
    ),
    case(
        "from some time on",
        Fine,
        "byte x; active proctype p() { do :: x < 5 -> x++ :: else -> x = 5 od } ltl stays { <> [] (x == 5) }",
    ),
    case(
        "leads to",
        Fine,
        "bool a, b; active proctype p() { do :: a = true; b = true; a = false; b = false od } ltl leads { [] (a -> <> b) }",
    ),
    case(
        "leads nowhere",
        Bug,
        "bool a, b; active proctype p() { do :: a = true; b = true; a = false; b = false :: a = true; a = false od } ltl leads { always (a implies eventually b) }",
    ),
    case(
        "who stands at a label is asked by its number",
        Fine,
        "bool turn, flag[2]; active [2] proctype user() { again: flag[_pid] = 1; turn = _pid; (flag[1 - _pid] == 0 || turn == 1 - _pid); crit: skip; flag[_pid] = 0; goto again } ltl mutex { [] !(user[0]@crit && user[1]@crit) }",
    ),
    case(
        "who stands at a label breaks an invariant",
        Bug,
        "bool turn, flag[2]; active [2] proctype user() { again: flag[_pid] = 1; turn = _pid; (flag[1 - _pid] == 0 || turn == _pid); crit: skip; flag[_pid] = 0; goto again } ltl mutex { [] !(user[0]@crit && user[1]@crit) }",
    ),
    case(
        "who begins stands at the first label, and leaves it",
        Fine,
        "byte x; active proctype P() { s: x = 1; t: x = 2 } active proctype Q() { assert(P@s || x > 0); assert(!P@t || x != 2) }",
    ),
    case(
        "nobody stands in the middle of an atomic block that goes on",
        Fine,
        "byte x, n; active proctype P() { atomic { x = 1; m: x = 2; x = 3 }; e: x = 4 } active proctype Q() { do :: P@m -> n = 1; break :: x == 4 -> break od; assert(n == 0) }",
    ),
    case(
        "somebody stands in the middle of an atomic block that waits",
        Fine,
        "byte x, n; active proctype P() { atomic { x = 1; m: n == 1; x = 3 }; e: x = 4 } active proctype Q() { P@m; n = 1; x == 4; assert(!P@m) }",
    ),
    case(
        "who has handed over stands behind it",
        Bug,
        "chan c = [0] of { byte }; byte got; active proctype S() { w: c!1; d: got = got + 1 } active proctype R() { byte x; r: c?x; assert(S@d); got = got + 2 }",
    ),
    case(
        "numbers count all processes",
        Fine,
        "byte x; active proctype A() { end: x == 9 } active [2] proctype W() { x++; mid: x++ } active proctype Q() { if :: W[1]@mid && !W[2]@mid -> assert(x > 0) :: else fi; assert(!W[2]@mid || x > 0) }",
    ),
    case(
        "the second of two stands there while the first does not",
        Bug,
        "byte x; active proctype A() { end: x == 9 } active [2] proctype W() { _pid == 2; mid: x++ } active proctype Q() { end: W[2]@mid; assert(W[1]@mid) }",
    ),
    case(
        "infinitely often at a label",
        Fine,
        "byte x; active proctype P() { do :: x = 1 - x; w: x < 5; od } ltl l { [] <> (P@w) }",
    ),
    case("until", Fine, "byte x; active proctype p() { x = 1; x = 2 } ltl up { (x < 2) U (x == 2) }"),
    case("until it is too late", Bug, "byte x; active proctype p() { x = 1; x = 2 } ltl up { (x < 1) U (x == 2) }"),
    case(
        "until what never comes",
        Bug,
        "byte x; active proctype p() { do :: x = 1 - x od } ltl up { (x < 2) U (x == 2) }",
    ),
    case(
        "weakly until what never comes",
        Fine,
        "byte x; active proctype p() { do :: x = 1 - x od } ltl up { (x < 2) W (x == 2) }",
    ),
    case("released", Fine, "byte x; active proctype p() { x = 1; x = 2; x = 3 } ltl up { (x == 2) V (x < 3) }"),
    case("released too late", Bug, "byte x; active proctype p() { x = 1; x = 2; x = 3 } ltl up { (x == 3) V (x < 3) }"),
    case(
        "formulas inside of formulas",
        Fine,
        "bool a, b, c; active proctype p() { do :: a = true; b = true; c = true; a = false; b = false; c = false od } ltl all { ([] <> a && [] <> b -> [] <> c) && [] (a -> (a U b)) }",
    ),
    case(
        "one of two formulas",
        Bug,
        "bool a; active proctype p() { if :: a = true :: skip fi; do :: a = 1 - a :: break od } ltl one { (<> [] a) || ([] !a) }",
    ),
    case("arrows go from left to right", Bug, "bool a, b, c; active proctype p() { skip } ltl left { a -> b -> c }"),
    case("`!` belongs to what is next to it", Fine, "byte x = 5; active proctype p() { x = 6 } ltl near { ! x == 0 }"),
    case(
        "`U` binds more than `&&`",
        Bug,
        "bool a, b = 1, c; active proctype p() { skip } ltl binds { a && b U c || a }",
    ),
    case(
        "between the two steps of a message nobody looks at an invariant",
        Fine,
        "chan c = [0] of { byte }; byte x, y; active proctype p() { atomic { x = 1; c!1 } } active proctype q() { c?y } ltl same { [] (x == y) }",
    ),
    case(
        "between the two steps of a message nobody stands anywhere",
        Fine,
        "chan c = [0] of { byte }; active proctype p() { c!1; a: skip } active proctype q() { byte z; b: c?z } ltl never_both { [] !(p@a && q@b) }",
    ),
    case(
        "between the two steps of a message nothing comes about",
        Bug,
        "chan c = [0] of { byte }; byte x, y; active proctype p() { atomic { x = 1; c!1 } } active proctype q() { c?y } ltl between { <> (x == 1 && y == 0) }",
    ),
    case(
        "who begins at a reception waits there at once",
        Fine,
        "chan c = [0] of { byte }; byte x, y; active proctype p() { atomic { x = 1; c!1 } } active proctype q() { c?y } active proctype r() { assert(x == y) }",
    ),
    case(
        "who is started waits at once at a channel that it is given",
        Fine,
        "chan c[2] = [0] of { byte }; byte x, y; proctype q(byte n; chan d) { if :: c[n]?y :: d?y fi } init { atomic { run q(1, c[0]); x = 1; c[1]!1 }; assert(x == y) }",
    ),
    case(
        "who is started at an end waits there",
        Fine,
        "chan c = [0] of { byte }; active [2] proctype q() { byte y; end: c?y; c?y }",
    ),
    case(
        "kinds of mtype have numbers of their own",
        Fine,
        "mtype = { none, one, two }; mtype:fruit = { apple, pear }; mtype:color = { red, green }; mtype = { four }; mtype:fruit f; chan c = [1] of { mtype:fruit, byte }; proctype p(mtype:fruit k) { assert(k == pear) } init { byte b; mtype:color l; assert(one == 2 && two == 1 && four == 4 && apple == 2 && green == 1); l = red; b = l; assert(b == 2 && l == apple); c!pear(red); c?f,b; assert(f == pear && b == 2); run p(pear) }",
    ),
    case(
        "the fields of records are fields of messages",
        Fine,
        "typedef In { byte x; bool y[2] }; typedef M { byte a; In i; mtype k }; mtype = { one, two }; chan c = [2] of { byte, M }; chan d = [0] of { M }; active proctype p() { M m; m.a = 1; m.i.x = 5; m.i.y[1] = 1; m.k = two; c!7,m; c!8,m; d!m } active proctype q() { M n; byte k; c?k,n; assert(k == 7 && n.a == 1 && n.i.x == 5 && n.i.y[1] && !n.i.y[0] && n.k == two); n.a = 9; c??8,n; assert(n.a == 1); d?n; assert(n.a == 1 && n.k == two) }",
    ),
    case(
        "a field of a record is not that of another message",
        Bug,
        "typedef M { byte a; byte b }; chan c = [2] of { M }; active proctype p() { M m; m.a = 1; m.b = 2; c!m } active proctype q() { M n; c?n; assert(n.a == 1 && n.b == 3) }",
    ),
    case(
        "anything is assigned to nothing",
        Fine,
        "byte x; active proctype p() { _ = x + 3; _ = 1; x = 1; assert(x == 1) }",
    ),
    same(
        "who waits until nobody else can go on",
        Fine,
        15,
        "bool up = 1; byte n; active proctype system() { do :: up -> if :: skip :: up = 0 fi :: !up -> up = 1; n = (n + 1) % 3 od } active proctype watchdog() { do :: timeout -> assert(up) od }",
    ),
    case(
        "what is lost is sent again",
        Fine,
        "mtype = { msg, ack }; chan to = [1] of { mtype, bit }; chan back = [1] of { mtype, bit }; active proctype sender() { bit b, r; do :: to!msg,b -> if :: back?ack,r -> if :: r == b -> b = 1 - b :: else fi :: timeout fi od } active proctype receiver() { bit b, wanted; do :: to?msg,b -> if :: b == wanted -> wanted = 1 - wanted :: else fi; if :: back!ack,b :: skip fi :: to?msg,b od }",
    ),
    case(
        "nobody else can go on in the end alone",
        Bug,
        "chan c = [1] of { byte }; active proctype p() { byte x; do :: c?x :: timeout -> break od; assert(x != 2) } active proctype q() { c!1; c!2 }",
    ),
    case(
        "several may go on when nobody else can, one after the other",
        Bug,
        "byte n; active [2] proctype p() { timeout; n++; assert(n < 2) }",
    ),
    case(
        "in the middle of atomic each wait is for nobody else",
        Fine,
        "byte x, y; active proctype p() { atomic { timeout -> x = 1; timeout -> assert(y == 1) } } active proctype q() { x == 1; y = 1 }",
    ),
    case(
        "a timeout with a condition",
        Bug,
        "bool f; active proctype p() { do :: timeout && f -> break od } active proctype q() { !f }",
    ),
    case(
        "a timeout beside a channel without room",
        Fine,
        "chan c = [0] of { byte }; byte n; active proctype p() { byte x; do :: c?x -> n++ :: timeout -> break od; assert(n == 2) } active proctype q() { c!1; c!2 }",
    ),
    case(
        "a formula of a program with timeouts",
        Fine,
        "byte x; active proctype p() { do :: timeout -> x = 1 - x od } active proctype q() { x == 1; x == 0 } ltl again { [] <> (x == 1) && [] (x == 1 -> (x == 1 U x == 0)) }",
    ),
    case(
        "who waits until it is alone",
        Fine,
        "byte n; proctype p() { n++ } init { atomic { run p(); run p() }; (_nr_pr == 1); assert(n == 2) }",
    ),
    case(
        "one that has ended is counted until it leaves",
        Bug,
        "byte n; proctype p() { n = 1 } init { run p(); (n == 1); assert(_nr_pr == 1) }",
    ),
    case("it may have left", Bug, "byte n; proctype p() { n = 1 } init { run p(); (n == 1); assert(_nr_pr == 2) }"),
    case(
        "the older does not leave before the younger",
        Fine,
        "byte n; proctype old() { n++ } proctype young() { end: n == 9 } init { atomic { run old(); run young() }; (n == 1); assert(_nr_pr == 3) }",
    ),
    case(
        "who has ended and cannot leave is in no deadlock",
        Fine,
        "bool f; active proctype old() { skip } active proctype young() { end: f }",
    ),
    case(
        "a number is given again",
        Bug,
        "byte a, b; proctype p() { skip } init { a = run p(); b = run p(); assert(a != b) }",
    ),
    case(
        "only a number that is free is given again",
        Fine,
        "byte a, b; bool go; proctype p() { go } init { a = run p(); b = run p(); go = true; assert(a == 1 && b == 2) }",
    ),
    case(
        "numbers given again beside a channel without room",
        Fine,
        "chan c = [0] of { byte }; byte x, y; proctype p() { c!_pid } init { run p(); c?x; (_nr_pr == 1); run p(); c?y; assert(x == 1 && y == 1) }",
    ),
    case(
        "a loop over an array",
        Fine,
        "byte a[4], i, sum; init { for (i in a) { a[i] = i + 1 } for (i in a) { sum = sum + a[i] } assert(sum == 10 && i == 4) }",
    ),
    case(
        "channels of one sender and one receiver, and a variable that is hidden",
        Fine,
        "chan c = [2] of { byte }; hidden byte h; active proctype S() { xs c; c!1; c!2 } active proctype R() { xr c; byte x; c?x; c?x; h = x; assert(h == 2) }",
    ),
    case(
        "a look at a variable of another process, also by its number",
        Fine,
        "active proctype r() { skip } active proctype p() { byte x = 1; bit a[2]; do :: x = 3 - x; a[1] = 1 od } active proctype q() { p:x == 2; assert(p[1]:x < 3); p:a[1] == 1; end: false }",
    ),
    case("a formula looks, too", Bug, "active proctype p() { byte x = 1; do :: x = 1 - x od } ltl f { [] (p:x == 1) }"),
    case("who has left has no variables", Bug, "active proctype p() { byte x = 1; x = 2 } ltl f { [] (p:x != 0) }"),
    case(
        "who has not has them",
        Fine,
        "active proctype p() { byte x = 1; x = 2; do :: x = 3 - x od } ltl f { [] (p:x != 0) }",
    ),
    case(
        "who is left alone leaves last",
        Bug,
        "active proctype r() { skip } active proctype p() { byte x = 1; x = 2 } ltl f { <> [] (p:x == 2) }",
    ),
    case(
        "a claim that comes to its end",
        Bug,
        "byte x; active proctype p() { x = 1; x = 2; x = 0 } never { do :: x == 2 -> break :: else od }",
    ),
    case(
        "and one that does not",
        Fine,
        "byte x; active proctype p() { x = 1; x = 2; x = 0 } never { x == 0; x == 1; x == 2; x == 0; x == 1 }",
    ),
    case(
        "a claim of what is for ever",
        Fine,
        "bool b; active proctype p() { do :: b = !b :: b -> b = false od } active proctype q() { b = true } never { l: do :: true :: b -> goto accept_all od; accept_all: do :: b od }",
    ),
    case(
        "what never comes back",
        Fine,
        "byte x; active proctype p() { do :: x = 1 - x od } never { do :: true :: x == 1 -> break od; accept_all: do :: x == 1 od }",
    ),
    case(
        "a claim goes on where nobody else does",
        Bug,
        "byte x; active proctype p() { x = 1 } never { do :: true :: x == 1 -> goto accept_all od; accept_all: do :: x == 1 od }",
    ),
    case("who accepts again and again", Bug, "byte x; active proctype p() { do :: x = 1; accept: x = 0 od }"),
    case("who accepts once", Fine, "byte x; active proctype p() { accept: x = 1; do :: x = 0 :: x = 1 od }"),
    case(
        "who stands and accepts while another goes on",
        Bug,
        "byte x; active proctype p() { x = 2; accept: x == 7 } active proctype q() { do :: x = 1 - x od }",
    ),
    case(
        "who comes to accept and goes on for good",
        Fine,
        "byte x; active proctype p() { x = 1; accept_a: x = 2; progress: x = 3 } active proctype q() { end: do :: x == 3 -> x = 3 od }",
    ),
    case(
        "the second of two accepts",
        Bug,
        "byte x; active [2] proctype p() { do :: atomic { _pid == 1 -> x = 1 }; accept: x = 0 :: _pid == 0 -> x = 2 od }",
    ),
    case(
        "one who accepts and has ended",
        Fine,
        "byte x; active proctype p() { accept: x = 1; x = 2 } active proctype q() { do :: x == 2 -> x = 2 od }",
    ),
    case(
        "a claim counts steps that touch nothing shared",
        Bug,
        "byte y; bool b; active proctype p() { b = !b; y = 0 } active proctype q() { skip; y = 2 } never { y == 0; !b && y == 0; y == 2 && !b; y == 2 && !b; b }",
    ),
    case(
        "and those in which processes leave, the youngest first",
        Bug,
        "byte x; active proctype p() { x = 1 } active proctype q() { x = 2 } never { x == 0; x == 1; x == 2; x == 2; x == 2; x == 2; assert(false) }",
    ),
    case(
        "an older one does not leave before a younger one",
        Fine,
        "byte x; active proctype p() { x = 1 } active proctype q() { x = 2 } never { x == 0; x == 1; x == 1; x == 2 }",
    ),
    case(
        "an assertion in a claim, in the state that is read",
        Bug,
        "byte x; active proctype p() { x = 1; x = 2 } never { do :: atomic { x == 1 -> assert(!(x == 1)) } :: true od }",
    ),
    case(
        "a claim looks where processes stand, and hands over nothing between",
        Fine,
        "chan c = [0] of { byte }; byte n; active proctype s() { do :: n == 0 -> n = 1; c!1; got: n == 0 od } active proctype r() { do :: c?_; n = 0 od } never named { do :: s@got && n > 1 -> break :: else od }",
    ),
];

#[test]
fn every_program_has_the_verdict_that_spin_gives() {
    let mut wrong = Vec::new();
    for Case { name, source, said: wanted, states: stored } in CASES {
        match compiled(source).map(|program| answer(&program)) {
            Err(refused) => wrong.push(format!("{name}: {refused}")),
            Ok((said, _)) if said != *wanted => wrong.push(format!("{name}: {said:?}\n{source}")),
            Ok((Fine, states)) if stored.is_some() && states != *stored => {
                wrong.push(format!("{name}: {states:?} states, and SPIN stores {stored:?}"));
            }
            Ok(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "a C compiler runs for each program: a minute"]
fn spin_says_what_stands_beside_the_programs() {
    if !is_there() {
        return;
    }
    let mut wrong = Vec::new();
    for (n, Case { name, source, said: wanted, states: stored }) in CASES.iter().enumerate() {
        let Spin { said, states, text } = spin(source, &folder(&format!("case{n}")));
        let differs = matches!((said, stored), (Fine, Some(stored)) if *stored != states);
        if said != *wanted || differs {
            wrong.push(format!("{name}: {said:?}, {states} states\n{source}\n{text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_jump_that_is_progress_leaves_other_ways_as_they_are() {
    let said = |source: &str| {
        let program = compiled(source).expect(source);
        let plan = Plan { livelock: true, ..Plan::default() };
        let id = program_id("", &program.source, &[], &[]);
        let report = check(&program, &id, &plan, &AtomicBool::new(false), &|_| {}).expect(source);
        matches!(report.verdict, Verdict::Bug { .. })
    };
    // As SPIN says with `-DNP` and `-l`.
    assert!(said("byte x; init { l: if :: x = 1; goto l :: x = 2; progress: goto l fi }"));
    assert!(!said("byte x; init { l: if :: x = 1; progress: goto l :: x = 2; progress1: goto l fi }"));
    assert!(said("byte x; init { do :: x = 1 :: x = 2; progress: break od; do :: x = 3 od }"));
}
