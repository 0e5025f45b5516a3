//! Sockets: to connect and to accept, to send and to receive. What would wait in the kernel waits at a scheduling point; what a
//! call then does is done without waiting.

use super::entries;
use super::files::{arrive, connection, fails_with, is_waiting, puts};
use crate::control::in_program;
use crate::rt::rt;
use std::ffi::c_void;

entries! {
    bind: "rcx" => bind_here;
    listen: "rdx" => listen_here;
    connect: "rcx" => connect_here;
    accept: "rcx" => accept_here;
    accept4: "r8" => accept4_here;
    shutdown: "rdx" => shutdown_here;
    recv: "r8" => recv_here;
    recvmsg: "rcx" => recvmsg_here;
    send: "r8" => send_here;
    sendmsg: "rcx" => sendmsg_here;
    recvmmsg: "r9" => recvmmsg_here;
    sendmmsg: "r8" => sendmmsg_here;
}

// These have six arguments: the place of the call is the first one on the stack, where the call itself has put it.
super::entry! { recvfrom: [] => recvfrom_here }
super::entry! { sendto: [] => sendto_here }

/// The place of the call of a function with six arguments.
fn place() -> usize {
    crate::place::called_from()
}

/// A call that changes what others see of a socket and never waits for them.
fn acts(name: &'static str, file: i32, pc: usize, call: impl FnOnce() -> i64) -> i32 {
    let connection = connection(file);
    if let Some(key) = connection {
        arrive(name, file, key, None, pc);
        rt().clocks.release(rt().current, key);
    }
    call() as i32
}

extern "C-unwind" fn bind_here(file: i32, address: *const c_void, size: u32, pc: usize) -> i32 {
    if in_program() && kind(file) == libc::SOCK_STREAM {
        let yes = 1i32;
        // SAFETY: what an earlier execution has left of a port in the kernel is not in the way of this one.
        unsafe {
            crate::kernel::syscall(libc::SYS_setsockopt, file, libc::SOL_SOCKET, libc::SO_REUSEADDR, &raw const yes, 4)
        };
    }
    // SAFETY: as the program calls it.
    acts("bind", file, pc, || unsafe { crate::kernel::syscall(libc::SYS_bind, file, address, size) })
}

/// Which kind of socket it is.
fn kind(file: i32) -> i32 {
    let (mut kind, mut size) = (0i32, 4u32);
    // SAFETY: asks the kernel about a socket; there is room for the answer.
    unsafe {
        crate::kernel::syscall(
            libc::SYS_getsockopt,
            file,
            libc::SOL_SOCKET,
            libc::SO_TYPE,
            &raw mut kind,
            &raw mut size,
        )
    };
    kind
}

extern "C-unwind" fn listen_here(file: i32, backlog: i32, pc: usize) -> i32 {
    // SAFETY: as the program calls it.
    acts("listen", file, pc, || unsafe { crate::kernel::syscall(libc::SYS_listen, file, backlog) })
}

/// The kernel connects to who listens in the same machine at once, before anybody accepts.
extern "C-unwind" fn connect_here(file: i32, address: *const c_void, size: u32, pc: usize) -> i32 {
    // SAFETY: as the program calls it.
    acts("connect", file, pc, || unsafe { crate::kernel::syscall(libc::SYS_connect, file, address, size) })
}

extern "C-unwind" fn shutdown_here(file: i32, how: i32, pc: usize) -> i32 {
    // SAFETY: as the program calls it.
    acts("shutdown", file, pc, || unsafe { crate::kernel::syscall(libc::SYS_shutdown, file, how) })
}

extern "C-unwind" fn accept_here(file: i32, address: *mut c_void, size: *mut u32, pc: usize) -> i32 {
    accepts("accept", file, address, size, 0, pc)
}

extern "C-unwind" fn accept4_here(file: i32, address: *mut c_void, size: *mut u32, flags: i32, pc: usize) -> i32 {
    accepts("accept4", file, address, size, flags, pc)
}

fn accepts(name: &'static str, file: i32, address: *mut c_void, size: *mut u32, flags: i32, pc: usize) -> i32 {
    let connection = connection(file);
    if let Some(key) = connection {
        if !arrive(name, file, key, is_waiting(file, 0).then_some(libc::POLLIN), pc) {
            return fails_with(libc::EAGAIN) as i32;
        }
        rt().clocks.acquire(rt().current, key);
        rt().moved += 1;
    }
    // SAFETY: as the program calls it.
    unsafe { crate::kernel::syscall(libc::SYS_accept4, file, address, size, flags) as i32 }
}

/// Receives by a system call, once there is something.
fn receives(name: &'static str, file: i32, flags: i32, pc: usize, call: impl FnOnce() -> i64) -> isize {
    let connection = connection(file);
    if let Some(key) = connection {
        let waits = is_waiting(file, flags);
        if waits && flags & libc::MSG_WAITALL != 0 {
            crate::threads::not_supported("recvmsg with MSG_WAITALL");
        }
        let events = if flags & libc::MSG_OOB != 0 { libc::POLLPRI } else { libc::POLLIN };
        if !arrive(name, file, key, waits.then_some(events), pc) {
            return fails_with(libc::EAGAIN);
        }
    }
    let got = call() as isize;
    if let Some(key) = connection
        && got >= 0
    {
        rt().moved += got as u64;
        rt().clocks.acquire(rt().current, key);
    }
    got
}

