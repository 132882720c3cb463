//! SPZ as the browser leaves it: versions 2 and 3 without their gzip stream, and version 4. `kiln_formats::spz` says what is in it.

use kiln_formats::spz::{HEADER_BYTES, Header, VERSIONS};

use super::{Collected, MAX_WHOLE_BYTES, cut, word};
use crate::ply::{Filter, MIP_KERNEL, Refusal};

pub(super) fn read(bytes: &[u8]) -> Result<Collected, Refusal> {
    let short = || cut("SPZ");
    let start = bytes.first_chunk::<HEADER_BYTES>().ok_or_else(short)?;
    let header = Header::parse(start, VERSIONS).map_err(|e| e.to_string())?;
    let (count, sizes) = (header.count(), header.sizes());
    if sizes.iter().sum::<u64>() > MAX_WHOLE_BYTES as u64 {
        return Err(format!(
            "the SPZ file announces {count} splats, more than are opened; convert it to PLY"
        ));
    }
    let filter = match header.is_antialiased() {
        true => Filter::Mip(MIP_KERNEL),
        false => Filter::Classic,
    };
    let mut out = Collected::new(count as usize, header.degree(), filter, None)?;
    let mut each = |splat: &kiln_formats::Splat| out.take(splat);
    if header.version() == 4 {
        header.splats(&unpacked(&header, bytes)?, &mut each);
    } else {
        let mut rest = &bytes[HEADER_BYTES..];
        let mut parts = [rest; 6];
        for (part, size) in parts.iter_mut().zip(sizes) {
            (*part, rest) = rest.split_at_checked(size as usize).ok_or_else(short)?;
        }
        header.splats(&parts, &mut each);
    }
    Ok(out.end())
}

/// The attributes of version 4, each a frame.
fn unpacked(header: &Header, bytes: &[u8]) -> Result<[Vec<u8>; 6], Refusal> {
    let short = || cut("SPZ");
    let table = word(bytes, HEADER_BYTES).and_then(|at| bytes.get(at as usize..));
    let (table, mut behind) = table
        .and_then(|rest| rest.split_at_checked(header.table_bytes()))
        .ok_or_else(short)?;
    let frames = header.frames(table).map_err(|e| e.to_string())?;
    let mut parts: [Vec<u8>; 6] = Default::default();
    for ((part, size), packed) in parts.iter_mut().zip(header.sizes()).zip(frames) {
        let packed = usize::try_from(packed).ok();
        let (frame, rest) = packed
            .and_then(|packed| behind.split_at_checked(packed))
            .ok_or_else(short)?;
        part.resize(size as usize, 0);
        let unpacked = size == 0
            || ruzstd::decoding::FrameDecoder::new()
                .decode_all(frame, part)
                .is_ok_and(|length| length as u64 == size);
        if !unpacked {
            return Err("the SPZ file is damaged: a stream of it does not unpack".to_owned());
        }
        behind = rest;
    }
    Ok(parts)
}
