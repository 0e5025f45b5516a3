//! Schedules as text, in shuttle's format: hexadecimal digits of the byte `91`, the bits of a task's number, the number of
//! steps, the seed, and the steps. A step is a bit that is set for a random number, and otherwise followed by the task.

use super::{Schedule, ScheduleStep, TaskId};

const VERSION: u8 = 0x91;
const WIDTH: usize = 76;

fn push_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        bytes.push(number as u8 & 0x7f | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(first & 0x7f).checked_shl(shift)?;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// The text of a schedule.
pub(crate) fn encode(schedule: &Schedule) -> String {
    let number = |step: &ScheduleStep| match step {
        ScheduleStep::Task(task) => Some(usize::from(*task)),
        ScheduleStep::Random => None,
    };
    let highest = schedule.steps.iter().filter_map(number).max().unwrap_or(0);
    let width = (usize::BITS - highest.leading_zeros()).max(1) as usize;
    let mut bytes = vec![VERSION];
    push_number(&mut bytes, width as u64);
    push_number(&mut bytes, schedule.len() as u64);
    push_number(&mut bytes, schedule.seed);
    // As many bits as if all steps were tasks.
    let mut packed = vec![0u8; (schedule.len() * (1 + width)).div_ceil(8)];
    let mut at = 0;
    for step in &schedule.steps {
        match number(step) {
            None => {
                packed[at / 8] |= 1 << (at % 8);
                at += 1;
            }
            Some(task) => {
                for bit in (0..width).filter(|bit| task >> bit & 1 == 1) {
                    let place = at + 1 + bit;
                    packed[place / 8] |= 1 << (place % 8);
                }
                at += 1 + width;
            }
        }
    }
    bytes.extend(packed);
    let digits: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    let lines: Vec<&str> =
        digits.as_bytes().chunks(WIDTH).map(|l| std::str::from_utf8(l).unwrap_or_default()).collect();
    lines.join("\n")
}

/// The schedule that a text stands for.
pub(crate) fn decode(text: &str) -> Option<Schedule> {
    let digits: Vec<u32> =
        text.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let bytes: Vec<u8> = digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect();
    let (version, mut rest) = bytes.split_first()?;
    if *version != VERSION {
        return None;
    }
    let width = usize::try_from(take_number(&mut rest)?).ok()?;
    let length = take_number(&mut rest)?;
    let mut schedule = Schedule::new(take_number(&mut rest)?);
    let bit = |at: usize| rest.get(at / 8).map(|byte| byte >> (at % 8) & 1 == 1);
    let mut at = 0;
    for _ in 0..length {
        if bit(at)? {
            schedule.push_random();
            at += 1;
        } else {
            let mut task = 0usize;
            for place in (0..width).rev() {
                task = task << 1 | usize::from(bit(at + 1 + place)?);
            }
            schedule.push_task(TaskId::from(task));
            at += 1 + width;
        }
    }
    Some(schedule)
}
