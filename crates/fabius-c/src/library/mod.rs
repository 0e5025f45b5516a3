//! What functions of the libraries mean.

mod asked;
mod atomic;
mod c11;
mod cancel;
mod endless;
mod handlers;
mod leaks;
mod memory;
mod moves;
mod named;
mod orders;
pub(crate) mod pthread;
mod sort;
mod started;
mod strings;
mod svcomp;
mod tasks;
mod varargs;

pub use c11::is_declared_in as declares_c11_threads;
pub(crate) use endless::forget_handles;
pub(crate) use leaks::Ending;
pub use memory::WRONG_FREES;
pub use named::for_files as named_functions;
pub use strings::for_files as string_functions;

use crate::core::*;
use crate::expressions::Ex;
use crate::lower::Lower;
use crate::memory::Direct;
use crate::places::{Lvalue, Value};
use crate::refusal::{Refusal, Result, unsupported, wrong};
use crate::types::{CType, INT as C_INT};
use fabius_lang::program::{BinaryOp, Block, Check, Expr, Guard, Stmt, StmtKind};
use fabius_trace::Span;
use lang_c::ast::Expression;

/// Functions whose arguments are evaluated, and nothing else.
const NOTHING: &[&str] = &[
    "fflush",
    "setvbuf",
    "pthread_attr_init",
    "pthread_attr_destroy",
    "pthread_attr_setdetachstate",
    "pthread_attr_setstacksize",
    "pthread_attr_setscope",
    "pthread_condattr_init",
    "pthread_condattr_setclock",
    "pthread_condattr_destroy",
    "pthread_mutexattr_destroy",
    "pthread_detach",
    "pthread_setconcurrency",
    "pthread_setname_np",
    "pthread_rwlockattr_init",
    "pthread_rwlockattr_destroy",
    "pthread_barrierattr_init",
    "pthread_barrierattr_destroy",
    "sem_close",
    "sem_unlink",
    "__atomic_signal_fence",
    "setlocale",
    "clock",
    // Where nobody is cancelled.
    "pthread_testcancel",
    "pthread_attr_setschedpolicy",
    "pthread_attr_setschedparam",
    "pthread_attr_setinheritsched",
    "pthread_attr_setguardsize",
    "pthread_setaffinity_np",
    "sched_setaffinity",
    "__builtin___clear_cache",
];

/// Functions that write 0 where an argument points, and return 0: time stands still.
const ZEROS: &[(&str, usize)] = &[
    ("time", 0),
    ("clock_gettime", 1),
    ("gettimeofday", 0),
    ("timespec_get", 0),
    ("pthread_setcancelstate", 1),
    ("pthread_setcanceltype", 1),
];

/// The same; what they return is not known, so that nobody may look at it.
const PRINTS: &[&str] = &[
    "printf", "fprintf", "vprintf", "vfprintf", "puts", "putchar", "putc", "fputs", "fputc", "perror", "setbuf",
    "srand", "srandom",
];

/// Functions of numbers that nobody looks at.
const FLOATS: &[&str] = &[
    "sqrt", "cbrt", "pow", "exp", "exp2", "log", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "atan2",
    "fabs", "floor", "ceil", "round", "trunc", "fmod", "fmin", "fmax", "hypot", "ldexp", "difftime", "atof", "drand48",
];

/// Functions that let others go on.
const YIELDS: &[&str] = &["sched_yield", "pthread_yield", "sleep", "usleep", "nanosleep", "__builtin_ia32_pause"];

/// What an operation waits for, and what it does then.
type Operation = (Option<Expr>, Block);

