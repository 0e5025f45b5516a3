//! Lines of source files.

use std::collections::HashMap;

/// The files that were read.
#[derive(Default)]
pub struct Sources(HashMap<String, Option<Vec<String>>>);

impl Sources {
    /// A line without the space around it.
    pub fn line(&mut self, file: &str, line: u32) -> Option<String> {
        let lines = self.0.entry(file.to_string()).or_insert_with(|| {
            let text = std::fs::read(file).ok()?;
            Some(String::from_utf8_lossy(&text).lines().map(str::to_string).collect())
        });
        let text = lines.as_ref()?.get((line as usize).checked_sub(1)?)?.trim();
        (!text.is_empty()).then(|| text.to_string())
    }
}
