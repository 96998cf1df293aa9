//! What the names of a module mean: its types, predicates and protocols.

use std::sync::Arc;

use referee_theory::Type;
use referee_theory::expr::Signature;
use rustc_hash::{FxHashMap, FxHashSet};

use super::ast::{Module, Name, Protocol, ProtocolKind, ProtocolParameter, SignatureDeclaration, TypeSyntax};
use super::ending::ending;
use super::modules::Linked;
use super::validate::Asked;
use crate::diagnostics::Diagnostic;
use crate::diagnostics::assertions::{duplicate_external, duplicate_field};
use crate::diagnostics::names::{
    ambiguous_module, cyclic_type, duplicate_parameter, duplicate_protocol, duplicate_role, duplicate_type,
    fixed_copies, same_copies, type_and_message, unknown_pragma, unknown_protocol, unknown_role,
    unknown_type, unsupported_pragma, value_as_type, wrong_kind,
};
use crate::diagnostics::suggest;
use crate::document::External;
use crate::payload;
use crate::source::Span;

/// The pragmas nuScr knows.
const PRAGMAS: [&str; 10] = [
    "NestedProtocols",
    "RefinementTypes",
    "ShowPragmas",
    "PrintUsage",
    "Verbose",
    "SenderValidateRefinements",
    "ReceiverValidateRefinements",
    "ValidateRefinementSatisfiability",
    "ValidateRefinementProgress",
    "GuardedUniqueness",
];

/// Pragmas of nuScr that give a text another meaning, and why they are not supported: with the first, `crash from A to B` is no
/// message; with the second, a branch of a choice may be another role's.
const UNSUPPORTED: [(&str, &str); 2] = [
    ("ErrorHandlingCrashBranch", "crashes of roles are not modelled"),
    ("MixedStateChoice", "all branches of a choice belong to one role here"),
];

/// nuScr's pragma for branches that only their refinements tell apart.
const UNIQUE_BY_GUARD: &str = "GuardedUniqueness";

/// All protocols of a module together may have so many steps, written out.
pub(super) const MAX_STEPS: usize = 1 << 21;

/// So many names are compared with misspelt ones: then one run has said enough.
const MAX_COMPARISONS: usize = 1 << 18;

/// A protocol of the module: an index into [`Names::protocols`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ProtocolId(pub(super) usize);

pub(super) struct Declared<'a> {
    pub(super) protocol: &'a Protocol,
    parent: Option<ProtocolId>,
    /// The file it stands in: an index into [`Names::modules`].
    pub(super) module: usize,
}

pub(super) struct Names<'a> {
    /// The file that is read, and those that it imports.
    pub(super) modules: &'a [Linked],
    /// All protocols, nested ones after those that declare them; those of the file that is read first.
    pub(super) protocols: Vec<Declared<'a>>,
    /// The types that each file declares.
    types: Vec<FxHashMap<Arc<str>, Type>>,
    pub(super) externals: Vec<External>,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Which statements of each file can come to an end.
    pub(super) ends: Vec<Vec<bool>>,
    /// nuScr's nested mode: `do` is an invitation too.
    pub(super) nested_mode: bool,
    /// Where nuScr's branches of one label are asked for, which their refinements tell apart: no two of them are read as one.
    pub(super) unique_by_guard: Option<Span>,
    /// The protocols of each name, in the order of the text.
    by_name: FxHashMap<(usize, &'a str), Vec<ProtocolId>>,
    external_spans: FxHashMap<Arc<str>, Span>,
    /// What nuScr's pragmas ask of refinements.
    pub(super) asked: Asked,
    /// How many steps protocols may still have, written out: each is written out on its own, so that a
    /// chain of protocols would take the square of its length.
    pub(super) steps_left: usize,
    /// How many more names may be compared to find one that was meant.
    comparisons_left: usize,
    /// What data of recursions are called, and whether fields are called so too.
    pub(super) data: FxHashMap<Arc<str>, bool>,
    /// Unknown types that are like no known one.
    not_misspelt: FxHashSet<Arc<str>>,
}

