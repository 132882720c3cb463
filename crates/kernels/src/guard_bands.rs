//! Looks for overwritten words in bands of memory that no pass may write; see `kiln_gpu::memory::GuardBands`.

use super::generated::guard_bands;
use kiln_program::{Groups, Program, Span, fold_groups};

/// A band inside a view.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Band {
    /// Its first word, counted from the start of the view.
    pub first_word: u32,
    /// Words.
    pub words: u32,
}

/// What was found in a band.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Report {
    /// Words that are not the pattern.
    pub overwritten: u32,
    /// The first of them, counted from the start of the band; `u32::MAX` when there is none.
    pub first: u32,
    /// What it is; the pattern when there is none.
    pub found: u32,
    /// Zero.
    pub reserved: u32,
}

/// Appends the look at `count` bands, listed in `bands` ([`Band`]), of what `words` shows: a [`Report`] each goes to
/// `reports`, which must not share bytes with `words`.
pub fn record(program: &mut Program, bands: Span, words: Span, reports: Span, count: u32, pattern: u32) {
    let groups = Groups::Direct(fold_groups(count.max(1)));
    program.pass(
        &guard_bands::KERNEL,
        (),
        guard_bands::Bind { bands, words, reports },
        guard_bands::Push { pattern, count },
        groups,
    );
}
