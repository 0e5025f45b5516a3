//! The program's memory as it is before `main`, to which every execution returns: its variables, those of its libraries, the
//! first thread's storage, the heap. Small parts are copied, those of the system's libraries where they were ever written
//! (`watched.rs`); large ones are private views of a file in memory, of which only what was written is put back.

use crate::arena::OURS;
use std::ffi::c_void;
use std::ops::Range;

/// From so many bytes on a part is a view of a file.
const LARGE: usize = 256 << 10;

/// What is restored.
pub struct Image {
    copies: Vec<(Range<usize>, Vec<u8>)>,
    /// Those of which only what was written is put back.
    watched: Vec<(Range<usize>, Vec<u8>)>,
    views: Vec<Range<usize>>,
}

impl Image {
    /// Takes the image; `more` are parts that the list of the kernel's has not.
    pub fn take(more: Vec<Range<usize>>) -> Image {
        let mut image = Image { copies: Vec::new(), watched: Vec::new(), views: Vec::new() };
        let parts = writable();
        for part in parts.into_iter().chain(more) {
            if part.len() < LARGE || !image.view(&part) {
                image.copy(part);
            }
        }
        image
    }

    fn copy(&mut self, part: Range<usize>) {
        // SAFETY: the part is mapped and readable.
        let bytes = unsafe { std::slice::from_raw_parts(part.start as *const u8, part.len()) }.to_vec();
        if crate::watched::protect(&part, bytes.as_ptr()) {
            self.watched.push((part, bytes));
        } else {
            self.copies.push((part, bytes));
        }
    }

    /// Whole pages become views, the rest is copied.
    fn view(&mut self, part: &Range<usize>) -> bool {
        let pages = part.start.next_multiple_of(4096)..part.end & !4095;
        // SAFETY: the part is mapped; its pages are replaced by the same bytes. Everything goes straight to the kernel.
        unsafe {
            let file = crate::kernel::syscall(libc::SYS_memfd_create, c"image".as_ptr(), libc::MFD_CLOEXEC) as i32;
            if file < 0 || crate::kernel::syscall(libc::SYS_ftruncate, file, pages.len()) != 0 {
                return false;
            }
            for page in pages.clone().step_by(4096) {
                let bytes = std::slice::from_raw_parts(page as *const u8, 4096);
                if bytes.iter().any(|b| *b != 0) {
                    crate::kernel::syscall(libc::SYS_pwrite64, file, page, 4096, page - pages.start);
                }
            }
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_FIXED;
            let got = crate::kernel::syscall(libc::SYS_mmap, pages.start, pages.len(), protection, flags, file, 0usize);
            crate::kernel::syscall(libc::SYS_close, file);
            if got as usize != pages.start {
                return false;
            }
        }
        for rest in [part.start..pages.start, pages.end..part.end] {
            if !rest.is_empty() {
                self.copy(rest);
            }
        }
        self.views.push(pages);
        true
    }

    /// Makes the memory as it was.
    pub fn restore(&self) {
        for (part, bytes) in &self.copies {
            // SAFETY: the part was mapped when the image was taken, and the program does not run.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), part.start as *mut u8, bytes.len()) };
        }
        for (page, bytes) in crate::watched::written() {
            // SAFETY: as above.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), page as *mut u8, bytes.len()) };
        }
        for part in &self.views {
            // SAFETY: a private view of a file: what was written is dropped.
            unsafe { crate::kernel::syscall(libc::SYS_madvise, part.start, part.len(), libc::MADV_DONTNEED) };
        }
    }

    /// What is put back, or is of the heap, may be written again in these pages.
    pub fn make_writable(&self, pages: &Range<usize>) {
        let copies = self.copies.iter().chain(&self.watched);
        let parts = copies.map(|(part, _)| part).chain(&self.views).cloned();
        for part in parts.chain(crate::heap::in_use()) {
            let both = pages.start.max(part.start & !4095)..pages.end.min(part.end.next_multiple_of(4096));
            if !both.is_empty() {
                let protection = libc::PROT_READ | libc::PROT_WRITE;
                // SAFETY: this is how the pages were when the image was taken.
                unsafe { crate::kernel::syscall(libc::SYS_mprotect, both.start, both.len(), protection) };
            }
        }
    }

    /// The small parts that may have changed, and what was there.
    pub fn small(&self) -> impl Iterator<Item = (Range<usize>, &[u8])> {
        let written = crate::watched::written().map(|(page, bytes)| (page..page + bytes.len(), bytes));
        let copies = self.copies.iter().map(|(part, bytes)| (part.clone(), &bytes[..]));
        copies.chain(written)
    }

    /// The pages of the large parts that were written to; `None` if that is not known.
    pub fn written_of_large(&self) -> Option<Vec<Range<usize>>> {
        let parts: Option<Vec<_>> = self.views.iter().map(crate::pagemap::written).collect();
        Some(parts?.concat())
    }
}

/// What is mapped for writing by the program and its libraries.
fn writable() -> Vec<Range<usize>> {
    let own = own_library();
    let mut parts = Vec::new();
    for line in maps().lines() {
        let mut words = line.split_whitespace();
        let (Some(range), Some(access)) = (words.next(), words.next()) else { continue };
        let name = words.nth(3).unwrap_or("");
        let Some((start, end)) = range.split_once('-') else { continue };
        let (Ok(start), Ok(end)) = (usize::from_str_radix(start, 16), usize::from_str_radix(end, 16)) else { continue };
        let is_kernels = name.starts_with("[stack") || name.starts_with("[v") || name.starts_with("/memfd:fabius");
        let is_heap = crate::heap::contains(start) || (1 << 32..1 << 38).contains(&start);
        if access == "rw-p" && !is_kernels && !is_heap && !OURS.contains(&start) && !own.contains(&start) {
            parts.push(start..end);
        }
    }
    parts
}

/// The text of `/proc/self/maps`.
pub fn maps() -> String {
    std::fs::read_to_string("/proc/self/maps").unwrap_or_default()
}

/// Whether code is of this library.
pub fn is_own(address: usize) -> bool {
    static OWN: std::sync::OnceLock<Range<usize>> = std::sync::OnceLock::new();
    OWN.get_or_init(own_library).contains(&address)
}

/// Where this library is, whose memory must stay as it is.
fn own_library() -> Range<usize> {
    unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> i32 {
        // SAFETY: the linker gives a valid description; `found` is ours.
        unsafe {
            let info = &*info;
            let found = &mut *found.cast::<Range<usize>>();
            let headers = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
            let loaded = headers.iter().filter(|h| h.p_type == libc::PT_LOAD);
            let start = info.dlpi_addr as usize;
            let end = loaded.map(|h| start + (h.p_vaddr + h.p_memsz) as usize).max().unwrap_or(start);
            let here = own_library as *const () as usize;
            if (start..end).contains(&here) && start != 0 {
                *found = start & !4095..end.next_multiple_of(4096);
            }
        }
        0
    }
    let mut found = 0..0;
    // SAFETY: the callback is called with the pointer that is given.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
    found
}
