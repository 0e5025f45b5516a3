//! Reads and writes that may wait for another thread of the program: they do so at a scheduling point, and never in the
//! kernel. Streams that are locked over other calls. Within a call the C library's own lock of a stream is never waited for: nobody is switched there.

use super::entries;
use super::library::{is_alone, object_of};
use crate::control::in_program;
use crate::delivery;
use crate::op::{Op, QUEUES, REGULAR, Wait};
use crate::real::next;
use crate::rt::rt;
use crate::threads::{Waited, point};

entries! {
    read: "rcx" => read_here;
    readv: "rcx" => readv_here;
    write: "rcx" => write_here;
    writev: "rcx" => writev_here;
    close: "rsi" => close_here;
    close_range: "rcx" => close_range_here;
    closefrom: "rsi" => close_from;
    dup2: "rdx" => dup2_here;
    dup3: "rcx" => dup3_here;
    socketpair: "r8" => socketpair_here;
    flock: "rdx" => flock_here;
    flockfile: "rsi" => flockfile_here;
    ftrylockfile: "rsi" => ftrylockfile_here;
    funlockfile: "rsi" => funlockfile_here;
}

/// Whether a file is ready for this.
pub fn is_ready(file: i32, events: i16) -> bool {
    let mut poll = libc::pollfd { fd: file, events, revents: 0 };
    // SAFETY: looks at one file; straight to the kernel.
    unsafe { crate::kernel::syscall(libc::SYS_poll, &raw mut poll, 1, 0) != 0 }
}

/// What threads may speak to each other through by a file, as an object of operations.
pub fn connection(file: i32) -> Option<usize> {
    if in_program() { rt().connections.of(file) } else { None }
}

/// Whether a call with these flags of messages waits there.
pub fn is_waiting(file: i32, flags: i32) -> bool {
    // SAFETY: asks the kernel about a file.
    flags & libc::MSG_DONTWAIT == 0
        && unsafe { crate::kernel::syscall(libc::SYS_fcntl, file, libc::F_GETFL) } as i32 & libc::O_NONBLOCK == 0
}

/// Whether the file was opened for the other direction only: the kernel says so at once.
fn is_opened_for(file: i32, other: i32) -> bool {
    // SAFETY: asks the kernel about a file.
    unsafe { crate::kernel::syscall(libc::SYS_fcntl, file, libc::F_GETFL) as i32 & libc::O_ACCMODE == other }
}

/// The point before something is done with a regular file: all of them are one object, with their names and folders.
pub fn regular(name: &'static str, file: i32, pc: usize) {
    if in_program() && !is_alone() && crate::connections::is_regular(file, &rt().connections) {
        point(Op::new(name, pc).on(REGULAR));
    }
}

/// The thread's `errno`.
pub fn error() -> i32 {
    // SAFETY: the thread's own.
    unsafe { *libc::__errno_location() }
}

/// What a call of the C library says of an error of its own.
pub fn fails_with(error: i32) -> isize {
    // SAFETY: the thread's own.
    unsafe { *libc::__errno_location() = error };
    -1
}

/// The point before a thread does something there, which it waits for if it says for what. `false` if it has waited as long as
/// the program has said for this socket.
pub fn arrive(name: &'static str, file: i32, connection: usize, waits: Option<i16>, pc: usize) -> bool {
    if rt().queues.opened.contains_key(&file) {
        crate::threads::not_supported("a message queue as a file");
    }
    // Who closes an end announces nothing.
    rt().unannounced = true;
    let op = Op::new(name, pc).on(connection);
    let Some(events) = waits else { return point(op) == Waited::Done };
    let op = op.when(Wait::File(file, events)).until(limit(file, events));
    super::cancelled_waits::waits(op) == Waited::Done
}

/// Until when an operation of this socket waits, if the program has said so.
fn limit(file: i32, events: i16) -> Option<u64> {
    let option = if events == libc::POLLOUT { libc::SO_SNDTIMEO } else { libc::SO_RCVTIMEO };
    let (mut time, mut size) = (libc::timeval { tv_sec: 0, tv_usec: 0 }, 16u32);
    // SAFETY: asks the kernel about a socket; there is room for the answer.
    let known = unsafe {
        crate::kernel::syscall(libc::SYS_getsockopt, file, libc::SOL_SOCKET, option, &raw mut time, &raw mut size)
    };
    let nanoseconds = time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    (known == 0 && nanoseconds > 0).then(|| rt().now + nanoseconds)
}

fn waits_to_read(file: i32) -> bool {
    is_waiting(file, 0) && !is_opened_for(file, libc::O_WRONLY)
}

