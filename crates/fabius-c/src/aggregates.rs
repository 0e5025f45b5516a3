//! Structs, unions and enums: from declarations to types, with the attributes that say how they are laid out.

use crate::attributes::Asks;
use crate::declare::Specifiers;
use crate::lower::*;
use crate::refusal::{Refusal, Result, unsupported, wrong};
use crate::types::{CType, Member, Struct, StructId};
use fabius_trace::Span;
use lang_c::ast;
use lang_c::ast::TypeSpecifier;
use lang_c::span::Node;

impl<'a> Lower<'a, '_> {
    pub fn struct_id(&mut self, at: usize, name: &str, union: bool) -> (StructId, bool) {
        let key = (at, name.to_string());
        if let Some(id) = self.session.struct_keys.get(&key) {
            return (*id, false);
        }
        self.session.types.structs.push(Struct {
            name: name.into(),
            fields: None,
            size: 0,
            align: 1,
            sync: false,
            union,
            cells: None,
        });
        let id = self.session.types.structs.len() - 1;
        self.session.struct_keys.insert(key, id);
        (id, true)
    }

    /// `struct s;` in a block is another struct than one of the same name further out (C11 6.7.2.3).
    pub fn hide_tags(&mut self, specifiers: &Specifiers<'a>) {
        for each in &specifiers.types {
            let TypeSpecifier::Struct(s) = &each.node else { continue };
            let (None, Some(tag)) = (&s.node.declarations, &s.node.identifier) else { continue };
            if !self.scopes.last().is_some_and(|scope| scope.tags.contains_key(&tag.node.name)) {
                let union = s.node.kind.node == ast::StructKind::Union;
                let ty = CType::Struct(self.struct_id(s.span.start, &tag.node.name, union).0);
                self.scopes.last_mut().expect("there is a scope").tags.insert(tag.node.name.clone(), ty);
            }
        }
    }

    pub fn struct_type(&mut self, s: &'a Node<ast::StructType>) -> Result<CType> {
        let tag = s.node.identifier.as_ref().map(|n| n.node.name.clone());
        let union = s.node.kind.node == ast::StructKind::Union;
        let known = tag.as_ref().and_then(|tag| match &s.node.declarations {
            // A definition makes a new type if the tag was defined further out.
            Some(_) => self.scopes.last()?.tags.get(tag).cloned(),
            None => self.scopes.iter().rev().find_map(|scope| scope.tags.get(tag)).cloned(),
        });
        let ty = known.unwrap_or_else(|| {
            let name = tag.clone().unwrap_or_default();
            CType::Struct(self.struct_id(s.span.start, &name, union).0)
        });
        if let Some(tag) = tag {
            self.scopes.last_mut().expect("there is a scope").tags.insert(tag, ty.clone());
        }
        let (Some(declarations), CType::Struct(id)) = (&s.node.declarations, &ty) else { return Ok(ty) };
        if self.session.types.structs[*id].fields.is_some() {
            // It is defined; what its fields define is entered into the scope.
            for d in declarations {
                if let ast::StructDeclaration::Field(field) = &d.node {
                    self.base_type(&Specifiers::of_qualifiers(&field.node.specifiers))?;
                }
            }
            return Ok(ty);
        }
        let (packed, least) = self.layout_of(s)?;
        let pack = self
            .session
            .layouts
            .packs
            .iter()
            .rev()
            .find(|(at, _)| *at < s.span.end)
            .map_or(i64::MAX, |(_, most)| *most);
        let mut fields = Vec::new();
        for (i, d) in declarations.iter().enumerate() {
            let field = match &d.node {
                ast::StructDeclaration::Field(field) => field,
                ast::StructDeclaration::StaticAssert(a) => {
                    self.static_assertion(a)?;
                    continue;
                }
            };
            let specifiers = Specifiers::of_qualifiers(&field.node.specifiers);
            let base = self.base_type(&specifiers)?;
            let begin = if i == 0 { s.span.start } else { declarations[i - 1].span.end };
            let declarators = &field.node.declarators;
            let bits = declarators.iter().any(|d| d.node.bit_width.is_some());
            // In front of the first field: of all of them. Behind it: of the one that it stands at.
            let mut asks = self.asked(begin..declarators.first().map_or(d.span.end, |field| field.span.start));
            let all = self.alignment(&asks, self.span(d.span))?;
            let mut aligns = Vec::new();
            for (i, field) in declarators.iter().enumerate() {
                let mine = self.asked(field.span.start..declarators.get(i + 1).map_or(d.span.end, |f| f.span.start));
                aligns.push(self.alignment(&mine, self.span(d.span))?.max(all));
                asks.extend(mine);
            }
            let align = aligns.iter().copied().max().unwrap_or(all);
            if align.is_some() && bits {
                return unsupported(self.span(d.span), "an alignment of a bit-field is not taken");
            }
            if pack < i64::MAX && (align.is_some() || bits && pack > 1) {
                let words = "a bit-field or an alignment behind `#pragma pack` is not taken";
                return unsupported(self.span(d.span), words)
                    .map_err(|e: Refusal| e.help("write `__attribute__((packed))` behind the `struct`"));
            }
            if asks.iter().any(|a| matches!(a, Asks::Mode(_))) {
                return unsupported(self.span(d.span), "the attribute `mode` of a field is not taken");
            }
            let unnamed =
                |t: &&Node<TypeSpecifier>| matches!(&t.node, TypeSpecifier::Struct(s) if s.node.identifier.is_none());
            if field.node.declarators.is_empty() && specifiers.types.iter().any(unnamed) {
                fields.push(Member { name: String::new(), ty: base.clone(), width: None, align });
            }
            for (declarator, align) in declarators.iter().zip(aligns) {
                let (name, ty) = match &declarator.node.declarator {
                    Some(d) => self.declarator(d, base.clone())?,
                    None => (String::new(), base.clone()),
                };
                // Packed is said of the whole struct, or of fields of characters, where it changes nothing.
                if asks.contains(&Asks::Packed) && !packed && (bits || self.types().align(&ty) > 1) {
                    let words = "a field that is packed in a struct that is not is not taken";
                    return unsupported(self.span(d.span), words);
                }
                let width = match &declarator.node.bit_width {
                    Some(width) => Some(self.bit_width(width, &ty)?),
                    None => None,
                };
                fields.push(Member { name, ty, width, align });
            }
        }
        // A flexible array; GNU C knows it as one of length 0. Of a union it has no elements.
        if let Some(Member { ty: ty @ CType::Array(_, None | Some(0)), .. }) = fields.last_mut()
            && let CType::Array(of, _) = ty.clone()
        {
            *ty = CType::Array(of, union.then_some(0));
        }
        if self.session.types.structs[*id].fields.is_none()
            && let Err(name) = self.session.types.define(*id, fields, if packed { 1 } else { pack }, least)
        {
            let words = format!("`{name}` is in a run of bit-fields of more than 64 bits, which is not taken");
            return unsupported(self.span(s.span), words)
                .map_err(|e: Refusal| e.help("part the run: `unsigned : 0;` begins a new one"));
        }
        Ok(ty)
    }

    fn bit_width(&mut self, width: &'a Node<ast::Expression>, ty: &CType) -> Result<u8> {
        let most = match ty {
            CType::Int { bits, .. } => i64::from(*bits),
            CType::Bool => 1,
            _ => return wrong(self.span(width.span), "only an integer is a bit-field"),
        };
        match self.integer(width)? {
            n if (0..=most).contains(&n) => Ok(n as u8),
            n => wrong(self.span(width.span), format!("a bit-field cannot have {n} bits")),
        }
    }

    /// What attributes in a part of the text ask for, which nobody has asked before.
    fn asked(&mut self, at: std::ops::Range<usize>) -> Vec<Asks> {
        let mut mine = Vec::new();
        for a in self.session.layouts.attributes.iter_mut().filter(|a| at.contains(&a.at)) {
            // A `typedef` is read again in each pass.
            let again = a.used == Some(at.start) && !matches!(a.asks, Asks::Packed);
            if a.used.is_none() || again {
                a.used = Some(at.start);
                mine.push(a.asks);
            }
        }
        mine
    }

    fn alignment(&mut self, asks: &[Asks], span: Span) -> Result<Option<i64>> {
        let mut most = None;
        for each in asks {
            let n = match each {
                Asks::Aligned(n) => *n,
                Asks::AlignedAs(at) => match self.alignments.get(at).copied() {
                    Some(e) => self.integer(e).or_else(|_| wrong(span, "an alignment is a constant"))?,
                    None => return wrong(span, "an alignment is a constant"),
                },
                _ => continue,
            };
            if n <= 0 || n & (n - 1) != 0 {
                return wrong(span, format!("{n} is no power of two, and no alignment"));
            }
            most = most.max(Some(n));
        }
        Ok(most)
    }

    /// Whether a struct is packed, and its least alignment: in front of its braces, and directly behind them.
    fn layout_of(&mut self, s: &Node<ast::StructType>) -> Result<(bool, i64)> {
        let text = self.lines.text();
        let open = text[s.span.start..].find('{').map_or(s.span.end, |i| s.span.start + i);
        let behind = &text[s.span.end.min(text.len())..];
        let mut end = s.span.end;
        for a in self.session.layouts.attributes.iter().filter(|a| a.at >= s.span.end) {
            // Only blanks, and attributes that are taken out, are between.
            if behind[..a.at - s.span.end].chars().all(|c| c.is_whitespace()) || a.at < end {
                end = a.at + 1;
            } else {
                break;
            }
        }
        let mut asks = self.asked(s.span.start..open);
        asks.extend(self.asked(s.span.end..end));
        let least = self.alignment(&asks, self.span(s.span))?.unwrap_or(1);
        Ok((asks.contains(&Asks::Packed), least))
    }

    /// What a `typedef` names: an attribute may say its width.
    pub fn named_type(&mut self, name: &str, ty: CType, d: &Node<ast::Declaration>) -> Entity {
        let asks = self.asked(d.span.start..d.span.end);
        match (asks.as_slice(), &ty) {
            // Those of the system point to such types only.
            ([Asks::Aligned(_) | Asks::AlignedAs(_)], CType::Struct(_)) if name.starts_with("__") => Entity::Type(ty),
            ([], _) => Entity::Type(ty),
            ([Asks::Mode(bits)], CType::Int { signed, .. }) => {
                Entity::Type(CType::Int { bits: *bits, signed: *signed })
            }
            _ => Entity::Aligned,
        }
    }

    pub fn enum_type(&mut self, e: &'a Node<ast::EnumType>) -> Result<CType> {
        let mut next = 0;
        for each in &e.node.enumerators {
            if let Some(value) = &each.node.expression {
                next = self.integer(value)?;
            }
            if (next < i64::from(i32::MIN) || next > i64::from(u32::MAX)) && !self.lines.is_system(each.span.start) {
                return unsupported(self.span(each.span), format!("the value {next} has more than 32 bits"));
            }
            let name = each.node.identifier.node.name.clone();
            self.scopes.last_mut().expect("there is a scope").names.insert(name, Entity::Constant(next));
            next += 1;
        }
        // As gcc: without negative values an enum is unsigned.
        let all = || {
            e.node.enumerators.iter().filter_map(|x| match self.entity(&x.node.identifier.node.name) {
                Some(Entity::Constant(n)) => Some((n, x)),
                _ => None,
            })
        };
        let signed = all().any(|(n, _)| n < 0);
        let wide = all().find(|(n, _)| *n > i64::from(i32::MAX));
        if let (true, Some((n, at))) = (signed, wide)
            && !self.lines.is_system(at.span.start)
        {
            let words = format!("the value {n} is no `int`, in an `enum` that has negative values");
            return unsupported(self.span(at.span), words);
        }
        let ty = CType::Int { bits: 32, signed };
        let Some(tag) = &e.node.identifier else { return Ok(ty) };
        let tag = format!("enum {}", tag.node.name);
        if e.node.enumerators.is_empty() {
            let known = self.scopes.iter().rev().find_map(|s| s.tags.get(&tag)).cloned();
            return Ok(known.unwrap_or(ty));
        }
        self.scopes.last_mut().expect("there is a scope").tags.insert(tag, ty.clone());
        Ok(ty)
    }
}
