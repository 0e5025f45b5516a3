//! Notices atomic operations that ask for less than sequential consistency, as which all are explored: of one variable that makes no
//! difference that anybody sees without another.

/// What was seen of the program's atomic operations.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weaker {
    is_weak: bool,
    /// The last variable of the execution, 0 if there is none.
    last: usize,
    are_several: bool,
}

/// `memory_order_seq_cst`.
const SEQUENTIALLY_CONSISTENT: i32 = 5;

impl Weaker {
    /// Another execution begins, in which the same variable may lie elsewhere.
    pub fn begins(&mut self) {
        self.last = 0;
    }

    /// An operation of one of several threads on the variable at this address asks for this order.
    pub fn sees(&mut self, address: usize, order: i32) {
        self.is_weak |= order & 0xffff != SEQUENTIALLY_CONSISTENT;
        self.are_several |= self.last != 0 && self.last != address;
        self.last = address;
    }

    /// Learns what another worker has seen.
    pub fn learn(&mut self, other: Weaker) {
        self.is_weak |= other.is_weak;
        self.are_several |= other.are_several;
    }

    /// Whether there may be executions that are not sequentially consistent.
    pub fn shows_more(self) -> bool {
        self.is_weak && self.are_several
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_variable_alone_shows_nothing_and_nor_do_the_strongest_orders() {
        let of = |seen: &[(usize, i32)]| {
            let mut all = Weaker::default();
            seen.iter().for_each(|(address, order)| all.sees(*address, *order));
            all
        };
        assert!(!of(&[(8, 0), (8, 2), (8, 3)]).shows_more());
        assert!(!of(&[(8, 5), (16, 5)]).shows_more());
        assert!(of(&[(8, 5), (16, 5), (8, 3)]).shows_more());
        let mut one = of(&[(8, 0)]);
        one.learn(of(&[(16, 0)]));
        one.begins();
        one.sees(24, 0);
        assert!(!one.shows_more(), "in each execution there is one");
        one.learn(of(&[(8, 5), (16, 5)]));
        assert!(one.shows_more());
    }
}
