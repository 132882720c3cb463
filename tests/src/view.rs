//! The `kiln view` program, running.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::http::{self, Reply};
use crate::runs;

/// A server; it ends with the value.
#[derive(Debug)]
pub struct View {
    child: Child,
    /// What it printed: the address to open.
    pub url: String,
    /// Where it listens.
    pub address: SocketAddr,
    /// Its token.
    pub token: String,
}

impl View {
    /// Starts `kiln view` for a folder on a free port.
    ///
    /// # Panics
    /// When it does not print an address.
    #[must_use]
    pub fn start(folder: &Path) -> Self {
        let mut command = runs::kiln();
        command.arg("view").arg(folder).args(["--port", "0"]);
        Self::start_with(&mut command)
    }

    /// Starts a command of one's own.
    ///
    /// # Panics
    /// When it does not print an address.
    #[must_use]
    pub fn start_with(command: &mut Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kiln starts");
        let mut line = String::new();
        let out = child.stdout.as_mut().expect("standard output");
        BufReader::new(out).read_line(&mut line).expect("a line");
        let url = line.trim_end().to_owned();
        let parts = url.strip_prefix("http://").and_then(|rest| rest.split_once("/?token="));
        // The address of a project names a tab behind it.
        let parts = parts.map(|(host, rest)| (host, rest.split('&').next().unwrap_or_default()));
        let Some((host, token)) = parts else {
            let mut text = String::new();
            let _ = child.stderr.take().expect("standard error").read_to_string(&mut text);
            panic!("no address but `{url}`: {text}");
        };
        let port = host
            .rsplit_once(':')
            .and_then(|(_, port)| port.parse().ok())
            .expect("a port");
        Self {
            address: (Ipv4Addr::LOCALHOST, port).into(),
            token: token.to_owned(),
            url,
            child,
        }
    }

    /// GET of a path with the token.
    ///
    /// # Panics
    /// See [`http::send`].
    #[must_use]
    pub fn get(&self, path: &str, headers: &[&str]) -> Reply {
        http::get(self.address, &format!("{path}?token={}", self.token), headers)
    }

    /// Ends it with a signal: its exit code, and what it wrote to standard error.
    ///
    /// # Panics
    /// When there is no program `kill`.
    #[cfg(unix)]
    #[must_use]
    pub fn end(mut self, signal: &str) -> (Option<i32>, String) {
        let kill = Command::new("kill")
            .args([format!("-{signal}"), self.child.id().to_string()])
            .status();
        assert!(kill.expect("kill").success());
        let code = self.child.wait().expect("an end").code();
        let mut text = String::new();
        let mut messages = self.child.stderr.take().expect("standard error");
        messages.read_to_string(&mut text).expect("text");
        (code, text)
    }
}

impl Drop for View {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
