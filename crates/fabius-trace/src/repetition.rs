//! What a loop repeats, said once: a trace is read by people.

/// Items in a row, and how often they stand there in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The first item.
    pub start: usize,
    /// How many items are repeated.
    pub length: usize,
    /// How often they stand there; 1 where nothing is repeated.
    pub times: usize,
}

/// The most items whose repetition is seen.
const LONGEST: usize = 32;

/// All items in order, cut where something begins or ends to stand there more than `often` times in a row.
pub fn stretches<T>(items: &[T], often: usize, alike: impl Fn(&T, &T) -> bool) -> Vec<Stretch> {
    let mut all = Vec::new();
    let mut start = 0;
    while start < items.len() {
        let rest = &items[start..];
        let times = |length: usize| {
            let first = &rest[..length];
            let is_again = |again: &&[T]| again.iter().zip(first).all(|(a, b)| alike(a, b));
            1 + rest.chunks_exact(length).skip(1).take_while(is_again).count()
        };
        let repeated = (1..=LONGEST.min(rest.len())).map(|length| (length, times(length)));
        let (length, times) = repeated.into_iter().find(|(_, times)| *times > often).unwrap_or((1, 1));
        all.push(Stretch { start, length, times });
        start += length * times;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_there_often_is_one_stretch() {
        let said = |text: &str, often| {
            let items: Vec<char> = text.chars().collect();
            let all = stretches(&items, often, |a, b| a == b);
            let item = |s: Stretch| {
                let what: String = items[s.start..s.start + s.length].iter().collect();
                if s.times == 1 { what } else { format!("({what})*{}", s.times) }
            };
            all.into_iter().map(item).collect::<String>()
        };
        assert_eq!(said("xabababaaab", 2), "x(ab)*3(a)*3b");
        assert_eq!(said("xabababaaab", 3), "xabababaaab");
        assert_eq!(said("aaaa", 3), "(a)*4");
        assert_eq!(said("", 1), "");
        let loop_of_three = "abc".repeat(1000);
        assert_eq!(said(&loop_of_three, 3), "(abc)*1000");
    }
}
