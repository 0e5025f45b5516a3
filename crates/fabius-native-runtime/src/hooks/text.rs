//! Text that the C library makes of its arguments, and text that it puts into streams: the strings that it reads, and what it
//! writes of them to memory. The library is not instrumented, so that is told here, before each call.

use super::library::uses_stream;
use super::memory::{reads, writes};
use crate::control::in_program;
use crate::real::next;

/// The arguments of a call that registers hold, as the start of a function with any number of them keeps them.
#[repr(C)]
pub struct Registers {
    whole: [usize; 6],
    floats: [[u64; 2]; 8],
}

const FLOATS_FROM: u32 = size_of::<[usize; 6]>() as u32;
const END: u32 = size_of::<Registers>() as u32;

/// Arguments that are still to come: a `va_list` (System V ABI, AMD64, 3.5.7).
#[repr(C)]
#[derive(Clone, Copy)]
struct List {
    whole: u32,
    floats: u32,
    rest: *const usize,
    registers: *const u8,
}

impl List {
    /// One that lies where integers do.
    fn whole(&mut self) -> usize {
        // SAFETY: the format says that there is one, and where it is follows from the calling convention.
        unsafe {
            if self.whole < FLOATS_FROM {
                self.whole += 8;
                return *self.registers.add(self.whole as usize - 8).cast::<usize>();
            }
            self.rest = self.rest.add(1);
            *self.rest.sub(1)
        }
    }

    /// Passes over a `double`.
    fn float(&mut self) {
        if self.floats < END {
            self.floats += 16;
        } else {
            self.rest = self.rest.wrapping_add(1);
        }
    }

    /// Passes over a `long double`.
    fn long_float(&mut self) {
        self.rest = ((self.rest as usize).next_multiple_of(16) + 16) as *const usize;
    }
}

/// A call of a function, of which all arguments are looked at before it goes on to the library.
macro_rules! looked_at {
    ($($name:ident => $act:expr;)*) => { $(
        #[doc = concat!("`", stringify!($name), "`, as the program calls it.")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        #[allow(non_snake_case)]
        pub unsafe extern "C-unwind" fn $name() {
            extern "C-unwind" fn before(registers: &Registers, rest: *const usize, pc: usize) -> usize {
                static NEXT: crate::real::Next = crate::real::Next::new(
                    match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => unreachable!(),
                    },
                );
                if in_program() {
                    let act: fn(&Call<'_>) = $act;
                    act(&Call { name: stringify!($name), registers, rest, pc });
                }
                NEXT.address()
            }
            std::arch::naked_asm!(
                super::keep_registers!(),
                "sub rsp, 184",
                "mov [rsp], rdi", "mov [rsp + 8], rsi", "mov [rsp + 16], rdx",
                "mov [rsp + 24], rcx", "mov [rsp + 32], r8", "mov [rsp + 40], r9",
                "movups [rsp + 48], xmm0", "movups [rsp + 64], xmm1", "movups [rsp + 80], xmm2",
                "movups [rsp + 96], xmm3", "movups [rsp + 112], xmm4", "movups [rsp + 128], xmm5",
                "movups [rsp + 144], xmm6", "movups [rsp + 160], xmm7",
                "mov [rsp + 176], rax",
                "mov rdi, rsp",
                "lea rsi, [rsp + 192]",
                "mov rdx, [rsp + 184]",
                "call {before}",
                "mov r11, rax",
                "mov rdi, [rsp]", "mov rsi, [rsp + 8]", "mov rdx, [rsp + 16]",
                "mov rcx, [rsp + 24]", "mov r8, [rsp + 32]", "mov r9, [rsp + 40]",
                "movups xmm0, [rsp + 48]", "movups xmm1, [rsp + 64]", "movups xmm2, [rsp + 80]",
                "movups xmm3, [rsp + 96]", "movups xmm4, [rsp + 112]", "movups xmm5, [rsp + 128]",
                "movups xmm6, [rsp + 144]", "movups xmm7, [rsp + 160]",
                "mov rax, [rsp + 176]",
                "add rsp, 184",
                "jmp r11",
                registers = sym crate::place::REGISTERS,
                before = sym before,
            )
        }
    )* };
}