/// Receives so many bytes by system calls, each of which gives what is there: all of them if the program wants that.
fn fills(name: &'static str, file: i32, size: usize, flags: i32, pc: usize, call: impl Fn(usize, i32) -> i64) -> isize {
    let flag = libc::MSG_WAITALL;
    let is_whole = in_program() && flags & flag != 0 && flags & libc::MSG_PEEK == 0 && is_waiting(file, flags);
    if !is_whole || kind(file) != libc::SOCK_STREAM {
        let flags = if in_program() { flags & !flag } else { flags };
        return receives(name, file, flags, pc, || call(0, flags));
    }
    let mut there = 0;
    while there < size {
        match receives(name, file, flags & !flag, pc, || call(there, flags & !flag)) {
            ..0 if there == 0 => return -1,
            ..=0 => break,
            got => there += got as usize,
        }
    }
    there as isize
}

pub(super) extern "C-unwind" fn recv_here(file: i32, buffer: *mut c_void, size: usize, flags: i32, pc: usize) -> isize {
    let null = std::ptr::null_mut::<c_void>();
    // SAFETY: as the program calls it, or the rest of it.
    fills("recv", file, size, flags, pc, |there, flags| unsafe {
        crate::kernel::syscall(libc::SYS_recvfrom, file, buffer.byte_add(there), size - there, flags, null, null)
    })
}

extern "C-unwind" fn recvfrom_here(
    file: i32,
    buffer: *mut c_void,
    size: usize,
    flags: i32,
    from: *mut c_void,
    length: *mut u32,
) -> isize {
    // SAFETY: as the program calls it, or the rest of it.
    fills("recvfrom", file, size, flags, place(), |there, flags| unsafe {
        crate::kernel::syscall(libc::SYS_recvfrom, file, buffer.byte_add(there), size - there, flags, from, length)
    })
}

/// A message of several, and how long it is.
#[repr(C)]
struct Message {
    head: libc::msghdr,
    length: u32,
}

/// One message after the other, as long as each has its turn; how many there were.
fn each(messages: *mut Message, count: u32, mut one: impl FnMut(*mut c_void, u32) -> isize) -> i32 {
    for number in 0..count {
        // SAFETY: the program gives so many messages.
        let message = unsafe { &mut *messages.add(number as usize) };
        match one((&raw mut message.head).cast(), number) {
            ..0 if number == 0 => return -1,
            ..0 => return number as i32,
            got => message.length = got as u32,
        }
    }
    count as i32
}

extern "C-unwind" fn recvmmsg_here(
    file: i32,
    messages: *mut Message,
    count: u32,
    flags: i32,
    limit: *mut libc::timespec,
    pc: usize,
) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { crate::kernel::syscall(libc::SYS_recvmmsg, file, messages, count, flags, limit) as i32 };
    }
    if !limit.is_null() {
        crate::threads::not_supported("recvmmsg with a limit");
    }
    let (first, rest) = (flags & !libc::MSG_WAITFORONE, flags & libc::MSG_WAITFORONE != 0);
    each(messages, count, |message, number| {
        let flags = if rest && number > 0 { first | libc::MSG_DONTWAIT } else { first };
        recvmsg_here(file, message, flags, pc)
    })
}

extern "C-unwind" fn sendmmsg_here(file: i32, messages: *mut Message, count: u32, flags: i32, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { crate::kernel::syscall(libc::SYS_sendmmsg, file, messages, count, flags) as i32 };
    }
    each(messages, count, |message, _| sendmsg_here(file, message, flags, pc))
}

extern "C-unwind" fn recvmsg_here(file: i32, message: *mut c_void, flags: i32, pc: usize) -> isize {
    // SAFETY: as the program calls it.
    receives("recvmsg", file, flags, pc, || unsafe { crate::kernel::syscall(libc::SYS_recvmsg, file, message, flags) })
}

/// Sends by a system call that does not wait.
fn sends(name: &'static str, file: i32, size: usize, flags: i32, pc: usize, call: impl Fn(usize, i32) -> i64) -> isize {
    let Some(key) = connection(file) else { return call(0, flags) as isize };
    let send = |sent| call(sent, flags | libc::MSG_DONTWAIT) as isize;
    puts(name, file, key, size, is_waiting(file, flags), pc, send)
}

extern "C-unwind" fn send_here(file: i32, buffer: usize, size: usize, flags: i32, pc: usize) -> isize {
    // SAFETY: as the program calls it, or the rest of it.
    sends("send", file, size, flags, pc, |sent, flags| unsafe {
        crate::kernel::syscall(libc::SYS_sendto, file, buffer + sent, size - sent, flags, 0usize, 0usize)
    })
}

extern "C-unwind" fn sendto_here(
    file: i32,
    buffer: usize,
    size: usize,
    flags: i32,
    to: *const c_void,
    length: u32,
) -> isize {
    // SAFETY: as the program calls it, or the rest of it.
    sends("sendto", file, size, flags, place(), |sent, flags| unsafe {
        crate::kernel::syscall(libc::SYS_sendto, file, buffer + sent, size - sent, flags, to, length)
    })
}

/// A message is sent as far as there is room, as `sendmsg` may.
extern "C-unwind" fn sendmsg_here(file: i32, message: *const c_void, flags: i32, pc: usize) -> isize {
    // SAFETY: as the program calls it.
    sends("sendmsg", file, 0, flags, pc, |_, flags| unsafe {
        crate::kernel::syscall(libc::SYS_sendmsg, file, message, flags)
    })
}
