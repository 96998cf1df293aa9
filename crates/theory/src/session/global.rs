//! A two-party session seen from above.

use crate::global::{Branch, Branches, Global, GlobalType, GlobalTypeBuilder, NodeId, Rec};
use crate::machine::Action;
use crate::session::{Session, SessionType};
use crate::vocabulary::{Origin, Role};

impl SessionType {
    /// The global type of the session between this type's role and `peer`.
    ///
    /// `None` if the type is not that of a two-party session: some choice mixes directions or peers.
    #[must_use]
    pub fn global(&self, peer: Role) -> Option<GlobalType> {
        let mut builder = GlobalTypeBuilder::new();
        let nodes: Vec<NodeId> = (0..self.node_count()).map(|_| builder.reserve()).collect();
        for (node, content) in nodes.iter().zip(&self.nodes) {
            let content = match content {
                Session::End => Global::End,
                Session::Rec { name, body, origin } => {
                    let (name, body) = (name.clone(), nodes[body.index()]);
                    Global::Rec(Rec { name, level: 0, parameters: Vec::new(), body, origin: *origin })
                }
                Session::Call { target, origin } => Global::Call(crate::global::Call {
                    target: nodes[target.index()],
                    arguments: Vec::new(),
                    origin: *origin,
                }),
                Session::Choice(branches) => {
                    let action = branches.first()?.action;
                    if branches.iter().any(|branch| branch.action != action || branch.peer != peer) {
                        return None;
                    }
                    let (sender, receiver) =
                        if action == Action::Send { (self.role(), peer) } else { (peer, self.role()) };
                    let lowered = branches.iter().map(|branch| Branch {
                        receiver,
                        message: branch.message,
                        next: nodes[branch.next.index()],
                        origin: branch.origin,
                    });
                    let branches: Branches = lowered.collect();
                    let origin = branches.first().map_or(Origin::NONE, |branch| branch.origin);
                    Global::Exchange(crate::global::Exchange { sender, branches, origin })
                }
            };
            builder.set(*node, content);
        }
        builder.finish(self.vocabulary().clone(), nodes[self.root().index()]).ok()
    }
}
