//! `match`.

use super::super::ast::*;
use super::Printer;

impl Printer<'_> {
    pub(super) fn matching(
        &mut self,
        stmt: &Stmt,
        value: &Expr,
        arms: &[(Vec<Pattern>, Block)],
        otherwise: Option<&Block>,
    ) {
        self.put("match ");
        self.expr(value);
        self.put(" {");
        self.opened = true;
        self.last_end = value.span.end as usize;
        self.indent += 1;
        for (patterns, block) in arms {
            self.begin(patterns.first().map_or(block.span, |p| p.lo.span).start as usize);
            self.patterns(patterns);
            self.put(" ");
            self.block(block);
        }
        if let Some(block) = otherwise {
            self.begin(block.span.start as usize);
            self.put("else ");
            self.block(block);
        }
        self.flush((stmt.span.end as usize).saturating_sub(1));
        self.indent -= 1;
        self.opened = true;
        self.new_line(self.last_end);
        self.opened = false;
        self.put("}");
    }

    pub(super) fn patterns(&mut self, patterns: &[Pattern]) {
        self.list(patterns, |p, pattern| {
            p.expr(&pattern.lo);
            if let Some(hi) = &pattern.hi {
                p.put("..");
                p.expr(hi);
            }
        });
    }
}
