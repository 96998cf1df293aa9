//! Layouts as they are written: `name: type`, `{ dup: 1, qos: 2 }: u8`, `id: u16 if qos > 0`, and so on.

use referee_theory::{Field, Type};

use super::{Comparison, Condition, Constant, Form, Item, Layout, Number, Part, Size, Target, What};
use crate::frames::checksum::Checksum;
use crate::value::Scalar;

impl Layout {
    /// Parses the items of a table; on a mistake says in which.
    pub(crate) fn parse(items: &[String], fields: &[Field], little: bool) -> Result<Self, (usize, String)> {
        let mut names = Vec::new();
        let mut parsed: Vec<Item> = Vec::new();
        for (index, text) in items.iter().enumerate() {
            let is_rest = |item: &Item| match &item.what {
                What::Value {
                    form: Form::Bytes(Size::Rest, _) | Form::List { count: Size::Rest, .. },
                    ..
                } => item.at.is_none(),
                What::End => true,
                _ => false,
            };
            let mut parser = Parser { rest: text.trim(), fields, names: &mut names };
            let item = parser.item().map_err(|reason| (index, reason))?;
            if parsed.last().is_some_and(is_rest) && item.at.is_none() && !matches!(item.what, What::End) {
                return Err((index, "nothing is left after all the rest".to_owned()));
            }
            parsed.push(item);
        }
        Ok(Self { items: parsed.into(), little, numbers: names.len() })
    }
}

const TYPES: &str = "there is `u8` to `u64`, `i8` to `i64`, `f32`, `f64`, `leb128`, `mqtt`, `quic`, `cstring`, \
                     `string(u16)`, `bytes(N)`, `rest`, `list(…)`, `pairs(…)[N]`, `crc32` and other checksums";

/// One item.
struct Parser<'t, 'f> {
    rest: &'t str,
    fields: &'f [Field],
    /// The numbers that have a name.
    names: &'f mut Vec<String>,
}

