//! A trace as people see it.

use crate::paint::printable;
use fabius_trace::ErrorTrace;
use serde_json::Value;

/// The same trace with all texts in it printable: what a program says never moves the cursor.
pub fn shown(trace: &ErrorTrace) -> ErrorTrace {
    let mut value = serde_json::to_value(trace).expect("traces are plain data");
    print(&mut value);
    serde_json::from_value(value).expect("only texts have changed")
}

fn print(value: &mut Value) {
    match value {
        Value::String(text) => *text = printable(text),
        Value::Array(all) => all.iter_mut().for_each(print),
        Value::Object(all) => all.values_mut().for_each(print),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