impl<'a> Names<'a> {
    /// The names of the first of `modules` and of what it imports.
    pub(super) fn new(modules: &'a [Linked]) -> Self {
        let pragmas = modules.first().map_or(&[][..], |main| &main.module.pragmas);
        let has = |key: &str| pragmas.iter().any(|pragma| &*pragma.key.text == key);
        let nested_mode = has("NestedProtocols");
        let mut names = Self {
            modules,
            ends: Vec::new(),
            protocols: Vec::new(),
            types: vec![FxHashMap::default(); modules.len()],
            externals: Vec::new(),
            diagnostics: Vec::new(),
            nested_mode,
            unique_by_guard: None,
            by_name: FxHashMap::default(),
            external_spans: FxHashMap::default(),
            asked: Asked {
                satisfiability: has("ValidateRefinementSatisfiability"),
                progress: has("ValidateRefinementProgress"),
                sender: has("SenderValidateRefinements"),
                receiver: has("ReceiverValidateRefinements"),
            },
            steps_left: MAX_STEPS,
            comparisons_left: MAX_COMPARISONS,
            data: super::lower::data(modules),
            not_misspelt: FxHashSet::default(),
        };
        for (index, Linked { module, .. }) in modules.iter().enumerate() {
            for pragma in module.pragmas.iter().filter(|pragma| !PRAGMAS.contains(&&*pragma.key.text)) {
                if let Some((name, why)) = UNSUPPORTED.iter().find(|(name, _)| *name == &*pragma.key.text) {
                    names.diagnostics.push(unsupported_pragma(pragma.key.span, name, why));
                    continue;
                }
                names.diagnostics.push(unknown_pragma(pragma.key.span, &pragma.key.text, PRAGMAS));
            }
            let by_guard = module.pragmas.iter().find(|pragma| &*pragma.key.text == UNIQUE_BY_GUARD);
            names.unique_by_guard = names.unique_by_guard.or(by_guard.map(|pragma| pragma.key.span));
            names.declare_types(index);
            names.declare_externals(index);
            names.declare_protocols(&module.protocols, None, index);
        }
        names.ends = ending(&names);
        names
    }

