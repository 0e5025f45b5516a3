//! A list of many entries of which few are used: it is cleared as fast as they were used.

use std::ops::Index;

#[derive(Debug, Default)]
pub(super) struct Used<T> {
    /// Each with whether it is used; who is not is as it was made.
    all: Vec<(bool, T)>,
    /// Which are.
    used: Vec<usize>,
}

impl<T: Default> Used<T> {
    /// The entry of that number, which is used from now on.
    #[inline]
    pub fn at(&mut self, number: usize) -> &mut T {
        if number >= self.all.len() {
            self.all.resize_with(number + 1, Default::default);
        }
        let (is_used, entry) = &mut self.all[number];
        if !*is_used {
            *is_used = true;
            self.used.push(number);
        }
        entry
    }

    /// The entry of that number, if there is one; where it was never used, it is as it was made.
    #[inline]
    pub fn get(&self, number: usize) -> Option<&T> {
        self.all.get(number).map(|(_, entry)| entry)
    }

    /// Nothing is used any more; the memory of so many entries is kept.
    pub fn clear(&mut self, kept: usize, mut clear: impl FnMut(&mut T)) {
        for number in self.used.drain(..) {
            let (is_used, entry) = &mut self.all[number];
            *is_used = false;
            clear(entry);
        }
        self.all.truncate(kept);
    }
}

impl<T> Index<usize> for Used<T> {
    type Output = T;

    #[inline]
    fn index(&self, number: usize) -> &T {
        &self.all[number].1
    }
}
