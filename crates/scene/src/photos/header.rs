//! Image sizes and orientations from file headers, without decoding.
//!
//! JPEG files are walked segment by segment, so that a data set of thousands of photographs is indexed by reading some
//! kilobytes of each; other formats go through their decoders, which read no more than they need.

use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use image::metadata::Orientation;
use image::{ImageDecoder as _, ImageError, ImageReader};
use kiln_files::open_regular;

use super::{exif, exr, room};
use crate::SceneError;
use crate::fence::Fence;
use crate::resolution::MAX_SIDE_PX;

/// Most pixels an image may have: 2^28, a gigabyte as RGBA.
const MAX_PIXELS: u64 = 1 << 28;
/// Header reads wait on the disk, so a few more threads than cores pay.
const THREADS: usize = 8;
/// Most segments of a JPEG file that are walked to find its size.
const MAX_SEGMENTS: u32 = 4096;
/// Bytes of a pixel of three 8-bit channels.
const RGB_BYTES: u32 = 3;
/// The same with a progressive JPEG's coefficients, a third of what is there of it while it is decoded.
pub(super) const JPEG_BYTES: u32 = 4;
/// Before the orientation's directory in a JPEG segment.
const EXIF: &[u8] = b"Exif\0\0";

/// What a header said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Width of the stored picture, pixels.
    pub(crate) width: u32,
    /// Height of the stored picture, pixels.
    pub(crate) height: u32,
    /// How the picture must be turned to be upright.
    pub(crate) orientation: Orientation,
    /// Bytes of a pixel as the decoder gives it.
    pub(crate) pixel_bytes: u32,
    /// The picture may have an alpha channel.
    pub(crate) alpha: bool,
    /// Light that the photo took as its camera wrote it, thousandths of a stop.
    pub(crate) milli_stops: Option<i32>,
}

impl Header {
    #[cfg(test)]
    pub(crate) const fn of_size(width: u32, height: u32) -> Self {
        Self {
            width,
            height,
            orientation: Orientation::NoTransforms,
            pixel_bytes: RGB_BYTES,
            alpha: false,
            milli_stops: None,
        }
    }
}

/// The header of a file; `None` where there is no such file, an error where it cannot be one of an image.
pub(crate) type Found = Result<Option<Header>, SceneError>;

/// Headers of many files, read by a few threads, in the order of `paths`.
///
/// # Errors
/// [`SceneError::LinkOut`] when links lead out of the fence.
pub(crate) fn read_all(paths: &[PathBuf], fence: &Fence) -> Result<Vec<Found>, SceneError> {
    let some = |part: &[PathBuf]| part.iter().map(|path| read_caught(path, fence)).collect::<Vec<Found>>();
    let headers: Vec<Found> = if paths.len() <= THREADS {
        // Starting threads costs more than these few.
        some(paths)
    } else {
        let share = paths.len().div_ceil(THREADS).max(1);
        std::thread::scope(|scope| {
            let threads: Vec<_> = paths
                .chunks(share)
                .map(|part| (part, scope.spawn(move || some(part))))
                .collect();
            let joined = threads.into_iter().flat_map(|(part, thread)| {
                let none_read = || part.iter().map(|path| Err(decoder_panic(path))).collect();
                thread.join().unwrap_or_else(|_| none_read())
            });
            joined.collect()
        })
    };
    let leads_out = |found: &Found| matches!(found, Err(SceneError::LinkOut { .. }));
    match headers.iter().position(leads_out) {
        Some(at) => headers.into_iter().skip(at).map(|found| found.map(Ok)).collect(),
        None => Ok(headers),
    }
}

/// A decoder that panics on a hostile file costs that file.
fn read_caught(path: &Path, fence: &Fence) -> Found {
    std::panic::catch_unwind(|| read(path, fence)).unwrap_or_else(|_| Err(decoder_panic(path)))
}

fn decoder_panic(path: &Path) -> SceneError {
    SceneError::Image {
        path: path.to_owned(),
        detail: "the decoder failed on its header".to_owned(),
    }
}

