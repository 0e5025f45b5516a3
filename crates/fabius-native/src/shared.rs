//! The file in memory that is shared with the program's process.

use fabius_native_protocol::{
    ANSWER_AT, Answer, CHOICE, Header, MOST_DECISIONS, MOST_POINTS, MOST_WORKERS, NAME, POINTS_AT, REQUEST_AT, Request,
    SCHEDULE_AT, SCHEDULE_SIZE, START,
};
use fabius_trace::{Schedule, Turn};
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::FromRawFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering::Relaxed;

/// The file, and its beginning in our memory.
pub struct Shared {
    /// The file.
    pub file: File,
    memory: *mut libc::c_void,
}

// SAFETY: what is shared is atomic.
unsafe impl Sync for Shared {}

impl Shared {
    /// A file with a request.
    pub fn new(request: &Request) -> io::Result<Shared> {
        let name = CString::new(NAME).map_err(io::Error::other)?;
        // SAFETY: makes a file that only we have.
        let file = unsafe {
            let number = libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC);
            if number < 0 {
                return Err(io::Error::last_os_error());
            }
            File::from_raw_fd(number)
        };
        file.set_len(ANSWER_AT)?;
        let text = serde_json::to_vec(request).map_err(io::Error::other)?;
        if text.len() as u64 > SCHEDULE_AT - REQUEST_AT {
            return Err(io::Error::other("the schedule is too long"));
        }
        file.write_all_at(&text, REQUEST_AT)?;
        // SAFETY: a mapping of the whole file.
        let memory = unsafe {
            use std::os::fd::AsRawFd;
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), ANSWER_AT as usize, protection, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let shared = Shared { file, memory };
        shared.header().request.store(text.len() as u64, Relaxed);
        Ok(shared)
    }

    /// The beginning of the file.
    pub fn header(&self) -> &Header {
        // SAFETY: the mapping lives as long as this; the header consists of atomics.
        unsafe { &*self.memory.cast::<Header>() }
    }

    /// The answer, if there is one.
    pub fn answer(&self) -> io::Result<Option<Answer>> {
        let length = self.header().answer.load(Relaxed) as usize;
        if length == 0 {
            return Ok(None);
        }
        let mut text = vec![0; length];
        self.file.read_exact_at(&mut text, ANSWER_AT)?;
        serde_json::from_slice(&text).map(Some).map_err(io::Error::other)
    }

    /// What the execution under way of the worker that has died has decided so far.
    pub fn schedule(&self) -> Schedule {
        let number = (self.header().died.load(Relaxed) as usize).min(MOST_WORKERS - 1);
        let count = (self.header().workers[number].decisions.load(Relaxed) as usize).min(MOST_DECISIONS);
        let at = SCHEDULE_AT as usize + number * SCHEDULE_SIZE as usize;
        let mut schedule: Schedule = Vec::new();
        for number in 0..count {
            // SAFETY: within the mapping.
            let decision = unsafe { *self.memory.byte_add(at).cast::<u32>().add(number) };
            match schedule.last_mut() {
                Some(turn) if decision & CHOICE != 0 => turn.choices.push(decision & !CHOICE),
                _ if decision == START => {}
                _ => schedule.push(Turn { task: decision, choices: Vec::new() }),
            }
        }
        schedule
    }
}

impl Shared {
    /// The addresses of data that are scheduling points.
    pub fn data_points(&self) -> Vec<u64> {
        let count = (self.header().data_points.load(Relaxed) as usize).min(MOST_POINTS);
        // SAFETY: within the mapping.
        (0..count).map(|n| unsafe { *self.memory.byte_add(POINTS_AT as usize).cast::<u64>().add(n) }).collect()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours.
        unsafe { libc::munmap(self.memory, ANSWER_AT as usize) };
    }
}
