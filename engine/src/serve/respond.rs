//! Requests to answers.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT_ENCODING, ACCEPT_RANGES, ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE,
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, IF_RANGE, RANGE, REFERRER_POLICY, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use serde_json::Value;
use tokio::task::spawn_blocking;
use tower_http::set_header::SetResponseHeaderLayer;
use tower_http::timeout::TimeoutLayer;

use super::address::Names;
use super::assets::{self, Asset};
use super::body::Opened;
use super::guard::{self, Refusal};
use super::layout::{may_be_kept, media_type};
use super::places::Place;
use super::projects;
use super::published;
use super::range::Part;
use super::root::{RUN_JSON_BYTES, Root, Run};
use super::segments::segments;
use super::token::Token;
use super::validator::names;
use crate::record::run_folder::{is_written_to, record_path};

/// An answer must begin after this time; a disk that sleeps needs some seconds.
const ANSWER_TIME: Duration = Duration::from_secs(30);

/// Headers of every answer: nothing but this server's own files runs, is shown or is connected to, no other page may
/// frame, read or hold on to it, and the address with its token goes to no other site.
const HEADERS: [(HeaderName, &str); 5] = [
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; \
         img-src 'self' blob: data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Beside a run's index: whether a process writes to the run. One that says `running` without a writer has died.
const WRITER: HeaderName = HeaderName::from_static("x-kiln-writer");

/// What answers are made from.
#[derive(Clone)]
pub(super) struct Site {
    /// The runs.
    pub(super) root: Root,
    /// The server's names.
    pub(super) names: Names,
    /// The secret.
    pub(super) token: Token,
}

/// The service of a site.
pub(super) fn router(site: Site) -> Router {
    let mut router = Router::new()
        .fallback(respond)
        .with_state(Arc::new(site))
        .layer(TimeoutLayer::with_status_code(StatusCode::GATEWAY_TIMEOUT, ANSWER_TIME));
    for (name, value) in HEADERS {
        router = router.layer(SetResponseHeaderLayer::overriding(
            name,
            HeaderValue::from_static(value),
        ));
    }
    router
}

async fn respond(State(site): State<Arc<Site>>, request: Request) -> Response<Body> {
    let (request, _) = request.into_parts();
    let head = request.method == Method::HEAD;
    let answered = async {
        guard::check(&request, &site.names)?;
        if let Some(place) = request.extensions.get::<Place>() {
            place.asked(guard::check_token(&request, &site.token).is_ok()).await;
        }
        // What cannot be a path of ours is answered like one that leads nowhere.
        let path = segments(request.uri.path()).ok_or(Refusal::Missing)?;
        match path.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["runs.json"] => {
                guard::check_token(&request, &site.token)?;
                index(Arc::clone(&site), |root| root.runs().iter().map(Run::path).collect()).await
            }
            ["comparisons.json"] => {
                guard::check_token(&request, &site.token)?;
                index(Arc::clone(&site), |root| root.comparisons().into()).await
            }
            ["projects.json"] => {
                guard::check_token(&request, &site.token)?;
                index(Arc::clone(&site), projects::index).await
            }
            ["runs", ..] => {
                guard::check_token(&request, &site.token)?;
                run_file(Arc::clone(&site), path, &request.headers).await
            }
            [name] => assets::find(name)
                .map(|asset| page_file(asset, &request.headers))
                .ok_or(Refusal::Missing),
            _ => Err(Refusal::Missing),
        }
    };
    let mut response = answered.await.unwrap_or_else(refuse);
    if head {
        *response.body_mut() = Body::empty();
    }
    response
}

/// `runs.json`, `comparisons.json` and `projects.json`, looked for on each request.
async fn index(site: Arc<Site>, list: fn(&Root) -> Value) -> Result<Response<Body>, Refusal> {
    let listed = spawn_blocking(move || list(&site.root)).await;
    let text = listed.map_err(|_| Refusal::Missing)?.to_string();
    let mut response = whole(text.into(), "application/json");
    set(&mut response, CACHE_CONTROL, "no-store");
    Ok(response)
}