fn waits_to_write(file: i32) -> bool {
    is_waiting(file, 0) && !is_opened_for(file, libc::O_RDONLY)
}

/// Reads by a system call, once there is something.
fn reads(name: &'static str, file: i32, pc: usize, call: impl FnOnce() -> i64) -> isize {
    let connection = connection(file);
    if let Some(key) = connection
        && !arrive(name, file, key, waits_to_read(file).then_some(libc::POLLIN), pc)
    {
        return fails_with(libc::EAGAIN);
    }
    if connection.is_none() {
        regular(name, file, pc);
    }
    let got = call() as isize;
    if in_program() && got > 0 {
        rt().moved += got as u64;
    }
    if let Some(key) = connection
        && got >= 0
    {
        rt().clocks.acquire(rt().current, key);
    }
    got
}

pub(super) extern "C-unwind" fn read_here(file: i32, buffer: usize, size: usize, pc: usize) -> isize {
    // Nobody waits for nothing, nor for a part of an event's number.
    if !in_program() || size == 0 || size < EVENT && crate::connections::is_event(file) {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn read(i32, usize, usize) -> isize)(file, buffer, size) };
    }
    // SAFETY: as the program calls it.
    reads("read", file, pc, || unsafe { crate::kernel::syscall(libc::SYS_read, file, buffer, size) })
}

extern "C-unwind" fn readv_here(file: i32, parts: *const libc::iovec, count: i32, pc: usize) -> isize {
    if !in_program() || !is_something(parts, count) {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn readv(i32, *const libc::iovec, i32) -> isize)(file, parts, count) };
    }
    // SAFETY: as the program calls it.
    reads("readv", file, pc, || unsafe { crate::kernel::syscall(libc::SYS_readv, file, parts, count) })
}

/// Whether there are as many parts as may be, and bytes in them.
fn is_something(parts: *const libc::iovec, count: i32) -> bool {
    // SAFETY: the program gives so many parts of its memory.
    (1..=libc::UIO_MAXIOV).contains(&count)
        && unsafe { std::slice::from_raw_parts(parts, count as usize) }.iter().any(|part| part.iov_len > 0)
}

/// A pipe that has room at all has room for so many bytes.
const AT_ONCE: usize = libc::PIPE_BUF;

/// Writes without waiting in the kernel, by a call that writes so many bytes.
fn write_now(file: i32, size: usize, waits: bool, call: impl FnOnce() -> i64) -> isize {
    // An event that has room for something need not have room for this number.
    if !waits || size <= AT_ONCE && !crate::connections::is_event(file) {
        return call() as isize;
    }
    // SAFETY: what the file does where there is no room is as before.
    unsafe {
        let flags = crate::kernel::syscall(libc::SYS_fcntl, file, libc::F_GETFL);
        crate::kernel::syscall(libc::SYS_fcntl, file, libc::F_SETFL, flags | i64::from(libc::O_NONBLOCK));
        let got = call() as isize;
        let error = error();
        crate::kernel::syscall(libc::SYS_fcntl, file, libc::F_SETFL, flags);
        if got < 0 { fails_with(error) } else { got }
    }
}

/// Puts so many bytes where threads may read, by calls that do not wait. If there is room for a part only, `put` is called for the
/// rest, with how many are there, as soon as there is room again, or not if nobody `waits`.
pub fn puts(
    name: &'static str,
    file: i32,
    key: usize,
    size: usize,
    waits: bool,
    pc: usize,
    put: impl Fn(usize) -> isize,
) -> isize {
    let mut there = 0;
    loop {
        let on_time = arrive(name, file, key, waits.then_some(libc::POLLOUT), pc);
        rt().clocks.release(rt().current, key);
        let got = if on_time { delivery::tells_of_broken_pipe(|| put(there)) } else { fails_with(libc::EAGAIN) };
        if got < 0 {
            let again = on_time && waits && error() == libc::EAGAIN;
            match there {
                _ if again => {
                    if is_ready(file, libc::POLLOUT) {
                        crate::threads::give_way(name, 0, pc);
                    }
                    continue;
                }
                0 => return -1,
                _ => return there as isize,
            }
        }
        there += got as usize;
        rt().moved += got as u64;
        if !waits || got == 0 || there >= size {
            return there as isize;
        }
    }
}

/// What is written by a call to what nobody waits for.
fn wrote(name: &'static str, file: i32, pc: usize, call: impl FnOnce() -> i64) -> isize {
    regular(name, file, pc);
    let got = call() as isize;
    rt().moved += got.max(0) as u64;
    got
}

