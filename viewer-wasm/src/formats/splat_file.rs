//! `.splat`: 32 bytes a splat, in the axes of PLY files.
//!
//! Place and linear scales as floats; colour and opacity in a byte each; rotation (w, x, y, z) in a byte each, 0 at 128.

use super::{Collected, float};
use crate::math::unit_quat;
use crate::ply::{Filter, Refusal};
use crate::splat::{REST_MAX, Splat, constant_of};

const STRIDE: usize = 32;

pub(super) fn read(bytes: &[u8]) -> Result<Collected, Refusal> {
    let (rows, rest) = bytes.as_chunks::<STRIDE>();
    if !rest.is_empty() {
        return Err(format!(
            "a .splat file has {STRIDE} bytes a splat, and {} are left over here",
            rest.len()
        ));
    }
    let mut out = Collected::new(rows.len(), 0, Filter::Classic, None)?;
    for row in rows {
        let three = |first: usize| std::array::from_fn(|i| float(row, first + 4 * i).unwrap_or(f32::NAN));
        let share = |at: usize| f32::from(row[at]) / 255.0;
        let quat = std::array::from_fn(|i| (f32::from(row[28 + i]) - 128.0) / 128.0);
        let scales: [f32; 3] = three(12);
        out.push(&Splat {
            mean: three(0),
            quat: unit_quat(quat).unwrap_or([f32::NAN; 4]),
            log_scale: scales.map(f32::ln),
            opacity: share(27),
            dc: std::array::from_fn(|i| constant_of(share(24 + i))),
            rest: [[0.0; 3]; REST_MAX],
        });
    }
    Ok(out.end())
}
