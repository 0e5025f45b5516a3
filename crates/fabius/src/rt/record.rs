//! What the threads did, written down for people. Only the execution that is shown is recorded.

use super::Op;
use std::panic::Location;

/// An operation that was done.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub thread: usize,
    pub at: &'static Location<'static>,
    /// For instance `load`.
    pub name: &'static str,
    /// What came of it, for instance `3`.
    pub value: Option<String>,
    /// The step that it belongs to.
    pub step: usize,
}

#[derive(Default)]
pub(crate) struct Recorder {
    pub records: Vec<Record>,
    pub step: usize,
    /// Steps with a load that found an older store, and the steps of that store.
    pub finds: Vec<(usize, usize)>,
    /// Addresses in the order in which they were met.
    addresses: Vec<String>,
}

impl Recorder {
    pub fn operation(&mut self, thread: usize, op: &Op) {
        let (at, name) = (op.at, op.name);
        self.records.push(Record { thread, at, name, value: None, step: self.step });
    }

    /// Small numbers instead of addresses.
    fn without_addresses(&mut self, text: &str) -> String {
        let mut parts = text.split("0x");
        let mut out = parts.next().unwrap_or_default().to_string();
        for part in parts {
            let end = part.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(part.len());
            let (address, rest) = part.split_at(end);
            if address.chars().all(|c| c == '0') {
                out += "null";
            } else {
                let known = self.addresses.iter().position(|a| a == address).unwrap_or_else(|| {
                    self.addresses.push(address.to_string());
                    self.addresses.len() - 1
                });
                out += &format!("&{}", known + 1);
            }
            out += rest;
        }
        out
    }

    pub fn note(&mut self, thread: usize, text: String) {
        let text = if text.contains("0x") { self.without_addresses(&text) } else { text };
        if let Some(last) = self.records.iter_mut().rev().find(|r| r.thread == thread) {
            last.value = Some(text);
        }
    }
}
