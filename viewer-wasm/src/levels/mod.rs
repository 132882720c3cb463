//! Streamed SOG: models of any size, of which a budget of splats is held at a time.
//!
//! Owns what `lod-meta.json` says ([`index`]), which level of which leaf a camera is worth ([`choose`]), where splats lie in the
//! textures ([`slots`]) and the way from a wanted level to one that is drawn ([`pager`]). Knows nothing of the browser: who
//! fetches files and who draws receives its orders.

mod choose;
mod chunks;
mod index;
mod leaf;
pub(crate) mod pager;
mod slots;

/// Name of the file that describes levels and chunks.
pub(crate) const INDEX: &str = "lod-meta.json";

/// Places in the textures are given out in so many at once.
pub(crate) const GRAIN: u32 = 64;

/// Places that so many splats take.
pub(crate) fn room(count: u32) -> u32 {
    count.next_multiple_of(GRAIN)
}
