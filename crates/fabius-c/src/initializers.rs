//! Initializers: C11 6.7.9, with designators and braces left out.

use crate::core::*;
use crate::expressions::{Ex, is_wide, string_bytes};
use crate::library::pthread::{ERRORCHECK, RECURSIVE};
use crate::lower::*;
use crate::memory::*;
use crate::places::{Lvalue, Value as Given};
use crate::refusal::{Result, unsupported, wrong};
use crate::types::{CHAR, CType};
use fabius_trace::Span;
use lang_c::ast;
use lang_c::ast::{Designator, Expression, Initializer};
use lang_c::span::Node;
use std::collections::{BTreeMap, BTreeSet};

/// Which scalar part gets which value.
pub(crate) enum Source<'a> {
    Expression(&'a Ex),
    Byte(u8),
    /// What kind of mutex it is.
    Kind(i64),
}

/// Which part of a mutex says of what kind it is.
const KIND: u32 = 2;

/// A way by numbers: fields and elements.
type Numbers = Vec<(bool, u32)>;

impl<'a> Lower<'a, '_> {
    /// How many elements an array has whose length is not said.
    pub fn length_of_initializer(&mut self, of: &CType, init: &'a Node<Initializer>) -> Result<u32> {
        if let Some(bytes) = string_of(of, init) {
            return Ok(bytes.len() as u32);
        }
        let whole = CType::Array(std::rc::Rc::new(of.clone()), Some(1 << 16));
        let parts = self.flatten(&whole, init)?;
        Ok(length(&parts))
    }

    /// The same of the items of a compound literal.
    fn length_of_list(&mut self, of: &CType, items: &'a [Node<ast::InitializerListItem>]) -> Result<u32> {
        let mut parts = Vec::new();
        self.list_of(&CType::Array(std::rc::Rc::new(of.clone()), Some(1 << 16)), items, &mut parts)?;
        // A string has its end, too.
        Ok(length(&parts))
    }

    /// The items of a compound literal; a string in braces is its characters.
    fn list_of(
        &mut self,
        ty: &CType,
        items: &'a [Node<ast::InitializerListItem>],
        out: &mut Vec<(Numbers, Source<'a>)>,
    ) -> Result<()> {
        if let (CType::Array(of, _), [one]) = (ty.plain(), items)
            && string_of(of, &one.node.initializer).is_some()
        {
            return self.initializer(ty, &one.node.initializer, Vec::new(), out);
        }
        self.list(ty, items, &mut 0, Vec::new(), true, out)?;
        self.last_of_unions(ty, out);
        Ok(())
    }

    /// Of several fields of a union the last one counts (C11 6.7.9p19).
    fn last_of_unions(&self, ty: &CType, out: &mut Vec<(Numbers, Source<'a>)>) {
        let mut last: BTreeMap<Numbers, u32> = BTreeMap::new();
        let mut counts: Vec<bool> = Vec::new();
        for (way, _) in out.iter().rev() {
            let (mut ty, mut is_last) = (ty.clone(), true);
            for (i, (_, n)) in way.iter().enumerate() {
                ty = match ty.plain() {
                    CType::Array(of, _) => (**of).clone(),
                    CType::Struct(id) => {
                        let s = &self.types().structs[*id];
                        is_last &= !s.union || *last.entry(way[..i].to_vec()).or_insert(*n) == *n;
                        match s.fields.as_ref().and_then(|f| f.get(*n as usize)) {
                            Some(f) => f.ty.clone(),
                            None => break,
                        }
                    }
                    _ => break,
                };
            }
            counts.push(is_last);
        }
        out.retain(|_| counts.pop().expect("there is one for each"));
    }

    /// The scalar parts that an initializer names.
    fn flatten(&mut self, ty: &CType, init: &'a Node<Initializer>) -> Result<Vec<(Numbers, Source<'a>)>> {
        let mut out = Vec::new();
        self.initializer(ty, init, Vec::new(), &mut out)?;
        self.last_of_unions(ty, &mut out);
        Ok(out)
    }

    fn initializer(
        &mut self,
        ty: &CType,
        init: &'a Node<Initializer>,
        way: Numbers,
        out: &mut Vec<(Numbers, Source<'a>)>,
    ) -> Result<()> {
        if let CType::Array(of, n) = ty.plain()
            && let Some(bytes) = string_of(of, init)
        {
            let most = n.unwrap_or(bytes.len() as u32);
            for (i, b) in (0..most).zip(bytes) {
                let mut next = way.clone();
                next.push((true, i));
                out.push((next, Source::Byte(b)));
            }
            return Ok(());
        }
        match &init.node {
            Initializer::Expression(e) => {
                out.push((way, Source::Expression(e)));
                Ok(())
            }
            Initializer::List(items) if self.is_mutex(ty) => {
                let mut kind = way;
                kind.push((false, KIND));
                let number = kind_of(items);
                self.found.recursive |= number == RECURSIVE;
                out.push((kind, Source::Kind(number)));
                Ok(())
            }
            Initializer::List(items) if !ty.is_scalar() => {
                let mut at = 0;
                self.list(ty, items, &mut at, way, true, out)
            }
            Initializer::List(items) => match items.first() {
                Some(first) => self.initializer(ty, &first.node.initializer, way, out),
                None => Ok(()),
            },
        }
    }

    fn is_not_flexible(&self, ty: &CType, span: Span) -> Result<()> {
        match ty {
            CType::Array(_, None) => unsupported(span, "an initial value of a flexible array is not taken"),
            _ => Ok(()),
        }
    }

    /// Items of a list from `at` on for the parts of an aggregate; all of them if the braces are its own.
    fn list(
        &mut self,
        ty: &CType,
        items: &'a [Node<ast::InitializerListItem>],
        at: &mut usize,
        way: Numbers,
        braces: bool,
        out: &mut Vec<(Numbers, Source<'a>)>,
    ) -> Result<()> {
        let mut next = 0u32;
        let is_any_designated = items.iter().any(|item| !item.node.designation.is_empty());
        loop {
            let Some(item) = items.get(*at) else { return Ok(()) };
            let designated = !item.node.designation.is_empty();
            if designated && !braces {
                return Ok(());
            }
            let span = self.span(item.span);
            if designated {
                let (mut ty, mut inner) = (ty.clone(), way.clone());
                let mut copies = Vec::new();
                for (i, d) in item.node.designation.iter().enumerate() {
                    match &d.node {
                        Designator::Member(name) => {
                            let CType::Struct(id) = ty.plain() else { return wrong(span, "this has no fields") };
                            let Some(found) = self.types().find_field(*id, &name.node.name) else {
                                return wrong(span, format!("there is no field `{}`", name.node.name));
                            };
                            for f in found {
                                let CType::Struct(id) = ty.plain().clone() else { unreachable!("a way of fields") };
                                ty = self.types().structs[id].fields.as_ref().expect("it is defined")[f].ty.clone();
                                inner.push((false, f as u32));
                            }
                            if i == 0 {
                                next = inner[way.len()].1;
                            }
                        }
                        Designator::Index(e) => {
                            let n = self.integer(e)? as u32;
                            let CType::Array(of, _) = ty.plain().clone() else {
                                return wrong(span, "this is no array");
                            };
                            ty = (*of).clone();
                            inner.push((true, n));
                            if i == 0 {
                                next = n;
                            }
                        }
                        Designator::Range(r) => {
                            let (lo, hi) = (self.integer(&r.node.from)? as u32, self.integer(&r.node.to)? as u32);
                            let CType::Array(of, _) = ty.plain().clone() else {
                                return wrong(span, "this is no array");
                            };
                            ty = (*of).clone();
                            for n in lo..hi {
                                let mut copy = inner.clone();
                                copy.push((true, n));
                                copies.push(copy);
                            }
                            inner.push((true, hi));
                            if i == 0 {
                                next = hi;
                            }
                        }
                    }
                }
                self.is_not_flexible(&ty, span)?;
                let again: BTreeSet<&Numbers> = copies.iter().chain([&inner]).collect();
                replaced(out, &again);
                for copy in copies {
                    self.initializer(&ty, &item.node.initializer, copy, out)?;
                }
                self.initializer(&ty, &item.node.initializer, inner, out)?;
                *at += 1;
                next += 1;
                continue;
            }
            let part = match ty.plain() {
                CType::Array(of, n) => (n.is_none_or(|n| next < n)).then(|| ((true, next), (**of).clone())),
                CType::Struct(id) => {
                    let s = &self.types().structs[*id];
                    // Of a union only one.
                    let field = s.fields.as_ref().and_then(|f| f.get(next as usize)).filter(|_| !s.union || next == 0);
                    if let Some(ty) = field.map(|f| f.ty.clone()) {
                        self.is_not_flexible(&ty, span)?;
                    }
                    field.map(|f| ((false, next), f.ty.clone()))
                }
                _ => None,
            };
            let Some((step, part)) = part else {
                // For what encloses it; beyond the end of everything it is ignored, as compilers do.
                if braces {
                    *at += 1;
                    continue;
                }
                return Ok(());
            };
            let mut inner = way.clone();
            inner.push(step);
            next += 1;
            if is_any_designated {
                replaced(out, &BTreeSet::from([&inner]));
            }
            let own_braces = matches!(item.node.initializer.node, Initializer::List(_));
            let text = matches!(part.plain(), CType::Array(of, _) if string_of(of, &item.node.initializer).is_some());
            if part.is_scalar() || own_braces || text || self.is_whole(&item.node.initializer, &part)? {
                self.initializer(&part, &item.node.initializer, inner, out)?;
                *at += 1;
            } else {
                let before = *at;
                self.list(&part, items, at, inner, false, out)?;
                if *at == before {
                    // A part without parts of its own.
                    continue;
                }
            }
        }
    }

    /// Whether an expression initializes a whole struct.
    fn is_whole(&mut self, init: &'a Node<Initializer>, ty: &CType) -> Result<bool> {
        let Initializer::Expression(e) = &init.node else { return Ok(true) };
        if !matches!(ty.plain(), CType::Struct(_)) {
            return Ok(false);
        }
        Ok(self.type_of(e)?.plain() == ty.plain())
    }

    /// A variable with static lifetime: its initial value is constant.
    pub fn initialize_static(&mut self, id: ObjectId, ty: &CType, init: &'a Node<Initializer>) -> Result<()> {
        for (way, source) in self.flatten(ty, init)? {
            let span = self.span(init.span);
            let leaf_type = self.type_by_numbers(ty, &way, span)?;
            if self.is_library_part(ty, &way) && !matches!(source, Source::Kind(_)) {
                continue;
            }
            let n = match source {
                Source::Kind(kind) => kind,
                Source::Byte(b) => i64::from(b as i8),
                Source::Expression(e) => {
                    let at = self.span(e.span);
                    let v = self.constant_value(e)?;
                    let v = self.convert(v, &leaf_type, at)?;
                    match v.parts.first().and_then(value_of) {
                        Some(n) if v.parts.len() == 1 => n,
                        _ => return unsupported(at, "this initial value is not taken"),
                    }
                }
            };
            self.set_initial(&direct(id, &way, span), n, span)?;
        }
        Ok(())
    }

    /// The parts of the library's objects are the library's business: what a header of the system writes is zero, but for kinds.
    fn is_library_part(&self, ty: &CType, way: &Numbers) -> bool {
        let mut ty = ty.clone();
        for (_, n) in way {
            ty = match ty.plain() {
                CType::Array(of, _) => (**of).clone(),
                CType::Struct(id) => {
                    let s = &self.types().structs[*id];
                    if s.sync {
                        return true;
                    }
                    match s.fields.as_ref().and_then(|f| f.get(*n as usize)) {
                        Some(f) => f.ty.clone(),
                        None => return false,
                    }
                }
                _ => return false,
            };
        }
        matches!(ty.plain(), CType::Struct(id) if self.types().structs[*id].sync)
    }

    /// Whether this is a mutex, of whose initial value only the kind matters.
    fn is_mutex(&self, ty: &CType) -> bool {
        matches!(ty.plain(), CType::Struct(id) if self.types().structs[*id].name == "pthread_mutex_t")
    }

    fn type_by_numbers(&self, ty: &CType, way: &Numbers, span: Span) -> Result<CType> {
        let mut ty = ty.clone();
        for (_, n) in way {
            ty = match ty.plain() {
                CType::Array(of, _) => (**of).clone(),
                CType::Struct(id) => match self.types().structs[*id].fields.as_ref().and_then(|f| f.get(*n as usize)) {
                    Some(f) => f.ty.clone(),
                    None => return wrong(span, "there are too many initial values"),
                },
                _ => return wrong(span, "there are too many initial values"),
            };
        }
        Ok(ty)
    }

    /// A local: what is not named becomes 0, and then each part gets its value.
    pub fn initialize_local(&mut self, lv: &Lvalue, init: &'a Node<Initializer>, span: Span) -> Result<()> {
        if let Initializer::Expression(e) = &init.node
            && !matches!(lv.ty.plain(), CType::Array(..))
            && !self.is_library_part(&lv.ty, &Vec::new())
        {
            let v = match self.allocation(e, Some(&lv.ty))? {
                Some(v) => v,
                None => self.value(e)?,
            };
            let v = self.convert(v, &lv.ty, span)?;
            return self.store(lv, &v, span);
        }
        self.clear_place(lv, span)?;
        for (way, source) in self.flatten(&lv.ty, init)? {
            if self.is_library_part(&lv.ty, &way) && !matches!(source, Source::Kind(_)) {
                continue;
            }
            self.type_by_numbers(&lv.ty, &way, span)?;
            let mut part = lv.clone();
            for step in parts_of(&way, span) {
                part = self.part(part, step, span)?;
            }
            let v = match source {
                Source::Byte(b) => Given::scalar(constant(i64::from(b as i8), CHAR.core(), span), CHAR),
                Source::Kind(kind) => Given::scalar(constant(kind, CHAR.core(), span), CHAR),
                Source::Expression(e) => match self.allocation(e, Some(&part.ty))? {
                    Some(v) => v,
                    None => self.value(e)?,
                },
            };
            let v = self.convert(v, &part.ty, span)?;
            let zero = v.parts.len() == 1 && value_of(&v.parts[0]) == Some(0);
            if !zero {
                self.store(&part, &v, span)?;
            }
        }
        Ok(())
    }

    /// `(struct s){ .. }`
    pub fn compound_literal(&mut self, c: &'a Node<ast::CompoundLiteral>, span: Span) -> Result<Lvalue> {
        let mut ty = self.type_name(&c.node.type_name.node)?;
        let items = &c.node.initializer_list;
        if let CType::Array(of, None) = &ty {
            ty = CType::Array(of.clone(), Some(self.length_of_list(of, items)?));
        }
        let lv = self.unnamed("literal", &ty, span)?;
        self.clear_place(&lv, span)?;
        let mut parts = Vec::new();
        if ty.is_scalar() {
            if let Some(first) = items.first() {
                self.initializer(&ty, &first.node.initializer, Vec::new(), &mut parts)?;
            }
        } else {
            self.list_of(&ty, items, &mut parts)?;
        }
        for (way, source) in parts {
            let mut part = lv.clone();
            for step in parts_of(&way, span) {
                part = self.part(part, step, span)?;
            }
            let v = match source {
                Source::Byte(b) => Given::scalar(constant(i64::from(b as i8), CHAR.core(), span), CHAR),
                Source::Kind(kind) => Given::scalar(constant(kind, CHAR.core(), span), CHAR),
                Source::Expression(e) => self.value(e)?,
            };
            let v = self.convert(v, &part.ty, span)?;
            self.store(&part, &v, span)?;
        }
        Ok(lv)
    }
}

/// What these parts, all of one depth, have been given before does not count (C11 6.7.9p19).
fn replaced(out: &mut Vec<(Numbers, Source<'_>)>, again: &BTreeSet<&Numbers>) {
    let depth = again.first().map_or(0, |way| way.len());
    out.retain(|(way, _)| way.len() < depth || !again.contains(&way[..depth].to_vec()));
}

/// How many elements an array has that has these parts.
fn length(parts: &[(Numbers, Source<'_>)]) -> u32 {
    parts.iter().map(|(way, _)| way.first().map_or(0, |(_, n)| n + 1)).max().unwrap_or(0)
}

fn parts_of(way: &Numbers, span: Span) -> Vec<Part> {
    let step = |(element, n): &(bool, u32)| match element {
        true => Part::Index(constant(i64::from(*n), ADDRESS, span)),
        false => Part::Field(*n as usize),
    };
    way.iter().map(step).collect()
}

/// What kind of mutex has this initial value, as glibc's macros write it: a number with a name of its own among the parts.
fn kind_of(items: &[Node<ast::InitializerListItem>]) -> i64 {
    let kind = |item: &Node<ast::InitializerListItem>| match &item.node.initializer.node {
        Initializer::List(items) => kind_of(items),
        Initializer::Expression(e) => match &e.node {
            Expression::Identifier(name) => match name.node.name.as_str() {
                "PTHREAD_MUTEX_RECURSIVE_NP" | "PTHREAD_MUTEX_RECURSIVE" => RECURSIVE,
                "PTHREAD_MUTEX_ERRORCHECK_NP" | "PTHREAD_MUTEX_ERRORCHECK" => ERRORCHECK,
                _ => 0,
            },
            _ => 0,
        },
    };
    items.iter().map(kind).find(|kind| *kind != 0).unwrap_or(0)
}

fn direct(object: ObjectId, way: &Numbers, span: Span) -> Direct {
    Direct { object, slot: None, element: None, parts: parts_of(way, span) }
}

/// The bytes of a string that initializes an array of characters.
fn string_of(of: &CType, init: &Node<Initializer>) -> Option<Vec<u8>> {
    if !matches!(of.plain(), CType::Int { bits: 8, .. }) {
        return None;
    }
    let e = match &init.node {
        Initializer::Expression(e) => e,
        Initializer::List(items) => match items.as_slice() {
            [one] => match &one.node.initializer.node {
                Initializer::Expression(e) => e,
                Initializer::List(_) => return None,
            },
            _ => return None,
        },
    };
    match &e.node {
        Expression::StringLiteral(text) if !is_wide(&text.node) => Some(string_bytes(&text.node)),
        _ => None,
    }
}
