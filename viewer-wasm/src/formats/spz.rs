//! SPZ, versions 2 to 4: attribute after attribute in few bits, compressed.
//!
//! Versions 2 and 3 are a header of 16 bytes and the attributes in one gzip stream; version 4 is a plain header, a table
//! of sizes and a zstd frame for each attribute. Axes are y up, z backward.

use super::gltf::turned;
use super::{Collected, MAX_WHOLE_BYTES, cut, word};
use crate::math::{pow, unit_quat};
use crate::ply::{Filter, MIP_KERNEL, Refusal};
use crate::splat::{REST_MAX, Splat};

/// Bytes of the header of versions 2 and 3.
const HEADER_BYTES: usize = 16;
/// Flag: trained with the screen-space filter of Mip-Splatting.
const ANTIALIASED: u8 = 1;
/// What a colour coefficient was multiplied with.
const COLOUR_SCALE: f32 = 0.15;

/// Reads a file of version 4, or one of the others without its gzip stream, which the browser unpacks.
pub(super) fn read(bytes: &[u8]) -> Result<Collected, Refusal> {
    let short = || cut("SPZ");
    let version = word(bytes, 4).ok_or_else(short)?;
    let count = word(bytes, 8).ok_or_else(short)? as usize;
    let &[degree, fraction_bits, flags, streams] = bytes.get(12..16).ok_or_else(short)? else {
        return Err(short());
    };
    let file_rest = ((usize::from(degree) + 1).pow(2) - 1).min(255);
    let quat_bytes = if version == 2 { 3 } else { 4 };
    let sizes = [9, 1, 3, 3, quat_bytes, 3 * file_rest];
    if count.saturating_mul(sizes.iter().sum()) > MAX_WHOLE_BYTES {
        return Err(format!(
            "the SPZ file announces {count} splats, more than are opened; convert it to PLY"
        ));
    }
    let frames = match version {
        2 | 3 => {
            let mut rest = bytes.get(HEADER_BYTES..).ok_or_else(short)?;
            let mut parts = Vec::new();
            for size in sizes {
                let (part, behind) = rest.split_at_checked(size * count).ok_or_else(short)?;
                parts.push(part.to_vec());
                rest = behind;
            }
            parts
        }
        4 => frames(bytes, usize::from(streams), &sizes.map(|size| size * count))?,
        other => return Err(format!("SPZ of version {other} is not opened; versions 2 to 4 are")),
    };
    let [means, opacities, colours, scales, quats, harmonics] = frames.as_slice() else {
        return Err(short());
    };
    let filter = if flags & ANTIALIASED == 0 {
        Filter::Classic
    } else {
        Filter::Mip(MIP_KERNEL)
    };
    let mut out = Collected::new(count, u32::from(degree.min(3)), filter, None)?;
    let step = pow(2.0, -f64::from(fraction_bits)) as f32;
    for i in 0..count {
        let mean = std::array::from_fn(|axis| {
            let at = 9 * i + 3 * axis;
            // Three bytes with their sign.
            let fixed = i32::from_le_bytes([0, means[at], means[at + 1], means[at + 2]]) >> 8;
            fixed as f32 * step
        });
        let three = |part: &[u8]| -> [f32; 3] { std::array::from_fn(|c| f32::from(part[3 * i + c])) };
        let quat = if version == 2 {
            short_rotation(three(quats))
        } else {
            rotation(word(quats, 4 * i).unwrap_or_default())
        };
        let mut rest = [[0.0; 3]; REST_MAX];
        for (k, coefficient) in rest.iter_mut().take(file_rest).enumerate() {
            let at = 3 * (file_rest * i + k);
            *coefficient = std::array::from_fn(|c| (f32::from(harmonics[at + c]) - 128.0) / 128.0);
        }
        out.push(&turned(Splat {
            mean,
            quat,
            log_scale: three(scales).map(|byte| byte / 16.0 - 10.0),
            opacity: f32::from(opacities[i]) / 255.0,
            dc: three(colours).map(|byte| (byte / 255.0 - 0.5) / COLOUR_SCALE),
            rest,
        }));
    }
    Ok(out.end())
}

/// The attributes of version 4, of the sizes wanted.
fn frames(bytes: &[u8], streams: usize, sizes: &[usize; 6]) -> Result<Vec<Vec<u8>>, Refusal> {
    let short = || cut("SPZ");
    let table = word(bytes, 16).ok_or_else(short)? as usize;
    let mut at = streams
        .checked_mul(16)
        .and_then(|length| length.checked_add(table))
        .ok_or_else(short)?;
    let mut out = Vec::new();
    // An attribute without bytes has no frame.
    let wanted: Vec<usize> = sizes.iter().copied().filter(|size| *size > 0).collect();
    for (stream, size) in wanted.into_iter().enumerate().take(streams) {
        let packed = word(bytes, table + 16 * stream).ok_or_else(short)? as usize;
        let end = at.checked_add(packed).ok_or_else(short)?;
        let frame = bytes.get(at..end).ok_or_else(short)?;
        let mut part = vec![0; size];
        let unpacked = ruzstd::decoding::FrameDecoder::new().decode_all(frame, &mut part);
        if !unpacked.is_ok_and(|length| length == size) {
            return Err("the SPZ file is damaged: a stream of it does not unpack".to_owned());
        }
        out.push(part);
        at = end;
    }
    out.resize(sizes.len(), Vec::new());
    Ok(out)
}

/// (w, x, y, z) of three bytes, where w is positive.
fn short_rotation(bytes: [f32; 3]) -> [f32; 4] {
    let [x, y, z] = bytes.map(|byte| byte / 127.5 - 1.0);
    let w = (1.0 - x * x - y * y - z * z).max(0.0).sqrt();
    unit_quat([w, x, y, z]).unwrap_or([f32::NAN; 4])
}

/// (w, x, y, z) of the place of the largest of (x, y, z, w), and sign and nine bits of each of the others.
fn rotation(word: u32) -> [f32; 4] {
    let largest = (word >> 30) as usize;
    let mut quat = [0.0; 4];
    let mut sum = 0.0;
    let others = (0..4).filter(|place| *place != largest);
    for (place, shift) in others.zip([20, 10, 0]) {
        let bits = word >> shift;
        let size = (bits & 511) as f32 / 511.0 * std::f32::consts::FRAC_1_SQRT_2;
        quat[place] = if bits & 512 == 0 { size } else { -size };
        sum += size * size;
    }
    quat[largest] = (1.0_f32 - sum).max(0.0).sqrt();
    let [x, y, z, w] = quat;
    unit_quat([w, x, y, z]).unwrap_or([f32::NAN; 4])
}
