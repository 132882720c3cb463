//! What the three numbers of a normal are along.

/// The axes of normals, of the camera that took the photo.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Axes {
    /// x to the right, y up, z towards the camera.
    #[default]
    Opengl,
    /// x to the right, y down, z into the scene.
    Opencv,
    /// x to the left, y up, z towards the camera.
    Lub,
    /// x to the right, y down, z towards the camera.
    Rdb,
}

impl Axes {
    /// All of them.
    pub(super) const ALL: [Self; 4] = [Self::Opengl, Self::Opencv, Self::Lub, Self::Rdb];

    /// The word in the configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Opengl => "opengl",
            Self::Opencv => "opencv",
            Self::Lub => "lub",
            Self::Rdb => "rdb",
        }
    }

    /// What the numbers are multiplied with to be along x to the right, y down and z into the scene.
    pub(super) const fn signs(self) -> [f32; 3] {
        match self {
            Self::Opengl => [1.0, -1.0, -1.0],
            Self::Opencv => [1.0, 1.0, 1.0],
            Self::Lub => [-1.0, -1.0, -1.0],
            Self::Rdb => [1.0, 1.0, -1.0],
        }
    }

    /// The words for axes whose z is the other way round, for people.
    pub(super) const fn others_in_depth(self) -> &'static str {
        match self {
            Self::Opencv => "opengl, lub or rdb",
            Self::Opengl | Self::Lub | Self::Rdb => "opencv",
        }
    }
}