extern "C-unwind" fn write_here(file: i32, buffer: usize, size: usize, pc: usize) -> isize {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn write(i32, usize, usize) -> isize)(file, buffer, size) };
    }
    // SAFETY: as the program calls it, or the rest of it.
    let call = |there: usize| unsafe { crate::kernel::syscall(libc::SYS_write, file, buffer + there, size - there) };
    let Some(key) = connection(file).filter(|_| !is_refused(file, buffer, size)) else {
        return wrote("write", file, pc, || call(0));
    };
    if crate::timer::by_file(&rt().timers, &mut rt().connections, file).is_some() {
        return fails_with(libc::EINVAL);
    }
    let waits = waits_to_write(file);
    puts("write", file, key, size, waits, pc, |there| write_now(file, size - there, waits, || call(there)))
}

extern "C-unwind" fn writev_here(file: i32, parts: *const libc::iovec, count: i32, pc: usize) -> isize {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn writev(i32, *const libc::iovec, i32) -> isize)(file, parts, count) };
    }
    let call = |parts: *const libc::iovec, count: i32| {
        // SAFETY: as the program calls it, or the rest of it.
        unsafe { crate::kernel::syscall(libc::SYS_writev, file, parts, count) }
    };
    let key = connection(file).filter(|_| (1..=libc::UIO_MAXIOV).contains(&count));
    let Some(key) = key else { return wrote("writev", file, pc, || call(parts, count)) };
    // SAFETY: the program gives so many parts of its memory.
    let parts = unsafe { std::slice::from_raw_parts(parts, count as usize) };
    let size = parts.iter().map(|part| part.iov_len).sum();
    let waits = waits_to_write(file);
    puts("writev", file, key, size, waits, pc, |there| {
        let rest = rest(parts, there);
        write_now(file, size - there, waits, || call(rest.as_ptr(), rest.len() as i32))
    })
}

/// Bytes of an event's number.
const EVENT: usize = 8;

/// Whether that cannot be added to an event's number, however large that is.
fn is_refused(file: i32, buffer: usize, size: usize) -> bool {
    // SAFETY: the program gives so many bytes.
    let too_large = || unsafe { (buffer as *const u64).read_unaligned() } == u64::MAX;
    crate::connections::is_event(file) && (size < EVENT || too_large())
}

/// The parts without so many bytes at the front.
fn rest(parts: &[libc::iovec], mut there: usize) -> Vec<libc::iovec> {
    let behind = |part: &libc::iovec| {
        let skipped = there.min(part.iov_len);
        there -= skipped;
        libc::iovec { iov_base: part.iov_base.wrapping_byte_add(skipped), iov_len: part.iov_len - skipped }
    };
    parts.iter().map(behind).collect()
}

/// Files that were open before `main` stay so: they are there in the next execution, too, and some are ours.
extern "C-unwind" fn close_here(file: i32, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn close(i32) -> i32)(file) };
    }
    if rt().open.contains(&(file as u32)) {
        if rt().closed.insert(file as u32) {
            return 0;
        }
        // SAFETY: the thread's own `errno`.
        unsafe { *libc::__errno_location() = libc::EBADF };
        return -1;
    }
    if rt().queues.opened.contains_key(&file) {
        return closes_queue("close", file, pc);
    }
    ends("close", file, pc);
    // SAFETY: as the program calls it.
    unsafe { crate::kernel::syscall(libc::SYS_close, file) as i32 }
}

/// A descriptor of a message queue is one no more.
pub fn closes_queue(name: &'static str, file: i32, pc: usize) -> i32 {
    names_queue(name, pc);
    rt().queues.opened.remove(&file);
    // SAFETY: as the program wants it.
    unsafe { crate::kernel::syscall(libc::SYS_close, file) as i32 }
}

/// The point before it changes which message queues there are, and by which descriptors.
pub fn names_queue(name: &'static str, pc: usize) {
    if !is_alone() {
        point(Op::new(name, pc).on(QUEUES));
    }
    let rt = rt();
    (rt.uses_files, rt.moved) = (true, rt.moved + 1);
}

/// The point before a descriptor is closed: who looks at the other end sees that.
fn ends(name: &'static str, file: i32, pc: usize) {
    if let Some(key) = connection(file).filter(|_| !is_alone()) {
        arrive(name, file, key, None, pc);
        rt().clocks.release(rt().current, key);
    } else {
        regular(name, file, pc);
    }
    rt().moved += 1;
}

