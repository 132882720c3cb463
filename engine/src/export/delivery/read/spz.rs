//! SPZ out of a file, versions 2 to 4, unpacked; [`kiln_formats::spz`] says what is in it.

use std::io::{BufRead, Read, copy, sink};
use std::ops::RangeInclusive;

use flate2::bufread::GzDecoder;
use kiln_formats::spz::{HEADER_BYTES, Header, KEPT_DEGREE, LONG_HEADER_BYTES};
use kiln_formats::{Error, Splat};

use super::super::super::{Notes, PlyComments, PlyError, RenderMode};
use super::room::Room;
use kiln_gaussians::Gaussians;

/// Versions of files that are one gzip stream, and of those that begin with their header.
const PACKED: RangeInclusive<u32> = 2..=3;
const PLAIN: RangeInclusive<u32> = 4..=4;

/// Reads the header of a file of any version.
pub(super) fn check(mut file: impl BufRead) -> Result<(), PlyError> {
    let start = file.fill_buf().map_err(PlyError::Io)?;
    let header = match start.starts_with(b"NGSP") {
        true => header(&mut file, PLAIN),
        false => header(&mut GzDecoder::new(file), PACKED),
    };
    header.map(|_| ())
}

/// The attributes of a file.
pub(super) struct Unpacked {
    header: Header,
    parts: [Vec<u8>; 6],
}

impl Unpacked {
    /// Those of a file that is one gzip stream, versions 2 and 3.
    pub(super) fn of_gzip(file: impl BufRead, room: &mut Room) -> Result<Self, PlyError> {
        let mut stream = GzDecoder::new(file);
        let header = header(&mut stream, PACKED)?;
        let sizes = header.sizes();
        room.take(sizes.iter().sum())?;
        let mut parts: [Vec<u8>; 6] = Default::default();
        for (part, size) in parts.iter_mut().zip(sizes) {
            *part = exactly(&mut stream, size)?;
        }
        // to the end, where the checksum of all that came before stands
        let behind = copy(&mut stream.take(room.left()), &mut sink()).map_err(damaged)?;
        room.take(behind.saturating_add(1))?;
        Ok(Self { header, parts })
    }

    /// Those of a file of version 4: a zstd frame for each attribute.
    pub(super) fn of_frames(mut file: impl BufRead, room: &mut Room) -> Result<Self, PlyError> {
        let header = header(&mut file, PLAIN)?;
        let sizes = header.sizes();
        room.take(sizes.iter().sum())?;
        let mut table = [0; 4];
        file.read_exact(&mut table).map_err(damaged)?;
        let gap = u32::from_le_bytes(table).checked_sub(LONG_HEADER_BYTES);
        let gap = u64::from(gap.ok_or_else(|| damaged("its table of sizes makes no sense"))?);
        if copy(&mut file.by_ref().take(gap), &mut sink()).map_err(damaged)? < gap {
            return Err(damaged("it is truncated"));
        }
        let frames = header.frames(&exactly(&mut file, header.table_bytes() as u64)?)?;
        let mut parts: [Vec<u8>; 6] = Default::default();
        for ((part, size), packed) in parts.iter_mut().zip(sizes).zip(frames) {
            if size > 0 {
                let mut packed = file.by_ref().take(packed);
                let mut frame = zstd::Decoder::with_buffer(&mut packed).map_err(damaged)?;
                *part = exactly(&mut frame, size)?;
                copy(&mut packed, &mut sink()).map_err(damaged)?;
            }
        }
        Ok(Self { header, parts })
    }

    pub(super) fn count(&self) -> u32 {
        self.header.count()
    }

    pub(super) fn degree(&self) -> u32 {
        self.header.degree()
    }

    pub(super) fn splats(&self, each: impl FnMut(&Splat)) {
        self.header.splats(&self.parts, each);
    }

    /// What the file says of how it is drawn; files of writers that know of no such filter look like those of others.
    pub(super) fn render_mode(&self) -> Option<RenderMode> {
        self.header.is_antialiased().then_some(RenderMode::Mip)
    }

    /// Notes what of the file is not read.
    pub(super) fn note(&self, notes: &mut Notes) {
        let degree = self.header.degree_of_file();
        if degree > KEPT_DEGREE {
            notes.remark(format!(
                "its harmonics are of degree {degree}; those above degree {KEPT_DEGREE} are left out"
            ));
        }
    }

    /// The model of all.
    pub(super) fn model(&self, notes: &mut Notes) -> (Gaussians, PlyComments) {
        self.note(notes);
        let mut model = Gaussians::with_room(self.degree(), self.count() as usize);
        let rest = model.rest_coefficients();
        self.splats(|splat| model.push(splat, rest, 0.0));
        let comments = PlyComments {
            render_mode: self.render_mode(),
            ..PlyComments::default()
        };
        (model, comments)
    }
}

fn header(file: &mut impl Read, versions: RangeInclusive<u32>) -> Result<Header, PlyError> {
    let mut bytes = [0; HEADER_BYTES];
    file.read_exact(&mut bytes).map_err(damaged)?;
    Ok(Header::parse(&bytes, versions)?)
}

/// The next `size` bytes.
fn exactly(file: &mut impl Read, size: u64) -> Result<Vec<u8>, PlyError> {
    let mut bytes = Vec::new();
    let read = file.by_ref().take(size).read_to_end(&mut bytes);
    read.map_err(damaged)?;
    match bytes.len() as u64 == size {
        true => Ok(bytes),
        false => Err(damaged("it is truncated")),
    }
}

fn damaged(what: impl ToString) -> PlyError {
    Error::Damaged(what.to_string()).into()
}