fn read(path: &Path, fence: &Fence) -> Found {
    let bad = |detail: String| SceneError::Image {
        path: path.to_owned(),
        detail,
    };
    let cut_short = |e: io::Error| bad(format!("the header is cut short ({e})"));
    let absent = |e: &io::Error| matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    // before it is opened: a pipe without a writer would be waited for
    match path.metadata() {
        Ok(kind) if kind.is_file() => {}
        Ok(kind) if kind.is_dir() => return Err(bad("it is a folder".to_owned())),
        Ok(_) => return Err(bad("it is neither a file nor a folder".to_owned())),
        Err(e) if absent(&e) => return Ok(None),
        Err(e) => return Err(SceneError::io(path, "open", e)),
    }
    fence.check(path)?;
    let file = open_regular(path).map_err(|e| SceneError::io(path, "open", e))?;
    let file_bytes = file.metadata().map_err(|e| SceneError::io(path, "inspect", e))?.len();
    if file_bytes == 0 {
        return Err(bad("the file is empty".to_owned()));
    }
    let mut file = BufReader::with_capacity(1 << 12, file);
    let mut start = [0; 4];
    // a file of fewer bytes is no image, which its decoder says
    let _ = file.read_exact(&mut start);
    let after = if start.starts_with(&[0xff, 0xd8]) { 2 } else { 0 };
    file.seek(SeekFrom::Start(after))
        .map_err(|e| SceneError::io(path, "read", e))?;
    let mut milli_stops = None;
    let (width, height, orientation, pixel_bytes, alpha) = if after > 0 {
        let frame = jpeg(&mut file).map_err(cut_short)?;
        let frame = frame.ok_or_else(|| bad("it has no JPEG frame header".to_owned()))?;
        milli_stops = frame.milli_stops;
        let (width, height) = frame.size;
        (width, height, frame.orientation, RGB_BYTES, false)
    } else if exr::is_exr(&start) {
        let (width, height, bytes) = exr::size(file).map_err(bad)?;
        (width, height, Orientation::NoTransforms, bytes, true)
    } else {
        // formats are known by content: a JPEG named .png is common and harmless
        let reader = ImageReader::new(file).with_guessed_format();
        let decoder = reader.map_err(|e| SceneError::io(path, "read", e))?.into_decoder();
        let mut decoder = decoder.map_err(|e| match e {
            ImageError::IoError(e) => cut_short(e),
            ImageError::Unsupported(e) => bad(unread(path).unwrap_or_else(|| e.to_string())),
            e => bad(e.to_string()),
        })?;
        let (width, height) = decoder.dimensions();
        // a damaged tag is no tag: the picture itself may be fine
        (
            width,
            height,
            decoder.orientation().unwrap_or(Orientation::NoTransforms),
            decoder.color_type().bytes_per_pixel().into(),
            decoder.color_type().has_alpha(),
        )
    };
    if !is_possible((width, height)) {
        return Err(bad(format!(
            "its size of {width}x{height} pixels is outside 1..={MAX_SIDE_PX} or above 2^28 pixels"
        )));
    }
    let decoded_bytes = if after > 0 { JPEG_BYTES } else { pixel_bytes };
    room::check(file_bytes, (width, height), decoded_bytes).map_err(bad)?;
    Ok(Some(Header {
        width,
        height,
        orientation,
        pixel_bytes,
        alpha,
        milli_stops,
    }))
}

/// True for sizes that an image may have.
pub(crate) fn is_possible((width, height): (u32, u32)) -> bool {
    let sides = 1..=MAX_SIDE_PX;
    let pixels = u64::from(width) * u64::from(height);
    sides.contains(&width) && sides.contains(&height) && pixels <= MAX_PIXELS
}

/// What the segments of a JPEG file say.
struct Frame {
    size: (u32, u32),
    orientation: Orientation,
    milli_stops: Option<i32>,
}

/// Size, orientation and light of a JPEG file after its first two bytes; `None` when picture data comes before any size.
fn jpeg(file: &mut (impl Read + Seek)) -> io::Result<Option<Frame>> {
    let mut orientation = Orientation::NoTransforms;
    let mut milli_stops = None;
    for _ in 0..MAX_SEGMENTS {
        let mut byte = [0; 1];
        file.read_exact(&mut byte)?;
        if byte != [0xff] {
            return Ok(None);
        }
        // fill bytes may precede a marker
        while byte == [0xff] {
            file.read_exact(&mut byte)?;
        }
        let marker = byte[0];
        if matches!(marker, 0x01 | 0xd0..=0xd7) {
            continue;
        }
        // end of image, start of scan
        if matches!(marker, 0x00 | 0xd8..=0xda) {
            return Ok(None);
        }
        let mut length = [0; 2];
        file.read_exact(&mut length)?;
        let Some(length) = u16::from_be_bytes(length).checked_sub(2) else {
            return Ok(None);
        };
        match marker {
            // every kind of frame; 0xc4, 0xc8 and 0xcc are tables
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                let mut frame = [0; 5];
                file.read_exact(&mut frame)?;
                let [_, h1, h0, w1, w0] = frame;
                let side = |high, low| u32::from(u16::from_be_bytes([high, low]));
                return Ok(Some(Frame {
                    size: (side(w1, w0), side(h1, h0)),
                    orientation,
                    milli_stops,
                }));
            }
            0xe1 => {
                let mut segment = vec![0; length.into()];
                file.read_exact(&mut segment)?;
                let tiff = segment.strip_prefix(EXIF);
                orientation = tiff.and_then(Orientation::from_exif_chunk).unwrap_or(orientation);
                milli_stops = tiff.and_then(exif::milli_stops).or(milli_stops);
            }
            _ => {
                file.seek(SeekFrom::Current(length.into()))?;
            }
        }
    }
    Ok(None)
}

