//! Terms of the image loss; the loss is the weighted sum.
//!
//! A loss is declared in a file of its own: its options and, as [`Term`], what rules, plans and uniforms go by. Its passes are in
//! `step::terms`.

mod alpha;
mod depth;
mod dn_consistency;
mod dssim;
mod l1;
mod listed;
mod needs;
mod neighbour;
mod normal_map;
mod normals;
mod term;

pub use alpha::AlphaOptions;
pub use depth::DepthOptions;
pub use dn_consistency::DnConsistencyOptions;
pub use dssim::DssimOptions;
pub use l1::L1Options;
pub use listed::Losses;
pub use needs::{Maps, Needs, Other, Surface};
pub use neighbour::NeighbourOptions;
pub use normal_map::NormalMapOptions;
pub use normals::NormalsOptions;
pub use term::Term;

use super::family::{family, terms};

terms! { Term
    /// A term of the image loss.
    #[derive(Copy)]
    Loss {
        L1(L1Options) = "l1", "mean absolute difference";
        Dssim(DssimOptions) = "dssim", "1 - SSIM with an 11x11 Gaussian window, zero padded";
        Alpha(AlphaOptions) = "alpha", "mean absolute difference between coverage and the photo's mask; needs masks";
        Normals(NormalsOptions) = "normals", "disagreement between blended normals and the normals of the depth map, away from edges of the photo: surfaces for meshes";
        DnConsistency(DnConsistencyOptions) = "dn_consistency", "SuGaR: disagreement between blended normals and the normals of blended depths";
        Depth(DepthOptions) = "depth", "disagreement between a render's inverse depth and the photo's depth map; needs `dataset.depths`";
        NormalMap(NormalMapOptions) = "normal_map", "angle between a render's normals and those of the photo's normal map; needs `dataset.normals`";
        Neighbour(NeighbourOptions) = "neighbour", "PGSR: disagreement of depths and greys with those of a neighbouring view, by blended planes";
    }
}

impl Loss {
    /// First iteration that has the term.
    #[must_use]
    pub fn first(mut self) -> u32 {
        self.first_mut().map_or(0, |first| *first)
    }
}
