//! Whole runs: what they learn, keep, refuse and survive.

mod background;
mod bound;
mod bytes;
mod crash;
mod cull;
mod deferred;
mod depth_maps;
mod deterministic;
mod guard;
mod images;
mod large_photos;
mod losses;
mod order;
mod parity;
mod plan;
mod poses;
mod program;
mod resume;
mod run;
mod scale;
mod stages;
mod storage;
mod strategies;
mod sugar;
mod surface;
mod triangles;