looked_at! {
    printf => |call| call.reads_strings(0, call.rest_from(1));
    vprintf => |call| call.reads_strings(0, call.list(1));
    dprintf => |call| call.reads_strings(1, call.rest_from(2));
    vdprintf => |call| call.reads_strings(1, call.list(2));
    asprintf => |call| call.reads_strings(1, call.rest_from(2));
    vasprintf => |call| call.reads_strings(1, call.list(2));
    __printf_chk => |call| call.reads_strings(1, call.rest_from(2));
    __vprintf_chk => |call| call.reads_strings(1, call.list(2));
    fprintf => |call| call.prints(1, call.rest_from(2));
    vfprintf => |call| call.prints(1, call.list(2));
    __fprintf_chk => |call| call.prints(2, call.rest_from(3));
    __vfprintf_chk => |call| call.prints(2, call.list(3));
    sprintf => |call| call.writes_text(usize::MAX, 1, call.rest_from(2));
    vsprintf => |call| call.writes_text(usize::MAX, 1, call.list(2));
    __sprintf_chk => |call| call.writes_text(usize::MAX, 3, call.rest_from(4));
    __vsprintf_chk => |call| call.writes_text(usize::MAX, 3, call.list(4));
    snprintf => |call| call.writes_text(call.whole(1), 2, call.rest_from(3));
    vsnprintf => |call| call.writes_text(call.whole(1), 2, call.list(3));
    __snprintf_chk => |call| call.writes_text(call.whole(1), 4, call.rest_from(5));
    __vsnprintf_chk => |call| call.writes_text(call.whole(1), 4, call.list(5));
    puts => |call| read_string(call.whole(0), usize::MAX, call.pc);
    fputs => |call| call.puts();
    fputs_unlocked => |call| call.puts();
    fwrite => |call| call.puts_bytes();
    fwrite_unlocked => |call| call.puts_bytes();
}

/// A call that is looked at.
struct Call<'a> {
    name: &'static str,
    registers: &'a Registers,
    rest: *const usize,
    pc: usize,
}

impl Call<'_> {
    fn whole(&self, number: usize) -> usize {
        self.registers.whole[number]
    }

    /// The arguments from this one on.
    fn rest_from(&self, number: u32) -> List {
        List {
            whole: number * 8,
            floats: FLOATS_FROM,
            rest: self.rest,
            registers: std::ptr::from_ref(self.registers).cast(),
        }
    }

    /// The arguments that this one is a list of.
    fn list(&self, number: usize) -> List {
        // SAFETY: the program gives a `va_list`.
        unsafe { *(self.whole(number) as *const List) }
    }

    /// Strings that are written where the format says so.
    fn reads_strings(&self, format: usize, mut list: List) {
        let format = self.whole(format);
        read_string(format, usize::MAX, self.pc);
        let mut left = bytes(format);
        while let Some(at) = left.iter().position(|byte| *byte == b'%') {
            left = &left[at + 1..];
            let Some(read) = conversion(&mut left, &mut list) else { return };
            if let Some((text, most)) = read.filter(|(text, _)| *text != 0) {
                read_string(text, most, self.pc);
            }
        }
    }

    /// Text goes to a stream.
    fn prints(&self, format: usize, list: List) {
        uses_stream(self.name, self.whole(0), self.pc, || self.reads_strings(format, list));
    }

    fn puts(&self) {
        uses_stream(self.name, self.whole(1), self.pc, || read_string(self.whole(0), usize::MAX, self.pc));
    }

    fn puts_bytes(&self) {
        let size = self.whole(1).saturating_mul(self.whole(2));
        uses_stream(self.name, self.whole(3), self.pc, || reads(self.whole(0), size, self.pc));
    }

    /// Text goes to memory that has room for so much.
    fn writes_text(&self, room: usize, format: usize, list: List) {
        self.reads_strings(format, list);
        let to = self.whole(0);
        // Without a place only its length is asked for.
        if to == 0 || room == 0 {
            return;
        }
        let mut list = list;
        // SAFETY: as the program calls it, but that nothing is written.
        let length = unsafe {
            next!(fn vsnprintf(*mut u8, usize, usize, *mut List) -> i32)(
                std::ptr::null_mut(),
                0,
                self.whole(format),
                &raw mut list,
            )
        };
        writes(to, (length.max(0) as usize + 1).min(room), self.pc);
    }
}