impl<'a> Lower<'a, '_> {
    /// A call of a function that is known, unless the program defines it itself.
    pub fn library_call(&mut self, name: &str, args: &'a [Ex], span: Span) -> Result<Option<Value>> {
        if let Some(v) = self.svcomp(name, args, span)? {
            return Ok(Some(v));
        }
        if self.functions.get(name).is_some_and(|f| f.definition.is_some()) {
            return Ok(None);
        }
        if let Some(v) = self.c11_call(name, args, span)? {
            return Ok(Some(v));
        }
        if let Some(v) = self.cancel_call(name, args, span)? {
            return Ok(Some(v));
        }
        if NOTHING.contains(&name) {
            self.evaluate_all(args)?;
            return Ok(Some(self.zero(span)));
        }
        if let Some((_, n)) = ZEROS.iter().find(|(zeros, _)| *zeros == name) {
            return self.write_zero(name, args, *n, span).map(Some);
        }
        if PRINTS.contains(&name) {
            self.evaluate_all(args)?;
            self.read_texts(name, args, span)?;
            return Ok(Some(Value::void()));
        }
        if FLOATS.contains(&name) || name.strip_suffix('f').is_some_and(|name| FLOATS.contains(&name)) {
            let ty = CType::Float(if FLOATS.contains(&name) { 8 } else { 4 });
            if name.starts_with("fabs") {
                let v = self.value(self.argument(args, 0, span)?)?;
                let v = self.convert(v, &ty, span)?;
                return self.absolute(v, span).map(Some);
            }
            self.evaluate_all(args)?;
            return Ok(Some(self.some_number(ty, span)));
        }
        if YIELDS.contains(&name) {
            self.evaluate_all(args)?;
            self.give_way(span);
            return Ok(Some(self.zero(span)));
        }
        match name {
            "__builtin_unreachable" => {
                let words = match self.body.function.starts_with("fabius__") {
                    true => "a floating-point number that is not known, or does not fit into an integer",
                    false => "a place that is said not to be reached",
                };
                self.check(boolean(false, span), Check::Bound, words, span);
                return Ok(Some(Value::void()));
            }
            "__builtin_constant_p" | "__builtin_prefetch" => {
                return Ok(Some(self.zero(span)));
            }
            "__builtin_expect" => {
                let v = self.value(self.argument(args, 0, span)?)?;
                return Ok(Some(v));
            }
            "__builtin_va_start" => {
                self.va_start(args, span)?;
                return Ok(Some(Value::void()));
            }
            "__builtin_va_copy" => {
                self.va_copy(args, span)?;
                return Ok(Some(Value::void()));
            }
            "__builtin_va_end" => return Ok(Some(Value::void())),
            // The parser takes it for a call.
            "asm" | "__asm" | "__asm__" => {
                let Expression::StringLiteral(text) = &self.argument(args, 0, span)?.node else { return Ok(None) };
                self.instructions(&text.node, span)?;
                return Ok(Some(Value::void()));
            }
            "abort" | "__builtin_trap" => {
                self.fails_unless(boolean(false, span), "abort", span)?;
                return Ok(Some(Value::void()));
            }
            "qsort" => return self.sort(args, span).map(Some),
            "bsearch" => return self.search(args, span).map(Some),
            "getenv" | "secure_getenv" => return self.environment(args, span).map(Some),
            "atexit" => return self.at_exit(args, span).map(Some),
            "exit" | "_exit" | "_Exit" | "quick_exit" => {
                self.evaluate_all(args)?;
                if name == "exit" {
                    self.run_handlers(span)?;
                }
                self.look_for_leaks(Ending::Exits, span);
                self.end(span);
                return Ok(Some(Value::void()));
            }
            "__assert_fail" | "__assert" | "__assert_rtn" | "__assert_perror_fail" => {
                // The text of the assertion is its first argument.
                let text = args.first().and_then(|a| match &a.node {
                    Expression::StringLiteral(s) => Some(s.node.concat()),
                    _ => None,
                });
                let text = text.map(|t| t.replace("\\\"", "\"")).unwrap_or_default();
                let text = text.trim_matches('"').to_string();
                self.fails_unless(boolean(false, span), &text, span)?;
                return Ok(Some(Value::void()));
            }
            "scanf" | "sscanf" | "fscanf" => return self.scan(name, args, span).map(Some),
            "signal" if self.is_no_function(args) => return Ok(Some(self.zero(span))),
            "signal" | "sigaction" | "setjmp" | "longjmp" => {
                return unsupported(span, format!("`{name}` is not taken: what it registers would never run"))
                    .map_err(|e: Refusal| e.help("leave it out: `#ifndef __FABIUS__`"));
            }
            "sysconf" => {
                self.evaluate_all(args)?;
                let ty = self.types().difference_type();
                let most = if ty == crate::types::LONG { i64::MAX } else { i64::from(i32::MAX) };
                return Ok(Some(self.any(-1, most, ty, span)));
            }
            "get_nprocs" | "get_nprocs_conf" | "getpid" | "getppid" => {
                return Ok(Some(self.any(1, i64::from(i32::MAX), C_INT, span)));
            }
            "rand" | "random" => return Ok(Some(self.any(0, i64::from(i32::MAX), C_INT, span))),
            "abs" | "labs" | "llabs" => {
                let ty = match name {
                    "abs" => C_INT,
                    "labs" => self.types().difference_type(),
                    _ => crate::types::LONG,
                };
                let v = self.value(self.argument(args, 0, span)?)?;
                let v = self.convert(v, &ty, span)?;
                let v = self.negatable(v, span);
                let e = self.simple(v.parts[0].clone());
                let zero = constant(0, e.ty.clone(), span);
                let less = binary(fabius_lang::program::BinaryOp::Lt, e.clone(), zero);
                let minus = unary(fabius_lang::program::UnaryOp::Neg, e.clone());
                return Ok(Some(Value::scalar(if_else(less, minus, e), ty)));
            }
            _ => {}
        }
        if let Some(v) = self.checked(name, args, span)? {
            return Ok(Some(v));
        }
        let span = self.look_at_orders(name, args, span);
        if let Some(v) = self.pthread(name, args, span)? {
            self.synchronizes_at(name, span);
            return Ok(Some(v));
        }
        if let Some(v) = self.atomic_call(name, args, span)? {
            return Ok(Some(v));
        }
        if let Some(v) = self.memory_call(name, args, span)? {
            return Ok(Some(v));
        }
        if let Some(v) = self.string_call(name, args, span)? {
            return Ok(Some(v));
        }
        self.tasks(name, args, span)
    }

    /// Whether a function returns how much it has written, or that it has failed: any number, if somebody looks at it.
    pub fn says_what_was_written(&self, name: &str) -> bool {
        PRINTS.contains(&name) && !["setbuf", "srand", "srandom", "perror"].contains(&name)
    }

    /// A variable of the environment: it may be there, and what it holds is not followed.
    fn environment(&mut self, args: &'a [Ex], span: Span) -> Result<Value> {
        self.evaluate_all(args)?;
        self.found.environment = true;
        let is_there = self.any(0, 1, C_INT, span).parts[0].clone();
        let at = binary(BinaryOp::Mul, cast(is_there, &ADDRESS), constant(crate::memory::ENVIRONMENT, ADDRESS, span));
        Ok(Value::scalar(at, CType::Int { bits: 8, signed: true }.pointer()))
    }

    /// Whether an expression is `errno`, as headers write it.
    pub fn is_errno(&self, e: &Ex) -> bool {
        let Expression::UnaryOperator(u) = &e.node else { return false };
        let Expression::Call(c) = &u.node.operand.node else { return false };
        let Expression::Identifier(name) = &c.node.callee.node else { return false };
        let name = name.node.name.as_str();
        let defined = self.functions.get(name).is_some_and(|f| f.definition.is_some());
        u.node.operator.node == lang_c::ast::UnaryOperator::Indirection && name == "__errno_location" && !defined
    }

    /// `errno`: each thread has its own.
    pub fn errno(&mut self, span: Span) -> Result<Lvalue> {
        let id = self.make_per_thread("$errno", "errno", &mut C_INT.clone(), None, span)?;
        Ok(self.whole(id, span))
    }

    /// Others may go on for free: the first `zield` ends the step, and who is in front of the second gives way.
    pub fn give_way(&mut self, span: Span) {
        self.push(StmtKind::Zield, span);
        self.push(StmtKind::Zield, span);
    }

    /// The process is aborted unless the condition holds. If a property is asked about, that is its end, and no bug.
    pub fn fails_unless(&mut self, e: Expr, words: &str, span: Span) -> Result<()> {
        if self.options.property.is_none() {
            self.check(e, Check::Assertion, words, span);
            return Ok(());
        }
        let (end, ()) = self.block(|s| {
            s.end(span);
            Ok(())
        })?;
        self.push(StmtKind::If(Guard::Expr(not(e)), end, Vec::new()), span);
        Ok(())
    }

    /// Writes 0 where an argument points, if it is no null pointer in the text.
    fn write_zero(&mut self, name: &str, args: &'a [Ex], n: usize, span: Span) -> Result<Value> {
        let mut base = self.zero(span);
        for (i, each) in args.iter().enumerate() {
            let is_null = matches!(strip_casts(each).node, Expression::Constant(_));
            if i == n && !is_null {
                let lv = self.pointed(strip_casts(each), span)?;
                self.clear_place(&lv, span)?;
            } else {
                let v = self.value(each)?;
                if name == "timespec_get" {
                    base = v;
                }
            }
        }
        Ok(base)
    }

    /// Whether a signal is ignored, or treated by default: a number in place of a function.
    fn is_no_function(&self, args: &'a [Ex]) -> bool {
        args.get(1).is_some_and(|e| matches!(strip_casts(e).node, Expression::Constant(_)))
    }

    /// What is read may be anything.
    fn scan(&mut self, name: &str, args: &'a [Ex], span: Span) -> Result<Value> {
        let first = if name == "scanf" { 1 } else { 2 };
        let format = args.get(first - 1).map(|e| &strip_casts(e).node);
        let numbers = match format {
            Some(Expression::StringLiteral(text)) => reads_numbers(&text.node.concat()),
            _ => false,
        };
        if !numbers {
            return unsupported(span, "only numbers are read, by a format that stands in the call");
        }
        for each in args.iter().skip(first) {
            let lv = self.pointed(strip_casts(each), span)?;
            if !lv.ty.is_integer() {
                return unsupported(span, "only numbers are read");
            }
            let v = self.any_of(&lv.ty.plain().clone(), span)?;
            let v = self.convert(v, &lv.ty, span)?;
            self.store(&lv, &v, span)?;
        }
        let most = args.len().saturating_sub(first) as i64;
        Ok(self.any(-1, most, C_INT, span))
    }

    /// An `int` that is 0.
    pub fn zero(&self, span: Span) -> Value {
        Value::scalar(constant(0, INT, span), C_INT)
    }

    pub fn argument(&self, args: &'a [Ex], n: usize, span: Span) -> Result<&'a Ex> {
        match args.get(n) {
            Some(e) => Ok(e),
            None => wrong(span, format!("{} arguments are missing", n + 1 - args.len())),
        }
    }

    pub fn evaluate_all(&mut self, args: &'a [Ex]) -> Result<()> {
        for each in args {
            if matches!(each.node, Expression::StringLiteral(_)) {
                continue;
            }
            // What streams are is nobody's business.
            if let Expression::Identifier(n) = &each.node
                && ["stdout", "stderr", "stdin"].contains(&n.node.name.as_str())
            {
                continue;
            }
            // An address is not looked at.
            if let Expression::UnaryOperator(u) = &each.node
                && u.node.operator.node == lang_c::ast::UnaryOperator::Address
            {
                continue;
            }
            self.value(each)?;
        }
        Ok(())
    }

    /// An argument as a number of this type.
    pub fn number(&mut self, args: &'a [Ex], n: usize, ty: &CType, span: Span) -> Result<Expr> {
        let v = self.value(self.argument(args, n, span)?)?;
        let v = self.convert(v, ty, span)?;
        Ok(self.simple(v.parts[0].clone()))
    }

    /// Any number between two.
    pub fn any(&mut self, lo: i64, hi: i64, ty: CType, span: Span) -> Value {
        let core = ty.core();
        let id = self.chosen(core.clone());
        let place = self.local(id, span);
        self.push(StmtKind::Any(place, constant(lo, core.clone(), span), constant(hi, core, span)), span);
        Value::scalar(self.read_local(id, span), ty)
    }

    /// The object of the library that an argument points to.
    pub fn object(&mut self, args: &'a [Ex], n: usize, ty: &str, span: Span) -> Result<Lvalue> {
        let e = self.argument(args, n, span)?;
        let lv = self.pointed(strip_casts(e), span)?;
        let wanted = self.library_type(ty).expect("the library has it");
        if *lv.ty.plain() == wanted {
            return Ok(Lvalue { span, ..lv });
        }
        if let crate::places::At::Deref { address, parts, .. } = &lv.at
            && parts.is_empty()
            && lv.ty == CType::Void
        {
            let at = crate::places::At::Deref { address: address.clone(), root: wanted.clone(), parts: Vec::new() };
            return Ok(Lvalue { at, ty: wanted, width: None, span });
        }
        let found = self.types().show(&lv.ty);
        wrong(span, format!("a pointer to `{ty}` is expected, and this is one to `{found}`"))
    }

    /// An operation of the library on one of its objects: one step. `wait` is what it waits for; `work` what it does then.
    pub fn operation(
        &mut self,
        lv: &Lvalue,
        work: &mut dyn FnMut(&mut Self, &Direct) -> Result<Operation>,
    ) -> Result<()> {
        let span = lv.span;
        if self.body.atomic > 0 {
            return unsupported(span, "an operation that may wait is not taken inside of an atomic section");
        }
        self.at(lv, &mut |s, d| {
            let (wait, block) = work(s, d)?;
            let mut all: Block = wait.map(|e| stmt(StmtKind::Await(e), span)).into_iter().collect();
            all.extend(s.allocated(d, span));
            all.extend(block);
            s.push(StmtKind::Atomic(all), span);
            Ok(())
        })
    }

    /// The places of the scalar parts of a library's object, in order.
    pub fn parts_of(&mut self, d: &Direct, n: usize, span: Span) -> Result<Vec<fabius_lang::program::Place>> {
        (0..n)
            .map(|i| {
                let mut d = d.clone();
                d.parts.push(crate::memory::Part::Field(i));
                self.place(&d, span)
            })
            .collect()
    }
}

/// An assignment.
pub(crate) fn assign(place: &fabius_lang::program::Place, e: Expr, span: Span) -> Stmt {
    stmt(StmtKind::Assign(place.clone(), e), span)
}

/// Whether all that a format of `scanf` reads are numbers and single characters.
fn reads_numbers(format: &str) -> bool {
    let text = format.replace("%%", "");
    text.split('%').skip(1).all(|rest| {
        let kind = rest.trim_start_matches(['h', 'l', 'z', 'j', 't']);
        kind.starts_with(['d', 'i', 'u', 'o', 'x', 'X', 'c'])
    })
}

/// Without casts around it.
pub(crate) fn strip_casts(mut e: &Ex) -> &Ex {
    while let Expression::Cast(c) = &e.node {
        e = &c.node.expression;
    }
    e
}
