//! Names in messages: "did you mean", with the known name that is nearest to a misspelt one; lists and counts.

/// The candidate that most likely was meant, if one is near enough.
pub(super) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (name.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .filter(|c| !c.starts_with('$') && *c != name)
        .map(|c| (distance(name, c), c))
        .filter(|(d, _)| *d <= limit)
        .min()
        .map(|(_, c)| c)
}

/// Number of letters to insert, drop, replace or swap with their neighbour; upper and lower case cost nothing.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().flat_map(char::to_lowercase).collect();
    let b: Vec<char> = b.chars().flat_map(char::to_lowercase).collect();
    let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            table[i][j] = match (i, j) {
                (0, n) | (n, 0) => n,
                _ => {
                    let replace = table[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                    let mut best = replace.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1);
                    if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                        best = best.min(table[i - 2][j - 2] + 1);
                    }
                    best
                }
            };
        }
    }
    table[a.len()][b.len()]
}

/// `1 argument`, `2 arguments`.
pub(super) fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Names for a sentence.
pub(super) fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn finds_slips_and_leaves_strangers_alone() {
        assert_eq!(nearest("conut", ["count", "mount", "x"]), Some("count"));
        assert_eq!(nearest("Flag", ["flag", "flog"]), Some("flag"));
        assert_eq!(nearest("zebra", ["count", "flag"]), None);
    }
}
