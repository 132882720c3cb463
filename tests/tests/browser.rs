//! The viewer in a real browser.

#[cfg(unix)]
mod view_browser;
