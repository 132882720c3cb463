//! Requests: whole texts, and the rest of a growing file. Models are read by the worker.

use js_sys::Uint8Array;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{RequestCache, RequestInit, Response};

use super::dom;

/// What a server says that started again, or an address that was passed on without its token.
pub(super) const FORBIDDEN: &str = "the server asks for another token: open the whole address that `kiln view` printed";

/// Why a request brought nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NetError {
    /// The server has no such file.
    Absent,
    /// The server wants a token, or another one.
    Forbidden,
    /// Nobody answers.
    Silent,
    /// Anything else, for people.
    Other(String),
}

impl NetError {
    /// A sentence about a file.
    pub(super) fn about(&self, file: &str) -> String {
        match self {
            Self::Absent => format!("{file} is missing"),
            Self::Forbidden => FORBIDDEN.to_owned(),
            Self::Silent => format!("{file} could not be read: the server does not answer"),
            Self::Other(what) => format!("{file} could not be read: {what}"),
        }
    }
}

async fn get(url: &str, fresh: bool, range: Option<String>) -> Result<Response, NetError> {
    let unreachable = |_| NetError::Silent;
    let init = RequestInit::new();
    init.set_method("GET");
    if fresh {
        init.set_cache(RequestCache::NoStore);
    }
    if let Some(range) = range {
        let headers = web_sys::Headers::new().map_err(unreachable)?;
        headers.set("Range", &range).map_err(unreachable)?;
        init.set_headers(&headers);
    }
    let window = dom::window().ok_or(NetError::Absent)?;
    let response = JsFuture::from(window.fetch_with_str_and_init(url, &init)).await;
    response.map_err(unreachable)?.dyn_into().map_err(unreachable)
}

fn checked(response: Response) -> Result<Response, NetError> {
    match response.status() {
        200 | 206 => Ok(response),
        401 | 403 => Err(NetError::Forbidden),
        404 | 410 => Err(NetError::Absent),
        other => Err(NetError::Other(format!("the server answers {other}"))),
    }
}

async fn bytes_of(response: &Response) -> Result<Vec<u8>, NetError> {
    let broken = |_| NetError::Other("the connection broke".to_owned());
    let buffer = JsFuture::from(response.array_buffer().map_err(broken)?)
        .await
        .map_err(broken)?;
    Ok(Uint8Array::new(&buffer).to_vec())
}

/// A whole file as text; `fresh` asks the server and no cache.
pub(super) async fn text(url: &str, fresh: bool) -> Result<String, NetError> {
    Ok(text_and_writer(url, fresh).await?.0)
}

/// A whole file as text, and whether a process writes to its run: `None` where the server does not know.
pub(super) async fn text_and_writer(url: &str, fresh: bool) -> Result<(String, Option<bool>), NetError> {
    let response = checked(get(url, fresh, None).await?)?;
    let writer = response.headers().get("x-kiln-writer").ok().flatten();
    let bytes = bytes_of(&response).await?;
    Ok((
        String::from_utf8_lossy(&bytes).into_owned(),
        writer.map(|writer| writer == "1"),
    ))
}

/// What a growing file has from a byte on.
pub(super) enum Rest {
    /// These bytes follow.
    More(Vec<u8>),
    /// Nothing new.
    Nothing,
    /// It is shorter than it was: another file under the same name.
    Replaced,
}

/// Asks for the bytes of a file from `from` on.
///
/// The byte before is asked for too: a file that has not grown then answers with it, and only one that shrank with an
/// error.
pub(super) async fn rest(url: &str, from: u64) -> Result<Rest, NetError> {
    let response = get(url, true, from.checked_sub(1).map(|from| format!("bytes={from}-"))).await?;
    if response.status() == 416 {
        return Ok(Rest::Replaced);
    }
    let response = checked(response)?;
    // A server without Range sends everything.
    let known = if response.status() == 200 { from } else { from.min(1) };
    let mut bytes = bytes_of(&response).await?;
    if (bytes.len() as u64) < known {
        return Ok(Rest::Replaced);
    }
    bytes.drain(..known as usize);
    Ok(if bytes.is_empty() {
        Rest::Nothing
    } else {
        Rest::More(bytes)
    })
}

/// The last bytes of a file as text; all of it from a server without Range.
pub(super) async fn end(url: &str, bytes: u32) -> Result<String, NetError> {
    let response = checked(get(url, true, Some(format!("bytes=-{bytes}"))).await?)?;
    Ok(String::from_utf8_lossy(&bytes_of(&response).await?).into_owned())
}
