//! The beginning: `__libc_start_main` is ours, so that control is taken after static constructors and before `main`.

use crate::connections::Connections;
use crate::control::is_controlled;
use crate::fiber::Shape;
use crate::image::Image;
use crate::real::next;
use crate::rt::{Before, Rt, Settings};
use crate::say::STDERR;
use crate::{
    arena, descriptors, destructors, explore, fiber, heap, hooks, isolate, lifetime, rt, signals, stacks, watched,
};
use fabius_native_protocol::{
    ANSWER_AT, FD, Header, Isolation, POINTS_AT, REQUEST_AT, Request, SCHEDULE_AT, STATE_DONE, STATE_RUNS, What,
};
use std::sync::atomic::Ordering::Relaxed;

type Main = unsafe extern "C" fn(usize, usize, usize) -> i32;

static mut PROGRAM: usize = 0;

/// Where the shared file is in memory.
const SHARED: usize = arena::OURS.start + (4 << 40);

/// Calls the program's `main`, or the explorer instead.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __libc_start_main(
    main: Main,
    argc: i32,
    argv: usize,
    init: usize,
    fini: usize,
    linker_fini: usize,
    stack: usize,
) -> i32 {
    // SAFETY: as the C library's.
    unsafe {
        let real = next!(fn __libc_start_main(Main, i32, usize, usize, usize, usize, usize) -> i32);
        if !is_controlled() {
            return real(main, argc, argv, init, fini, linker_fini, stack);
        }
        PROGRAM = main as usize;
        real(instead_of_main, argc, argv, init, fini, linker_fini, stack)
    }
}

/// Takes control, and never gives it back.
unsafe extern "C" fn instead_of_main(argc: usize, argv: usize, envp: usize) -> i32 {
    // SAFETY: static constructors have run; the process is ours now.
    unsafe {
        let (header, request) = shared();
        header.state.store(STATE_RUNS, Relaxed);
        crate::kernel::syscall(libc::SYS_fcntl, FD, libc::F_SETFD, libc::FD_CLOEXEC);
        let arguments = copy_of_arguments(argc, argv);
        lifetime::MAIN = (PROGRAM, argc, arguments, envp);
        let single = libc::dlsym(libc::RTLD_DEFAULT, c"__libc_single_threaded".as_ptr()).cast::<u8>();
        if !single.is_null() {
            *single = 0;
        }
        let shows_output = matches!(request.what, What::Replay(_));
        redirect(shows_output);
        say_nothing_of_processors();
        descriptors::list();
        signals::set_up();
        let top = fiber::explorer_stack();
        let shape = Box::leak(Box::new(Shape::learn()));
        let (keys, values) = hooks::keys::before();
        let early = &raw const hooks::process::EARLY;
        let mut at_exit = destructors::of_the_program();
        at_exit.extend_from_slice(&*early);
        let kept = heap::keep(request.heap as usize);
        // Who looks on by a debugger is not to see faults that are none.
        if matches!(request.what, What::Explore) && request.isolation == Isolation::Memory {
            watched::begin();
        }
        let image = Box::leak(Box::new(Image::take(kept)));
        let settings = Settings {
            points: request.points,
            bound: request.bound,
            race_is_bug: request.first_race,
            leaks: request.leaks,
            isolation: request.isolation,
        };
        rt::set(Box::into_raw(Box::new(Rt {
            before: Before { at_exit, keys, values },
            process: stacks::process(),
            decisions: (SHARED + SCHEDULE_AT as usize) as *mut u32,
            points: (SHARED + POINTS_AT as usize) as *mut u64,
            shows_output,
            open: descriptors::open(),
            connections: Connections::besides([0, 1, 2]),
            ..Rt::new(shape, image, settings, header)
        })));
        for address in &request.data_points {
            rt::rt().mark(*address as usize);
        }
        let isolation = request.isolation;
        let request = std::ptr::from_mut(Box::leak(Box::new(request))) as usize;
        match isolation {
            Isolation::Process => isolate::run(top, explorer, request),
            Isolation::Memory => stacks::fabius_call_on(top, explorer, request),
        }
    }
    0
}

