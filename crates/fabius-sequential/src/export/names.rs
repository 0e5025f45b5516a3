//! Names that another language allows, each used once.

use std::collections::HashSet;

/// The names given so far.
#[derive(Default)]
pub struct Names(HashSet<String>);

impl Names {
    /// With words that the language keeps for itself.
    pub fn without(reserved: &str) -> Names {
        Names(reserved.split_whitespace().map(str::to_string).collect())
    }

    /// A name like this one.
    pub fn pick(&mut self, wanted: &str) -> String {
        let mut plain: String = wanted.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        if !plain.starts_with(|c: char| c.is_ascii_alphabetic()) {
            plain.insert(0, 'x');
        }
        let mut name = plain.clone();
        for n in 2.. {
            if self.0.insert(name.clone()) {
                break;
            }
            name = format!("{plain}_{n}");
        }
        name
    }
}