/// A file of a run, or a part of it.
async fn run_file(site: Arc<Site>, path: Vec<String>, headers: &HeaderMap) -> Result<Response<Body>, Refusal> {
    let media = media_type(path.last().map_or("", String::as_str));
    let kept = path.last().is_some_and(|name| may_be_kept(name));
    let text = |name| guard::only(headers, name).flatten().map(str::to_owned);
    // a header that cannot be read names no state that is known
    let of = headers
        .contains_key(IF_RANGE)
        .then(|| text(&IF_RANGE).unwrap_or_default());
    let (range, known) = (text(&RANGE), text(&IF_NONE_MATCH));
    let opening = spawn_blocking(move || {
        let inside = path.get(1..)?;
        if let Some(text) = site.root.made(inside) {
            return Some(Err((text, None)));
        }
        let place = site.root.file(inside)?;
        let writer = writer_of(&place);
        if let Some(text) = published_of(&site.root, &place) {
            return Some(Err((text, writer)));
        }
        let opened = Opened::new(
            site.root.open_at(&place)?,
            range.as_deref(),
            of.as_deref().map(|of| if kept { of } else { "" }),
        )
        .ok()?;
        Some(Ok((opened, writer)))
    });
    let (opened, writer) = match opening.await.ok().flatten().ok_or(Refusal::Missing)? {
        Ok(opened) => opened,
        Err((made, writer)) => {
            let mut response = whole(made.into(), media);
            set(&mut response, CACHE_CONTROL, "no-store");
            say_writer(&mut response, writer);
            return Ok(response);
        }
    };
    let tag = opened.tag.clone().filter(|_| kept);
    if let (Some(tag), Some(known)) = (&tag, known)
        && names(&known, tag)
    {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        validate(&mut response, tag);
        return Ok(response);
    }
    let (length, sent, part) = (opened.length, opened.sent(), opened.part);
    let mut response = match part {
        Part::Outside => Response::new(Body::empty()),
        Part::Whole | Part::Bytes { .. } => Response::new(Body::new(opened.body())),
    };
    let range = match part {
        Part::Whole => None,
        Part::Outside => {
            *response.status_mut() = StatusCode::RANGE_NOT_SATISFIABLE;
            Some(format!("bytes */{length}"))
        }
        Part::Bytes { start, length: count } => {
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            Some(format!("bytes {start}-{}/{length}", start + count - 1))
        }
    };
    if let Some(range) = range.and_then(|range| HeaderValue::try_from(range).ok()) {
        response.headers_mut().insert(CONTENT_RANGE, range);
    }
    response.headers_mut().insert(CONTENT_LENGTH, sent.into());
    set(&mut response, CONTENT_TYPE, media);
    set(&mut response, ACCEPT_RANGES, "bytes");
    match tag {
        Some(tag) => validate(&mut response, &tag),
        None => set(&mut response, CACHE_CONTROL, "no-store"),
    }
    say_writer(&mut response, writer);
    Ok(response)
}

fn say_writer(response: &mut Response<Body>, writer: Option<bool>) {
    if let Some(writer) = writer {
        set(response, WRITER, if writer { "1" } else { "0" });
    }
}

/// What is sent for the index of a run whose file names places on this machine.
fn published_of(root: &Root, place: &Path) -> Option<String> {
    place.parent().filter(|folder| record_path(folder) == place)?;
    let mut text = String::new();
    let bytes = root
        .open_at(place)?
        .take(RUN_JSON_BYTES + 1)
        .read_to_string(&mut text)
        .ok()?;
    (bytes as u64 <= RUN_JSON_BYTES)
        .then(|| published::index(&text))
        .flatten()
}

/// Lets a browser, and nobody on the way, keep the answer and ask whether it still holds.
fn validate(response: &mut Response<Body>, tag: &str) {
    set(response, CACHE_CONTROL, "private, no-cache");
    if let Ok(tag) = HeaderValue::try_from(tag) {
        response.headers_mut().insert(ETAG, tag);
    }
}

/// Whether a process writes to the run whose index `place` is; `None` for other files, and where the system does not show it.
fn writer_of(place: &Path) -> Option<bool> {
    let folder = place.parent()?;
    (record_path(folder) == place).then(|| is_written_to(folder)).flatten()
}

/// A file of the page, compressed where the browser takes it.
fn page_file(asset: &'static Asset, headers: &HeaderMap) -> Response<Body> {
    let accepted = || {
        headers
            .get_all(ACCEPT_ENCODING)
            .iter()
            .filter_map(|value| value.to_str().ok())
    };
    let brotli = asset.brotli.filter(|_| accepted().any(assets::accepts_brotli));
    let mut response = whole(Body::from(brotli.unwrap_or(asset.bytes)), media_type(asset.name));
    if brotli.is_some() {
        set(&mut response, CONTENT_ENCODING, "br");
    }
    set(&mut response, VARY, "accept-encoding");
    // Another build may listen here next time.
    set(&mut response, CACHE_CONTROL, "no-cache");
    response
}

/// The answer to a request that gets no file.
fn refuse(refusal: Refusal) -> Response<Body> {
    let mut response = whole(format!("{refusal}\n").into(), "text/plain; charset=utf-8");
    *response.status_mut() = refusal.status();
    set(&mut response, CACHE_CONTROL, "no-store");
    match refusal {
        Refusal::Method => set(&mut response, ALLOW, "GET, HEAD"),
        // What follows such a head is not read.
        Refusal::Body => set(&mut response, CONNECTION, "close"),
        _ => {}
    }
    response
}

/// An answer with its length, which HEAD needs too.
fn whole(body: Body, media: &'static str) -> Response<Body> {
    let length = axum::body::HttpBody::size_hint(&body).exact();
    let mut response = Response::new(body);
    if let Some(length) = length {
        response.headers_mut().insert(CONTENT_LENGTH, length.into());
    }
    set(&mut response, CONTENT_TYPE, media);
    response
}

fn set(response: &mut Response<Body>, name: HeaderName, value: &'static str) {
    response.headers_mut().insert(name, HeaderValue::from_static(value));
}
