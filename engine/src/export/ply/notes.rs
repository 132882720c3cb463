//! What a reader did beyond taking the values of a file.

/// What was left out or changed while a model was read, for people to see.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notes {
    /// Gaussians of the file that were looked at.
    pub of: u64,
    /// Those of them that cannot be drawn, and are left out.
    pub left_out: u64,
    /// Number of the first of those, from 0, and what is wrong with it.
    pub first: Option<(u64, &'static str)>,
    /// Opacities of exactly 0 or 1, whose logits are infinite.
    pub ends: u64,
    /// Gaussians with a scale of 0, whose logarithm is infinite.
    pub flat: u64,
    /// What holds for the whole file.
    pub remarks: Vec<String>,
}

impl Notes {
    /// A line each.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = self.remarks.clone();
        if let Some((number, what)) = self.first {
            let (left_out, of) = (self.left_out, self.of);
            lines.push(format!(
                "{left_out} of {of} Gaussians are left out, which cannot be drawn: the first is number {number}, with {what}"
            ));
        }
        if self.ends > 0 {
            let ends = self.ends;
            lines.push(format!(
                "{ends} opacities of exactly 0 or 1 are read as the nearest that have a finite logit"
            ));
        }
        if self.flat > 0 {
            let flat = self.flat;
            lines.push(format!(
                "scales of 0 in {flat} Gaussians are read as the smallest number above it"
            ));
        }
        lines
    }

    /// Keeps a remark on the whole file.
    pub(in crate::export) fn remark(&mut self, text: impl Into<String>) {
        self.remarks.push(text.into());
    }
}