impl<'t> Parser<'t, '_> {
    fn item(&mut self) -> Result<Item, String> {
        if self.rest == "end" {
            return Ok(Item { at: None, what: What::End, when: None });
        }
        let at = if self.eat("@") { Some(self.size()?) } else { None };
        let what = if self.eat("{") { self.bits()? } else { self.named()? };
        let when = if self.eat("if ") { Some(self.condition()?) } else { None };
        if self.rest.is_empty() {
            Ok(Item { at, what, when })
        } else {
            Err(format!("`{}` is too much", self.rest))
        }
    }

    /// `name: type & mask = constant`.
    fn named(&mut self) -> Result<What, String> {
        let name = self.word();
        if name.is_empty() || !self.eat(":") {
            return Err("write `name: type`, or `_: type` for what nobody needs".to_owned());
        }
        if let Some(checksum) = self.checksum()? {
            return Ok(checksum);
        }
        let mut to = self.target(name)?;
        let ty = to.field.and_then(|index| self.fields.get(index)).map(|field| field.ty.clone());
        let form = self.form(name, ty.as_ref())?;
        let mask = match self.eat("&") {
            true if matches!(form, Form::Number(_)) => Some(self.unsigned()?),
            true => return Err("only integers have bits".to_owned()),
            false => None,
        };
        let constant = match self.eat("=") {
            true => Some(self.constant(&form)?),
            false => None,
        };
        if !matches!(form, Form::Number(_)) {
            to.number = None;
        }
        Ok(What::Value { to, form, mask, constant })
    }

    /// `{ a: 1, b: 7 = 3 }: u8`, after the brace.
    fn bits(&mut self) -> Result<What, String> {
        let mut parts = Vec::new();
        loop {
            let name = self.word();
            if !self.eat(":") {
                return Err("write `name: BITS` for each part".to_owned());
            }
            let bits = u32::try_from(self.size()?).unwrap_or(0);
            let to = self.target(name)?;
            let ty = to.field.and_then(|index| self.fields.get(index)).map(|field| &field.ty);
            if !matches!(ty, None | Some(Type::Int | Type::Float)) {
                return Err(format!("`{name}` is of another type in the protocol"));
            }
            let constant = match self.eat("=") {
                true => Some(self.range()?),
                false => None,
            };
            parts.push(Part { to, bits, constant });
            if !self.eat(",") {
                break;
            }
        }
        if !self.eat("}") || !self.eat(":") {
            return Err("write `{ name: BITS, … }: u8`".to_owned());
        }
        let word = self.word();
        let Some(number @ Number::Fixed(bytes, false)) = Number::named(word) else {
            return Err(format!("`{word}` has no bits: write `u8`, `u16`, `u32` or `u64`"));
        };
        let bits: u32 = parts.iter().map(|part| part.bits).sum();
        if usize::try_from(bits).ok() != Some(8 * bytes) || parts.iter().any(|part| part.bits == 0) {
            return Err(format!("these are {bits} bits, and `{word}` has {}", 8 * bytes));
        }
        Ok(What::Bits { number, parts: parts.into() })
    }

    /// `crc32`, or `crc32(4)` from the fourth byte on.
    fn checksum(&mut self) -> Result<Option<What>, String> {
        let before = self.rest;
        let word = self.word();
        let Some(checksum) = Checksum::named(word) else {
            self.rest = before;
            return Ok(None);
        };
        let from = if self.eat("(") { self.size()? } else { return Ok(Some(What::Checksum(checksum, 0))) };
        if !self.eat(")") {
            return Err(format!("write `{word}(FROM)`"));
        }
        Ok(Some(What::Checksum(checksum, from)))
    }

    /// Where the value called `name` goes: `_` nowhere, `_name` to others that refer to it.
    fn target(&mut self, name: &str) -> Result<Target, String> {
        if name == "_" {
            return Ok(Target::default());
        }
        let field = match name.strip_prefix('_') {
            Some(_) => None,
            None => {
                let index = self.fields.iter().position(|field| field.name.as_deref() == Some(name));
                Some(index.ok_or_else(|| crate::text::no_field(name, self.fields))?)
            }
        };
        if self.names.iter().any(|other| other == name) {
            return Err(format!("`{name}` is there twice"));
        }
        self.names.push(name.to_owned());
        Ok(Target { field, number: Some(self.names.len() - 1) })
    }

    fn form(&mut self, name: &str, ty: Option<&Type>) -> Result<Form, String> {
        let scalar = ty.map_or(Some(Scalar::Bytes), Scalar::of);
        let textual = || match scalar {
            Some(scalar @ (Scalar::Text | Scalar::Bytes)) => Ok(scalar),
            _ => Err(format!("`{name}` is neither a string nor bytes")),
        };
        let word = self.word();
        let form = match word {
            "f32" => Form::Float(4),
            "f64" => Form::Float(8),
            "cstring" => Form::Terminated(textual()?),
            "rest" => Form::Bytes(Size::Rest, textual()?),
            "string" => {
                self.expect("(")?;
                let number = self.number_type()?;
                self.expect(")")?;
                Form::Bytes(Size::Prefixed(number), textual()?)
            }
            "bytes" => {
                self.expect("(")?;
                let size = self.count()?;
                self.expect(")")?;
                Form::Bytes(size, textual()?)
            }
            "pairs" => self.pairs(name, ty)?,
            "list" => self.list(name, ty)?,
            _ => match Number::named(word) {
                Some(number) => Form::Number(number),
                None => return Err(format!("`{word}` is no type: {TYPES}")),
            },
        };
        let fits = match form {
            Form::Number(_) => matches!(ty, None | Some(Type::Int | Type::Float)),
            Form::Float(_) => matches!(ty, None | Some(Type::Float)),
            _ => true,
        };
        if fits { Ok(form) } else { Err(format!("`{name}` is of another type in the protocol")) }
    }

    /// `(u8, cstring)[86]`, or `(u8, cstring, 0)[86]` where the key 0 ends them.
    fn pairs(&mut self, name: &str, ty: Option<&Type>) -> Result<Form, String> {
        self.expect("(")?;
        let key = self.number_type()?;
        self.expect(",")?;
        let value = Box::new(self.form(name, ty)?);
        let last = if self.eat(",") { Some(self.number()?) } else { None };
        self.expect(")")?;
        self.expect("[")?;
        let wanted = self.number()?;
        self.expect("]")?;
        Ok(Form::Pairs { key, value, last, wanted })
    }

    /// `(string(u16), u8)` up to the end of the frame, `(u16; u8)` with their number before them, `(3; u8)`, `(count; u8)`.
    fn list(&mut self, name: &str, ty: Option<&Type>) -> Result<Form, String> {
        self.expect("(")?;
        let before = self.rest;
        let word = self.word();
        let count = match (self.eat(";"), Number::named(word)) {
            (true, Some(number)) => Size::Prefixed(number),
            (true, None) => {
                self.rest = before;
                let count = self.count()?;
                self.expect(";")?;
                count
            }
            (false, _) => {
                self.rest = before;
                Size::Rest
            }
        };
        let inner = match ty {
            None => None,
            Some(Type::List(inner)) => Some(&**inner),
            Some(_) => return Err(format!("`{name}` is no list in the protocol")),
        };
        let mut element = Vec::new();
        loop {
            let part = match inner {
                Some(Type::Tuple(parts)) => parts.get(element.len()),
                inner => inner,
            };
            element.push(self.form(name, part)?);
            if !self.eat(",") {
                break;
            }
        }
        self.expect(")")?;
        let fits = match inner {
            Some(Type::Tuple(parts)) => parts.len() == element.len(),
            Some(_) => element.len() == 1,
            None => true,
        };
        let is_greedy = |form: &Form| {
            matches!(
                form,
                Form::Bytes(Size::Rest | Size::Exactly(0), _) | Form::List { .. } | Form::Pairs { .. }
            )
        };
        if element.iter().any(is_greedy) {
            return Err("elements of a list are numbers, strings and bytes of their own length".to_owned());
        }
        if !fits {
            return Err(format!("the elements of `{name}` have another form in the protocol"));
        }
        Ok(Form::List { count, element: element.into() })
    }

    /// `3`, `count`, `count+2`, `count-2`.
    fn count(&mut self) -> Result<Size, String> {
        if self.rest.starts_with(|first: char| first.is_ascii_digit()) {
            return self.size().map(Size::Exactly);
        }
        let name = self.word();
        let number = self.name(name)?;
        let more = match (self.eat("+"), self.eat("-")) {
            (true, _) => self.number()?,
            (_, true) => -self.number()?,
            _ => 0,
        };
        Ok(Size::Of(number, more))
    }

    /// `qos > 0`, `flags & 4`.
    fn condition(&mut self) -> Result<Condition, String> {
        let name = self.word();
        let number = self.name(name)?;
        let signs = [
            ("==", Comparison::Equal),
            ("!=", Comparison::Unequal),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
            ("&", Comparison::Mask),
        ];
        let Some((_, is)) = signs.into_iter().find(|(sign, _)| self.eat(sign)) else {
            return Err("write `if NAME == NUMBER`, with `==`, `!=`, `<`, `>` or `&`".to_owned());
        };
        Ok(Condition { number, is, than: self.number()? })
    }

    fn name(&self, name: &str) -> Result<usize, String> {
        let found = self.names.iter().position(|other| other == name);
        found.ok_or_else(|| format!("no number before this is called `{name}`"))
    }

    fn number_type(&mut self) -> Result<Number, String> {
        let word = self.word();
        Number::named(word).ok_or_else(|| format!("`{word}` is no type of numbers"))
    }

    fn constant(&mut self, form: &Form) -> Result<Constant, String> {
        let form = match form {
            Form::Pairs { value, .. } => value,
            form => form,
        };
        match form {
            Form::Number(_) => self.range(),
            Form::Terminated(_) | Form::Bytes(..) => {
                let text = self.rest.strip_prefix('"').and_then(|rest| rest.split_once('"'));
                let (text, rest) = text.ok_or("a text is written `= \"text\"`")?;
                self.rest = rest.trim_start();
                Ok(Constant::Text(text.as_bytes().into()))
            }
            _ => Err("only integers and texts can be constant".to_owned()),
        }
    }

    /// `3`, or `3..7`, both included.
    fn range(&mut self) -> Result<Constant, String> {
        let least = self.number()?;
        let most = if self.eat("..") { self.number()? } else { least };
        Ok(Constant::Number(least, most))
    }

    fn unsigned(&mut self) -> Result<u64, String> {
        let number = self.number()?;
        u64::try_from(number).map_err(|_| format!("`{number}` is no mask"))
    }

    fn size(&mut self) -> Result<usize, String> {
        let number = self.number()?;
        usize::try_from(number)
            .ok()
            .filter(|size| *size < 1 << 24)
            .ok_or_else(|| format!("`{number}` is out of range"))
    }

    /// Decimal, or hexadecimal with `0x`.
    fn number(&mut self) -> Result<i128, String> {
        let negative = self.eat("-");
        let word = self.word();
        let value = match word.strip_prefix("0x") {
            Some(digits) => i128::from_str_radix(digits, 16),
            None => word.parse(),
        };
        let value = value.map_err(|_| format!("`{word}` is no integer"))?;
        Ok(if negative { -value } else { value })
    }

    fn word(&mut self) -> &'t str {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let mut end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        // The names of checksums have a hyphen.
        if let Some(more) = self.rest.get(end..).and_then(|rest| rest.strip_prefix('-'))
            && self.rest.starts_with("crc16")
        {
            end += 1 + more.find(|c| !is_part(c)).unwrap_or(more.len());
        }
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        word
    }

    fn eat(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, text: &str) -> Result<(), String> {
        if self.eat(text) {
            return Ok(());
        }
        let here = if self.rest.is_empty() { "the end" } else { self.rest };
        Err(format!("`{text}` was expected before `{here}`"))
    }
}
