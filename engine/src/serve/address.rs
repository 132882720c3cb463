//! Where the server listens, and by which names it may be called.
//!
//! The browser sends the name that a person, or a web site, used in `Host`. A site whose name resolves to this machine
//! (DNS rebinding) comes with its own name, so names outside the list are refused. A number cannot be made to point
//! elsewhere: where other machines may connect at all, any address in numbers is fine.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen {
    /// Address of an interface.
    pub host: IpAddr,
    /// Port; 0 takes a free one.
    pub port: u16,
    /// Further names in `Host`, without port, for proxies and names of this machine.
    pub names: Vec<String>,
    /// Addresses that other machines reach are allowed.
    pub remote: bool,
}

impl Default for Listen {
    fn default() -> Self {
        Self {
            host: Ipv4Addr::LOCALHOST.into(),
            port: 8137,
            names: Vec::new(),
            remote: false,
        }
    }
}

/// True when machines other than this one reach the address.
#[must_use]
pub fn listens_beyond(host: IpAddr) -> bool {
    !host.is_loopback()
}

/// The names by which the server answers.
#[derive(Clone, Debug)]
pub(super) struct Names {
    names: Vec<String>,
    numbers: bool,
}

impl Names {
    /// Those of a place to listen.
    pub(super) fn of(listen: &Listen) -> Self {
        let local = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
        let own = match listen.host {
            IpAddr::V4(host) => host.to_string(),
            IpAddr::V6(host) => format!("[{host}]"),
        };
        let extra = listen.names.iter().map(|name| name.to_ascii_lowercase());
        Self {
            names: local.into_iter().chain([own]).chain(extra).collect(),
            numbers: listens_beyond(listen.host),
        }
    }

    /// Whether a `Host` header names this server. Any port is right: tunnels bring their own.
    pub(super) fn allow(&self, host: &str) -> bool {
        let Some(name) = without_port(host) else {
            return false;
        };
        let name = name.to_ascii_lowercase();
        let number = || name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        self.names.contains(&name) || (self.numbers && number())
    }
}

/// The name of `NAME`, `NAME:PORT`, `[V6]` or `[V6]:PORT`.
fn without_port(host: &str) -> Option<&str> {
    let end = match host.strip_prefix('[') {
        Some(rest) => rest.find(']')? + 2,
        None => host.find(':').unwrap_or(host.len()),
    };
    let (name, port) = host.split_at(end);
    let digits = match port.strip_prefix(':') {
        Some(digits) => digits,
        None if port.is_empty() => "",
        None => return None,
    };
    (!name.is_empty() && digits.len() <= 5 && digits.bytes().all(|b| b.is_ascii_digit())).then_some(name)
}

/// The address for people, with the token. Windows forwards `localhost` into WSL2; elsewhere the number is safer,
/// because another program could listen at the other address that `localhost` stands for.
pub(super) fn url(bound: SocketAddr, token: &str, wsl: bool) -> String {
    let port = bound.port();
    let host = match bound.ip() {
        ip if ip.is_unspecified() || (wsl && ip == IpAddr::V4(Ipv4Addr::LOCALHOST)) => "localhost".to_owned(),
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    };
    format!("http://{host}:{port}/?token={token}")
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn loopback_answers_to_its_own_names_only() {
        let names = Names::of(&Listen::default());
        for host in ["localhost", "LocalHost:80", "127.0.0.1:8137", "[::1]:1", "localhost:"] {
            assert!(names.allow(host), "{host}");
        }
        for host in [
            "",
            ":80",
            "evil.example",
            "localhost.evil.example",
            "localhost.",
            "127.0.0.2",
            "192.168.1.2:8137",
            "localhost:80:80",
            "localhost:x",
            "localhost:123456",
            "[::1",
            "[::1]x",
            "user@localhost",
            "localhost/",
        ] {
            assert!(!names.allow(host), "{host}");
        }
    }

    #[test]
    fn other_machines_come_by_number_or_by_an_allowed_name() {
        let listen = Listen {
            host: "0.0.0.0".parse().unwrap(),
            names: vec!["Rig.lan".to_owned()],
            ..Listen::default()
        };
        let names = Names::of(&listen);
        for host in ["192.168.1.2:8137", "[fe80::1]:8137", "rig.LAN", "localhost"] {
            assert!(names.allow(host), "{host}");
        }
        for host in ["evil.example", "rig.lan.evil.example", "[rig.lan]"] {
            assert!(!names.allow(host), "{host}");
        }
    }

    #[test]
    fn addresses_for_people() {
        let url = |bound: &str, wsl| url(bound.parse().unwrap(), "t", wsl);
        assert_eq!(url("127.0.0.1:81", false), "http://127.0.0.1:81/?token=t");
        assert_eq!(url("127.0.0.1:81", true), "http://localhost:81/?token=t");
        assert_eq!(url("[::1]:81", false), "http://[::1]:81/?token=t");
        assert_eq!(url("0.0.0.0:81", false), "http://localhost:81/?token=t");
        assert_eq!(url("10.0.0.7:81", true), "http://10.0.0.7:81/?token=t");
    }
}
