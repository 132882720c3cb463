//! What is nearest to a place: of a set of points, or on a mesh.

mod points;
mod surface;

pub use points::Points;
pub use surface::Surface;

/// What was found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Hit {
    /// Number of the point or triangle; the lowest at this distance.
    pub index: u32,
    /// Distance, scene units.
    pub distance: f64,
    /// The place itself.
    pub point: [f64; 3],
}

/// The better of two, by squared distance and then by number.
fn is_better((squared, index): (f64, u32), (best, than): (f64, u32)) -> bool {
    squared < best || (squared == best && index < than)
}
