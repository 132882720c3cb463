//! Delaunay tetrahedra of points in space.
//!
//! Points go in one by one (Bowyer 1981, Watson 1981), in random rounds of doubling size and along a Hilbert curve in each
//! (Amenta, Choi and Rote 2003). A tetrahedron is in the way of a point strictly inside its sphere, one at infinity of a
//! point strictly beyond its face, or in the plane of the face and inside the face's circle. With signs that are exact
//! (Shewchuk 1997) the space that becomes free is always seen whole from the point, so that points in one plane or on one
//! sphere need no care: of the triangulations that these have, the order of insertion picks one.

mod order;
mod space;

#[cfg(test)]
mod tests;

pub(crate) use space::orient;
use space::{NONE, Space};

use crate::progress::Ticker;
use crate::{Error, Progress, mesh::finite, weld};

/// Tetrahedra of a set of points.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tetrahedra {
    /// Points of each tetrahedron; (b - a) x (c - a) . (d - a) is positive. Of equal points the first is named.
    pub points: Vec<[u32; 4]>,
    /// The tetrahedron across the face opposite to each of them; `u32::MAX` outside.
    pub neighbors: Vec<[u32; 4]>,
}

/// Tetrahedra a point, for which there is room.
const PER_POINT: u64 = 7;

/// Bytes that [`tetrahedra`] takes at its peak for so many points, these not included, its result included.
///
/// Room is taken for 7 tetrahedra a point at once. Random points in space have 6.8, points on surfaces 5.8 to 6.5; where
/// there are more, the prediction is passed.
#[must_use]
pub const fn host_bytes(points: u64) -> u64 {
    points * (PER_POINT * space::TETRAHEDRON_BYTES + size_of::<u32>() as u64)
}

/// The Delaunay tetrahedra of the distinct points of a set.
///
/// # Errors
/// [`Error::NotFinite`]; [`Error::Unfit`] for points that lie in a plane, of which fewer than four always do;
/// [`Error::TooMany`] beyond 2^28 points; [`Error::Stopped`].
pub fn tetrahedra(points: &[[f32; 3]], progress: Progress<'_>) -> Result<Tetrahedra, Error> {
    let most = 1 << 28;
    if points.len() as u64 > most {
        return Err(Error::TooMany {
            what: "points",
            found: points.len() as u64,
            most,
            hint: "take fewer points",
        });
    }
    finite("position", points)?;
    let order = order::insertion(points, &distinct(points));
    let mut ticker = Ticker::new(progress, order.len() as u64);
    ticker.step(0)?;
    let first = order::first_four(points, &order).ok_or_else(|| Error::Unfit {
        job: "Delaunay tetrahedra",
        found: format!("all {} distinct points lie in a plane", order.len()),
        hint: "give points that fill space",
    })?;
    let mut space = Space::new(points, first);
    for point in order {
        if !first.contains(&point) {
            space.insert(point);
        }
        ticker.step(1)?;
    }
    ticker.finish()?;
    Ok(space.finish())
}

/// The first of each set of equal points.
fn distinct(points: &[[f32; 3]]) -> Vec<u32> {
    let (numbers, count) = weld::numbered(points);
    let mut first = vec![NONE; count];
    for (&number, point) in numbers.iter().zip(0..) {
        let first = &mut first[number as usize];
        *first = point.min(*first);
    }
    first
}
