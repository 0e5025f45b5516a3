//! POSIX threads and semaphores, C11 threads.
//!
//! Length: one table of functions, each a few lines.

use super::{assign, strip_casts};
use crate::birth::UNSET;
use crate::core::*;
use crate::expressions::Ex;
use crate::lower::{CHILDREN, Lower, RAISED, THREAD};

use crate::memory::Direct;
use crate::places::{Lvalue, Value};
use crate::refusal::{Result, unsupported, wrong};
use crate::types::{CType, INT as C_INT};
use fabius_lang::program::*;
use fabius_trace::Span;
use lang_c::ast::{Expression, UnaryOperator};

const EBUSY: i64 = 16;
const EINVAL: i64 = 22;
const EAGAIN: i64 = 11;
const ETIMEDOUT: i64 = 110;
const EDEADLK: i64 = 35;
const EPERM: i64 = 1;
/// Kinds of mutexes, as glibc numbers them.
pub(crate) const RECURSIVE: i64 = 1;
pub(crate) const ERRORCHECK: i64 = 2;
/// What functions call in which a thread may end that called them by others.
const EXITS: &str = "pthread_exit";
/// A mutex that was destroyed.
const DESTROYED: i64 = -1;

/// What who cannot have a lock now does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Otherwise {
    Waits,
    Returns(i64),
}

/// Try is refused at once, and who waits for some time may give up whenever he would have to wait.
const TRIES: Otherwise = Otherwise::Returns(EBUSY);
const GIVES_UP: Otherwise = Otherwise::Returns(ETIMEDOUT);

fn int(n: i64, span: Span) -> Expr {
    constant(n, INT, span)
}

fn me(span: Span) -> Expr {
    Expr { kind: ExprKind::SelfHandle, ty: Type::Thread, span }
}

fn nobody(span: Span) -> Expr {
    constant(0, Type::Thread, span)
}

fn eq(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Eq, a, b)
}

fn or(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Or, a, b)
}

/// Whether the running thread is in a set.
fn is_in(set: &Place, span: Span) -> Expr {
    let kind = ExprKind::SetContains(read(set.clone()).into(), me(span).into());
    Expr { kind, ty: Type::Bool, span }
}

/// Whether the running thread may have a mutex that it has given back, or not quite.
fn can_be_had(mutex: &[Place], span: Span) -> Expr {
    or(eq(read(mutex[0].clone()), nobody(span)), eq(read(mutex[0].clone()), me(span)))
}

/// Whether nobody is in a set.
fn is_empty(set: &Place, span: Span) -> Expr {
    Expr { kind: ExprKind::SetIsEmpty(read(set.clone()).into()), ty: Type::Bool, span }
}

/// Whether a mutex is free, or recursive and the running thread's.
fn can_be_locked(mutex: &[Place], span: Span) -> Expr {
    let free = eq(read(mutex[0].clone()), nobody(span));
    let mine = eq(read(mutex[0].clone()), me(span));
    or(free, and(mine, eq(read(mutex[2].clone()), int(RECURSIVE, span))))
}

/// Whether a mutex looks for errors, and is the running thread's.
fn is_own(mutex: &[Place], span: Span) -> Expr {
    and(eq(read(mutex[0].clone()), me(span)), eq(read(mutex[2].clone()), int(ERRORCHECK, span)))
}

fn misuse(e: Expr, words: &str, span: Span) -> Stmt {
    stmt(StmtKind::Assert(Expr { span, ..e }, Check::SyncMisuse, Some(words.into())), span)
}

/// A mutex that was destroyed is free for ever: whoever takes one asks.
fn is_alive(mutex: &[Place], span: Span) -> Stmt {
    let there = binary(BinaryOp::Ne, read(mutex[2].clone()), int(DESTROYED, span));
    misuse(there, "a mutex is used that was destroyed", span)
}

fn when(e: Expr, yes: Block, no: Block, span: Span) -> Stmt {
    stmt(StmtKind::If(Guard::Expr(e), yes, no), span)
}

/// What who may be refused does: looks at the object, and only who is not refused synchronizes, with all that the test looks at.
fn tried(looks: Expr, test: Expr, take: Block, refused: Block, span: Span) -> Stmt {
    when(looks, vec![when(test, take, Vec::new(), span)], refused, span)
}

/// The same parts of an object, looked at from another place.
fn seen_from(p: &[Place], span: Span) -> Vec<Place> {
    p.iter().map(|p| Place { span, ..p.clone() }).collect()
}

fn plus(place: &Place, n: i64, span: Span) -> Stmt {
    assign(place, binary(BinaryOp::Add, read(place.clone()), int(n, span)), span)
}

