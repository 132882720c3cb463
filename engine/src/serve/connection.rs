//! Connections: how long they may stall, and how large a request's head may be.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpListener;
use tokio::task::yield_now;
use tokio::time::{Sleep, sleep};

use super::places::{FULL_PAUSE, Limits, Places, Seen};

/// Bytes of a request's head; an address with a token is far below. Larger ones are answered 431.
const HEAD_BYTES: usize = 16 << 10;
/// Headers of a request.
const HEADERS: usize = 64;
/// A request's head must be complete after this time, however many bytes of it come; an idle connection is closed after it too.
const HEAD_TIME: Duration = Duration::from_secs(5);
/// A client that takes no byte for this long is gone.
const STALL_TIME: Duration = Duration::from_secs(120);
/// Pause after the system refused a connection, for example because no file descriptor is left.
const REFUSED_PAUSE: Duration = Duration::from_millis(100);

/// How requests are read.
fn http() -> http1::Builder {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD_BYTES)
        .max_headers(HEADERS);
    http
}

/// Answers one client, from whom all of `requests` has come.
pub(super) async fn answer(router: Router, requests: Vec<u8>) -> Vec<u8> {
    let answers = Arc::default();
    let stream = Spoken {
        requests,
        read: 0,
        answers: Arc::clone(&answers),
    };
    let io = TokioIo::new(Patient { stream, stalled: None });
    // What breaks a connection is the client's affair.
    let _ = http().serve_connection(io, TowerToHyperService::new(router)).await;
    let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
    std::mem::take(&mut *answers)
}

/// A client that has said everything and listens to everything.
struct Spoken {
    requests: Vec<u8>,
    read: usize,
    answers: Arc<Mutex<Vec<u8>>>,
}

impl AsyncRead for Spoken {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let left = &self.requests[self.read..];
        let bytes = left.len().min(buf.remaining());
        buf.put_slice(&left[..bytes]);
        self.read += bytes;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Spoken {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Accepts connections for ever.
pub(super) async fn accept(listener: TcpListener, router: Router) {
    let http = http();
    let places = Places::new(Limits::of_process());
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            places.make_room();
            sleep(REFUSED_PAUSE).await;
            continue;
        };
        let place = loop {
            match places.admit() {
                Some(place) => break place,
                None => sleep(FULL_PAUSE).await,
            }
        };
        // A system that refuses the option only sends small answers a little later.
        let _ = stream.set_nodelay(true);
        let patient = Patient {
            stream: Listening {
                stream,
                seen: place.seen(),
            },
            stalled: None,
        };
        let router = router.clone().layer(Extension(place.clone()));
        let connection = http.serve_connection(TokioIo::new(patient), TowerToHyperService::new(router));
        // What breaks a connection is the client's affair; others go on.
        let task = tokio::spawn(async move {
            let _ = connection.await;
        });
        place.held_by(task.abort_handle());
        // One that was ended for this one lets go of its socket now.
        yield_now().await;
    }
}

/// A stream that notes when bytes pass.
struct Listening<S> {
    stream: S,
    seen: Arc<Seen>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Listening<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let read = ready!(Pin::new(&mut self.stream).poll_read(context, buf));
        self.seen.now();
        Poll::Ready(read)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Listening<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes));
        self.seen.now();
        Poll::Ready(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// A stream that fails when its client takes nothing for [`STALL_TIME`].
struct Patient<S> {
    stream: S,
    /// Runs while a write waits.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if let Poll::Ready(result) = Pin::new(&mut self.stream).poll_write(context, bytes) {
            self.stalled = None;
            return Poll::Ready(result);
        }
        let alarm = self.stalled.get_or_insert_with(|| Box::pin(sleep(STALL_TIME)));
        ready!(alarm.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
