//! `docs/papers.md` says what is measured: a row of each of its tables, but for times, which are not compared.

use crate::common::root;
use xtask::papers::{Lab, agrees, tables};

#[test]
fn a_row_of_each_table_is_what_the_page_says() {
    let lab = Lab::new(root(), env!("CARGO_BIN_EXE_fabius").into());
    let page = std::fs::read_to_string(root().join("docs/papers.md")).expect("the page can be read");
    let tables = tables(&root()).expect("the papers' numbers can be read");
    assert!(tables.len() >= 12, "{} tables", tables.len());
    let wrong: Vec<String> = tables.iter().filter_map(|table| agrees(&lab, &page, table).err()).collect();
    assert!(wrong.is_empty(), "{}\nto write the page again: cargo xtask papers", wrong.join("\n"));
}

#[test]
fn a_page_that_says_otherwise_is_noticed() {
    let lab = Lab::new(root(), env!("CARGO_BIN_EXE_fabius").into());
    let page = std::fs::read_to_string(root().join("docs/papers.md")).expect("the page can be read");
    let tables = tables(&root()).expect("the papers' numbers can be read");
    let table = tables.iter().find(|t| t.name == "mcapi-clauses").expect("there is this table");
    let other = page.replace("| 17 / 17 |", "| 17 / 16 |");
    assert!(agrees(&lab, &other, table).is_err());
}
