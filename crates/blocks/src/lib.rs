//! Scenes in blocks: how a plane is cut so that every piece fits a card, and how trained pieces become one model again.
//!
//! Pure functions over slices and files, without a device and without the engine. A scene lies on a plane ([`Ground`]); a
//! [`Grid`] over it says how many Gaussians each cell is to get; [`cut`](cut::cut) makes a k-d tree of it whose leaves have half-open
//! cores that tile the plane. [`share`](views::share) says what of a photo lies in a block, [`Heights`] where its pixels hit the ground,
//! and [`merge`] keeps of every block what lies in its core, in an order that depends on nothing but the Gaussians.

pub mod cut;
mod grid;
mod ground;
mod heights;
pub mod merge;
mod rect;
pub mod views;

pub use grid::{Grid, SIDE_CELLS};
pub use ground::Ground;
pub use heights::Heights;
pub use rect::{Border, Rect, borders};