/// What a file is that is an image and is not read, and the command that makes one of it that is.
fn unread(path: &Path) -> Option<String> {
    let mut start = [0; 12];
    open_regular(path)
        .and_then(|mut file| file.read_exact(&mut start))
        .ok()?;
    let format = match &start {
        [_, _, _, _, b'f', b't', b'y', b'p', b'a', b'v', b'i', ..] => "AVIF",
        [_, _, _, _, b'f', b't', b'y', b'p', ..] => "HEIC",
        _ => return None,
    };
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    let files = path.with_file_name(format!("*.{extension}"));
    Some(format!(
        "it is {format}; ImageMagick converts all of them: `mogrify -format png {}`",
        files.display()
    ))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_scratch::{Scratch, jpeg_with_orientation};

    #[test]
    fn headers_keep_their_order_and_missing_files_are_none() {
        let folder = Scratch::new();
        let mut paths: Vec<PathBuf> = (1..30)
            .map(|n| folder.write_png(&format!("{n}.png"), n, 2, 3, &vec![0; n as usize * 6]))
            .collect();
        paths.push(folder.path().join("absent.png"));
        let headers = read_all(&paths, &Fence::open()).unwrap();
        assert!((1..30).all(|n| headers[n as usize - 1].clone().unwrap() == Some(Header::of_size(n, 2))));
        assert_eq!(headers[29].clone().unwrap(), None);
        assert!(read_all(&[], &Fence::open()).unwrap().is_empty());
    }

    #[test]
    fn jpeg_headers_agree_with_the_decoder() {
        let folder = Scratch::new();
        for tag in 0..=8 {
            let path = folder.write("a.jpg", jpeg_with_orientation(37, 21, tag));
            let mut decoder = ImageReader::open(&path).unwrap().into_decoder().unwrap();
            let header = read(&path, &Fence::open()).unwrap().unwrap();
            assert_eq!((header.width, header.height), decoder.dimensions());
            assert_eq!(header.orientation, decoder.orientation().unwrap(), "tag {tag}");
        }
    }

    #[test]
    fn images_that_are_not_read_come_with_the_command_that_converts_them() {
        let folder = Scratch::new();
        let files: [(&str, &[u8], &str); 2] = [
            ("c.heic", b"\0\0\0\x18ftypheic\0\0\0\0", "HEIC"),
            ("d.avif", b"\0\0\0\x18ftypavif\0\0\0\0", "AVIF"),
        ];
        for (name, bytes, format) in files {
            let path = folder.write(name, bytes);
            let error = read(&path, &Fence::open()).unwrap_err().to_string();
            let extension = path.extension().unwrap().to_str().unwrap();
            assert!(error.contains(&format!("it is {format};")), "{error}");
            assert!(
                error.contains("`mogrify -format png ") && error.contains(&format!("*.{extension}`")),
                "{error}"
            );
        }
    }

    #[test]
    fn broken_headers_name_the_file() {
        let folder = Scratch::new();
        let whole = jpeg_with_orientation(37, 21, 6);
        let cut = &whole[..whole.len().min(60)];
        let endless = [&[0xff, 0xd8][..], &[0xff, 0x01].repeat(5000)].concat();
        for bytes in [
            &b"not an image"[..],
            b"",
            b"\x89PNG\r\n\x1a\n\0\0",
            b"\xff\xd8",
            b"\xff\xd8\xff\xe1\0",
            b"\xff\xd8\xff\xda\0\x08",
            b"\xff\xd8\xff\xc0\0\x0b\x08\0\0\0\0",
            b"\xff\xd8\xff\xe0\0\x01",
            b"RIFF\x24\0\0\0WEBPVP8 ",
            b"II*\0\x08\0\0\0\0\0\0\0\0\0",
            b"\x76\x2f\x31\x01\x02\0\0\0channels",
            cut,
            &endless,
        ] {
            let path = folder.write("broken.png", bytes);
            let found = read_all(&[path], &Fence::open()).unwrap().remove(0);
            let message = found.unwrap_err().to_string();
            assert!(message.contains("broken.png"), "{message}");
        }
    }

    /// Nothing is allocated for a picture whose header claims more pixels than any camera has.
    #[test]
    fn bombs_are_refused_by_their_header() {
        let folder = Scratch::new();
        let path = folder.write_png("bomb.png", 4, 4, 3, &[0; 48]);
        let mut bytes = std::fs::read(&path).unwrap();
        for (width, height) in [(100_000_u32, 100_000_u32), (65_000, 65_000), (u32::MAX >> 1, 1)] {
            bytes[16..20].copy_from_slice(&width.to_be_bytes());
            bytes[20..24].copy_from_slice(&height.to_be_bytes());
            let crc = crc32(&bytes[12..29]);
            bytes[29..33].copy_from_slice(&crc.to_be_bytes());
            std::fs::write(&path, &bytes).unwrap();
            let found = read_all(std::slice::from_ref(&path), &Fence::open()).unwrap();
            let message = found[0].clone().unwrap_err().to_string();
            assert!(message.contains("bomb.png"), "{message}");
        }
    }

    /// The checksum of a PNG chunk.
    fn crc32(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(u32::MAX, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
                (crc >> 1) ^ (0xedb8_8320 & 0_u32.wrapping_sub(crc & 1))
            })
        })
    }
}
