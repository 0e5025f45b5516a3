//! Message queues of POSIX (`queues.rs`). To send and to receive may wait, and a thread may be cancelled there; a limit may run out
//! at any time.
//!
//! Who receives a message comes after its sender, and who sends where the queue was full after whoever made room: the `n`th message
//! after the `n - k`th that was received, with room for `k`.

use super::cancelled_waits::waits;
use super::files::{closes_queue, fails_with, names_queue};
use super::memory::reads;
use super::time::{Time, deadline, is_no_length};
use super::tsan::gives;
use crate::control::in_program;
use crate::events;
use crate::op::{Op, Wait, of_queue};
use crate::queues::Opened;
use crate::real::next;
use crate::rt::rt;
use crate::threads::{Waited, point};
use std::ffi::CStr;

super::entries! {
    mq_open: "r8" => open_here;
    mq_close: "rsi" => close_here;
    mq_unlink: "rsi" => unlink_here;
    mq_getattr: "rdx" => getattr_here;
    mq_setattr: "rcx" => setattr_here;
    mq_send: "r8" => send_here;
    mq_timedsend: "r9" => timedsend_here;
    mq_receive: "r8" => receive_here;
    mq_timedreceive: "r9" => timedreceive_here;
}

/// Flags, room for messages, bytes of one, and how many there are.
type Attributes = [i64; 8];

/// What Linux gives to queues without attributes, and the most that it gives to those with, unless it is asked by the superuser.
const ROOM: i64 = 10;
const SIZE: i64 = 8192;
const MOST: (i64, i64) = (65_536, 16 << 20);

const PRIORITIES: u32 = 32_768;

/// The longest name, without the `/` in front.
const NAME: usize = 255;

/// What a name stands for; an error, if it is none.
fn name_of(text: *const i8) -> Result<&'static [u8], i32> {
    // SAFETY: the program gives a string.
    match unsafe { CStr::from_ptr(text) }.to_bytes() {
        [b'/'] => Err(libc::ENOENT),
        [b'/', name @ ..] if name.contains(&b'/') => Err(libc::EACCES),
        [b'/', name @ ..] if name.len() > NAME => Err(libc::ENAMETOOLONG),
        [b'/', name @ ..] => Ok(name),
        _ => Err(libc::EINVAL),
    }
}

extern "C-unwind" fn open_here(name: *const i8, flags: i32, mode: u32, wanted: *const Attributes, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn mq_open(*const i8, i32, u32, *const Attributes) -> i32)(name, flags, mode, wanted) };
    }
    super::process::refuses_children("a message queue beside `fork`");
    names_queue("mq_open", pc);
    opens(name, flags, wanted).unwrap_or_else(|error| fails_with(error) as i32)
}

fn opens(name: *const i8, flags: i32, wanted: *const Attributes) -> Result<i32, i32> {
    let name = name_of(name)?;
    let access = flags & libc::O_ACCMODE;
    let (queue, file) = match rt().queues.named(name) {
        Some(_) if flags & libc::O_CREAT != 0 && flags & libc::O_EXCL != 0 => return Err(libc::EEXIST),
        _ if access == libc::O_ACCMODE => return Err(libc::EINVAL),
        Some(queue) => (queue, events::again(rt().queues.get(queue).event)?),
        None if flags & libc::O_CREAT == 0 => return Err(libc::ENOENT),
        None => {
            let (room, size) = room(wanted)?;
            let (event, hidden) = events::make(libc::EFD_NONBLOCK | libc::EFD_CLOEXEC)?;
            (rt().queues.make(name, room, size, hidden), event)
        }
    };
    let (reads, writes) = (access != libc::O_WRONLY, access != libc::O_RDONLY);
    let waits = flags & libc::O_NONBLOCK == 0;
    rt().queues.opened.insert(file, Opened { queue, reads, writes, waits });
    Ok(file)
}

/// How many messages of how many bytes a new queue has room for.
fn room(wanted: *const Attributes) -> Result<(usize, usize), i32> {
    // SAFETY: the program gives attributes, or none.
    let (room, size) = match unsafe { wanted.as_ref() } {
        None => (ROOM, SIZE),
        Some([_, room, size, ..]) => (*room, *size),
    };
    // SAFETY: asks the kernel who runs the process.
    let most = if unsafe { crate::kernel::syscall(libc::SYS_geteuid) } == 0 { MOST } else { (ROOM, SIZE) };
    if !(1..=most.0).contains(&room) || !(1..=most.1).contains(&size) {
        return Err(libc::EINVAL);
    }
    Ok((room as usize, size as usize))
}

