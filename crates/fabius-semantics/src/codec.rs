//! Configurations as bytes: every number in eight bytes, one after the other. Slow, and impossible to get wrong.

use crate::config::{Buffer, Config, Frame, Object, Task};
use crate::control::{Control, Turnoff};
use crate::value::Value;

/// Appends the encoding of a configuration. Pending tasks are sorted by id: the order in a queue is that of the search's scheduler,
/// which is encoded with it.
pub fn encode(config: &Config, out: &mut Vec<u8>) {
    let Config { globals, heap, buffers, finished, started, next_anonymous: _ } = config;
    list(globals.iter(), out, value);
    list(heap.iter(), out, |(id, object), out| {
        number(*id, out);
        number(object.record as i64, out);
        value(&object.value, out);
    });
    list(buffers.iter(), out, |(id, buffer), out| {
        number(*id, out);
        list(buffer.own.iter(), out, value);
        list(buffer.stack.iter(), out, task);
        let mut pending: Vec<&Task> = buffer.pending.iter().collect();
        pending.sort_by_key(|t| t.id);
        list(pending.into_iter(), out, task);
    });
    list(finished.iter(), out, |id, out| number(*id, out));
    number(u32::from(*started), out);
}

fn number(n: impl Into<i64>, out: &mut Vec<u8>) {
    out.extend_from_slice(&n.into().to_le_bytes());
}

fn list<T>(items: impl ExactSizeIterator<Item = T>, out: &mut Vec<u8>, mut item: impl FnMut(T, &mut Vec<u8>)) {
    number(items.len() as i64, out);
    items.for_each(|i| item(i, out));
}

fn value(v: &Value, out: &mut Vec<u8>) {
    let id = |id: &Option<u32>| id.map_or(-1, i64::from);
    match v {
        Value::Number(n) => [0, *n].into_iter().for_each(|n| number(n, out)),
        Value::Reference(o) => [1, id(o)].into_iter().for_each(|n| number(n, out)),
        Value::Handle(t) => [2, id(t)].into_iter().for_each(|n| number(n, out)),
        Value::Set(ts) => {
            number(3, out);
            list(ts.iter(), out, |t, out| number(*t, out));
        }
        Value::Tuple(parts) => {
            number(4, out);
            list(parts.iter(), out, value);
        }
    }
}

fn task(t: &Task, out: &mut Vec<u8>) {
    number(t.id, out);
    number(t.level, out);
    list(t.frames.iter(), out, |f, out| {
        number(f.proc as i64, out);
        list(f.control.0.iter(), out, |t, out| {
            number(t.index as i64, out);
            number(t.block as i64, out);
        });
        list(f.locals.iter(), out, value);
    });
}

/// The configuration with this encoding.
pub fn decode(mut bytes: &[u8]) -> Config {
    let b = &mut bytes;
    let globals = many(b, get_value);
    let heap = many(b, |b| (id(b), Object { record: get(b) as usize, value: get_value(b) })).into_iter().collect();
    let buffers =
        many(b, |b| (id(b), Buffer { own: many(b, get_value), stack: many(b, get_task), pending: many(b, get_task) }));
    let finished = many(b, id).into_iter().collect();
    let mut config = Config {
        globals,
        heap,
        buffers: buffers.into_iter().collect(),
        finished,
        started: get(b) != 0,
        next_anonymous: 0,
    };
    use fabius_explore::system::ANONYMOUS;
    let anonymous = config.tasks().filter(|(_, t)| t.id & ANONYMOUS != 0).map(|(_, t)| (t.id & !ANONYMOUS) + 1);
    config.next_anonymous = anonymous.max().unwrap_or(0);
    config
}

fn get(bytes: &mut &[u8]) -> i64 {
    let (first, rest) = bytes.split_first_chunk().expect("an encoding is complete");
    *bytes = rest;
    i64::from_le_bytes(*first)
}

fn id(bytes: &mut &[u8]) -> u32 {
    get(bytes) as u32
}

fn many<T>(bytes: &mut &[u8], item: impl Fn(&mut &[u8]) -> T) -> Vec<T> {
    (0..get(bytes)).map(|_| item(bytes)).collect()
}

fn get_value(b: &mut &[u8]) -> Value {
    let optional = |n: i64| u32::try_from(n).ok();
    match get(b) {
        0 => Value::Number(get(b)),
        1 => Value::Reference(optional(get(b))),
        2 => Value::Handle(optional(get(b))),
        3 => Value::Set(many(b, id).into_iter().collect()),
        _ => Value::Tuple(many(b, get_value)),
    }
}

fn get_task(b: &mut &[u8]) -> Task {
    let id = id(b);
    let level = get(b) as u8;
    let frame = |b: &mut &[u8]| {
        let proc = get(b) as usize;
        let turn = |b: &mut &[u8]| Turnoff { index: get(b) as usize, block: get(b) as usize };
        Frame { proc, control: Control(many(b, turn)), locals: many(b, get_value) }
    };
    Task { id, level, frames: many(b, frame) }
}
