//! Which requests are answered: checked before anything is looked up.

use axum::http::header::{CONTENT_LENGTH, HOST, ORIGIN, TRANSFER_ENCODING};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, request::Parts};

use super::address::Names;
use super::token::Token;

/// The header that programs may send instead of the query.
const TOKEN_HEADER: HeaderName = HeaderName::from_static("x-kiln-token");

/// Why a request gets no file. The words reach the client, so they say nothing about the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    /// Neither GET nor HEAD.
    #[error("only GET and HEAD are answered")]
    Method,
    /// A request with a body.
    #[error("requests have no body here")]
    Body,
    /// No `Host`, or several.
    #[error("a request names one host")]
    NoHost,
    /// A `Host` that is not in the list.
    #[error("this server does not answer to that name; `kiln view --allow-host NAME` adds one")]
    Host,
    /// A page of another site asks.
    #[error("pages of other sites may not read this")]
    Origin,
    /// An address of another form than a path.
    #[error("only paths of this server are answered")]
    Target,
    /// Data without the right token.
    #[error("open the whole address that `kiln view` printed: the token in it is missing or is of an earlier start")]
    Token,
    /// No such file, or none that is shown.
    #[error("there is nothing here")]
    Missing,
}

impl Refusal {
    /// Status of the answer.
    pub(super) const fn status(self) -> StatusCode {
        match self {
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::Body => StatusCode::PAYLOAD_TOO_LARGE,
            Self::NoHost | Self::Target => StatusCode::BAD_REQUEST,
            Self::Host | Self::Origin | Self::Token => StatusCode::FORBIDDEN,
            Self::Missing => StatusCode::NOT_FOUND,
        }
    }
}

/// Checks what every request must fulfil.
pub(super) fn check(request: &Parts, names: &Names) -> Result<(), Refusal> {
    let headers = &request.headers;
    // A proxy's form of address carries a host of its own beside the header.
    if request.uri.authority().is_some() || request.uri.scheme().is_some() {
        return Err(Refusal::Target);
    }
    let host = only(headers, &HOST).flatten().ok_or(Refusal::NoHost)?;
    if !names.allow(host) {
        return Err(Refusal::Host);
    }
    // Browsers name the asking page in requests that cross sites; programs name none.
    match only(headers, &ORIGIN) {
        None => {}
        Some(Some(origin)) if is_own(origin, host) => {}
        Some(_) => return Err(Refusal::Origin),
    }
    if request.method != Method::GET && request.method != Method::HEAD {
        return Err(Refusal::Method);
    }
    let empty = only(headers, &CONTENT_LENGTH).is_none_or(|length| length == Some("0"));
    if !empty || headers.contains_key(TRANSFER_ENCODING) {
        return Err(Refusal::Body);
    }
    Ok(())
}

/// Checks the token of a request for data.
pub(super) fn check_token(request: &Parts, token: &Token) -> Result<(), Refusal> {
    let query = request.uri.query().unwrap_or_default();
    let in_query = query.split('&').find_map(|pair| pair.strip_prefix("token="));
    let in_header = || only(&request.headers, &TOKEN_HEADER).flatten();
    match in_query.or_else(in_header) {
        Some(offered) if token.is(offered) => Ok(()),
        _ => Err(Refusal::Token),
    }
}

/// The value of a header: `None` without it, `Some(None)` when it is there several times or is no text.
pub(super) fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<Option<&'a str>> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    Some(first.to_str().ok().filter(|_| values.next().is_none()))
}

/// Whether a page's origin is this server, called by the name of the request; a proxy may add encryption.
fn is_own(origin: &str, host: &str) -> bool {
    let rest = origin
        .strip_prefix("http://")
        .or_else(|| origin.strip_prefix("https://"));
    rest.is_some_and(|rest| rest.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::serve::Listen;
    use axum::http::Request;

    fn parts(method: &str, uri: &str, headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn the_first_thing_that_is_wrong_is_named() {
        let names = Names::of(&Listen::default());
        let host = ("host", "localhost:9");
        type Case<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], Result<(), Refusal>);
        let cases: &[Case<'_>] = &[
            ("GET", "/", &[host], Ok(())),
            ("HEAD", "/runs.json", &[host, ("content-length", "0")], Ok(())),
            ("GET", "/", &[host, ("origin", "http://localhost:9")], Ok(())),
            ("GET", "/", &[host, ("origin", "https://LOCALHOST:9")], Ok(())),
            ("GET", "/", &[], Err(Refusal::NoHost)),
            ("GET", "/", &[host, host], Err(Refusal::NoHost)),
            ("GET", "/", &[("host", "evil.example")], Err(Refusal::Host)),
            ("GET", "http://localhost:9/", &[host], Err(Refusal::Target)),
            (
                "GET",
                "/",
                &[host, ("origin", "http://localhost:8")],
                Err(Refusal::Origin),
            ),
            (
                "GET",
                "/",
                &[host, ("origin", "http://evil.example")],
                Err(Refusal::Origin),
            ),
            ("GET", "/", &[host, ("origin", "null")], Err(Refusal::Origin)),
            ("POST", "/", &[host, ("content-length", "3")], Err(Refusal::Method)),
            ("OPTIONS", "/", &[host], Err(Refusal::Method)),
            ("GET", "/", &[host, ("content-length", "3")], Err(Refusal::Body)),
            (
                "GET",
                "/",
                &[host, ("transfer-encoding", "chunked")],
                Err(Refusal::Body),
            ),
        ];
        for (method, uri, headers, expected) in cases {
            assert_eq!(
                check(&parts(method, uri, headers), &names),
                *expected,
                "{method} {uri} {headers:?}"
            );
        }
    }

    #[test]
    fn tokens_come_in_the_query_or_a_header() {
        let token = Token::random().unwrap();
        let text = token.text();
        let right = [
            (format!("/runs.json?token={text}"), vec![]),
            (format!("/runs.json?run=a&token={text}&tab=metrics"), vec![]),
            ("/runs.json".to_owned(), vec![("x-kiln-token", text)]),
        ];
        for (uri, headers) in &right {
            assert_eq!(check_token(&parts("GET", uri, headers), &token), Ok(()), "{uri}");
        }
        let wrong = [
            "/runs.json".to_owned(),
            "/runs.json?token=".to_owned(),
            format!("/runs.json?token={}", &text[1..]),
            format!("/runs.json?Token={text}"),
            format!("/runs.json?xtoken={text}"),
            format!("/runs.json?token=x&token={text}"),
        ];
        for uri in &wrong {
            assert_eq!(
                check_token(&parts("GET", uri, &[]), &token),
                Err(Refusal::Token),
                "{uri}"
            );
        }
    }
}
