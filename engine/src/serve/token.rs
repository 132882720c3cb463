//! The secret in the address: a client with it may read the runs.

use std::hint::black_box;
use std::io;

/// 128 random bits as hexadecimal digits, made anew by every start of the server.
#[derive(Clone)]
pub(super) struct Token(String);

impl Token {
    /// Random bits of the operating system.
    pub(super) fn random() -> io::Result<Self> {
        let mut bytes = [0_u8; 16];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// The digits.
    pub(super) fn text(&self) -> &str {
        &self.0
    }

    /// Compares in a time that depends on the offered length only: an answer's delay reveals nothing about the digits.
    pub(super) fn is(&self, offered: &str) -> bool {
        let (own, offered) = (self.0.as_bytes(), offered.as_bytes());
        let difference = own.iter().zip(offered).fold(0, |sum, (a, b)| black_box(sum | (a ^ b)));
        own.len() == offered.len() && difference == 0
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn tokens_differ_and_equal_only_themselves() {
        let (a, b) = (Token::random().unwrap(), Token::random().unwrap());
        assert_eq!(a.text().len(), 32);
        assert!(a.text().bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert!(a.is(a.text()) && !a.is(b.text()));
        assert!(!a.is("") && !a.is(&a.text()[1..]) && !a.is(&format!("{}0", a.text())));
        let upper = Token("ab".repeat(16));
        assert!(!upper.is(&"AB".repeat(16)));
    }
}
