//! The local web server behind `kiln view`: the viewer's page, embedded in the program, and run folders.
//!
//! Promises: only files of the run layout (`layout`) inside the chosen folder leave the machine's disk, symbolic links
//! included; every one of them needs the token of the printed address; names other than the ones allowed in `Host` and
//! pages of other origins are refused, so that a web site that makes its own name point at this machine reads nothing;
//! one request costs bounded memory, and clients without the token keep out no client that has it.
//! Refuses: uploads, listings of folders, checkpoints, and addresses of other machines unless they are allowed.
//!
//! The contract with the page is `viewer-wasm/PROTOCOL.md`.

mod address;
mod assets;
mod body;
mod connection;
mod error;
mod export;
mod guard;
mod layout;
mod merged;
mod models;
mod numbers;
mod open;
mod opening;
mod places;
mod projects;
mod published;
mod range;
mod respond;
mod root;
mod segments;
mod server;
mod token;
mod validator;

pub use address::{Listen, listens_beyond};
pub use error::ServeError;
pub use export::{Exported, export};
pub use open::open_browser;
pub use server::Server;
