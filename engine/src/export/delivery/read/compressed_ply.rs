//! Compressed PLY out of a file; [`kiln_formats::compressed_ply`] says what is in it.

use std::io::{BufRead, Seek, SeekFrom};

use kiln_formats::compressed_ply::{CompressedPly, Record};
use kiln_ply::Reader;

use super::super::super::{PlyComments, PlyError};
use kiln_gaussians::Gaussians;

/// Reads a model; `None` of PLY files of any other kind, and of files that are none.
pub(super) fn read(file: impl BufRead + Seek) -> Result<Option<(Gaussians, PlyComments)>, PlyError> {
    let mut reader = Reader::new(file);
    let Ok(header) = reader.header() else { return Ok(None) };
    let Some(mut records) = CompressedPly::new(&header)? else {
        return Ok(None);
    };
    let start = reader.offset();
    let mut file = reader.into_inner();
    let size = file.seek(SeekFrom::End(0)).map_err(PlyError::Io)?;
    let data = header
        .elements
        .iter()
        .map(|element| u128::from(element.count) * element.stride as u128);
    let needed = u128::from(start) + data.sum::<u128>();
    if needed > u128::from(size) {
        return Err(PlyError::Truncated { needed, size });
    }
    file.seek(SeekFrom::Start(start)).map_err(PlyError::Io)?;
    let mut model = Gaussians::with_room(records.degree(), records.count() as usize);
    let rest = model.rest_coefficients();
    let mut record = Vec::new();
    while let Some(stride) = records.stride() {
        record.resize(stride, 0);
        file.read_exact(&mut record).map_err(PlyError::Io)?;
        match records.read(&record) {
            Record::Nothing => {}
            Record::Splat(splat) => model.push(&splat, 0, 0.0),
            Record::Harmonics(harmonics) => model.sh_rest.extend(harmonics[..rest].as_flattened()),
        }
    }
    Ok(Some((model, PlyComments::of(&header.comments))))
}
