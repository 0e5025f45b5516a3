//! Types.

use super::super::ast::*;
use super::super::lexer::TokenKind as T;
use super::{KEYWORDS, Parsed, Parser};

/// Words of the language that are types.
const BUILTIN: &[&str] = &["bool", "int", "thread", "thread_set", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"];

impl Parser<'_> {
    pub(super) fn ty(&mut self) -> Parsed<Type> {
        self.nested(|p| p.ty_unguarded())
    }
    fn ty_unguarded(&mut self) -> Parsed<Type> {
        let start = self.span();
        // `u8 + ..` and `u8..` go on after the type (`x as u8 + 1`); only other names can begin the bound of a range.
        let is_word = KEYWORDS.contains(&self.text());
        let node = if self.peek() == T::Name && (is_word || self.peek_at(1) != T::DotDot) {
            self.named_type(is_word)?
        } else if self.eat(T::LBracket) {
            let element = self.ty()?;
            if !self.eat(T::Semi) {
                return self
                    .unexpected("`;` and the length of the array", Some("an array type is written `[int; 4]`".into()));
            }
            let length = self.expr()?;
            self.expect(T::RBracket, "`]`")?;
            TypeKind::Array(Box::new(element), Box::new(length))
        } else if matches!(self.peek(), T::Number | T::Minus | T::LParen | T::Name) {
            self.range_type()?
        } else {
            return self.unexpected("a type", None);
        };
        let ty = Spanned { node, span: start.to(self.last_span()) };
        if let TypeKind::Collection(..) = ty.node {
            self.collections.push(ty.clone());
        }
        Ok(ty)
    }
    /// `set[T]`, `bag[T; n]`, `seq[T; n]`.
    fn collection(&mut self, kind: Collection) -> Parsed<TypeKind> {
        self.bump();
        self.bump();
        let element = self.ty()?;
        let word = kind.word();
        let room = match kind {
            Collection::Set => None,
            Collection::Bag | Collection::Sequence => {
                if !self.eat(T::Semi) {
                    let help = format!("a {word} says how many there may be at most: `{word}[0..7; 4]`");
                    return self.unexpected("`;` and how many there may be", Some(help));
                }
                Some(Box::new(self.expr()?))
            }
        };
        self.expect(T::RBracket, "`]`")?;
        Ok(TypeKind::Collection(kind, Box::new(element), room))
    }
    /// A type that begins with a word.
    fn named_type(&mut self, is_word: bool) -> Parsed<TypeKind> {
        if self.peek_at(1) == T::LBracket
            && let Some(kind) = Collection::ALL.into_iter().find(|kind| kind.word() == self.text())
        {
            return self.collection(kind);
        }
        match self.text() {
            "map" => {
                self.bump();
                self.expect(T::LBracket, "`[` and the type of the keys")?;
                let key = self.ty()?;
                self.expect(T::RBracket, "`]`")?;
                Ok(TypeKind::Map(Box::new(key), Box::new(self.ty()?)))
            }
            "ref" => {
                self.bump();
                Ok(TypeKind::Ref(self.name("the name of a record")?))
            }
            _ if !is_word && matches!(self.peek_at(1), T::Plus | T::Minus | T::Star) => self.range_type(),
            text if is_word && !BUILTIN.contains(&text) => self.unexpected("a type", None),
            text => {
                let text = text.to_string();
                self.bump();
                Ok(TypeKind::Named(text))
            }
        }
    }
    fn range_type(&mut self) -> Parsed<TypeKind> {
        let lo = self.bound()?;
        self.expect(T::DotDot, "`..`")?;
        let hi = self.bound()?;
        Ok(TypeKind::Range(Box::new(lo), Box::new(hi)))
    }
    /// A bound of a range: binds tighter than comparisons.
    pub(super) fn bound(&mut self) -> Parsed<Expr> {
        self.binary(4)
    }
}