    /// The file that protocol `id` stands in.
    pub(super) fn module_of(&self, id: ProtocolId) -> &'a Module {
        &self.modules[self.protocols[id.0].module].module
    }

    /// What `name` means in file `module`: the file that declares it, and what it is called there. `a.b.M.P` is `P` of
    /// the file `a.b.M`, which may also be called `M` or by the name that the import gives it.
    fn declared_in<'n>(&self, name: &'n str, module: usize) -> Option<(usize, &'n str)> {
        let Some(dot) = name.bytes().rposition(|byte| byte == b'.') else { return Some((module, name)) };
        let (prefix, last) = (&name[..dot], &name[dot + 1..]);
        let here = &self.modules[module];
        if here.module.name.as_ref().is_some_and(|own| *own.text == *prefix) {
            return Some((module, last));
        }
        let exactly = here.module.imports.iter().zip(&here.imports).find(|(import, _)| match &import.alias {
            Some(alias) => *alias.text == *prefix || *import.name.text == *prefix,
            None => *import.name.text == *prefix,
        });
        let target = match exactly {
            Some((_, target)) => *target,
            // Of two modules whose names end alike, the short name means neither.
            None => match self.with_last_name(prefix, module)[..] {
                [(_, target)] => target,
                _ => None,
            },
        };
        Some((target?, last))
    }

    /// The modules that file `module` may call by the last part of their names, `prefix`: itself, and what it imports without
    /// giving it a name.
    fn with_last_name(&self, prefix: &str, module: usize) -> Vec<(&'a Name, Option<usize>)> {
        let here = &self.modules[module];
        let own = here.module.name.iter().map(|own| (own, Some(module)));
        let imports = here.module.imports.iter().zip(&here.imports);
        let imports = imports.filter(|(import, _)| import.alias.is_none());
        let all = own.chain(imports.map(|(import, target)| (&import.name, *target)));
        let mut found: Vec<(&Name, Option<usize>)> = Vec::new();
        for (name, target) in all.filter(|(name, _)| name.text.rsplit('.').next() == Some(prefix)) {
            // What is imported twice is one module.
            if found.iter().all(|(known, _)| known.text != name.text) {
                found.push((name, target));
            }
        }
        found
    }

    /// What `known` knows of the module that the first part of `name` means in file `module`, each with that first part.
    fn in_its_module(&self, name: &str, module: usize, known: impl Fn(usize) -> Vec<&'a str>) -> Vec<String> {
        let (Some((prefix, _)), Some((target, _))) = (name.rsplit_once('.'), self.declared_in(name, module))
        else {
            return Vec::new();
        };
        known(target).into_iter().map(|name| format!("{prefix}.{name}")).collect()
    }

    /// The messages that the module declares which the first part of `name` means, as file `module` calls them.
    pub(super) fn signatures_beside(&self, name: &str, module: usize) -> Vec<String> {
        self.in_its_module(name, module, |target| {
            self.modules[target].module.signatures.iter().map(|signature| &*signature.name.text).collect()
        })
    }

    /// That the first part of `name` may mean two modules in file `module`, if so.
    pub(super) fn ambiguous(&self, name: &Name, module: usize) -> Option<Diagnostic> {
        let (prefix, _) = name.text.rsplit_once('.')?;
        match self.with_last_name(prefix, module)[..] {
            [(one, _), (other, _), ..] if self.declared_in(&name.text, module).is_none() => {
                Some(ambiguous_module(name.span, (one.span, &one.text), (other.span, &other.text)))
            }
            _ => None,
        }
    }

    /// Whether `name`, with a dot, may stand for something of a module that was not read.
    pub(super) fn may_be_elsewhere(&self, name: &str, module: usize) -> bool {
        let here = &self.modules[module];
        let missing = here.module.imports.iter().zip(&here.imports).filter(|(_, found)| found.is_none());
        missing.flat_map(|(import, _)| [Some(&import.name), import.alias.as_ref()]).flatten().any(|import| {
            let short = import.text.rsplit('.').next().unwrap_or_default();
            [&*import.text, short]
                .iter()
                .any(|called| name.strip_prefix(called).is_some_and(|rest| rest.starts_with('.')))
        })
    }

    fn declare_types(&mut self, of: usize) {
        let declarations = &self.modules[of].module.types;
        let mut first: FxHashMap<&str, usize> = FxHashMap::default();
        for (index, declaration) in declarations.iter().enumerate() {
            let name = &declaration.name;
            if let Some(&earlier) = first.get(&*name.text) {
                let earlier = declarations[earlier].name.span;
                self.diagnostics.push(duplicate_type(name.span, earlier, &name.text));
            } else {
                first.insert(&name.text, index);
            }
        }
        for signature in &self.modules[of].module.signatures {
            if let Some(&earlier) = first.get(&*signature.name.text) {
                let (span, name) = (signature.name.span, &signature.name.text);
                self.diagnostics.push(type_and_message(span, declarations[earlier].name.span, name));
            }
        }
        // Definitions may refer to later ones: resolve each when it is first needed.
        for declaration in declarations {
            let mut resolving = vec![Arc::clone(&declaration.name.text)];
            self.resolve_declared(of, &declaration.name, &first, &mut resolving);
        }
    }

    /// `resolving` holds the declared types whose definitions are being looked at, outermost first; at most
    /// as deep as there are declarations, and bounded by [`MAX_ALIASES`].
    fn resolve_declared(
        &mut self,
        of: usize,
        name: &Name,
        declared: &FxHashMap<&str, usize>,
        resolving: &mut Vec<Arc<str>>,
    ) {
        const MAX_ALIASES: usize = 128;
        if self.types[of].contains_key(&name.text) {
            return;
        }
        let Some(&index) = declared.get(&*name.text) else { return };
        let declaration = &self.modules[of].module.types[index];
        let Some(definition) = &declaration.definition else {
            // Scribble declares the types of its host language; where their name is known, so is their meaning.
            let known = declaration.foreign.as_ref().and_then(|_| payload::builtin(&name.text));
            let ty = known.unwrap_or_else(|| Type::Opaque(Arc::clone(&name.text)));
            self.types[of].insert(Arc::clone(&name.text), ty);
            return;
        };
        for used in named_types(definition) {
            if resolving.contains(&used.text) || resolving.len() > MAX_ALIASES {
                self.diagnostics.push(cyclic_type(used.span, &used.text));
                self.types[of].insert(Arc::clone(&name.text), Type::Opaque(Arc::clone(&name.text)));
                return;
            }
            resolving.push(Arc::clone(&used.text));
            self.resolve_declared(of, used, declared, resolving);
            resolving.pop();
        }
        let ty = self.ty(definition, &FxHashMap::default(), of);
        self.types[of].insert(Arc::clone(&name.text), ty);
    }

    fn declare_externals(&mut self, of: usize) {
        for declaration in &self.modules[of].module.externals {
            let name = &declaration.name;
            if let Some(first) = self.external_spans.get(&name.text) {
                self.diagnostics.push(duplicate_external(name.span, *first, &name.text));
                continue;
            }
            self.external_spans.insert(Arc::clone(&name.text), name.span);
            let none = FxHashMap::default();
            let parameters = declaration.parameters.iter().map(|ty| self.ty(ty, &none, of)).collect();
            let result = self.ty(&declaration.result, &none, of);
            let name_text = Arc::clone(&name.text);
            self.externals.push(External { name: name_text, parameters, result, span: name.span });
        }
    }

    /// Bounded recursion: the parser limits how deep protocols are declared in one another.
    fn declare_protocols(&mut self, protocols: &'a [Protocol], parent: Option<ProtocolId>, module: usize) {
        let mut first: FxHashMap<(&str, bool), Span> = FxHashMap::default();
        for protocol in protocols {
            let (span, name) = (protocol.name.span, &protocol.name.text);
            let key = (&**name, protocol.kind == ProtocolKind::Nested);
            match first.get(&key) {
                Some(first) => self.diagnostics.push(duplicate_protocol(span, *first, name)),
                None => drop(first.insert(key, span)),
            }
            let mut roles: FxHashMap<&str, &Name> = FxHashMap::default();
            for role in protocol.roles.iter().chain(&protocol.new_roles) {
                if let Some(first) = roles.insert(&role.text, role) {
                    self.diagnostics.push(duplicate_role(role.span, first.span, &role.text));
                }
            }
            self.check_parameters(protocol);
            self.check_copies(protocol);
            let id = ProtocolId(self.protocols.len());
            self.protocols.push(Declared { protocol, parent, module });
            self.by_name.entry((module, &*protocol.name.text)).or_default().push(id);
            self.declare_protocols(&protocol.nested, Some(id), module);
        }
    }

    fn check_parameters(&mut self, protocol: &Protocol) {
        let mut first: FxHashMap<&str, Span> = FxHashMap::default();
        for ProtocolParameter { name, .. } in &protocol.parameters {
            if let Some(earlier) = first.insert(&name.text, name.span) {
                self.diagnostics.push(duplicate_parameter(name.span, earlier, &name.text));
            }
        }
    }

    /// The number of copies of a role has a name, of its own.
    fn check_copies(&mut self, protocol: &Protocol) {
        let mut first: FxHashMap<&str, Span> = FxHashMap::default();
        for (role, number) in &protocol.copied {
            let role = &protocol.roles[*role].text;
            if number.text.starts_with(|first: char| first.is_ascii_digit()) {
                self.diagnostics.push(fixed_copies(number.span, role, &number.text));
            } else if let Some(earlier) = first.insert(&number.text, number.span) {
                self.diagnostics.push(same_copies(number.span, earlier, &number.text));
            }
        }
    }

    pub(super) fn protocol(&self, id: ProtocolId) -> &'a Protocol {
        self.protocols[id.0].protocol
    }

    /// The global protocol that `do name` means in file `module`.
    pub(super) fn find_global(&self, name: &Name, module: usize) -> Result<ProtocolId, Diagnostic> {
        let is_global = |declared: &&Declared<'_>| declared.protocol.kind != ProtocolKind::Nested;
        self.known_global(name, module).ok_or_else(|| match self.find(name, module, |_, _| true) {
            Some(nested) => wrong_kind(name.span, &name.text, self.protocol(nested).name.span, true),
            None if let Some(ambiguous) = self.ambiguous(name, module) => ambiguous,
            None => {
                let all = || self.protocols.iter().filter(is_global);
                let of = |target: usize| {
                    all().filter(|d| d.module == target).map(|d| &*d.protocol.name.text).collect()
                };
                let beside = self.in_its_module(&name.text, module, of);
                let visible = all().map(|d| &*d.protocol.name.text);
                unknown_protocol(name.span, &name.text, visible.chain(beside.iter().map(|name| &**name)))
            }
        })
    }

    /// The global protocol that `do name` means in file `module`, if there is one.
    pub(super) fn known_global(&self, name: &Name, module: usize) -> Option<ProtocolId> {
        let is_global = |_, d: &Declared<'_>| d.parent.is_none() && d.protocol.kind != ProtocolKind::Nested;
        self.find(name, module, is_global)
    }

    /// The nested protocol that `calls name` means inside the protocol `from`: the innermost in scope.
    pub(super) fn find_nested(&self, name: &Name, from: ProtocolId) -> Result<ProtocolId, Diagnostic> {
        let module = self.protocols[from.0].module;
        let mut scope = Some(from);
        loop {
            let declared_here = |_: ProtocolId, declared: &Declared<'_>| {
                declared.parent == scope && declared.protocol.kind == ProtocolKind::Nested
            };
            if let Some(found) = self.find(name, module, declared_here) {
                return Ok(found);
            }
            match scope {
                Some(id) => scope = self.protocols[id.0].parent,
                None => break,
            }
        }
        let global = self.known_global(name, module);
        Err(match global {
            Some(id) => wrong_kind(name.span, &name.text, self.protocol(id).name.span, false),
            None => {
                let nested = self.protocols.iter().filter(|d| d.protocol.kind == ProtocolKind::Nested);
                unknown_protocol(name.span, &name.text, nested.map(|d| &*d.protocol.name.text))
            }
        })
    }

    fn find(
        &self,
        name: &Name,
        module: usize,
        wanted: impl Fn(ProtocolId, &Declared<'_>) -> bool,
    ) -> Option<ProtocolId> {
        let all = self.by_name.get(&self.declared_in(&name.text, module)?)?;
        all.iter().copied().find(|id| wanted(*id, &self.protocols[id.0]))
    }

    /// The declaration of the message signature `name`, as file `module` sees it.
    pub(super) fn signature(&self, name: &str, module: usize) -> Option<&'a SignatureDeclaration> {
        let (module, name) = self.declared_in(name, module)?;
        self.modules[module].module.signatures.iter().find(|signature| *signature.name.text == *name)
    }

    /// Whether `name` is a type, declared or built in, as file `module` sees it.
    pub(super) fn has_type(&self, name: &str, module: usize) -> bool {
        let declared = self.declared_in(name, module);
        declared.is_some_and(|(module, name)| self.types[module].contains_key(name))
            || payload::builtin(name).is_some()
    }

    /// Whether a predicate called `name` is declared.
    pub(super) fn has_external(&self, name: &str) -> bool {
        self.external_spans.contains_key(name)
    }

    /// Whether it is still worth while to compare a misspelt name with `count` others.
    pub(super) fn may_compare(&mut self, count: usize) -> bool {
        let left = self.comparisons_left.checked_sub(count);
        self.comparisons_left = left.unwrap_or(0);
        left.is_some()
    }

    /// What a written type means in file `module`; `parameters` are the type parameters of the protocol around it.
    pub(super) fn ty(
        &mut self,
        syntax: &TypeSyntax,
        parameters: &FxHashMap<Arc<str>, Type>,
        module: usize,
    ) -> Type {
        match syntax {
            TypeSyntax::Named(name) => {
                if let Some(ty) = parameters.get(&name.text) {
                    return ty.clone();
                }
                if let Some((module, name)) = self.declared_in(&name.text, module)
                    && let Some(ty) = self.types[module].get(name)
                {
                    return ty.clone();
                }
                if let Some(ty) = payload::builtin(&name.text) {
                    return ty;
                }
                if let Some(ambiguous) = self.ambiguous(name, module) {
                    self.diagnostics.push(ambiguous);
                    return Type::Opaque(Arc::clone(&name.text));
                }
                if name.text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
                    self.diagnostics.push(value_as_type(name.span, &name.text));
                    return Type::Opaque(Arc::clone(&name.text));
                }
                let declared = self.types[module].len();
                let looks_built_in = name.text.starts_with(|first: char| first.is_lowercase());
                // Shorter names are like many others by chance, unless they are those of built-in types with two letters swapped.
                let is_swapped =
                    looks_built_in && payload::NAMES.iter().any(|known| is_swapped(&name.text, known));
                let worth_while = (name.text.len() > 3 || is_swapped)
                    && !self.not_misspelt.contains(&name.text)
                    && self.may_compare(declared + 1);
                let declared = self.types[module].keys().map(|name| &**name);
                let known = declared.chain(payload::NAMES.iter().copied());
                let close = if worth_while { suggest::closest(&name.text, known) } else { None };
                let close = close.filter(|close| !close.eq_ignore_ascii_case(&name.text));
                // Types of one's own have names with capitals; others look as if they were built in.
                let meant = payload::elsewhere(&name.text).or(close);
                let is_qualified = name.text.contains('.');
                // nuScr reads a declared message as a type, too.
                let is_message = self.signature(&name.text, module).is_some();
                let unknown =
                    if is_qualified { !self.may_be_elsewhere(&name.text, module) } else { looks_built_in };
                if is_message {
                    return Type::Opaque(Arc::clone(&name.text));
                }
                if meant.is_some() || unknown {
                    let beside = self.in_its_module(&name.text, module, |target| {
                        self.modules[target].module.types.iter().map(|ty| &*ty.name.text).collect()
                    });
                    let beside = suggest::closest(&name.text, beside.iter().map(|name| &**name));
                    self.diagnostics.push(unknown_type(name.span, &name.text, beside.or(meant)));
                }
                if close.is_none() {
                    self.not_misspelt.insert(Arc::clone(&name.text));
                }
                Type::Opaque(Arc::clone(&name.text))
            }
            TypeSyntax::List(element, _) => Type::list(self.ty(element, parameters, module)),
            TypeSyntax::Tuple(parts, _) if parts.is_empty() => Type::Unit,
            TypeSyntax::Tuple(parts, _) => {
                Type::Tuple(parts.iter().map(|part| self.ty(part, parameters, module)).collect())
            }
            TypeSyntax::Record(fields, _) => {
                let mut seen: FxHashMap<&str, &Name> = FxHashMap::default();
                for (name, _) in fields {
                    if let Some(first) = seen.insert(&name.text, name) {
                        self.diagnostics.push(duplicate_field(name.span, first.span, &name.text));
                    }
                }
                let field = |(name, ty): &(Name, TypeSyntax)| {
                    (Arc::clone(&name.text), self.ty(ty, parameters, module))
                };
                Type::Record(fields.iter().map(field).collect())
            }
            TypeSyntax::Delegation(protocol, role) => {
                self.check_delegation(protocol, role, module);
                Type::opaque(&format!("{}@{}", protocol.text, role.text))
            }
        }
    }

    /// Whether there is a session such as `protocol@role`.
    fn check_delegation(&mut self, protocol: &Name, role: &Name, module: usize) {
        // In the definition of a type, protocols are not known yet.
        if self.ends.is_empty() || self.may_be_elsewhere(&protocol.text, module) {
            return;
        }
        let wrong = match self.find_global(protocol, module) {
            Err(unknown) => Some(unknown),
            Ok(id) => {
                let roles = || self.protocol(id).roles.iter().map(|role| &*role.text);
                let is_known = roles().any(|known| *known == *role.text);
                (!is_known).then(|| unknown_role(role.span, &role.text, roles()))
            }
        };
        self.diagnostics.extend(wrong);
    }

    /// The declared predicates, as expressions see them.
    pub(super) fn signatures(&self) -> impl Iterator<Item = (&Arc<str>, Signature)> {
        self.externals.iter().map(|external| {
            let parameters = external.parameters.clone().into();
            (&external.name, Signature { parameters, result: external.result.clone() })
        })
    }
}

/// The names in a type, in the order of the text.
pub(super) fn named_types(ty: &TypeSyntax) -> Vec<&Name> {
    let mut names = Vec::new();
    let mut stack = vec![ty];
    while let Some(ty) = stack.pop() {
        match ty {
            TypeSyntax::Named(name) => names.push(name),
            TypeSyntax::List(element, _) => stack.push(element),
            TypeSyntax::Tuple(parts, _) => stack.extend(parts.iter().rev()),
            TypeSyntax::Record(fields, _) => stack.extend(fields.iter().rev().map(|(_, ty)| ty)),
            TypeSyntax::Delegation(..) => {}
        }
    }
    names
}

/// Whether `name` is `known` with two letters swapped.
fn is_swapped(name: &str, known: &str) -> bool {
    let differ: Vec<usize> =
        (0..name.len()).filter(|&at| name.as_bytes().get(at) != known.as_bytes().get(at)).collect();
    match differ[..] {
        [one, other] => {
            let (name, known) = (name.as_bytes(), known.as_bytes());
            name.len() == known.len()
                && other == one + 1
                && name[one] == known[other]
                && name[other] == known[one]
        }
        _ => false,
    }
}
