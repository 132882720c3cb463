//! Charts of runs as SVG text: which there are, what they hold, how they are drawn.

pub(crate) mod board;
pub(crate) mod curve;
pub(crate) mod scale;
pub(crate) mod svg;
