//! Multiparty monitors and their networks: the definitions, figures and algorithms of RV'23.

pub mod monitor;
pub mod network;
pub mod satisfaction;
