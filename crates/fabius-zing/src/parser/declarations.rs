//! Types, classes, methods.

use super::Parser;
use crate::ast::*;
use crate::lexer::Kind;
use crate::refusal::{Result, unsupported, wrong};

impl Parser {
    pub(super) fn file(&mut self) -> Result<File> {
        let mut file = File::default();
        while self.peek().kind != Kind::End {
            self.declaration(&mut file)?;
        }
        file.lengths = std::mem::take(&mut self.lengths);
        file.texts = std::mem::take(&mut self.texts);
        Ok(file)
    }

    fn declaration(&mut self, file: &mut File) -> Result<()> {
        self.attributes()?;
        let token = self.peek().clone();
        let Kind::Word(word) = &token.kind else {
            if self.take(";") {
                return Ok(());
            }
            return Err(self.unexpected("a declaration"));
        };
        self.next();
        if word == "class" {
            let class = self.class()?;
            file.classes.push(class);
            return Ok(());
        }
        if !matches!(word.as_str(), "enum" | "range" | "struct" | "array" | "set" | "chan") {
            let what = match word.as_str() {
                "interface" | "native" => unsupported(token.span, format!("`{word}`")).help("write a class"),
                _ => {
                    self.at -= 1;
                    self.unexpected("`class`, `struct`, `enum`, `range`, `array`, `set` or `chan`")
                }
            };
            return Err(what);
        }
        let name = self.name("a name")?;
        let kind = match word.as_str() {
            "enum" => {
                self.expect("{")?;
                DeclaredKind::Enum(self.list("}", |p| p.name("a value"))?)
            }
            "range" => {
                let lo = self.expr()?;
                self.expect("..")?;
                DeclaredKind::Range(lo, self.expr()?)
            }
            "struct" => {
                self.expect("{")?;
                let mut fields = Vec::new();
                while !self.take("}") {
                    fields.push(self.field(false)?);
                }
                DeclaredKind::Struct(fields)
            }
            "array" => {
                self.expect("[")?;
                let len = if self.is("]") { None } else { Some(self.expr()?) };
                self.expect("]")?;
                DeclaredKind::Array(len, self.ty()?)
            }
            "set" => DeclaredKind::Set(self.ty()?),
            _ => DeclaredKind::Chan(self.ty()?),
        };
        self.take(";");
        file.types.push(Declared { name, kind });
        Ok(())
    }

    /// The name of a type.
    pub(super) fn ty(&mut self) -> Result<Name> {
        let token = self.peek().clone();
        if let Kind::Word(word) = &token.kind {
            if word == "string" {
                self.texts.get_or_insert_default();
            }
            let refused = ["object", "float", "double", "decimal"];
            if refused.contains(&word.as_str()) {
                let help = match word.as_str() {
                    "object" => "name the class: what is an `object` cannot be made one of a class again",
                    _ => "use `int`, `long`, `byte`, `bool`, an `enum` or a class",
                };
                return Err(unsupported(token.span, format!("the type `{word}`")).help(help));
            }
        }
        self.name("a type")
    }

    fn field(&mut self, is_static: bool) -> Result<Field> {
        self.attributes()?;
        let ty = self.ty()?;
        let name = self.name("a name")?;
        let init = if self.take("=") { Some(self.expr()?) } else { None };
        self.expect(";")?;
        Ok(Field { ty, name, is_static, init })
    }

    /// `[..]`: what is for other tools is passed over.
    pub(super) fn attributes(&mut self) -> Result<()> {
        while self.take("[") {
            let mut depth = 1;
            while depth > 0 {
                depth += i32::from(self.is("[")) - i32::from(self.is("]"));
                if self.next().kind == Kind::End {
                    self.at -= 1;
                    return Err(self.unexpected("`]`"));
                }
            }
        }
        Ok(())
    }

    fn class(&mut self) -> Result<Class> {
        let name = self.name("a name")?;
        if self.is(":") {
            return Err(
                unsupported(self.peek().span, "a class that implements an interface").help("write a class alone")
            );
        }
        self.expect("{")?;
        let mut class = Class { name, fields: Vec::new(), methods: Vec::new() };
        while !self.take("}") {
            self.member(&mut class)?;
        }
        self.take(";");
        Ok(class)
    }

    fn member(&mut self, class: &mut Class) -> Result<()> {
        let (mut is_static, mut is_atomic, mut activate) = (false, false, false);
        loop {
            match &self.peek().kind {
                Kind::Word(word) if word == "static" => is_static = true,
                Kind::Word(word) if word == "atomic" => is_atomic = true,
                Kind::Word(word) if word == "activate" => activate = true,
                Kind::Sign("[") => {
                    self.attributes()?;
                    continue;
                }
                _ => break,
            }
            self.next();
        }
        let result = if self.take("void") { None } else { Some(self.ty()?) };
        if result.is_some() && !self.ahead(1).is("(") {
            if is_atomic || activate {
                return Err(wrong(self.peek().span, "a field is neither `atomic` nor `activate`"));
            }
            self.at -= 1;
            class.fields.push(self.field(is_static)?);
            return Ok(());
        }
        let name = self.name("a name")?;
        self.expect("(")?;
        let params = self.list(")", |p| {
            p.attributes()?;
            let is_out = p.take("out");
            let ty = p.ty()?;
            Ok(Param { ty, name: p.name("a name")?, is_out })
        })?;
        if activate && (!is_static || !params.is_empty()) {
            return Err(wrong(name.span, "what begins by itself is `static` and has no parameters"));
        }
        self.expect("{")?;
        let body = self.block()?;
        self.take(";");
        class.methods.push(Method { name, is_static, is_atomic, activate, result, params, body });
        Ok(())
    }
}
