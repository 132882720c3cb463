//! A small HTTP client over a plain socket: sends exactly the bytes it is given, and reads one answer.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long an answer may take before a test fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// An answer.
#[derive(Debug)]
pub struct Reply {
    /// Status code; 0 when the server closed the connection without an answer.
    pub status: u16,
    /// Names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// Everything after the head.
    pub body: Vec<u8>,
}

impl Reply {
    /// The value of a header that comes once.
    ///
    /// # Panics
    /// When it comes several times.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(own, _)| own == name);
        let first = values.next();
        assert!(values.next().is_none(), "{name} comes twice: {:?}", self.headers);
        first.map(|(_, value)| value.as_str())
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Sends `request` as it is and reads the answer.
///
/// # Panics
/// When there is no connection, or no answer in time.
#[must_use]
pub fn send(address: SocketAddr, request: &[u8]) -> Reply {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    // A server that refuses early closes while the rest is on its way.
    let _ = stream.write_all(request);
    read(&mut stream, request.starts_with(b"HEAD "))
}

/// Reads one answer.
///
/// # Panics
/// When it does not come in time.
pub fn read(stream: &mut TcpStream, head_only: bool) -> Reply {
    let mut bytes = Vec::new();
    let mut piece = vec![0; 1 << 16];
    loop {
        if let Some(reply) = whole(&bytes, head_only) {
            return reply;
        }
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => bytes.extend_from_slice(&piece[..read]),
            // What was sent before a reset is the answer.
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
            Err(error) => panic!("no whole answer: {error}: {}", String::from_utf8_lossy(&bytes)),
        }
    }
    parse(&bytes).unwrap_or(Reply {
        status: 0,
        headers: Vec::new(),
        body: bytes,
    })
}

/// The answer, when it has come whole by its own length.
fn whole(bytes: &[u8], head_only: bool) -> Option<Reply> {
    let mut reply = parse(bytes)?;
    let length = reply.header("content-length").and_then(|length| length.parse().ok());
    let length = if head_only { 0 } else { length? };
    (reply.body.len() >= length).then(|| {
        reply.body.truncate(length);
        reply
    })
}

fn parse(bytes: &[u8]) -> Option<Reply> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let header = |line: &str| {
        let (name, value) = line.split_once(':').expect("a header");
        (name.to_ascii_lowercase(), value.trim().to_owned())
    };
    Some(Reply {
        status,
        headers: lines.map(header).collect(),
        body: bytes[end + 4..].to_vec(),
    })
}

/// A request without body, from its first line's method and target and further header lines.
#[must_use]
pub fn request(address: SocketAddr, method: &str, target: &str, headers: &[&str]) -> Vec<u8> {
    let mut text = format!("{method} {target} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
    for header in headers {
        text += header;
        text += "\r\n";
    }
    (text + "\r\n").into_bytes()
}

/// GET of a target with further header lines.
///
/// # Panics
/// See [`send`].
#[must_use]
pub fn get(address: SocketAddr, target: &str, headers: &[&str]) -> Reply {
    send(address, &request(address, "GET", target, headers))
}
