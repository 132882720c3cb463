//! Header comments that say what a renderer must know.

/// Before the render mode's name; other trainers and converters know this comment.
pub const RENDER_MODE: &str = "SplatRenderMode:";
/// Before the variance of the screen-space filter.
pub const KERNEL_SIZE: &str = "Kernel size:";
/// Before the iteration; other writers put their own name where ours is.
pub const ITERATION: &str = "at iteration";

/// What comments say, as text; where two disagree the later one counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Said<'a> {
    /// How the model is meant to be splatted: `default` or `mip`.
    pub render_mode: Option<&'a str>,
    /// Variance of the screen-space filter in square pixels.
    pub kernel_size: Option<&'a str>,
    /// Training iteration that the model was saved at.
    pub iteration: Option<&'a str>,
}

impl<'a> Said<'a> {
    /// Of the comments of a file.
    #[must_use]
    pub fn of(comments: &'a [String]) -> Self {
        let mut said = Self::default();
        for line in comments {
            if let Some(mode) = line.strip_prefix(RENDER_MODE) {
                said.render_mode = Some(mode.trim());
            } else if let Some(size) = line.strip_prefix(KERNEL_SIZE) {
                said.kernel_size = Some(size.trim());
            } else if let Some((_, iteration)) = line.split_once(ITERATION) {
                said.iteration = Some(iteration.trim());
            }
        }
        said
    }
}