/// Another file takes the place of the one that was there.
extern "C-unwind" fn dup2_here(from: i32, to: i32, pc: usize) -> i32 {
    if in_program() {
        replaces("dup2", to, pc);
    }
    // SAFETY: as the program calls it.
    unsafe { crate::kernel::syscall(libc::SYS_dup2, from, to) as i32 }
}

extern "C-unwind" fn dup3_here(from: i32, to: i32, flags: i32, pc: usize) -> i32 {
    if in_program() {
        replaces("dup3", to, pc);
    }
    // SAFETY: as the program calls it.
    unsafe { crate::kernel::syscall(libc::SYS_dup3, from, to, flags) as i32 }
}

fn replaces(name: &'static str, to: i32, pc: usize) {
    if crate::descriptors::is_ours(to) {
        crate::threads::not_supported("dup2 onto descriptors 60 to 62");
    }
    ends(name, to, pc);
}

extern "C-unwind" fn close_range_here(first: u32, last: u32, flags: i32, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { crate::kernel::syscall(libc::SYS_close_range, first, last, flags) as i32 };
    }
    if flags != 0 {
        crate::threads::not_supported("close_range with flags");
    }
    if first > last {
        // SAFETY: the thread's own `errno`.
        unsafe { *libc::__errno_location() = libc::EINVAL };
        return -1;
    }
    if !is_alone() {
        rt().unannounced = true;
        point(Op::new("close_range", pc).on(crate::op::connection(0)));
    }
    let rt = rt();
    rt.moved += 1;
    crate::descriptors::close_between(&rt.open, first, last);
    rt.queues.opened.retain(|file, _| !(first..=last).contains(&(*file as u32)));
    rt.closed.extend(rt.open.iter().filter(|file| (first..=last).contains(*file)));
    0
}

extern "C-unwind" fn close_from(first: i32, pc: usize) {
    close_range_here(first.max(0) as u32, u32::MAX, 0, pc);
}

extern "C-unwind" fn socketpair_here(domain: i32, kind: i32, protocol: i32, ends: *mut [i32; 2], _: usize) -> i32 {
    // SAFETY: as the program calls it.
    let result = unsafe { crate::kernel::syscall(libc::SYS_socketpair, domain, kind, protocol, ends) } as i32;
    if in_program() && result == 0 {
        // SAFETY: the kernel has put both there.
        rt().connections.pair(unsafe { *ends });
    }
    result
}

/// Who waits for a file's lock looks again and again: the kernel says only by giving it whether it is free.
extern "C-unwind" fn flock_here(file: i32, what: i32, pc: usize) -> i32 {
    // SAFETY: as the program calls it.
    let call = |what: i32| unsafe { crate::kernel::syscall(libc::SYS_flock, file, what) as i32 };
    if !in_program() {
        return call(what);
    }
    rt().unannounced = true;
    let key = crate::op::of_library(5);
    point(Op::new("flock", pc).on(key));
    if what & libc::LOCK_UN != 0 {
        rt().clocks.release(rt().current, key);
    }
    loop {
        let got = call(what | libc::LOCK_NB);
        if got == 0 {
            rt().clocks.acquire(rt().current, key);
            rt().moved += 1;
        }
        if got == 0 || what & libc::LOCK_NB != 0 || error() != libc::EWOULDBLOCK {
            return got;
        }
        crate::threads::give_way("flock", 0, pc);
    }
}

extern "C-unwind" fn flockfile_here(stream: usize, pc: usize) {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn flockfile(usize))(stream) };
    }
    point(Op::new("flockfile", pc).on(object_of(stream)).when(Wait::Stream(stream)));
    locked(stream);
}

fn locked(stream: usize) {
    let me = rt().current;
    rt().streams.entry(stream).or_insert((me, 0)).1 += 1;
    rt().clocks.acquire(me, stream);
}

extern "C-unwind" fn ftrylockfile_here(stream: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn ftrylockfile(usize) -> i32)(stream) };
    }
    point(Op::new("ftrylockfile", pc).on(object_of(stream)));
    if rt().streams.get(&stream).is_some_and(|(owner, _)| *owner != rt().current) {
        return 1;
    }
    locked(stream);
    0
}

extern "C-unwind" fn funlockfile_here(stream: usize, pc: usize) {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn funlockfile(usize))(stream) };
    }
    point(Op::new("funlockfile", pc).on(object_of(stream)));
    let me = rt().current;
    if let Some((owner, count)) = rt().streams.get_mut(&stream)
        && *owner == me
    {
        *count -= 1;
        if *count == 0 {
            rt().streams.remove(&stream);
            rt().clocks.release(me, stream);
        }
    }
}