/// What the program has opened by this number.
fn opened(file: i32) -> Option<Opened> {
    rt().queues.opened.get(&file).copied()
}

extern "C-unwind" fn close_here(file: i32, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn mq_close(i32) -> i32)(file) };
    }
    if opened(file).is_none() { fails_with(libc::EBADF) as i32 } else { closes_queue("mq_close", file, pc) }
}

extern "C-unwind" fn unlink_here(name: *const i8, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn mq_unlink(*const i8) -> i32)(name) };
    }
    names_queue("mq_unlink", pc);
    let named = name_of(name).and_then(|name| rt().queues.named(name).ok_or(libc::ENOENT));
    match named {
        Ok(queue) => {
            rt().queues.get(queue).name = None;
            0
        }
        Err(error) => fails_with(error) as i32,
    }
}

extern "C-unwind" fn getattr_here(file: i32, to: *mut Attributes, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn mq_getattr(i32, *mut Attributes) -> i32)(file, to) };
    }
    attributes("mq_getattr", file, std::ptr::null(), to, pc)
}

extern "C-unwind" fn setattr_here(file: i32, new: *const Attributes, old: *mut Attributes, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn mq_setattr(i32, *const Attributes, *mut Attributes) -> i32)(file, new, old) };
    }
    attributes("mq_setattr", file, new, old, pc)
}

/// What a queue and its descriptor are like, and whether that waits from now on.
fn attributes(name: &'static str, file: i32, new: *const Attributes, old: *mut Attributes, pc: usize) -> i32 {
    let Some(Opened { queue, .. }) = opened(file) else { return fails_with(libc::EBADF) as i32 };
    point(Op::new(name, pc).on(of_queue(queue, 0)));
    let Some(now) = opened(file) else { return fails_with(libc::EBADF) as i32 };
    let there = rt().queues.get(queue);
    let flags = if now.waits { 0 } else { libc::O_NONBLOCK };
    let all = [flags.into(), there.most as i64, there.size as i64, there.len() as i64, 0, 0, 0, 0];
    // SAFETY: the program gives attributes, or none.
    if let Some(new) = unsafe { new.as_ref() } {
        if new[0] & !i64::from(libc::O_NONBLOCK) != 0 {
            return fails_with(libc::EINVAL) as i32;
        }
        rt().queues.opened.insert(file, Opened { waits: new[0] == 0, ..now });
        rt().moved += 1;
    }
    if !old.is_null() {
        gives(name, old as usize, size_of::<Attributes>(), pc);
        // SAFETY: the program wants them there.
        unsafe { *old = all };
    }
    0
}

/// The point of an operation that waits for this, if its descriptor waits at all; an error if it comes to nothing.
fn comes(op: Op, wait: Wait, is_waiting: bool, until: Option<u64>) -> Result<(), i32> {
    if is_waiting {
        return if waits(op.when(wait).until(until)) == Waited::Done { Ok(()) } else { Err(libc::ETIMEDOUT) };
    }
    point(op);
    let rt = rt();
    if rt.is_so(rt.current, &op.when(wait)) { Ok(()) } else { Err(libc::EAGAIN) }
}

/// Until when, by the program's words.
fn limit(time: Time) -> Result<Option<u64>, i32> {
    match time {
        _ if time.is_null() => Ok(None),
        _ if is_no_length(time) => Err(libc::EINVAL),
        _ => Ok(Some(deadline(time))),
    }
}

/// A message that the program sends.
struct Sent {
    text: usize,
    size: usize,
    priority: u32,
}

