//! The times of transitions, compiled.

use std::sync::Arc;

use referee_theory::expr::Expr;
use referee_theory::timing::{in_seconds, known};
use referee_theory::{Origin, Since, State, Type, Update, Within};
use rustc_hash::FxHashMap;

use super::{Compiler, narrow};
use crate::deadline::{EdgeTimes, From, Length, Times};

impl Compiler<'_> {
    /// The times of all transitions; `None` if there are none.
    pub(super) fn times(&mut self, label_numbers: &FxHashMap<&str, u32>) -> Option<Box<Times>> {
        let (machine, vocabulary) = (self.machine, self.vocabulary);
        let all = machine.all_transitions().iter();
        if !all.clone().any(|transition| vocabulary.spec(transition.message).timing.is_some()) {
            return None;
        }
        let (mut edges, mut first, mut labels) = (Vec::new(), Vec::new(), Vec::new());
        for state in machine.states() {
            first.push(narrow(edges.len()));
            for transition in machine.transitions(state) {
                let Some(timing) = &vocabulary.spec(transition.message).timing else {
                    edges.push(EdgeTimes::default());
                    continue;
                };
                let after = timing.after.as_ref().map(|after| self.time(state, after, transition.origin));
                let within = timing.within.as_ref().map(|Within { length, since }| {
                    let from = match since {
                        Since::Before => From::Before,
                        Since::Any => From::Any,
                        Since::Label(name) => {
                            let label = label_numbers.get(&**name).copied().unwrap_or(u32::MAX);
                            let known = labels.iter().position(|known| *known == label);
                            From::Label(narrow(known.unwrap_or_else(|| {
                                labels.push(label);
                                labels.len() - 1
                            })))
                        }
                    };
                    (self.time(state, length, transition.origin), from)
                });
                edges.push(EdgeTimes { after, within });
            }
        }
        Some(Box::new(Times { edges: edges.into(), first: first.into(), labels: labels.into() }))
    }

    fn time(&mut self, state: State, length: &Arc<Expr>, origin: Origin) -> Length {
        if let Some(constant) = known(length) {
            return Length::Constant(constant);
        }
        let outer: Vec<u32> = self.kept.after(state).collect();
        let value = in_seconds(length).map_or_else(|_| Arc::clone(length), Arc::new);
        let update = Update { variable: Arc::from(""), ty: Type::Float, value };
        Length::Code(self.value_code(&update, &[], &outer, origin))
    }
}
