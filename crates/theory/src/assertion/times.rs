//! Times of messages: are they numbers that the sender knows, and do they begin with something it has seen.

use std::sync::Arc;

use super::reaching::{self, Sought};
use super::{AssertionError, Checker, InScope, Known, NotATimeReason, Use, Variables, unknown_to};
use crate::expr::{self, Expr};
use crate::global::Global;
use crate::payload::Type;
use crate::timing::{Since, Within, constant, in_seconds};
use crate::vocabulary::Role;

impl<'a> Checker<'a> {
    /// A time of a message.
    pub(super) fn time(&mut self, one: &Use<'a>, (variables, known): (Variables<'_>, Known<'_>)) {
        let Global::Exchange(exchange) = self.global.node(one.node) else { return };
        let expr = Arc::clone(one.expr);
        if let Some(reason) = self.not_a_time(one.expr, &variables) {
            self.result.errors.push(AssertionError::NotATime { expr, reason });
            return;
        }
        let (role, unknown) = (exchange.sender, unknown_to(exchange.sender, &known));
        if !unknown.is_empty() {
            self.result.errors.push(AssertionError::UnknownTime { expr, role, unknown });
        }
    }

    /// Why `expr` is no time, if it is none. Type errors within it are reported.
    fn not_a_time(&mut self, expr: &Expr, variables: &Variables<'_>) -> Option<NotATimeReason> {
        if let Some(name) = expr.externals().first() {
            return Some(NotATimeReason::Calls(Arc::clone(name)));
        }
        let number = |ty: &Type| matches!(ty, Type::Int | Type::Float);
        let free = expr.free_variables();
        let other = variables.iter().find(|(name, ty)| !number(ty) && free.contains(name));
        if let Some((name, ty)) = other {
            return Some(NotATimeReason::Variable(Arc::clone(name), ty.clone()));
        }
        // What is too deep is as deep as what `expr::check` refuses to look at: nothing is said twice.
        let seconds = in_seconds(expr).ok()?;
        match expr::check(&seconds, &InScope { variables, declared: &self.scope }) {
            Ok(checked) if checked.ty != Type::Float => return Some(NotATimeReason::Type(checked.ty)),
            Ok(_) => {}
            Err(errors) => {
                self.type_errors(errors);
                return None;
            }
        }
        match constant(expr) {
            None | Some(Ok(Some(_))) => None,
            Some(Ok(None) | Err(_)) => Some(NotATimeReason::Zero),
        }
    }

    /// `within … of LABEL` needs a LABEL on every way, and the last one must be sent or received by who has the time.
    pub(super) fn beginnings(&mut self) {
        let mut timed: Vec<(crate::NodeId, Role, &'a Within, &'a Arc<str>)> = Vec::new();
        for (node, exchange) in self.global.exchanges() {
            for branch in &exchange.branches {
                let timing = self.global.vocabulary().spec(branch.message).timing.as_ref();
                let within = timing.and_then(|timing| timing.within.as_ref());
                if let Some(within @ Within { since: Since::Label(label), .. }) = within {
                    timed.push((node, exchange.sender, within, label));
                }
            }
        }
        if timed.is_empty() {
            return;
        }
        let label = |name: &str| self.global.vocabulary().find_label(name);
        let sought = timed.iter().filter_map(|(node, _, _, name)| Some((Sought::Label(label(name)?), *node)));
        let mut found = reaching::all(self.global, sought).into_iter();
        let mut errors = Vec::new();
        for (_, role, within, name) in &timed {
            let reaching = label(name).and_then(|_| found.next());
            let unseen = reaching.as_ref().and_then(|reaching| {
                let unseen = reaching.sites.iter().find(|site| !site.roles.contains(role))?;
                Some(unseen.origin)
            });
            let always = reaching.is_some_and(|reaching| !reaching.unbound && !reaching.sites.is_empty());
            if !always || unseen.is_some() {
                let (expr, label) = (Arc::clone(&within.length), Arc::clone(name));
                let unseen = unseen.filter(|_| always);
                errors.push(AssertionError::NoBeginning { expr, label, role: *role, unseen });
            }
        }
        self.result.errors.append(&mut errors);
    }
}
