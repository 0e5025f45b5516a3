//! How many panics unwind the stack. std counts them for each operating system thread, and threads of an execution are
//! fibers of one: a fiber that gives control back while it is unwound takes its count with it.
//!
//! std does not say where the count is. It is looked for among the thread-local words of the process, and what is found is
//! tried out: with the word as it was before, nothing panics. Where it is not found, threads that are unwound are not switched.

use std::cell::Cell;

thread_local! {
    static COUNT: Cell<*mut usize> = const { Cell::new(std::ptr::null_mut()) };
    static WAS_LOOKED_FOR: Cell<bool> = const { Cell::new(false) };
}

/// Looks for the count of this operating system thread.
pub(super) fn look_for() {
    if cfg!(panic = "unwind") && !WAS_LOOKED_FOR.get() && !std::thread::panicking() {
        WAS_LOOKED_FOR.set(true);
        COUNT.set(find().unwrap_or(std::ptr::null_mut()));
    }
}

/// Whether it is known, so that threads that are unwound can be switched.
#[inline]
pub(super) fn is_known() -> bool {
    !COUNT.get().is_null()
}

/// Where it is; null if that is not known.
#[inline]
pub(super) fn place() -> *mut usize {
    COUNT.get()
}

/// Puts the count of a fiber in place of that of another, and that in place of the fiber's.
///
/// # Safety
/// The place is what [`place`] says on this operating system thread.
#[inline]
pub(super) unsafe fn exchange(word: *mut usize, count: &mut usize) {
    // SAFETY: it was found to be std's count of this operating system thread, which has it as long as it runs. std uses it
    // during a panic only, and none begins or ends here; what it counts then is what unwinds the stack that goes on.
    if !word.is_null() && unsafe { *word != *count } {
        // SAFETY: as above.
        unsafe { std::ptr::swap(word, count) }
    }
}

/// Looks at all words before and while a panic unwinds a stack.
fn find() -> Option<*mut usize> {
    struct Look<'a> {
        before: &'a [(*mut usize, usize)],
        found: &'a mut Option<*mut usize>,
    }
    impl Drop for Look<'_> {
        fn drop(&mut self) {
            // SAFETY: they were there when they were read first, and belong to this operating system thread, which does
            // nothing else meanwhile.
            let is_count = |word: *mut usize, was: usize| unsafe {
                let is = word.read_volatile();
                if is != was + 1 || !std::thread::panicking() {
                    return false;
                }
                word.write_volatile(was);
                let stops = !std::thread::panicking();
                word.write_volatile(is);
                stops
            };
            *self.found = self.before.iter().find(|(word, was)| is_count(*word, *was)).map(|(word, _)| *word);
        }
    }
    // Without a panic there is none to count.
    let before: Vec<(*mut usize, usize)> = words().into_iter().filter(|(_, value)| *value == 0).collect();
    let mut found = None;
    // Says nothing: no hook is called.
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _look = Look { before: &before, found: &mut found };
        std::panic::resume_unwind(Box::new(()));
    }));
    found
}

/// The thread-local words of this operating system thread, and what is in them.
#[cfg(all(target_os = "linux", not(miri)))]
fn words() -> Vec<(*mut usize, usize)> {
    unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, words: *mut libc::c_void) -> libc::c_int {
        // SAFETY: the linker hands out what is loaded, and what it was called with.
        let (info, words) = unsafe { (&*info, &mut *words.cast::<Vec<(*mut usize, usize)>>()) };
        let block = info.dlpi_tls_data as usize;
        for number in (0..usize::from(info.dlpi_phnum)).filter(|_| block != 0) {
            // SAFETY: there are so many.
            let header = unsafe { &*info.dlpi_phdr.add(number) };
            if header.p_type == libc::PT_TLS {
                let end = block + header.p_memsz as usize;
                for word in (block.next_multiple_of(8)..).step_by(8).take_while(|word| word + 8 <= end) {
                    let word = word as *mut usize;
                    // SAFETY: it is in the block of this operating system thread.
                    words.push((word, unsafe { word.read_volatile() }));
                }
            }
        }
        0
    }
    let mut words: Vec<(*mut usize, usize)> = Vec::new();
    // SAFETY: the function is called only during the call, with the list.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut words).cast()) };
    words
}

/// Elsewhere nobody has written down where they are.
#[cfg(not(all(target_os = "linux", not(miri))))]
fn words() -> Vec<(*mut usize, usize)> {
    Vec::new()
}
