//! `kiln view` without a browser.

#[cfg(unix)]
mod view_caching;
#[cfg(unix)]
mod view_server;