/// The explorer, from its first word to its last.
extern "C" fn explorer(request: usize) {
    // SAFETY: a request that was leaked for this.
    let request = unsafe { &*(request as *const Request) };
    match request.isolation {
        Isolation::Process => isolate::begin(),
        Isolation::Memory => rt::rt().worker().process.store(stacks::process(), Relaxed),
    }
    let answer = explore::run(request);
    let text = serde_json::to_vec(&answer).unwrap_or_default();
    let mut written = 0;
    // SAFETY: writes a slice to the shared file and ends the process.
    unsafe {
        while written < text.len() {
            let rest = &text[written..];
            let at = ANSWER_AT as usize + written;
            let got = crate::kernel::syscall(libc::SYS_pwrite64, FD, rest.as_ptr(), rest.len(), at);
            if got <= 0 {
                crate::say::fatal(&[b"the answer cannot be written"]);
            }
            written += got as usize;
        }
        let header = rt::rt().header;
        header.answer.store(text.len() as u64, Relaxed);
        header.state.store(STATE_DONE, Relaxed);
        crate::kernel::syscall(libc::SYS_exit_group, 0);
    }
}

/// The beginning of the shared file, and what is asked.
unsafe fn shared() -> (&'static Header, Request) {
    let flags = libc::MAP_SHARED | libc::MAP_FIXED_NOREPLACE;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the other process has made the file as large as this.
    unsafe {
        let got = crate::kernel::syscall(libc::SYS_mmap, SHARED, ANSWER_AT, protection, flags, FD, 0usize);
        if got as usize != SHARED {
            crate::say::fatal(&[b"the shared file cannot be mapped"]);
        }
        let header = &*(SHARED as *const Header);
        let length = header.request.load(Relaxed) as usize;
        let text = std::slice::from_raw_parts((SHARED + REQUEST_AT as usize) as *const u8, length);
        match serde_json::from_slice(text) {
            Ok(request) => (header, request),
            Err(_) => crate::say::fatal(&[b"the request is of another version; build the program again"]),
        }
    }
}

/// The program's arguments on its heap, where they are restored.
unsafe fn copy_of_arguments(argc: usize, argv: usize) -> usize {
    // SAFETY: the kernel gives `argc` strings and a null.
    unsafe {
        let copy = heap::allocate(0, (argc + 1) * 8, 16, true).cast::<usize>();
        for number in 0..argc {
            let text = *(argv as *const usize).add(number) as *const i8;
            let length = libc::strlen(text) + 1;
            let block = heap::allocate(0, length, 16, true);
            std::ptr::copy_nonoverlapping(text.cast::<u8>(), block, length);
            *copy.add(number) = block as usize;
        }
        copy as usize
    }
}

/// Nothing is read, and nothing printed but in a replay.
unsafe fn redirect(shows_output: bool) {
    // SAFETY: moves descriptors about.
    unsafe {
        crate::kernel::syscall(libc::SYS_dup3, 2, STDERR, libc::O_CLOEXEC);
        let null = crate::kernel::syscall(libc::SYS_openat, libc::AT_FDCWD, c"/dev/null".as_ptr(), libc::O_RDWR) as i32;
        crate::kernel::syscall(libc::SYS_dup2, null, 0);
        if !shows_output {
            crate::kernel::syscall(libc::SYS_dup2, null, 1);
            crate::kernel::syscall(libc::SYS_dup2, null, 2);
        }
        if null > 2 {
            crate::kernel::syscall(libc::SYS_close, null);
        }
    }
}

/// The kernel writes no more into the thread's storage on which processor it runs: equal states would differ.
fn say_nothing_of_processors() {
    const UNREGISTER: usize = 1;
    const SIGNATURE: usize = 0x5305_3053;
    /// Bytes that the C library has told the kernel of, and that a later one may have.
    const LENGTHS: [usize; 3] = [32, 64, 96];
    // SAFETY: the C library (since 2.35) says where in the thread's storage the kernel writes.
    unsafe {
        let offset = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_offset".as_ptr()).cast::<isize>();
        if !offset.is_null() {
            let at = fiber::thread_pointer().wrapping_add_signed(*offset);
            for length in LENGTHS {
                crate::kernel::syscall(libc::SYS_rseq, at, length, UNREGISTER, SIGNATURE);
            }
        }
    }
}
