//! One zstd frame (RFC 8878) from a reader to a writer.
//!
//! The compressor leaves the size of the content out of the frame's header. Readers that allocate before they decompress
//! want it there, so that the header is completed on the way.

use std::io::{self, Read, Write};

use ruzstd::encoding::{CompressionLevel, FrameCompressor};

/// Magic number and descriptor, and the byte that tells the window.
const HEAD_BYTES: usize = 6;
/// Bits of the descriptor that say how long the content's size and a dictionary's number are, and whether the window is
/// left out.
const SIZE_BITS: u8 = 0b1100_0000;
const SINGLE_SEGMENT: u8 = 0b0010_0000;
const DICTIONARY_BITS: u8 = 0b0000_0011;

/// Compresses all of `source`, which has `bytes` bytes; gives the bytes written.
///
/// # Errors
/// Those of `out`.
pub(super) fn compress(source: impl Read, bytes: u64, out: &mut impl Write) -> io::Result<u64> {
    let mut compressor = FrameCompressor::new(CompressionLevel::Fastest);
    compressor.set_source(source);
    compressor.set_drain(Drain {
        out,
        bytes,
        head: Vec::new(),
        written: 0,
        failed: None,
    });
    compressor.compress();
    match compressor.take_drain() {
        Some(Drain {
            failed: Some(error), ..
        }) => Err(error),
        Some(drain) => Ok(drain.written),
        None => Ok(0),
    }
}

/// Takes the frame. The compressor cannot be told that a write failed, so that the first error is kept and the rest of
/// the frame is dropped.
struct Drain<'a, W> {
    out: &'a mut W,
    bytes: u64,
    head: Vec<u8>,
    written: u64,
    failed: Option<io::Error>,
}

impl<W: Write> Drain<'_, W> {
    fn put(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            self.failed = self.out.write_all(bytes).err();
            self.written += bytes.len() as u64;
        }
    }

    /// The start of the frame with the content's size in it, where nothing stands in its place yet.
    fn put_head(&mut self) {
        let mut head = std::mem::take(&mut self.head);
        if head[4] & (SIZE_BITS | SINGLE_SEGMENT | DICTIONARY_BITS) == 0 {
            head[4] |= SIZE_BITS;
            head.extend(self.bytes.to_le_bytes());
        }
        self.put(&head);
    }
}

impl<W: Write> Write for Drain<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        // Nothing is written yet: the head is not complete.
        if self.written == 0 && self.failed.is_none() {
            let (head, tail) = rest.split_at(rest.len().min(HEAD_BYTES - self.head.len()));
            self.head.extend_from_slice(head);
            if self.head.len() < HEAD_BYTES {
                return Ok(bytes.len());
            }
            self.put_head();
            rest = tail;
        }
        self.put(rest);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::scene::SplitMix64;

    #[test]
    fn failed_writes_are_reported_and_end_nothing_early() {
        struct Full(usize);
        impl Write for Full {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                match self.0.checked_sub(bytes.len()) {
                    Some(left) => self.0 = left,
                    None => return Err(io::ErrorKind::StorageFull.into()),
                }
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut random = SplitMix64::new(1);
        let data: Vec<u8> = (0..400_000).map(|_| random.next_u64() as u8).collect();
        for room in [0, 10, 200_000] {
            let error = compress(data.as_slice(), data.len() as u64, &mut Full(room)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        }
        let mut all = Full(1 << 20);
        let written = compress(data.as_slice(), data.len() as u64, &mut all).unwrap();
        assert_eq!(written as usize, (1 << 20) - all.0);
    }

    #[test]
    fn the_size_of_the_content_stands_in_the_header() {
        for bytes in [1_usize, 131_072, 300_001] {
            let mut frame = Vec::new();
            let written = compress(io::repeat(7).take(bytes as u64), bytes as u64, &mut frame).unwrap();
            assert_eq!(written, frame.len() as u64);
            assert_eq!(frame[..4], 0xfd2f_b528_u32.to_le_bytes());
            assert_eq!(frame[4] & (SIZE_BITS | SINGLE_SEGMENT | DICTIONARY_BITS), SIZE_BITS);
            assert_eq!(frame[6..14], (bytes as u64).to_le_bytes());
            let mut back = Vec::new();
            ruzstd::decoding::StreamingDecoder::new(frame.as_slice())
                .unwrap()
                .read_to_end(&mut back)
                .unwrap();
            assert!(back == vec![7; bytes]);
        }
    }
}
