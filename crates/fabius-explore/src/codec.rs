//! Numbers as bytes, seven bits to a byte, lowest first; and lists of task ids.

use crate::system::TaskId;

/// Appends a number.
pub fn put(mut n: u64, out: &mut Vec<u8>) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// Takes a number from the front.
///
/// # Panics
/// If [`put`] did not write it.
pub fn get(bytes: &mut &[u8]) -> u64 {
    let mut n = 0;
    let mut shift = 0;
    loop {
        let (first, rest) = bytes.split_first().expect("an encoding that `put` wrote is complete");
        *bytes = rest;
        n |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return n;
        }
        shift += 7;
    }
}

/// Appends a list of ids. The bit of anonymous tasks becomes the lowest, so that small ids are short.
pub(crate) fn put_list(ids: &[TaskId], out: &mut Vec<u8>) {
    put(ids.len() as u64, out);
    for id in ids {
        put(id.rotate_left(1).into(), out);
    }
}

/// Takes a list of ids from the front.
pub(crate) fn get_list(bytes: &mut &[u8], ids: &mut Vec<TaskId>) {
    ids.clear();
    for _ in 0..get(bytes) {
        ids.push((get(bytes) as u32).rotate_right(1));
    }
}

/// Appends an increasing list of ids: as a bit set if all are small.
pub(crate) fn put_set(ids: &[TaskId], out: &mut Vec<u8>) {
    if ids.iter().all(|id| *id < 62) && ids.windows(2).all(|w| w[0] < w[1]) {
        put(ids.iter().fold(0, |set, id| set | 1 << id) << 1, out);
    } else {
        out.push(1);
        put_list(ids, out);
    }
}

/// Takes what [`put_set`] wrote from the front.
pub(crate) fn get_set(bytes: &mut &[u8], ids: &mut Vec<TaskId>) {
    let mut set = get(bytes);
    if set == 1 {
        return get_list(bytes, ids);
    }
    ids.clear();
    set >>= 1;
    while set != 0 {
        ids.push(set.trailing_zeros());
        set &= set - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::ANONYMOUS;

    #[test]
    fn lists_and_sets_come_back() {
        let lists: [&[TaskId]; 6] = [&[], &[0], &[0, 1, 5, 61], &[3, 62], &[2, 2, 3], &[1, ANONYMOUS, ANONYMOUS | 7]];
        for list in lists {
            let mut out = Vec::new();
            put_set(list, &mut out);
            put_list(list, &mut out);
            let (mut a, mut b, mut bytes) = (vec![9], vec![9], out.as_slice());
            get_set(&mut bytes, &mut a);
            get_list(&mut bytes, &mut b);
            assert_eq!((a.as_slice(), b.as_slice(), bytes.len()), (list, list, 0));
        }
    }
}
