//! Whether lines of a terminal may be redrawn in place.

use std::io::IsTerminal as _;

use crate::system;

/// True where stderr is a terminal that takes control sequences. On Windows it is asked to, which consoles before Windows 10 refuse.
#[must_use]
pub fn can_redraw() -> bool {
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    std::io::stderr().is_terminal() && !is_dumb && system::takes_control_sequences()
}