fn sends(name: &'static str, file: i32, sent: &Sent, until: Result<Option<u64>, i32>, pc: usize) -> Result<(), i32> {
    let Sent { text, size, priority } = *sent;
    if priority >= PRIORITIES {
        return Err(libc::EINVAL);
    }
    let until = until?;
    let to = opened(file).filter(|to| to.writes).ok_or(libc::EBADF)?;
    if size > rt().queues.get(to.queue).size {
        return Err(libc::EMSGSIZE);
    }
    reads(text, size, pc);
    comes(Op::new(name, pc).on(of_queue(to.queue, 0)), Wait::Room(to.queue), to.waits, until)?;
    let rt = rt();
    // SAFETY: the program gives so many bytes.
    let bytes = unsafe { std::slice::from_raw_parts(text as *const u8, size) };
    let (place, key) = rt.queues.put(to.queue, bytes, priority);
    rt.clocks.acquire(rt.current, place);
    rt.clocks.release(rt.current, key);
    changed(to.queue);
    Ok(())
}

/// Who waits for the queue by its descriptor sees it, and comes after this thread.
fn changed(queue: usize) {
    let rt = rt();
    let queue = rt.queues.get(queue);
    queue.shows();
    if let Some(key) = rt.connections.of(queue.event) {
        rt.clocks.release(rt.current, key);
    }
    rt.moved += 1;
}

/// Where a message goes.
struct To {
    text: usize,
    size: usize,
    priority: *mut u32,
}

fn receives(name: &'static str, file: i32, to: &To, until: Result<Option<u64>, i32>, pc: usize) -> Result<usize, i32> {
    let until = until?;
    let from = opened(file).filter(|from| from.reads).ok_or(libc::EBADF)?;
    if to.size < rt().queues.get(from.queue).size {
        return Err(libc::EMSGSIZE);
    }
    comes(Op::new(name, pc).on(of_queue(from.queue, 0)), Wait::Message(from.queue), from.waits, until)?;
    let (size, priority) = took(from.queue, to.text);
    gives(name, to.text, size, pc);
    if !to.priority.is_null() {
        gives(name, to.priority as usize, 4, pc);
        // SAFETY: the program wants it there.
        unsafe { *to.priority = priority };
    }
    Ok(size)
}

/// Takes a message out of a queue; how many bytes it has, and its priority. What it is in here is gone before threads are switched.
fn took(queue: usize, to: usize) -> (usize, u32) {
    let rt = rt();
    let (text, priority, (place, key)) = rt.queues.take(queue);
    rt.clocks.acquire(rt.current, key);
    rt.clocks.release(rt.current, place);
    changed(queue);
    // SAFETY: the program has said that there is room.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), to as *mut u8, text.len()) };
    (text.len(), priority)
}

fn send_here_until(name: &'static str, file: i32, sent: &Sent, until: Result<Option<u64>, i32>, pc: usize) -> i32 {
    sends(name, file, sent, until, pc).map_or_else(|error| fails_with(error) as i32, |()| 0)
}

extern "C-unwind" fn send_here(file: i32, text: usize, size: usize, priority: u32, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn mq_send(i32, usize, usize, u32) -> i32)(file, text, size, priority) };
    }
    send_here_until("mq_send", file, &Sent { text, size, priority }, Ok(None), pc)
}

extern "C-unwind" fn timedsend_here(file: i32, text: usize, size: usize, priority: u32, time: Time, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe {
            next!(fn mq_timedsend(i32, usize, usize, u32, Time) -> i32)(file, text, size, priority, time)
        };
    }
    send_here_until("mq_timedsend", file, &Sent { text, size, priority }, limit(time), pc)
}

fn receive_here_until(name: &'static str, file: i32, to: &To, until: Result<Option<u64>, i32>, pc: usize) -> isize {
    receives(name, file, to, until, pc).map_or_else(fails_with, |size| size as isize)
}

extern "C-unwind" fn receive_here(file: i32, text: usize, size: usize, priority: *mut u32, pc: usize) -> isize {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn mq_receive(i32, usize, usize, *mut u32) -> isize)(file, text, size, priority) };
    }
    receive_here_until("mq_receive", file, &To { text, size, priority }, Ok(None), pc)
}

extern "C-unwind" fn timedreceive_here(
    file: i32,
    text: usize,
    size: usize,
    priority: *mut u32,
    time: Time,
    pc: usize,
) -> isize {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe {
            next!(fn mq_timedreceive(i32, usize, usize, *mut u32, Time) -> isize)(file, text, size, priority, time)
        };
    }
    receive_here_until("mq_timedreceive", file, &To { text, size, priority }, limit(time), pc)
}
