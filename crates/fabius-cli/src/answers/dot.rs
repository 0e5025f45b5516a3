//! The graph of states as DOT, for Graphviz.
//!
//! The initial state is bold, complete ones have a double line, bugs are octagons; what a trace takes is red and thick.

use crate::paint::printable;
use fabius_verify::graph::{Edge, Node, Role, StateGraph};

/// The most states that are drawn: beyond, nobody sees anything.
pub const MOST_STATES: usize = 500;

/// The document; `title` says what the states are.
pub fn document(graph: &StateGraph, title: &str) -> String {
    let mut text = String::from("digraph states {\n");
    text += &format!("  label={};\n  labelloc=t;\n", quoted(title));
    text += "  node [shape=box, fontname=monospace, fontsize=10];\n  edge [fontname=monospace, fontsize=9];\n";
    for (number, node) in graph.nodes.iter().enumerate() {
        text += &format!("  s{number} [{}];\n", attributes(number, node));
    }
    for edge in &graph.edges {
        text += &format!("  s{} -> s{} [{}];\n", edge.from, edge.to, label(edge));
    }
    text + "}\n"
}

/// The most statements of a step that are shown.
const MOST_LINES: usize = 4;

fn attributes(number: usize, node: &Node) -> String {
    let values = node.values.iter().map(|(name, value)| format!("{name} = {value}"));
    let label: Vec<String> = std::iter::once(number.to_string()).chain(values).chain(node.message.clone()).collect();
    let look = match node.role {
        Role::Initial => ", style=bold, penwidth=2",
        Role::Complete => ", peripheries=2",
        Role::Error => ", shape=octagon, color=red, fontcolor=red",
        Role::Limit => ", style=dashed",
        Role::Inner => "",
    };
    format!("label={}{look}", quoted(&label.join("\n")))
}

fn label(edge: &Edge) -> String {
    let texts: Vec<&str> = edge.statements.iter().map(String::as_str).collect();
    let lines: Vec<&str> = match (&edge.lane, texts.as_slice()) {
        (None, _) => vec!["delay"],
        (Some(lane), [first, second, .., last]) if texts.len() > MOST_LINES => vec![lane, first, second, "..", last],
        (Some(lane), all) => std::iter::once(lane.as_str()).chain(all.iter().copied()).collect(),
    };
    let look = match (edge.on_trace, &edge.lane) {
        (true, _) => ", color=red, fontcolor=red, penwidth=2",
        (false, None) => ", style=dashed",
        (false, Some(_)) => "",
    };
    format!("label={}{look}", quoted(&lines.join("\n")))
}

/// A string of DOT: what programs say stays text.
fn quoted(text: &str) -> String {
    let line = |l: &str| printable(l).replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", text.split('\n').map(line).collect::<Vec<_>>().join("\\n"))
}
