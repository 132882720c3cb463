//! How a map lies over its photo.

use crate::photos::upright::Upright;

/// A photo that maps are laid over.
pub(crate) struct Over<'a> {
    /// What is done to its stored picture.
    pub(crate) upright: &'a Upright,
    /// Width and height before it is resized, pixels.
    pub(crate) source_px: (u32, u32),
    /// And at training resolution.
    pub(crate) size_px: (u32, u32),
}

impl Over<'_> {
    /// For each pixel at training resolution the nearest value of a plane over the stored picture.
    pub(crate) fn lay<T: Copy + Default>(&self, plane: Vec<T>, plane_px: (u32, u32)) -> Vec<T> {
        let stored = self.upright.file_px;
        let ratio = |a: u32, b: u32| f64::from(a) / f64::from(b);
        let step = [
            ratio(self.source_px.0, self.size_px.0),
            ratio(self.source_px.1, self.size_px.1),
        ];
        let scale = [ratio(plane_px.0, stored.0), ratio(plane_px.1, stored.1)];
        let at = |place: f64, side: u32| (place.max(0.0) as u32).min(side.saturating_sub(1)) as usize;
        let mut out = Vec::with_capacity(self.size_px.0 as usize * self.size_px.1 as usize);
        for y in 0..self.size_px.1 {
            for x in 0..self.size_px.0 {
                let place = [(f64::from(x) + 0.5) * step[0], (f64::from(y) + 0.5) * step[1]];
                let [column, row] = self.upright.stored_place(place);
                let index = at(row * scale[1], plane_px.1) * plane_px.0 as usize + at(column * scale[0], plane_px.0);
                out.push(plane.get(index).copied().unwrap_or_default());
            }
        }
        out
    }
}
