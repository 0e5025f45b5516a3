//! Numbers that remember how they were computed, and what was decided by them.

use super::{Domain, Mode};
use crate::rt;
use fabius_trace::BugKind;
use std::fmt;
use std::panic::Location;

/// A number in a message.
#[derive(Clone)]
pub struct Value {
    number: i64,
    text: String,
    /// Whose variables occur in it; `None`: it is a constant.
    of: Option<(usize, Domain)>,
}

/// Something that holds or not.
#[derive(Clone)]
#[must_use = "a condition says nothing until it is decided by `branch` or claimed by `assert`"]
pub struct Condition {
    holds: bool,
    text: String,
    of: Option<(usize, Domain)>,
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value { number, text: number.to_string(), of: None }
    }
}

impl From<i32> for Value {
    fn from(number: i32) -> Value {
        i64::from(number).into()
    }
}

impl From<&Value> for Value {
    fn from(value: &Value) -> Value {
        value.clone()
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number)
    }
}

impl fmt::Debug for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.holds)
    }
}

/// Whose variables two parts have together.
fn owner(a: &Option<(usize, Domain)>, b: &Option<(usize, Domain)>) -> Option<(usize, Domain)> {
    if let (Some((a, _)), Some((b, _))) = (a, b) {
        assert_eq!(a, b, "a value of one node is used by another: send it as a message");
    }
    a.clone().or_else(|| b.clone())
}

/// What is written of something that was computed, at most; what is longer gets a name.
const LONGEST: usize = 200;

/// The text, or a variable that has this value from now on.
fn shortened(text: String, of: &Option<(usize, Domain)>, number: i64) -> String {
    match of {
        Some((node, domain)) if text.len() > LONGEST && domain.0.mode == Mode::Record => {
            let name = domain.0.record.borrow()[*node].next_value();
            domain.write(*node, format!("{name} = {text}"));
            name
        }
        Some(_) if text.len() > LONGEST => number.to_string(),
        _ => text,
    }
}

impl Value {
    pub(super) fn received(number: i64, variable: &str, node: usize, domain: &Domain) -> Value {
        Value { number, text: variable.into(), of: Some((node, domain.clone())) }
    }

    pub(super) fn number(&self) -> i64 {
        self.number
    }

    /// How it was computed, for a node to send.
    pub(super) fn text_at(&self, node: usize) -> &str {
        let own = self.of.as_ref().is_none_or(|(other, _)| *other == node);
        assert!(own, "a value of one node is used by another: send it as a message");
        &self.text
    }

    fn computed(self, symbol: &str, other: Value, number: Option<i64>) -> Value {
        let of = owner(&self.of, &other.of);
        let number = number.expect("numbers have at most 64 bits");
        let text = if of.is_none() { number.to_string() } else { format!("({} {symbol} {})", self.text, other.text) };
        Value { number, text: shortened(text, &of, number), of }
    }

    /// The sum.
    pub fn plus(&self, other: impl Into<Value>) -> Value {
        let other = other.into();
        let number = self.number.checked_add(other.number);
        self.clone().computed("+", other, number)
    }

    /// The difference.
    pub fn minus(&self, other: impl Into<Value>) -> Value {
        let other = other.into();
        let number = self.number.checked_sub(other.number);
        self.clone().computed("-", other, number)
    }

    /// The product.
    pub fn times(&self, other: impl Into<Value>) -> Value {
        let other = other.into();
        let number = self.number.checked_mul(other.number);
        self.clone().computed("*", other, number)
    }

    fn compared(&self, symbol: &str, other: Value, holds: bool) -> Condition {
        let of = owner(&self.of, &other.of);
        Condition { holds, text: format!("{} {symbol} {}", self.text, other.text), of }
    }

    /// `==`.
    pub fn equals(&self, other: impl Into<Value>) -> Condition {
        let other = other.into();
        let holds = self.number == other.number;
        self.compared("==", other, holds)
    }

    /// `<`.
    pub fn is_less_than(&self, other: impl Into<Value>) -> Condition {
        let other = other.into();
        let holds = self.number < other.number;
        self.compared("<", other, holds)
    }

    /// `>`.
    pub fn is_greater_than(&self, other: impl Into<Value>) -> Condition {
        let other = other.into();
        let holds = self.number > other.number;
        self.compared(">", other, holds)
    }

    /// The number itself. The record then speaks only of runs in which it is the same.
    pub fn get(&self) -> i64 {
        let _ = self.equals(self.number).branch();
        self.number
    }
}

impl Condition {
    fn of_parts(holds: bool, text: String, of: Option<(usize, Domain)>) -> Condition {
        Condition { holds, text: shortened(text, &of, i64::from(holds)), of }
    }

    /// Both.
    pub fn and(self, other: Condition) -> Condition {
        let text = format!("({}) && ({})", self.text, other.text);
        Condition::of_parts(self.holds && other.holds, text, owner(&self.of, &other.of))
    }

    /// At least one.
    pub fn or(self, other: Condition) -> Condition {
        let text = format!("({}) || ({})", self.text, other.text);
        Condition::of_parts(self.holds || other.holds, text, owner(&self.of, &other.of))
    }

    /// The opposite.
    pub fn negated(self) -> Condition {
        Condition::of_parts(!self.holds, format!("!({})", self.text), self.of)
    }

    /// Whether it holds. The record then speaks only of runs that decide in the same way.
    pub fn branch(self) -> bool {
        let holds = self.holds;
        if let Some((node, domain)) = &self.of {
            let text = if holds { self.text } else { format!("!({})", self.text) };
            domain.write(*node, format!("assume {text}"));
        }
        holds
    }

    /// Claims that it holds; the text says why. A claim that does not hold fails the execution, whoever joins the thread.
    ///
    /// # Panics
    /// If it does not, and the run is not only recorded.
    #[track_caller]
    pub fn assert(self, why: &str) {
        let mut only_recorded = false;
        if let Some((node, domain)) = &self.of {
            let quoted = why.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            domain.write(*node, format!("assert {}, \"{quoted}\"", self.text));
            only_recorded = domain.0.mode == Mode::Record;
        }
        if !self.holds && !only_recorded {
            let message = format!("{why}: {}", self.text);
            // Also if nobody joins the thread.
            rt::with(|rt| rt.fail(BugKind::Assertion, message.clone(), Some(Location::caller())));
            panic!("{message}");
        }
    }
}