/// A string of the program, without its end.
fn bytes(text: usize) -> &'static [u8] {
    // SAFETY: the program gives a string, which nobody changes before the library reads it.
    unsafe { std::ffi::CStr::from_ptr(text as *const std::ffi::c_char) }.to_bytes()
}

/// A string is read, or so much of it.
fn read_string(text: usize, most: usize, pc: usize) {
    if most == 0 {
        return;
    }
    // Whether it may be looked at at all.
    super::tsan::check_memory(text, 1, false, pc);
    // SAFETY: the program gives a string, or at least so many bytes.
    let length = unsafe { libc::strnlen(text as *const std::ffi::c_char, most) };
    reads(text, length.saturating_add(1).min(most), pc);
}

/// Takes what one conversion takes of the arguments, and passes over it. The string that it reads, and how much at most;
/// nothing at all if it is none that is known here.
fn conversion(left: &mut &[u8], list: &mut List) -> Option<Option<(usize, usize)>> {
    let mut number = |left: &mut &[u8]| {
        if let Some(rest) = left.strip_prefix(b"*") {
            *left = rest;
            return list.whole() as i32 as i64;
        }
        let mut value = 0i64;
        while let [digit @ b'0'..=b'9', rest @ ..] = *left {
            value = value.saturating_mul(10).saturating_add(i64::from(digit - b'0'));
            *left = rest;
        }
        value
    };
    while let [b'-' | b'+' | b' ' | b'#' | b'0' | b'\'' | b'I', rest @ ..] = *left {
        *left = rest;
    }
    number(left);
    let mut most = usize::MAX;
    if let Some(rest) = left.strip_prefix(b".") {
        *left = rest;
        most = usize::try_from(number(left)).unwrap_or(usize::MAX);
    }
    let (mut long, mut longest) = (false, false);
    while let [byte @ (b'h' | b'l' | b'q' | b'L' | b'j' | b'z' | b'Z' | b't'), rest @ ..] = *left {
        long |= *byte == b'l';
        longest |= *byte == b'L';
        *left = rest;
    }
    let (kind, rest) = left.split_first()?;
    *left = rest;
    match kind {
        b's' if !long => return Some(Some((list.whole(), most))),
        b'd' | b'i' | b'o' | b'u' | b'x' | b'X' | b'c' | b'C' | b's' | b'S' | b'p' | b'n' => {
            list.whole();
        }
        b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A' if longest => list.long_float(),
        b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A' => list.float(),
        b'%' | b'm' => {}
        // Arguments by their numbers, and what only other libraries know.
        _ => return None,
    }
    Some(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a format reads of these arguments, all of which lie in memory.
    fn read(format: &str, arguments: &[usize]) -> Option<Vec<(usize, usize)>> {
        let mut list = List { whole: FLOATS_FROM, floats: END, rest: arguments.as_ptr(), registers: std::ptr::null() };
        let (mut left, mut found) = (format.as_bytes(), Vec::new());
        while let Some(at) = left.iter().position(|byte| *byte == b'%') {
            left = &left[at + 1..];
            found.extend(conversion(&mut left, &mut list)?);
        }
        Some(found)
    }

    #[test]
    fn strings_are_found_among_other_arguments() {
        assert_eq!(read("%d %s %-8.3s", &[1, 2, 3]), Some(vec![(2, usize::MAX), (3, 3)]));
        assert_eq!(read("%*.*s%%%m%s", &[5, 2, 7, 8]), Some(vec![(7, 2), (8, usize::MAX)]));
        assert_eq!(read("%.*s", &[-1i32 as u32 as usize, 7]), Some(vec![(7, usize::MAX)]));
        assert_eq!(read("%f%s%ls%5ld%s", &[1, 2, 3, 4, 5]), Some(vec![(2, usize::MAX), (5, usize::MAX)]));
        assert_eq!(read("%2$s", &[1, 2]), None);
        assert_eq!(read("100%", &[]), None);
    }
}
