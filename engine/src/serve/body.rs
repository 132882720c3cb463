//! Part of a file as the body of an answer, read piece by piece.

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::io::{AsyncRead as _, ReadBuf};

use super::range::{Part, part};
use super::validator::entity_tag;

/// Bytes read at once; one answer holds no more than this.
const PIECE_BYTES: usize = 1 << 18;

/// A file that was opened for an answer.
#[derive(Debug)]
pub(super) struct Opened {
    file: File,
    /// Bytes of the file when it was opened. It may grow meanwhile; what came later is left to the next request.
    pub(super) length: u64,
    /// The tag of this state of the file.
    pub(super) tag: Option<String>,
    /// What of it was asked for.
    pub(super) part: Part,
}

impl Opened {
    /// Moves to the first byte of the file that `range` asks for, unless that holds for another state of the file than
    /// `of` names (`If-Range`). Blocks.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(super) fn new(mut file: File, range: Option<&str>, of: Option<&str>) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let length = metadata.len();
        let tag = entity_tag(&metadata);
        let range = range.filter(|_| of.is_none_or(|of| Some(of) == tag.as_deref()));
        let part = range.map_or(Part::Whole, |range| part(range, length));
        if let Part::Bytes { start, .. } = part {
            file.seek(SeekFrom::Start(start))?;
        }
        Ok(Self {
            file,
            length,
            tag,
            part,
        })
    }

    /// Bytes of the body.
    pub(super) fn sent(&self) -> u64 {
        match self.part {
            Part::Whole => self.length,
            Part::Bytes { length, .. } => length,
            Part::Outside => 0,
        }
    }

    /// The body.
    pub(super) fn body(self) -> FileBody {
        FileBody {
            left: self.sent(),
            file: tokio::fs::File::from_std(self.file),
        }
    }
}

/// A body that reads from a file.
#[derive(Debug)]
pub(super) struct FileBody {
    file: tokio::fs::File,
    left: u64,
}

impl HttpBody for FileBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = self.get_mut();
        if this.left == 0 {
            return Poll::Ready(None);
        }
        let wanted = usize::try_from(this.left).map_or(PIECE_BYTES, |left| left.min(PIECE_BYTES));
        let mut piece = vec![0; wanted];
        let mut buffer = ReadBuf::new(&mut piece);
        let result = ready!(Pin::new(&mut this.file).poll_read(context, &mut buffer));
        let read = buffer.filled().len();
        piece.truncate(read);
        this.left -= read as u64;
        Poll::Ready(Some(match result {
            // The length was promised already: only a broken connection shows the client that bytes are missing.
            Ok(()) if read == 0 => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(()) => Ok(Frame::data(piece.into())),
            Err(error) => Err(error),
        }))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
