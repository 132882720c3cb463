//! What a loss may need of steps, scene and device.

/// What a loss needs beside render and photo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Steps that blend surfaces of Gaussians and take gradients to them: [`Surface`] says which. Such steps look along the rays of
    /// pinholes, bind images whole and more buffers than others, and need every Gaussian's colour up to date.
    pub surface: Option<Surface>,
    /// Maps beside the photos.
    pub maps: Option<Maps>,
    /// Masks of the photos.
    pub masks: bool,
    /// The fourth channel of image gradients.
    pub fourth_channel: bool,
    /// A neighbouring view, which the step draws first.
    pub neighbour: bool,
}

impl Needs {
    /// Blended planes.
    pub(super) const PLANES: Self = Self {
        surface: Some(Surface::Planes),
        ..Self::NOTHING
    };
    /// Render and photo are all.
    pub(crate) const NOTHING: Self = Self {
        surface: None,
        maps: None,
        masks: false,
        fourth_channel: false,
        neighbour: false,
    };
}

/// What is blended for a surface; a step blends one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// Planes of Gaussians.
    Planes,
    /// Normals and depths.
    Depths,
}

/// Maps that a photo may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maps {
    /// Of depth.
    Depths,
    /// Of normals.
    Normals,
}

impl Maps {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Depths, Self::Normals];

    /// The key that names their folder.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Depths => "dataset.depths",
            Self::Normals => "dataset.normals",
        }
    }

    /// The word for them.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Depths => "depth",
            Self::Normals => "normal",
        }
    }
}

/// What a loss may refuse to go together with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Other {
    /// Cameras that are corrected.
    RefinedPoses,
    /// Terms of the density.
    Density,
}

impl Other {
    /// The setting, in the words of a message.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RefinedPoses => "`train.refine_poses`",
            Self::Density => "the regularizer `density`",
        }
    }
}
