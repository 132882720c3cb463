//! What is drawn of each splat.

/// A way to show a model. The number is the one that the shaders know it by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Style {
    #[default]
    Splats,
    /// A dot at each centre.
    Points,
    /// What lies within a standard deviation, opaque.
    Ellipsoids,
    /// Mean depth of what is seen.
    Depth,
    /// Direction of the shortest axis, in camera axes.
    Normals,
    /// How many splats are drawn over each pixel.
    Counts,
}

impl Style {
    pub(crate) const ALL: [Self; 6] = [
        Self::Splats,
        Self::Points,
        Self::Ellipsoids,
        Self::Depth,
        Self::Normals,
        Self::Counts,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Splats => "splats",
            Self::Points => "points",
            Self::Ellipsoids => "ellipsoids",
            Self::Depth => "depth",
            Self::Normals => "normals",
            Self::Counts => "counts",
        }
    }

    pub(crate) fn of_name(name: &str) -> Self {
        Self::ALL
            .into_iter()
            .find(|style| style.name() == name)
            .unwrap_or_default()
    }
}
