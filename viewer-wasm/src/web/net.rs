//! Requests: whole texts, the rest of a growing file, streams of bytes.

use js_sys::{Reflect, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    File, ReadableStream, ReadableStreamDefaultReader, ReadableWritablePair, RequestCache, RequestInit, Response,
};

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

/// A whole file as text, and whether a process writes to its run: `None` where the server cannot tell.
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

#[wasm_bindgen]
extern "C" {
    // Which `web-sys` counts among what is not settled.
    #[wasm_bindgen(extends = ReadableWritablePair)]
    type DecompressionStream;
    #[wasm_bindgen(constructor, catch)]
    fn new(format: &str) -> Result<DecompressionStream, JsValue>;
}

/// First bytes of a gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The last bytes of a file as text; all of it from a server without Range.
pub(super) async fn end(url: &str, bytes: u32) -> Result<String, NetError> {
    let response = checked(get(url, true, Some(format!("bytes=-{bytes}"))).await?)?;
    Ok(String::from_utf8_lossy(&bytes_of(&response).await?).into_owned())
}

/// Bytes that arrive piece by piece.
pub(super) struct ByteStream {
    reader: ReadableStreamDefaultReader,
    /// What is wrong when it breaks off.
    broken: &'static str,
    /// All of them together, where known.
    pub(super) total: Option<u64>,
}

impl ByteStream {
    /// Opens a file of the server.
    pub(super) async fn open(url: &str, fresh: bool) -> Result<Self, NetError> {
        let response = checked(get(url, fresh, None).await?)?;
        let plain = !matches!(response.headers().get("Content-Encoding"), Ok(Some(_)));
        let length = response.headers().get("Content-Length").ok().flatten();
        let total = length.filter(|_| plain).and_then(|length| length.parse().ok());
        let body = response.body().ok_or(NetError::Absent)?;
        Self::of(body, total, "the connection broke")
    }

    /// Opens a file of the reader: its bytes, or those that it holds in a gzip stream.
    pub(super) async fn of_file(file: &File) -> Result<Self, NetError> {
        let unreadable = |_| NetError::Other("the browser cannot read the file".to_owned());
        let mark = file.slice_with_i32_and_i32(0, 2).map_err(unreadable)?.array_buffer();
        let mark = JsFuture::from(mark).await.map_err(unreadable)?;
        if Uint8Array::new(&mark).to_vec() != GZIP {
            return Self::of(file.stream(), Some(file.size() as u64), "the file went away");
        }
        let unpack = DecompressionStream::new("gzip").map_err(unreadable)?;
        let plain = file.stream().pipe_through(unpack.unchecked_ref());
        Self::of(plain, None, "the gzip file is damaged or cut off")
    }

    fn of(stream: ReadableStream, total: Option<u64>, broken: &'static str) -> Result<Self, NetError> {
        let reader = stream.get_reader().dyn_into();
        let reader = reader.map_err(|_| NetError::Other("the browser offers no streams".to_owned()))?;
        Ok(Self { reader, broken, total })
    }

    /// The next piece; `None` at the end.
    pub(super) async fn next(&self) -> Result<Option<Vec<u8>>, NetError> {
        let broken = |_| NetError::Other(self.broken.to_owned());
        let piece = JsFuture::from(self.reader.read()).await.map_err(broken)?;
        let value = Reflect::get(&piece, &JsValue::from_str("value")).map_err(broken)?;
        Ok(value.dyn_ref::<Uint8Array>().map(Uint8Array::to_vec))
    }

    /// Stops reading.
    pub(super) fn cancel(&self) {
        let _ = self.reader.cancel();
    }
}
