//! Names in the frame of a run: what is trained, and which part is under way.

use serde::Serialize;

/// What a model is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Primitive {
    /// 3D Gaussians.
    #[default]
    Gaussians,
    /// Triangles with shared vertices.
    Triangles,
}

impl Primitive {
    /// The word for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gaussians => "Gaussians",
            Self::Triangles => "triangles",
        }
    }
}

/// Parts of a run as the progress line names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Decoding images.
    Load,
    /// Steps.
    Train,
    /// Steps of the free Gaussians that a mesh is made of.
    Coarse,
    /// Steps of Gaussians bound to that mesh.
    Refine,
    /// Rendering and measuring views.
    Eval,
    /// Writing models.
    Save,
}

impl Stage {
    /// The word in the progress line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Train => "train",
            Self::Coarse => "coarse",
            Self::Refine => "refine",
            Self::Eval => "eval",
            Self::Save => "save",
        }
    }
}