impl<'a> Lower<'a, '_> {
    pub(super) fn pthread(&mut self, name: &str, args: &'a [Ex], span: Span) -> Result<Option<Value>> {
        let zero = self.zero(span);
        match name {
            "pthread_create" => self.create(args, 2, 3, span)?,
            "thrd_create" => self.create(args, 1, 2, span)?,
            "pthread_join" | "thrd_join" => self.join(args, span)?,
            "pthread_self" => return Ok(Some(Value::scalar(me(span), CType::Thread))),
            "pthread_equal" => {
                let a = self.value(self.argument(args, 0, span)?)?;
                let b = self.value(self.argument(args, 1, span)?)?;
                return Ok(Some(Value::scalar(eq(a.parts[0].clone(), b.parts[0].clone()), C_INT)));
            }
            "pthread_exit" | "thrd_exit" => return self.exit(args, span).map(Some),
            "pthread_mutexattr_init" => self.set_part(args, "pthread_mutexattr_t", 0, int(0, span), span)?,
            "pthread_mutexattr_settype" => {
                let kind = self.number(args, 1, &C_INT, span)?;
                self.found.recursive |= value_of(&kind).is_none_or(|kind| kind == RECURSIVE);
                self.set_part(args, "pthread_mutexattr_t", 0, kind, span)?;
            }
            "pthread_mutex_init" => self.mutex_init(args, span)?,
            "mtx_init" => {
                let kind = self.number(args, 1, &C_INT, span)?;
                self.found.recursive |= value_of(&kind).is_none_or(|kind| kind & 1 != 0);
                let lv = self.object(args, 0, "pthread_mutex_t", span)?;
                let kind = binary(BinaryOp::BitAnd, kind, int(1, span));
                self.init_mutex(&lv, kind, span)?;
            }
            "pthread_mutex_destroy" => self.mutex_destroy(args, span)?,
            "pthread_mutex_lock" => return self.mutex_lock(args, Otherwise::Waits, span).map(Some),
            "pthread_mutex_trylock" => return self.mutex_lock(args, TRIES, span).map(Some),
            "pthread_mutex_timedlock" | "pthread_mutex_clocklock" => {
                return self.mutex_lock(args, GIVES_UP, span).map(Some);
            }
            "pthread_mutex_unlock" => return self.mutex_unlock(args, span).map(Some),
            "pthread_spin_init" => self.set_part(args, "pthread_spinlock_t", 0, nobody(span), span)?,
            "pthread_spin_destroy" => {}
            "pthread_spin_lock" => {
                let lv = self.object(args, 0, "pthread_spinlock_t", span)?;
                self.operation(&lv, &mut |s, d| {
                    let p = s.parts_of(d, 1, span)?;
                    Ok((Some(eq(read(p[0].clone()), nobody(span))), vec![assign(&p[0], me(span), span)]))
                })?;
            }
            "pthread_spin_trylock" => {
                let lv = self.object(args, 0, "pthread_spinlock_t", span)?;
                let free = |p: &[Place]| eq(read(p[0].clone()), nobody(span));
                return self.try_it(&lv, args, EBUSY, span, free, |p| vec![assign(&p[0], me(span), span)]);
            }
            "pthread_spin_unlock" => {
                let lv = self.object(args, 0, "pthread_spinlock_t", span)?;
                self.operation(&lv, &mut |s, d| {
                    let p = s.parts_of(d, 1, span)?;
                    let held = eq(read(p[0].clone()), me(span));
                    let words = "a spin lock is unlocked that the thread does not hold";
                    Ok((None, vec![misuse(held, words, span), assign(&p[0], nobody(span), span)]))
                })?;
            }
            "pthread_cond_init" => {
                self.cond_alone(args, "a condition variable is initialized while threads wait for it", span)?
            }
            "pthread_cond_destroy" => {
                self.cond_alone(args, "a condition variable is destroyed while threads wait for it", span)?;
            }
            "pthread_cond_wait" => self.cond_wait(args, span)?,
            "pthread_cond_timedwait" | "pthread_cond_clockwait" => return self.cond_timedwait(args, span).map(Some),
            "pthread_cond_signal" => self.notify(args, StmtKind::SetRemoveAny, span)?,
            "pthread_cond_broadcast" => self.notify(args, StmtKind::SetClear, span)?,
            "pthread_rwlock_init" => self.clear_object(args, "pthread_rwlock_t", span)?,
            "pthread_rwlock_destroy" => {
                let lv = self.object(args, 0, "pthread_rwlock_t", span)?;
                self.operation(&lv, &mut |s, d| {
                    let p = s.parts_of(d, 2, span)?;
                    let free = and(eq(read(p[0].clone()), nobody(span)), eq(read(p[1].clone()), int(0, span)));
                    Ok((None, vec![misuse(free, "a read-write lock is destroyed that is held", span)]))
                })?;
            }
            "pthread_rwlock_rdlock" => return self.rwlock(args, false, Otherwise::Waits, span).map(Some),
            "pthread_rwlock_wrlock" => return self.rwlock(args, true, Otherwise::Waits, span).map(Some),
            "pthread_rwlock_tryrdlock" => return self.rwlock(args, false, TRIES, span).map(Some),
            "pthread_rwlock_trywrlock" => return self.rwlock(args, true, TRIES, span).map(Some),
            "pthread_rwlock_timedrdlock" | "pthread_rwlock_clockrdlock" => {
                return self.rwlock(args, false, GIVES_UP, span).map(Some);
            }
            "pthread_rwlock_timedwrlock" | "pthread_rwlock_clockwrlock" => {
                return self.rwlock(args, true, GIVES_UP, span).map(Some);
            }
            "pthread_rwlock_unlock" => {
                let lv = self.object(args, 0, "pthread_rwlock_t", span)?;
                self.operation(&lv, &mut |s, d| {
                    let p = s.parts_of(d, 2, span)?;
                    let mine = eq(read(p[0].clone()), me(span));
                    let readers = binary(BinaryOp::Gt, read(p[1].clone()), int(0, span));
                    let words = "a read-write lock is unlocked that the thread does not hold";
                    let reading = vec![misuse(readers, words, span), plus(&p[1], -1, span)];
                    Ok((None, vec![when(mine, vec![assign(&p[0], nobody(span), span)], reading, span)]))
                })?;
            }
            "pthread_barrier_init" => return self.barrier_init(args, span).map(Some),
            "pthread_barrier_destroy" => {
                let lv = self.object(args, 0, "pthread_barrier_t", span)?;
                self.operation(&lv, &mut |s, d| {
                    let p = s.parts_of(d, 3, span)?;
                    Ok((
                        None,
                        vec![misuse(is_empty(&p[2], span), "a barrier is destroyed while threads wait at it", span)],
                    ))
                })?;
            }
            "pthread_barrier_wait" => return self.barrier_wait(args, span).map(Some),
            "sem_init" => {
                let count = self.number(args, 2, &C_INT, span)?;
                self.set_part(args, "sem_t", 0, count, span)?;
            }
            "sem_destroy" => {}
            "sem_wait" => {
                let lv = self.object(args, 0, "sem_t", span)?;
                self.operation(&lv, &mut |s, d| {
                    let p = s.parts_of(d, 1, span)?;
                    let some = binary(BinaryOp::Gt, read(p[0].clone()), int(0, span));
                    Ok((Some(some), vec![plus(&p[0], -1, span)]))
                })?;
            }
            "sem_trywait" | "sem_timedwait" | "sem_clockwait" => {
                let lv = self.object(args, 0, "sem_t", span)?;
                let some = |p: &[Place]| binary(BinaryOp::Gt, read(p[0].clone()), int(0, span));
                self.waits_for_some_time(if name == "sem_trywait" { TRIES } else { GIVES_UP }, span);
                let result = self.try_it(&lv, args, -1, span, some, |p| vec![plus(&p[0], -1, span)])?;
                if let (true, Some(result)) = (self.functions.contains_key("__errno_location"), &result) {
                    let failed = binary(BinaryOp::Ne, result.parts[0].clone(), int(0, span));
                    let why = int(if name == "sem_trywait" { EAGAIN } else { ETIMEDOUT }, span);
                    let (block, ()) = self.block(|s| {
                        let errno = s.errno(span)?;
                        s.store(&errno, &Value::scalar(why, C_INT), span)
                    })?;
                    self.push(StmtKind::If(Guard::Expr(failed), block, Vec::new()), span);
                }
                return Ok(result);
            }
            "sem_post" => {
                let lv = self.object(args, 0, "sem_t", span)?;
                self.operation(&lv, &mut |s, d| {
                    let p = s.parts_of(d, 1, span)?;
                    Ok((None, vec![plus(&p[0], 1, span)]))
                })?;
            }
            "sem_getvalue" => {
                let lv = self.object(args, 0, "sem_t", span)?;
                let part = self.part(lv, crate::memory::Part::Field(0), span)?;
                let span_of_test = self.test_place(args, span);
                let count = self.load(&Lvalue { span: span_of_test, ..part })?;
                let to = self.pointed(self.argument(args, 1, span)?, span)?;
                self.store(&to, &count, span)?;
            }
            "pthread_once" => self.once(args, span)?,
            "pthread_key_create" => self.key_create(args, span)?,
            "pthread_key_delete" => self.forget_destructor(args, span)?,
            "pthread_getspecific" => {
                let place = self.key_place(args, span)?;
                return Ok(Some(Value::scalar(read(place), CType::Void.pointer())));
            }
            "pthread_setspecific" => {
                let v = self.value(self.argument(args, 1, span)?)?;
                let v = self.convert(v, &CType::Void.pointer(), span)?;
                let place = self.key_place(args, span)?;
                self.push(StmtKind::Assign(place, v.parts[0].clone()), span);
            }
            _ => return Ok(None),
        }
        Ok(Some(zero))
    }

    /// `pthread_create`.
    fn create(&mut self, args: &'a [Ex], function: usize, argument: usize, span: Span) -> Result<()> {
        if self.body.atomic > 0 {
            return unsupported(span, "a thread is not started inside of an atomic section");
        }
        let f = strip_casts(self.argument(args, function, span)?);
        let f = match &f.node {
            Expression::UnaryOperator(u) if u.node.operator.node == UnaryOperator::Address => &u.node.operand,
            _ => f,
        };
        let given = self.argument(args, argument, span)?;
        let v = self.value(given)?;
        let v = self.convert(v, &CType::Void.pointer(), span)?;
        let given = self.simple(v.parts[0].clone());
        self.found.threads += self.at_once();
        let handle = self.temp(Type::Thread);
        let known = match &f.node {
            Expression::Identifier(n) if self.functions.get(&n.node.name).is_some_and(|f| f.definition.is_some()) => {
                Some(n.node.name.clone())
            }
            _ => None,
        };
        match known {
            Some(name) => self.spawn(&name, given, handle, span)?,
            None => {
                let pointer = self.value(f)?;
                let address = self.simple(pointer.parts[0].clone());
                let names: Vec<String> = self.session.facts.functions.iter().cloned().collect();
                let (mut rest, ()) = self.block(|s| {
                    s.check(boolean(false, span), Check::Memory, "no function is there", span);
                    Ok(())
                })?;
                for name in names.iter().rev() {
                    let Some(f) = self.functions.get(name) else { continue };
                    if f.definition.is_none() || f.signature.params.len() > 1 {
                        continue;
                    }
                    let at = crate::memory::FUNCTIONS + 1 + f.number;
                    let here = eq(address.clone(), constant(at, ADDRESS, span));
                    let given = given.clone();
                    let (block, ()) = self.block(|s| s.spawn(name, given, handle, span))?;
                    rest = vec![when(here, block, rest, span)];
                }
                self.body.out.extend(rest);
            }
        }
        let children = self.children(span);
        self.body.out.push(plus(&children, 1, span));
        let creator = self.body.function.clone();
        self.found_calls.insert((creator, "pthread_create".into()));
        let first = self.argument(args, 0, span)?;
        let target = self.pointed(strip_casts(first), span)?;
        if *target.ty.plain() != CType::Thread {
            return wrong(span, "the first argument is a pointer to `pthread_t`");
        }
        let handle = self.read_local(handle, span);
        self.store(&target, &Value::scalar(handle, CType::Thread), span)
    }

    /// How many threads the running one has started and not waited for.
    pub(crate) fn children(&mut self, span: Span) -> Place {
        let id = self.hidden(CHILDREN, INT, fabius_lang::program::Value::Int(0), Class::Data, true);
        self.global(id, span)
    }

    /// How many threads a call starts, as far as seen from the text.
    pub(super) fn at_once(&self) -> u32 {
        if self.body.loops > 0 { self.options.limits.threads } else { 1 }
    }

    fn spawn(&mut self, name: &str, given: Expr, handle: LocalId, span: Span) -> Result<()> {
        self.found.roots.insert(name.to_string());
        let takes = !self.functions[name].signature.params.is_empty();
        let given = takes.then_some(given);
        if self.session.facts.numbers {
            return self.spawn_numbered(name, given, Some(handle), span);
        }
        let proc = self.thread_proc(name, span)?;
        self.push(StmtKind::Spawn(Some(handle), proc, given.into_iter().collect()), span);
        Ok(())
    }

    /// Starts a thread that has a number.
    pub(super) fn spawn_numbered(
        &mut self,
        name: &str,
        given: Option<Expr>,
        handle: Option<LocalId>,
        span: Span,
    ) -> Result<()> {
        let proc = self.thread_proc(name, span)?;
        let mut values: Vec<Expr> = given.into_iter().collect();
        let made = self.hidden("$threads", INT, fabius_lang::program::Value::Int(0), Class::Sync, false);
        let made = self.global(made, span);
        let number = self.temp(INT);
        let mine = self.local(number, span);
        let next = binary(BinaryOp::Add, read(made.clone()), int(1, span));
        values.push(read(mine.clone()));
        let most = i64::from(self.threads());
        let fits = binary(BinaryOp::Lt, read(mine.clone()), int(most, span));
        let words = format!("more than {} threads at once {RAISED}", most - 1);
        let mut block = vec![
            assign(&mine, next, span),
            assign(&made, read(mine.clone()), span),
            stmt(StmtKind::Assert(fits, Check::Bound, Some(words)), span),
            stmt(StmtKind::Spawn(handle, proc, values), span),
        ];
        if let (true, Some(handle)) = (self.session.facts.results, handle) {
            let place = self.of_threads("$handle", Type::Thread, read(mine), span);
            block.push(assign(&place, self.read_local(handle, span), span));
        }
        self.push(StmtKind::Atomic(block), span);
        Ok(())
    }

    /// An element of an array by numbers of threads.
    pub(super) fn of_threads(&mut self, name: &str, ty: Type, number: Expr, span: Span) -> Place {
        let len = self.threads();
        let (array, init) = crate::lower::array_of(ty.clone(), fabius_lang::program::Value::Int(0), &[len]);
        let id = self.hidden(name, array, init, Class::Sync, false);
        let index = Projection::Index { index: cast(number, &Type::Int).into(), lo: 0, len };
        Place { base: Base::Global(id), path: vec![index], ty, span }
    }

    /// The procedure that a thread runs: calls the function, and keeps what it returns.
    fn thread_proc(&mut self, name: &str, span: Span) -> Result<ProcId> {
        if let Some(id) = self.wrappers.get(name) {
            return Ok(*id);
        }
        let signature = self.functions[name].signature.clone();
        if signature.params.len() > 1 || !signature.params.iter().all(CType::is_scalar) {
            return wrong(span, format!("`{name}` does not take one pointer, as a thread's function does"));
        }
        let caller = std::mem::replace(&mut self.body.function, THREAD.into());
        let proc = self.proc_of(name);
        self.body.function = caller;
        let outer = std::mem::take(&mut self.body);
        let place = self.functions[name].definition.map_or(span, |d| self.span(d.node.declarator.span));
        // What is around the function is nothing to tell of.
        let at = Span::default();
        let params: Vec<Type> = signature.params.iter().map(|_| ADDRESS).collect();
        for _ in &params {
            self.body.locals.push(Local { name: "$argument".into(), ty: ADDRESS });
        }
        let mut count = params.len();
        if self.session.facts.numbers {
            self.body.locals.push(Local { name: "$number".into(), ty: INT });
            let id = self.hidden("$thread", INT, fabius_lang::program::Value::Int(0), Class::Data, true);
            let place = self.global(id, at);
            let number = self.read_local(count, at);
            self.body.out.push(assign(&place, number, at));
            count += 1;
        }
        let values: Vec<Expr> =
            signature.params.iter().enumerate().map(|(i, ty)| cast(self.read_local(i, at), &ty.core())).collect();
        let result = signature.result.is_scalar().then(|| {
            self.body.locals.push(Local { name: "$result".into(), ty: signature.result.core() });
            self.body.locals.len() - 1
        });
        self.push(StmtKind::Call(result.map(Some).into_iter().collect(), proc, values), at);
        if self.session.facts.results {
            let number = self.thread_number(at);
            let place = self.of_threads("$result", ADDRESS, number, at);
            // Of a function that returns nothing the value is no object.
            self.found.unset_pointers |= result.is_none();
            let mut e =
                result.map_or(constant(UNSET, ADDRESS, at), |result| cast(self.read_local(result, at), &ADDRESS));
            if self.comes_to(name, EXITS) {
                let (exits, value) = self.exiting(at);
                e = if_else(read(exits), read(value), e);
            }
            self.body.out.push(assign(&place, e, at));
        }
        self.run_destructors(at)?;
        self.ends_with_thread(at);
        let creates = |f: &str| self.session.calls.iter().any(|(a, b)| a == f && b == "pthread_create");
        let nested = self.functions.keys().any(|f| creates(f) && self.runs_in_threads(f));
        if nested {
            let children = self.children(at);
            let left = binary(BinaryOp::Ne, read(children), int(0, at));
            let id = self.hidden("$unjoined", Type::Bool, fabius_lang::program::Value::Int(0), Class::Sync, false);
            let unjoined = self.global(id, at);
            self.body.out.push(when(left, vec![assign(&unjoined, boolean(true, at), at)], Vec::new(), at));
        }
        let body = std::mem::replace(&mut self.body, outer);
        let wrapper = Proc {
            name: name.into(),
            locals: body.locals,
            params: count,
            results: Vec::new(),
            body: body.out,
            span: place,
        };
        self.procs.push(Some(wrapper));
        self.wrappers.insert(name.into(), self.procs.len() - 1);
        Ok(self.procs.len() - 1)
    }

    fn join(&mut self, args: &'a [Ex], span: Span) -> Result<()> {
        let v = self.value(self.argument(args, 0, span)?)?;
        if v.ty != CType::Thread {
            return wrong(span, "the first argument is a `pthread_t`");
        }
        let handle = self.simple(v.parts[0].clone());
        let given = nobody(span);
        self.check(
            binary(BinaryOp::Ne, handle.clone(), given),
            Check::SyncMisuse,
            "a thread is waited for that was not started",
            span,
        );
        self.push(StmtKind::Join(handle.clone()), span);
        let children = self.children(span);
        self.body.out.push(plus(&children, -1, span));
        let Some(to) = args.get(1) else { return Ok(()) };
        let v = self.block(|s| s.value(strip_casts(to)))?;
        if v.0.is_empty() && v.1.parts.first().and_then(value_of) == Some(0) && !is_address(to) {
            return Ok(());
        }
        self.found.results = true;
        self.found.numbers = true;
        let target = self.pointed(strip_casts(to), span)?;
        let found = self.zeroed(ADDRESS, span);
        if self.session.facts.results {
            let mut block = Vec::new();
            for n in 1..self.threads() {
                let here = self.of_threads("$handle", Type::Thread, int(i64::from(n), span), span);
                let result = self.of_threads("$result", ADDRESS, int(i64::from(n), span), span);
                let take = vec![assign(&self.local(found, span), read(result), span)];
                block.push(when(eq(read(here), handle.clone()), take, Vec::new(), span));
            }
            self.push(StmtKind::Atomic(block), span);
        }
        let v = Value::scalar(self.read_local(found, span), CType::Void.pointer());
        let v = self.convert(v, &target.ty, span)?;
        self.store(&target, &v, span)
    }

    /// `pthread_exit`: in a thread's own function it is a `return`; in others, those that called them return as well.
    fn exit(&mut self, args: &'a [Ex], span: Span) -> Result<Value> {
        if self.body.atomic > 0 {
            return unsupported(span, "the end of a thread inside of an atomic section is not taken");
        }
        let v = self.value(self.argument(args, 0, span)?)?;
        self.exit_with(v, span)
    }

    /// The running thread ends with this value.
    pub(super) fn exit_with(&mut self, v: Value, span: Span) -> Result<Value> {
        let function = self.body.function.clone();
        let is_called = self.session.calls.iter().any(|(caller, callee)| !caller.is_empty() && *callee == function);
        let result = self.body.result.clone().unwrap_or(CType::Void);
        // Where the function has no room for the value, it is kept as that of a thread that others end.
        if is_called || self.session.facts.results && !result.is_scalar() {
            self.found_calls.insert((function, EXITS.into()));
            let address = self.convert(v, &CType::Void.pointer(), span)?.parts[0].clone();
            let (exits, value) = self.exiting(span);
            self.body.out.push(assign(&value, address, span));
            self.body.out.push(assign(&exits, boolean(true, span), span));
            self.return_from_exit(span)?;
            return Ok(Value::void());
        }
        if function == "main" {
            self.leave_children(span)?;
        }
        let values = if result.is_scalar() { self.convert(v, &result, span)?.parts } else { Vec::new() };
        self.push(StmtKind::Return(values), span);
        Ok(Value::void())
    }

    /// Whether the running thread ends in a function that its own function called, and what it returns.
    fn exiting(&mut self, span: Span) -> (Place, Place) {
        let zero = || fabius_lang::program::Value::Int(0);
        let exits = self.hidden("$exits", Type::Bool, zero(), Class::Data, true);
        let value = self.hidden("$exit", ADDRESS, zero(), Class::Data, true);
        (self.global(exits, span), self.global(value, span))
    }

    /// Behind the call of a function in which the thread may end.
    pub(crate) fn return_if_exiting(&mut self, callee: &str, span: Span) -> Result<()> {
        if !self.comes_to(callee, EXITS) {
            return Ok(());
        }
        if self.body.atomic > 0 {
            return unsupported(span, "the end of a thread inside of an atomic section is not taken");
        }
        let (exits, _) = self.exiting(span);
        let (block, ()) = self.block(|s| s.return_from_exit(span))?;
        self.body.out.push(when(read(exits), block, Vec::new(), span));
        Ok(())
    }

    fn return_from_exit(&mut self, span: Span) -> Result<()> {
        if self.body.function == "main" {
            self.leave_children(span)?;
        }
        let result = self.body.result.clone().unwrap_or(CType::Void);
        // Nobody looks at it.
        let values = self.part_types(&result, span)?.into_iter().map(|ty| constant(0, ty, span)).collect();
        self.push(StmtKind::Return(values), span);
        Ok(())
    }

    /// The first thread ends, and the others go on.
    fn leave_children(&mut self, span: Span) -> Result<()> {
        if self.session.facts.handlers {
            return unsupported(span, "`pthread_exit` in `main` is not taken together with `atexit`");
        }
        self.run_destructors(span)?;
        let children = self.children(span);
        self.body.out.push(assign(&children, int(0, span), span));
        Ok(())
    }

    fn set_part(&mut self, args: &'a [Ex], ty: &str, part: usize, e: Expr, span: Span) -> Result<()> {
        let lv = self.object(args, 0, ty, span)?;
        self.operation(&lv, &mut |s, d| {
            let p = s.parts_of(d, part + 1, span)?;
            Ok((None, vec![assign(&p[part], e.clone(), span)]))
        })
    }

    fn clear_object(&mut self, args: &'a [Ex], ty: &str, span: Span) -> Result<()> {
        let lv = self.object(args, 0, ty, span)?;
        let n = self.types().leaves(&lv.ty).len();
        self.operation(&lv, &mut |s, d| {
            let parts = s.parts_of(d, n, span)?;
            Ok((None, parts.iter().map(|p| assign(p, constant(0, p.ty.clone(), span), span)).collect()))
        })
    }

    fn mutex_init(&mut self, args: &'a [Ex], span: Span) -> Result<()> {
        let attribute = args.get(1).filter(|e| !is_null(e));
        let kind = match attribute {
            Some(_) => {
                let attribute = self.object(args, 1, "pthread_mutexattr_t", span)?;
                let part = self.part(attribute, crate::memory::Part::Field(0), span)?;
                let v = self.load(&part)?;
                self.simple(v.parts[0].clone())
            }
            None => int(0, span),
        };
        let lv = self.object(args, 0, "pthread_mutex_t", span)?;
        self.init_mutex(&lv, kind, span)
    }

    fn init_mutex(&mut self, lv: &Lvalue, kind: Expr, span: Span) -> Result<()> {
        self.operation(lv, &mut |s, d| {
            let p = s.parts_of(d, 3, span)?;
            let block = vec![
                assign(&p[0], nobody(span), span),
                assign(&p[1], int(0, span), span),
                assign(&p[2], kind.clone(), span),
            ];
            Ok((None, block))
        })
    }

    fn mutex_destroy(&mut self, args: &'a [Ex], span: Span) -> Result<()> {
        let lv = self.object(args, 0, "pthread_mutex_t", span)?;
        self.operation(&lv, &mut |s, d| {
            let p = s.parts_of(d, 3, span)?;
            let free = eq(read(p[0].clone()), nobody(span));
            Ok((
                None,
                vec![
                    misuse(free, "a mutex is destroyed that is held", span),
                    assign(&p[2], int(DESTROYED, span), span),
                ],
            ))
        })
    }

    /// Who may give up gives way.
    fn waits_for_some_time(&mut self, otherwise: Otherwise, span: Span) {
        if otherwise == GIVES_UP && self.body.atomic == 0 {
            self.give_way(span);
        }
    }

    fn mutex_lock(&mut self, args: &'a [Ex], otherwise: Otherwise, span: Span) -> Result<Value> {
        let lv = self.object(args, 0, "pthread_mutex_t", span)?;
        self.waits_for_some_time(otherwise, span);
        let result = self.zeroed(INT, span);
        let target = self.local(result, span);
        self.operation(&lv, &mut |s, d| {
            let p = s.parts_of(d, 3, span)?;
            let tested = match otherwise {
                Otherwise::Waits => p.clone(),
                Otherwise::Returns(_) => seen_from(&p, s.test_place(args, span)),
            };
            let alive = is_alive(&tested, span);
            let (looks, test) = (can_be_locked(&tested, span), can_be_locked(&p, span));
            let own = is_own(&tested, span);
            let take = s.takes(&p, span);
            let returns = |n| vec![assign(&target, int(n, span), span)];
            match otherwise {
                Otherwise::Returns(EBUSY) => Ok((None, vec![alive, tried(looks, test, take, returns(EBUSY), span)])),
                Otherwise::Returns(n) => {
                    let refused = vec![when(own, returns(EDEADLK), returns(n), span)];
                    Ok((None, vec![alive, tried(looks, test, take, refused, span)]))
                }
                Otherwise::Waits => {
                    // One that was destroyed is free.
                    let wait = or(test, own.clone());
                    Ok((Some(wait), vec![alive, when(own, returns(EDEADLK), take, span)]))
                }
            }
        })?;
        Ok(Value::scalar(self.read_local(result, span), C_INT))
    }

    /// Who has a lock for writing is refused it.
    fn rwlock(&mut self, args: &'a [Ex], write: bool, otherwise: Otherwise, span: Span) -> Result<Value> {
        let lv = self.object(args, 0, "pthread_rwlock_t", span)?;
        self.waits_for_some_time(otherwise, span);
        let result = self.zeroed(INT, span);
        let target = self.local(result, span);
        self.operation(&lv, &mut |s, d| {
            let mut p = s.parts_of(d, 2, span)?;
            if !write {
                p[1].span = s.readers_place(args, span);
            }
            let tested = match otherwise {
                Otherwise::Waits => p.clone(),
                Otherwise::Returns(_) => seen_from(&p, s.test_place(args, span)),
            };
            let is_free = |p: &[Place]| match write {
                true => free_to_write(p, span),
                false => eq(read(p[0].clone()), nobody(span)),
            };
            let (mine, looks, free) = (eq(read(tested[0].clone()), me(span)), is_free(&tested), is_free(&p));
            let take = if write { assign(&p[0], me(span), span) } else { plus(&p[1], 1, span) };
            let returns = |n| vec![assign(&target, int(n, span), span)];
            Ok(match otherwise {
                Otherwise::Returns(EBUSY) => (None, vec![tried(looks, free, vec![take], returns(EBUSY), span)]),
                Otherwise::Returns(n) => {
                    let refused = vec![when(mine, returns(EDEADLK), returns(n), span)];
                    (None, vec![tried(looks, free, vec![take], refused, span)])
                }
                Otherwise::Waits => {
                    (Some(or(free, mine.clone())), vec![when(mine, returns(EDEADLK), vec![take], span)])
                }
            })
        })?;
        Ok(Value::scalar(self.read_local(result, span), C_INT))
    }

    fn mutex_unlock(&mut self, args: &'a [Ex], span: Span) -> Result<Value> {
        let lv = self.object(args, 0, "pthread_mutex_t", span)?;
        let result = self.zeroed(INT, span);
        let target = self.local(result, span);
        self.operation(&lv, &mut |s, d| {
            let p = s.parts_of(d, 3, span)?;
            // Who is told `EPERM` is ordered with no one, either.
            let tested = seen_from(&p, s.test_place(args, span));
            let mine = eq(read(tested[0].clone()), me(span));
            let checked = eq(read(tested[2].clone()), int(ERRORCHECK, span));
            let words = "a mutex is unlocked that the thread does not hold";
            let give = s.gives(&p, span);
            let not_mine = when(
                checked,
                vec![assign(&target, int(EPERM, span), span)],
                vec![misuse(boolean(false, span), words, span)],
                span,
            );
            Ok((None, vec![when(mine, give, vec![not_mine], span)]))
        })?;
        Ok(Value::scalar(self.read_local(result, span), C_INT))
    }

    /// A try of something of one part that might have to wait: 0, or that number.
    fn try_it(
        &mut self,
        lv: &Lvalue,
        args: &'a [Ex],
        failed: i64,
        span: Span,
        free: impl Fn(&[Place]) -> Expr,
        take: impl Fn(&[Place]) -> Block,
    ) -> Result<Option<Value>> {
        let result = self.zeroed(INT, span);
        let target = self.local(result, span);
        self.operation(lv, &mut |s, d| {
            let p = s.parts_of(d, 1, span)?;
            let looks = free(&seen_from(&p, s.test_place(args, span)));
            let refused = vec![assign(&target, int(failed, span), span)];
            Ok((None, vec![tried(looks, free(&p), take(&p), refused, span)]))
        })?;
        Ok(Some(Value::scalar(self.read_local(result, span), C_INT)))
    }

    /// Both objects of a wait, whichever they are.
    fn with_mutex(
        &mut self,
        args: &'a [Ex],
        span: Span,
        work: &mut dyn FnMut(&mut Self, &Direct, &Direct) -> Result<()>,
    ) -> Result<()> {
        if self.body.atomic > 0 {
            return unsupported(span, "waiting inside of an atomic section is not taken");
        }
        let cond = self.object(args, 0, "pthread_cond_t", span)?;
        let mutex = self.object(args, 1, "pthread_mutex_t", span)?;
        self.at(&cond, &mut |s, c| s.at(&mutex, &mut |s, m| work(s, c, m)))
    }

    fn cond_wait(&mut self, args: &'a [Ex], span: Span) -> Result<()> {
        self.with_mutex(args, span, &mut |s, c, m| {
            let (waiting, mutex) = (s.parts_of(c, 1, span)?, s.parts_of(m, 3, span)?);
            s.begin_wait(&waiting[0], &mutex, span);
            let ready = and(not(is_in(&waiting[0], span)), can_be_had(&mutex, span));
            let mut block = vec![stmt(StmtKind::Await(ready), span), is_alive(&mutex, span)];
            block.extend(s.takes(&mutex, span));
            s.push(StmtKind::Atomic(block), span);
            Ok(())
        })
    }

    /// What who may have a mutex does to have it, once more if it is recursive.
    fn takes(&self, mutex: &[Place], span: Span) -> Block {
        let mut block = vec![assign(&mutex[0], me(span), span)];
        if self.session.facts.recursive {
            block.push(plus(&mutex[1], 1, span));
        }
        block
    }

    /// What who has one does to have it once less.
    fn gives(&self, mutex: &[Place], span: Span) -> Block {
        let free = vec![assign(&mutex[0], nobody(span), span)];
        if !self.session.facts.recursive {
            return free;
        }
        let last = eq(read(mutex[1].clone()), int(0, span));
        vec![plus(&mutex[1], -1, span), when(last, free, Vec::new(), span)]
    }

    /// A mutex that was locked several times stays locked.
    fn begin_wait(&mut self, waiting: &Place, mutex: &[Place], span: Span) {
        let held = eq(read(mutex[0].clone()), me(span));
        let mut block = vec![
            misuse(held, "who waits holds the mutex", span),
            stmt(StmtKind::SetInsert(waiting.clone(), me(span)), span),
        ];
        block.extend(self.gives(mutex, span));
        self.push(StmtKind::Atomic(block), span);
    }

    /// May time out whenever it goes on without having been woken.
    fn cond_timedwait(&mut self, args: &'a [Ex], span: Span) -> Result<Value> {
        let result = self.zeroed(INT, span);
        let target = self.local(result, span);
        self.with_mutex(args, span, &mut |s, c, m| {
            let (waiting, mutex) = (s.parts_of(c, 1, span)?, s.parts_of(m, 3, span)?);
            s.begin_wait(&waiting[0], &mutex, span);
            s.give_way(span);
            let late = vec![
                stmt(StmtKind::SetRemove(waiting[0].clone(), me(span)), span),
                assign(&target, int(ETIMEDOUT, span), span),
            ];
            let mut block = vec![stmt(StmtKind::Await(can_be_had(&mutex, span)), span), is_alive(&mutex, span)];
            block.extend(s.takes(&mutex, span));
            block.push(when(is_in(&waiting[0], span), late, Vec::new(), span));
            s.push(StmtKind::Atomic(block), span);
            Ok(())
        })?;
        Ok(Value::scalar(self.read_local(result, span), C_INT))
    }

    fn notify(&mut self, args: &'a [Ex], how: impl Fn(Place) -> StmtKind, span: Span) -> Result<()> {
        let lv = self.object(args, 0, "pthread_cond_t", span)?;
        self.operation(&lv, &mut |s, d| {
            let p = s.parts_of(d, 1, span)?;
            Ok((None, vec![stmt(how(p[0].clone()), span)]))
        })
    }

    /// A condition variable that nobody waits for is as good as new.
    fn cond_alone(&mut self, args: &'a [Ex], words: &str, span: Span) -> Result<()> {
        let lv = self.object(args, 0, "pthread_cond_t", span)?;
        self.operation(&lv, &mut |s, d| {
            let p = s.parts_of(d, 1, span)?;
            Ok((None, vec![misuse(is_empty(&p[0], span), words, span)]))
        })
    }

    /// `pthread_barrier_init`: a barrier of nobody is refused.
    fn barrier_init(&mut self, args: &'a [Ex], span: Span) -> Result<Value> {
        let parties = self.number(args, 2, &C_INT, span)?;
        let parties = self.keep(parties);
        let lv = self.object(args, 0, "pthread_barrier_t", span)?;
        let some = binary(BinaryOp::Ne, parties.clone(), int(0, span));
        let (make, ()) = self.block(|s| {
            s.operation(&lv, &mut |s, d| {
                let p = s.parts_of(d, 3, span)?;
                let words = "a barrier is initialized while threads wait at it";
                let begin = vec![assign(&p[0], parties.clone(), span), assign(&p[1], int(0, span), span)];
                Ok((None, [vec![misuse(is_empty(&p[2], span), words, span)], begin].concat()))
            })
        })?;
        self.push(StmtKind::If(Guard::Expr(some.clone()), make, Vec::new()), span);
        Ok(Value::scalar(if_else(some, int(0, span), int(EINVAL, span)), C_INT))
    }

    /// Who comes last lets all go that wait. There may be more threads than parties, so a round is a set of threads.
    fn barrier_wait(&mut self, args: &'a [Ex], span: Span) -> Result<Value> {
        let lv = self.object(args, 0, "pthread_barrier_t", span)?;
        let result = self.zeroed(INT, span);
        let target = self.local(result, span);
        self.operation(&lv, &mut |s, d| {
            let p = s.parts_of(d, 3, span)?;
            let used = binary(BinaryOp::Gt, read(p[0].clone()), int(0, span));
            let all = binary(BinaryOp::Ge, read(p[1].clone()), read(p[0].clone()));
            let last = vec![
                assign(&p[1], int(0, span), span),
                stmt(StmtKind::SetClear(p[2].clone()), span),
                assign(&target, int(-1, span), span),
            ];
            let block = vec![
                misuse(used, "a barrier is used that is not initialized", span),
                plus(&p[1], 1, span),
                when(all, last, vec![stmt(StmtKind::SetInsert(p[2].clone(), me(span)), span)], span),
            ];
            Ok((None, block))
        })?;
        self.at(&lv, &mut |s, d| {
            let p = s.parts_of(d, 3, span)?;
            s.push(StmtKind::Await(not(is_in(&p[2], span))), span);
            Ok(())
        })?;
        Ok(Value::scalar(self.read_local(result, span), C_INT))
    }

    /// `pthread_once`: the first one runs the function, the others wait for its end.
    fn once(&mut self, args: &'a [Ex], span: Span) -> Result<()> {
        let lv = self.object(args, 0, "pthread_once_t", span)?;
        let f = strip_casts(self.argument(args, 1, span)?);
        let Expression::Identifier(name) = &f.node else {
            return unsupported(span, "`pthread_once` takes the name of a function here");
        };
        let name = name.node.name.clone();
        if self.functions.get(&name).is_none_or(|f| f.definition.is_none()) {
            return unsupported(span, format!("`{name}` has no body"));
        }
        let first = self.zeroed(Type::Bool, span);
        let target = self.local(first, span);
        self.operation(&lv, &mut |s, d| {
            let p = s.parts_of(d, 1, span)?;
            let new = eq(read(p[0].clone()), int(0, span));
            let begin = vec![assign(&p[0], int(1, span), span), assign(&target, boolean(true, span), span)];
            let running = binary(BinaryOp::Ne, read(p[0].clone()), int(1, span));
            Ok((Some(running), vec![when(new, begin, Vec::new(), span)]))
        })?;
        let (block, ()) = self.block(|s| {
            s.call_with(&name, Vec::new(), span)?;
            s.operation(&lv, &mut |s, d| {
                let p = s.parts_of(d, 1, span)?;
                Ok((None, vec![assign(&p[0], int(2, span), span)]))
            })
        })?;
        let test = self.read_local(first, span);
        self.push(StmtKind::If(Guard::Expr(test), block, Vec::new()), span);
        Ok(())
    }

    fn key_create(&mut self, args: &'a [Ex], span: Span) -> Result<()> {
        let made = self.hidden("$keys", INT, fabius_lang::program::Value::Int(0), Class::Sync, false);
        let made = self.global(made, span);
        let mine = self.temp(INT);
        let mine = self.local(mine, span);
        let fits = binary(BinaryOp::Lt, read(mine.clone()), int(KEYS, span));
        let block = vec![
            assign(&mine, read(made.clone()), span),
            stmt(StmtKind::Assert(fits, Check::Bound, Some(format!("more than {KEYS} keys"))), span),
            plus(&made, 1, span),
        ];
        self.push(StmtKind::Atomic(block), span);
        if args.get(1).is_some_and(|destructor| !is_null(destructor)) {
            self.set_destructor(args, &mine, span)?;
        }
        let to = self.pointed(strip_casts(self.argument(args, 0, span)?), span)?;
        let v = self.convert(Value::scalar(read(mine), C_INT), &to.ty, span)?;
        self.store(&to, &v, span)
    }

    fn key_place(&mut self, args: &'a [Ex], span: Span) -> Result<Place> {
        let key = self.number(args, 0, &C_INT, span)?;
        Ok(self.specific(key, span))
    }

    /// The running thread's value of a key.
    pub(super) fn specific(&mut self, key: Expr, span: Span) -> Place {
        let (ty, init) = crate::lower::array_of(ADDRESS, fabius_lang::program::Value::Int(0), &[KEYS as u32]);
        let id = self.hidden("$specific", ty, init, Class::Data, true);
        let index = Projection::Index { index: cast(key, &Type::Int).into(), lo: 0, len: KEYS as u32 };
        Place { base: Base::Global(id), path: vec![index], ty: ADDRESS, span }
    }
}

/// How many keys of thread-specific values there may be.
pub(super) const KEYS: i64 = 8;

fn free_to_write(p: &[Place], span: Span) -> Expr {
    let nobody = eq(read(p[0].clone()), nobody(span));
    and(nobody, eq(read(p[1].clone()), int(0, span)))
}

fn is_address(e: &Ex) -> bool {
    matches!(&strip_casts(e).node, Expression::UnaryOperator(u) if u.node.operator.node == UnaryOperator::Address)
}

/// Whether an argument is a null pointer by its text.
pub(super) fn is_null(e: &Ex) -> bool {
    match &strip_casts(e).node {
        Expression::Constant(c) => {
            matches!(&c.node, lang_c::ast::Constant::Integer(i) if i.number.chars().all(|c| c == '0'))
        }
        _ => false,
    }
}
