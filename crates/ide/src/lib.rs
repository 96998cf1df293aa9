//! Language services for editors: a text and a position in, answers out.
//!
//! `referee lsp` and `referee studio` show what is computed here. A [`Workspace`] holds the texts of the files that are known;
//! every service is a function of a workspace, the path of a file and a byte offset. Nothing here opens a file: whoever can
//! gives the workspace a function that does. Places are byte ranges ([`referee_syntax::Span`]); [`position`] turns them
//! into lines and columns as editors count them.
//!
//! What a keystroke recomputes is the [`names::Index`] of one text; projections, diagnostics and checks
//! ([`diagnostics`], [`lens`]) take longer and are asked for from another thread, on a clone of the workspace.
//!
//! Reading order: [`workspace`], [`names`], [`navigation`], then one module per service.

pub mod completion;
pub mod diagnostics;
pub mod folding;
pub mod formatting;
pub mod hover;
pub mod inlay;
pub mod lens;
pub mod names;
pub mod navigation;
pub mod position;
pub mod semantic;
pub mod signature;
pub mod workspace;

pub use names::{Index, NameKind, Occurrence, Symbol};
pub use position::{Encoding, LineColumn, LineIndex};
pub use workspace::{File, Location, Workspace};
