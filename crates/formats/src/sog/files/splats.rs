//! What files are made of.

/// Gaussians in the order of the file, with all filters folded in.
///
/// All values are finite.
pub trait Splats: Sync {
    /// How many there are.
    fn len(&self) -> usize;

    /// True when there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// SH degree, 0 to 3.
    fn sh_degree(&self) -> u32;

    /// Centre, world units.
    fn mean(&self, index: usize) -> [f32; 3];

    /// Unit quaternion (w, x, y, z).
    fn quat(&self, index: usize) -> [f32; 4];

    /// Natural logarithms of the standard deviations along the axes.
    fn log_scales(&self, index: usize) -> [f32; 3];

    /// Opacity, 0 to 1.
    fn opacity(&self, index: usize) -> f32;

    /// Colour coefficients of degree 0.
    fn sh0(&self, index: usize) -> [f32; 3];

    /// Coefficients of higher degrees, `[coefficient][channel]`: 0, 9, 24 or 45 values.
    fn rest(&self, index: usize) -> &[f32];

    /// False once the files are cancelled, and then for good. Called now and then.
    fn is_wanted(&self) -> bool {
        true
    }
}

/// Values of [`Splats::rest`] at a degree.
pub(crate) const fn rest_values(sh_degree: u32) -> usize {
    3 * ((sh_degree as usize + 1) * (sh_degree as usize + 1) - 1)
}
