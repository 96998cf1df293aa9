//! Two machines enforced at once: in a system each role has a machine of its own, and they need not be duals.
//!
//! Where the two always fit (whoever may send, the other can receive all of it), there is one machine that says what
//! both say: each side is judged by its own. Where they do not fit, following one's own machine can break the other's,
//! and nobody could be blamed for that: such a pair is refused, with what does not fit.

use std::collections::HashMap;

use referee_theory::{Action, Machine, MachineBuilder, State, Transition, Vocabulary};

/// How many pairs of states are looked at.
const MOST: usize = 100_000;

/// What `client` and `server` both say, seen from the client. Its states are named after theirs.
pub(super) fn joint(client: &Machine, server: &Machine, vocabulary: &Vocabulary) -> Result<Machine, String> {
    let mut builder = MachineBuilder::new(client.role());
    let mut known: HashMap<(State, State), State> = HashMap::new();
    let mut open = Vec::new();
    let mut enter = |builder: &mut MachineBuilder, open: &mut Vec<_>, pair: (State, State)| {
        *known.entry(pair).or_insert_with(|| {
            open.push(pair);
            let (client_state, server_state) = (client.state_name(pair.0), server.state_name(pair.1));
            builder.add_named_state(&format!("{client_state}/{server_state}"))
        })
    };
    enter(&mut builder, &mut open, (client.initial(), server.initial()));
    let mut next = 0;
    while let Some(&pair) = open.get(next) {
        next += 1;
        if next > MOST {
            return Err(format!("their machines have more than {MOST} states together"));
        }
        let source = enter(&mut builder, &mut open, pair);
        let (mine, yours) = (client.transitions(pair.0), server.transitions(pair.1));
        let place = || {
            let names = [client, server].map(|machine| vocabulary.role_name(machine.role()));
            let [c, s] = names;
            format!("when {c} is in {} and {s} in {}", client.state_name(pair.0), server.state_name(pair.1))
        };
        for (own, other, owner, receiver) in [(mine, yours, client, server), (yours, mine, server, client)] {
            for sent in own.iter().filter(|transition| transition.action == Action::Send) {
                let fits = |t: &&Transition| t.action == Action::Receive && t.message == sent.message;
                let Some(received) = other.iter().find(fits) else {
                    let [from, to] = [owner, receiver].map(|machine| vocabulary.role_name(machine.role()));
                    return Err(format!(
                        "{} {from} may send `{}`, which {to} does not take then",
                        place(),
                        vocabulary.label_of(sent.message)
                    ));
                };
                let (action, targets) = if std::ptr::eq(owner, client) {
                    (Action::Send, (sent.target, received.target))
                } else {
                    (Action::Receive, (received.target, sent.target))
                };
                let target = enter(&mut builder, &mut open, targets);
                let step = Transition { action, peer: server.role(), target, ..*sent };
                builder.add_transition(source, step);
            }
        }
        let sends = |own: &[Transition]| own.iter().any(|transition| transition.action == Action::Send);
        match (sends(mine), sends(yours)) {
            (true, true) => {
                return Err(format!("{} both may send: whose turn it is cannot be told", place()));
            }
            (false, false) if !(mine.is_empty() && yours.is_empty()) => {
                return Err(format!("{} nobody may send anything, and the session is not over", place()));
            }
            _ => {}
        }
    }
    Ok(builder.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use referee_syntax::{Content, Language, parse};

    fn of(text: &str) -> Result<Machine, String> {
        let document = parse(text, Language::Kmc);
        let Content::System(local) = document.content else { panic!("{text}") };
        let system = local.system.unwrap_or_else(|| panic!("{:?}", document.diagnostics));
        let [client, server] = system.machines() else { panic!("{text}") };
        joint(client, server, system.vocabulary())
    }

    /// What can be said in the machine's first states, along the first transitions.
    fn labels(machine: &Machine) -> Vec<usize> {
        machine.states().map(|state| machine.transitions(state).len()).collect()
    }

    #[test]
    fn duals_are_one_machine() {
        let machine =
            of("C: rec x . {S!req; S?ans; x, S!bye; end}\nS: rec x . {C?req; C!ans; x, C?bye; end}");
        assert_eq!(labels(&machine.unwrap()), [2, 1, 0]);
    }

    #[test]
    fn each_side_may_do_what_its_own_machine_allows() {
        // The server would take `other` and the client would take `no`; neither is ever sent.
        let machine = of("C: S!req; {S?ok; end, S?no; end}\nS: {C?req; C!ok; end, C?other; end}").unwrap();
        assert_eq!(labels(&machine), [1, 1, 0]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (text, expected) in [
            ("C: {S!a; end, S!b; end}\nS: C?a; end", "C may send `b`, which S does not take then"),
            ("C: S?a; end\nS: {C!a; end, C!b; end}", "S may send `b`, which C does not take then"),
            // Both begin to speak at once: whose turn it is cannot be told.
            ("C: S!a; S?b; end\nS: C!b; C?a; end", "which S does not take then"),
            ("C: {S!a; end, S?b; end}\nS: {C?a; end, C!b; end}", "both may send"),
            ("C: S?a; end\nS: C?b; end", "nobody may send anything"),
            ("C: S!a; end\nS: C?a; C?b; end", "nobody may send anything"),
        ] {
            let error = of(text).err().unwrap_or_else(|| panic!("{text}"));
            assert!(error.contains(expected), "{error}");
        }
    }
}
