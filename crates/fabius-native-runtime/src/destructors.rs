//! Functions of the program itself that run at its very end (`__attribute__((destructor))`).

use std::ffi::c_void;

const DT_NULL: usize = 0;
const DT_FINI_ARRAY: usize = 26;
const DT_FINI_ARRAYSZ: usize = 28;

/// What is to be done at the end of the process, the last thing first, as it is kept for `atexit`.
///
/// Empty if there is none but that of the compiler, which does nothing that a program could see.
pub fn of_the_program() -> Vec<(usize, usize)> {
    let mut found: Vec<usize> = Vec::new();
    // SAFETY: the callback is called with the pointer that is given.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
    let own = if found.len() > 1 { found } else { Vec::new() };
    own.into_iter().map(|function| (function, 0)).collect()
}

/// Reads the list of the first object, which is the program, and no further ones.
unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> i32 {
    // SAFETY: the linker gives a valid description, and the sections that it names are in memory; `found` is ours.
    unsafe {
        let info = &*info;
        let headers = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
        let Some(dynamic) = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC) else { return 1 };
        let start = info.dlpi_addr as usize;
        let mut entry = (start + dynamic.p_vaddr as usize) as *const [usize; 2];
        let (mut list, mut bytes) = (0, 0);
        while (*entry)[0] != DT_NULL {
            match (*entry)[0] {
                DT_FINI_ARRAY => list = start + (*entry)[1],
                DT_FINI_ARRAYSZ => bytes = (*entry)[1],
                _ => {}
            }
            entry = entry.add(1);
        }
        if list != 0 {
            let functions = std::slice::from_raw_parts(list as *const usize, bytes / size_of::<usize>());
            (*found.cast::<Vec<usize>>()).extend_from_slice(functions);
        }
    }
    1
}
