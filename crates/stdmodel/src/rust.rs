//! Programs as Rust text, for people.

use crate::program::{Closure, Hint, Op, Program, Start};
use std::fmt;

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = |f: &mut fmt::Formatter<'_>, name: &str, count: u8, new: &str| {
            (0..count).try_for_each(|i| writeln!(f, "    let {name}{i} = Arc::new({new});"))
        };
        writeln!(f, "|| {{")?;
        all(f, "a", self.atomics, "AtomicU8::new(0)")?;
        all(f, "m", self.mutexes, "Mutex::new(0)")?;
        all(f, "l", self.rwlocks, "RwLock::new(())")?;
        all(f, "c", self.condvars, "Condvar::new()")?;
        all(f, "o", self.onces, "Once::new()")?;
        all(f, "s", self.cells, "OnceLock::new()")?;
        for (i, n) in self.barriers.iter().enumerate() {
            writeln!(f, "    let b{i} = Arc::new(Barrier::new({n}));")?;
        }
        for (i, capacity) in self.channels.iter().enumerate() {
            match capacity {
                None => writeln!(f, "    let (tx{i}, rx{i}) = mpsc::channel();")?,
                Some(n) => writeln!(f, "    let (tx{i}, rx{i}) = mpsc::sync_channel({n});")?,
            }
        }
        all(f, "w", self.wakers, "AtomicWaker::new()")?;
        let (begins, ends) = match self.start {
            Start::Free => ("", ""),
            Start::Scoped => ("    log(catch_unwind(|| thread::scope(|scope| {", "    })).is_err());"),
            Start::Tasks => ("    future::block_on(async {", "    });"),
        };
        writeln!(f, "{begins}")?;
        thread(f, self, 0, if self.start == Start::Free { 4 } else { 8 })?;
        writeln!(f, "{ends}")?;
        writeln!(f, "}}")
    }
}

fn thread(f: &mut fmt::Formatter<'_>, program: &Program, number: usize, indent: usize) -> fmt::Result {
    for op in &program.threads[number] {
        if let Op::Spawn(t) = op {
            let spawn = match program.start {
                Start::Free => "thread::spawn(move ||",
                Start::Scoped => "scope.spawn(move ||",
                Start::Tasks => "future::spawn(async move",
            };
            writeln!(f, "{:indent$}let t{t} = {spawn} {{", "")?;
            thread(f, program, usize::from(*t), indent + 4)?;
            writeln!(f, "{:indent$}}});", "")?;
        } else {
            writeln!(f, "{:indent$}{}", "", line(*op))?;
        }
    }
    for (c, _) in program.channels.iter().enumerate() {
        let gets = (program.sends(number, c), program.receives(number, c));
        if gets.0 || gets.1 {
            let what = match gets {
                (true, true) => format!("tx{c}, rx{c}"),
                (true, false) => format!("tx{c}"),
                _ => format!("rx{c}"),
            };
            writeln!(f, "{:indent$}// here it drops its guards, and what it still has of {what}", "")?;
        }
    }
    Ok(())
}

fn name(hint: Hint) -> &'static str {
    match hint {
        Hint::Yield => "thread::yield_now()",
        Hint::Spin => "hint::spin_loop()",
    }
}

fn end(closure: Closure) -> &'static str {
    match closure {
        Closure::Returns => "",
        Closure::Panics => "panic!(); ",
    }
}

