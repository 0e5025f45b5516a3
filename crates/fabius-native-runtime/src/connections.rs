//! What threads may speak to each other through: pipes, pairs of sockets, events.

use crate::op::connection;
use crate::place::Fixed;
use std::collections::HashMap;

/// Those that an execution has used. The kernel's numbers are others in every execution, so they have ours, by who was used
/// first.
#[derive(Default)]
pub struct Connections {
    known: HashMap<Kernels, usize, Fixed>,
    /// What the program was given as its input and its outputs: nobody in the program is at the other end.
    given: Vec<Kernels>,
    /// What of that is a regular file.
    given_files: Vec<Kernels>,
    /// By `epoll`: its file, the file that it watches, and what it says of that.
    watched: Vec<(i32, i32, u64)>,
}

/// What the kernel calls a file: its type, and a number.
type Kernels = (u32, u64);

/// Sockets and events that cannot be told apart: all of them are one.
const OTHERS: usize = 0;

impl Connections {
    /// Those of a program that has been given what these files are.
    pub fn besides(files: [i32; 3]) -> Self {
        Self {
            given: files.into_iter().filter_map(name).collect(),
            given_files: files.into_iter().filter_map(regular).collect(),
            ..Self::default()
        }
    }

    /// A new execution begins.
    pub fn clear(&mut self) {
        self.known.clear();
        self.watched.clear();
    }

    /// `epoll` tells of a file with this from now on, or does not tell of it any more.
    pub fn watch(&mut self, files: i32, file: i32, data: Option<u64>) {
        self.watched.retain(|(by, which, _)| (*by, *which) != (files, file));
        self.watched.extend(data.map(|data| (files, file, data)));
    }

    /// The files of which it tells with this.
    pub fn watched(&self, files: i32, data: u64) -> Vec<i32> {
        self.watched.iter().filter(|(by, _, said)| (*by, *said) == (files, data)).map(|(_, file, _)| *file).collect()
    }

    /// What a file belongs to, as an object of operations; `None` if nobody can speak to others through it.
    pub fn of(&mut self, file: i32) -> Option<usize> {
        let name = name(file).filter(|name| !self.given.contains(name))?;
        let next = self.known.len() + 1;
        let number = match name.0 {
            // A socket that is not known is not one of a pair.
            libc::S_IFSOCK => self.known.get(&name).copied().unwrap_or(OTHERS),
            _ if name == (0, 0) => OTHERS,
            _ => *self.known.entry(name).or_insert(next),
        };
        Some(connection(number))
    }

    /// These two sockets are connected.
    pub fn pair(&mut self, ends: [i32; 2]) {
        let next = self.known.len() + 1;
        for name in ends.into_iter().filter_map(name) {
            self.known.insert(name, next);
        }
    }
}

/// What the kernel knows of an open file.
fn about(file: i32) -> Option<libc::stat> {
    // SAFETY: asks the kernel about a file; straight to it.
    unsafe {
        let mut about: libc::stat = std::mem::zeroed();
        (crate::kernel::syscall(libc::SYS_fstat, file, &raw mut about) == 0).then_some(about)
    }
}

/// What the kernel calls a regular file.
fn regular(file: i32) -> Option<Kernels> {
    about(file).filter(|about| about.st_mode & libc::S_IFMT == libc::S_IFREG).map(|about| (libc::S_IFREG, about.st_ino))
}

/// Whether it is a regular file, and not what the program was given as its input or an output.
pub fn is_regular(file: i32, connections: &Connections) -> bool {
    regular(file).is_some_and(|name| !connections.given_files.contains(&name))
}

/// Whether it may be an event: no file of any type.
pub fn is_event(file: i32) -> bool {
    about(file).is_some_and(|about| about.st_mode & libc::S_IFMT == 0)
}

/// What the kernel calls a file that threads may speak through.
fn name(file: i32) -> Option<Kernels> {
    let about = about(file)?;
    match about.st_mode & libc::S_IFMT {
        kind @ (libc::S_IFIFO | libc::S_IFSOCK) => Some((kind, about.st_ino)),
        0 => Some((0, event(file).unwrap_or(0))),
        _ => None,
    }
}

/// The number of an event; kernels since 5.2 tell it. By system calls alone: `read` is the program's.
fn event(file: i32) -> Option<u64> {
    let path = format!("/proc/self/fdinfo/{file}\0");
    let mut text = [0u8; 512];
    // SAFETY: reads a small file of the kernel's, and closes it.
    let length = unsafe {
        let about =
            crate::kernel::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        let length = crate::kernel::syscall(libc::SYS_read, about, text.as_mut_ptr(), text.len());
        crate::kernel::syscall(libc::SYS_close, about);
        length
    };
    let text = std::str::from_utf8(text.get(..usize::try_from(length).ok()?)?).ok()?;
    let number = text.lines().find_map(|line| line.strip_prefix("eventfd-id:"))?;
    // They begin at 0, which stands for those without.
    number.trim().parse::<u64>().ok().map(|number| number + 1)
}
