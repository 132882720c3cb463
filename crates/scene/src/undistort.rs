//! How much of a bent photo is kept when it is straightened.

/// How much of a picture that a lens bent its pinhole picture shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Undistort {
    /// The largest rectangle without an empty pixel.
    #[default]
    Inside,
    /// All of it, as far as twice the original's sides reach; what no ray of the lens reaches is masked.
    Whole,
    /// Photos of fisheyes stay as they are and are rendered through their lens; those of other lenses as with `Inside`.
    ExceptFisheye,
}