fn line(op: Op) -> String {
    match op {
        Op::Load(a) => format!("log(a{a}.load(SeqCst));"),
        Op::Store(a, v) => format!("a{a}.store({v}, SeqCst);"),
        Op::Swap(a, v) => format!("log(a{a}.swap({v}, SeqCst));"),
        Op::Add(a, v) => format!("log(a{a}.fetch_add({v}, SeqCst));"),
        Op::Cas(a, e, n) => format!("log(a{a}.compare_exchange({e}, {n}, SeqCst, SeqCst));"),
        Op::Retry(a, v, 0, h) => format!("while a{a}.load(SeqCst) != {v} {{ {} }}", name(h)),
        Op::Retry(a, v, n, h) => {
            format!("log((0..{n}).find(|_| a{a}.load(SeqCst) == {v} || {{ {}; false }}));", name(h))
        }
        Op::Lock(m) => format!("let g{m} = m{m}.lock(); log(is_poisoned);"),
        Op::TryLock(m) => format!("let g{m} = m{m}.try_lock(); log(g{m}.is_ok());"),
        Op::RetryLock(m, 0, h) => {
            format!("let g{m} = loop {{ if let Ok(g) = m{m}.try_lock() {{ break g }} {} }};", name(h))
        }
        Op::RetryLock(m, n, h) => {
            format!(
                "let g{m} = (0..{n}).find_map(|_| m{m}.try_lock().ok().or_else(|| {{ {}; None }})); log(tries);",
                name(h)
            )
        }
        Op::Unlock(m) => format!("drop(g{m});"),
        Op::Put(m, v) => format!("*g{m} = {v};"),
        Op::Get(m) => format!("log(*g{m});"),
        Op::Read(l) => format!("let r{l} = l{l}.read();"),
        Op::Write(l) => format!("let r{l} = l{l}.write();"),
        Op::TryRead(l) => format!("let r{l} = l{l}.try_read(); log(r{l}.is_ok());"),
        Op::TryWrite(l) => format!("let r{l} = l{l}.try_write(); log(r{l}.is_ok());"),
        Op::Downgrade(l) => format!("let r{l} = RwLockWriteGuard::downgrade(r{l});"),
        Op::Release(l) => format!("drop(r{l});"),
        Op::Wait(c, m) => format!("g{m} = c{c}.wait(g{m});"),
        Op::WaitUntil(c, m, v) => format!("while *g{m} != {v} {{ g{m} = c{c}.wait(g{m}); }}"),
        Op::WaitTimeout(c, m, ms) => {
            format!("g{m} = c{c}.wait_timeout(g{m}, Duration::from_millis({ms})); log(timed_out);")
        }
        Op::NotifyOne(c) => format!("c{c}.notify_one();"),
        Op::NotifyAll(c) => format!("c{c}.notify_all();"),
        Op::Send(c, v) => format!("log(tx{c}.send({v}));"),
        Op::TrySend(c, v) => format!("log(tx{c}.try_send({v}));"),
        Op::Recv(c) => format!("log(rx{c}.recv());"),
        Op::TryRecv(c) => format!("log(rx{c}.try_recv());"),
        Op::RecvTimeout(c, ms) => format!("log(rx{c}.recv_timeout(Duration::from_millis({ms})));"),
        Op::DropSender(c) => format!("drop(tx{c});"),
        Op::DropReceiver(c) => format!("drop(rx{c});"),
        Op::Barrier(b) => format!("log(b{b}.wait().is_leader());"),
        Op::Park => "thread::park();".into(),
        Op::ParkTimeout(ms) => format!("thread::park_timeout(Duration::from_millis({ms}));"),
        Op::Unpark(0) => "main.unpark();".into(),
        Op::Unpark(t) => format!("t{t}.thread().unpark();"),
        Op::CallOnce(o, a, c) => format!("o{o}.call_once(|| {{ log(a{a}.fetch_add(1, SeqCst)); {}}});", end(c)),
        Op::CallOnceForce(o, a, c) => {
            format!("o{o}.call_once_force(|s| {{ log(s.is_poisoned()); log(a{a}.fetch_add(1, SeqCst)); {}}});", end(c))
        }
        Op::IsCompleted(o) => format!("log(o{o}.is_completed());"),
        Op::Set(o, v) => format!("log(s{o}.set({v}));"),
        Op::GetSet(o) => format!("log(s{o}.get());"),
        Op::GetOrInit(o, a, v, c) => {
            format!("log(s{o}.get_or_init(|| {{ log(a{a}.fetch_add(1, SeqCst)); {}{v} }}));", end(c))
        }
        Op::Await(w, a, v) => format!(
            "poll_fn(|cx| {{ w{w}.register(cx.waker()); if a{a}.load(SeqCst) == {v} {{ Ready(()) }} else {{ Pending }} }}).await;"
        ),
        Op::Wake(w) => format!("w{w}.wake();"),
        Op::Spawn(t) => format!("t{t} = spawn"),
        Op::Join(t) => format!("log(t{t}.join().is_err());"),
        Op::IsFinished(t) => format!("log(t{t}.is_finished());"),
        Op::Give(h) => format!("{};", name(h)),
        Op::Sleep(ms) => format!("thread::sleep(Duration::from_millis({ms}));"),
        Op::Panic => "panic!();".into(),
    }
}
