//! All words of the memory of this process that can be written to. Ranges are of numbers of words.

use std::fs::{File, read_to_string};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Bytes that are read at once.
const PIECE: usize = 256 << 10;

/// The smallest page that there is.
const PAGE: usize = 4096;

const WORD: usize = size_of::<usize>();

/// The number of the word that an address lies in.
pub(super) fn number(address: usize) -> usize {
    address / WORD
}

/// The number of a word on the stack, below those of the caller.
#[inline(never)]
pub(super) fn here() -> usize {
    let here = 0_usize;
    number(std::hint::black_box(std::ptr::from_ref(&here)).addr())
}

pub(super) struct Words {
    /// What is in memory, read as a file is: what others unmap meanwhile is an error, and nothing worse.
    memory: File,
    /// What has become of each page.
    pages: File,
    piece: Vec<u8>,
    /// How many bytes were looked at.
    pub looked_at: usize,
}

impl Words {
    /// # Errors
    /// If this system cannot tell.
    pub fn open() -> io::Result<Words> {
        let (memory, pages) = (File::open("/proc/self/mem")?, File::open("/proc/self/pagemap")?);
        Ok(Words { memory, pages, piece: vec![0; PIECE], looked_at: 0 })
    }

    /// What can be read and written.
    ///
    /// # Errors
    /// If this system cannot tell.
    pub fn mappings() -> io::Result<Vec<Range<usize>>> {
        let writable = |line: &str| {
            let (addresses, rest) = line.split_once(' ')?;
            let (from, to) = addresses.split_once('-')?;
            let parsed = |text| usize::from_str_radix(text, 16).ok();
            if rest.starts_with("rw") { Some(number(parsed(from)?)..number(parsed(to)?)) } else { None }
        };
        Ok(read_to_string("/proc/self/maps")?.lines().filter_map(writable).collect())
    }

    /// Calls `f` with the numbers of the words that those of a range would be the addresses of, but for those of pages that
    /// nobody has ever touched.
    ///
    /// # Errors
    /// If others have given memory back meanwhile.
    #[inline(never)]
    pub fn look(&mut self, range: Range<usize>, mut f: impl FnMut(usize)) -> io::Result<()> {
        let (mut from, end) = (range.start * WORD, range.end * WORD);
        while from < end {
            let to = (from & !(PIECE - 1)).saturating_add(PIECE).min(end);
            if let Some(used) = self.used(from..to) {
                let piece = &mut self.piece[..used.len()];
                self.memory.read_exact_at(piece, used.start as u64)?;
                self.looked_at += piece.len();
                let (words, _) = piece.as_chunks::<WORD>();
                words.iter().for_each(|word| f(number(usize::from_ne_bytes(*word))));
            }
            from = to;
        }
        Ok(())
    }

    /// The part of a piece that lies between the first page and the last one that were touched. All of it if that is not known.
    fn used(&self, piece: Range<usize>) -> Option<Range<usize>> {
        const ENTRY: usize = size_of::<u64>();
        let first = piece.start / PAGE;
        let count = piece.end.div_ceil(PAGE) - first;
        let mut entries = [0; PIECE / PAGE * ENTRY];
        let read = self.pages.read_exact_at(&mut entries[..count * ENTRY], (first * ENTRY) as u64);
        if read.is_err() {
            return Some(piece);
        }
        let (entries, _) = entries[..count * ENTRY].as_chunks::<ENTRY>();
        // Bit 63: it is in memory; bit 62: it was, and is on a disk.
        let is_there = |entry: &[u8; ENTRY]| u64::from_ne_bytes(*entry) >> 62 != 0;
        let begin = entries.iter().position(is_there)?;
        let end = entries.iter().rposition(is_there)? + 1;
        Some(piece.start.max((first + begin) * PAGE)..piece.end.min((first + end) * PAGE))
    }
}
