//! How much of everything a run can hold; fixed before the first step.

use serde::{Deserialize, Serialize};

use super::TriangleSizes;
use kiln_config::plugins::{Losses, Maps};
use kiln_gaussians::bound::Binding;
use kiln_gaussians::layout::{CHUNK, StatePlanes, Storage};
use kiln_kernels::catch_up::ROW_BYTES;
use kiln_kernels::density_terms::DensityTerms;
use kiln_kernels::swaths::Swaths;
use kiln_kernels::uniforms::TILE_PX;
use kiln_scene::{PhotoParts, photo_bytes};

/// Sizes from which every tensor follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capacities {
    /// Gaussians there is room for, a multiple of 256.
    pub n_cap: u32,
    /// Gaussians the model may grow to.
    pub n_limit: u32,
    /// Visible records.
    pub v_cap: u32,
    /// Tile intersections.
    pub i_cap: u32,
    /// Gaussians in a chunk, a multiple of 256.
    pub chunk: u32,
    /// Largest image, pixels.
    pub max_pixels: u32,
    /// Largest image, tiles.
    pub max_tiles: u32,
    /// Most tiles with lists: those of the largest image, or of smaller ones where a pixel has several samples.
    #[serde(default)]
    pub max_lists: u32,
    /// Widest image, pixels.
    #[serde(default)]
    pub max_width_px: u32,
    /// Most bytes of a tensor that a pass may bind; images that take more are worked on in swaths.
    #[serde(default)]
    pub binding_bytes: u64,
    /// Highest SH degree stored.
    pub sh_degree: u32,
    /// How values are stored.
    #[serde(default)]
    pub storage: Storage,
    /// Optimiser steps in which SH out of view may wait for the next time it is seen; 0 = it takes part in every one.
    #[serde(default)]
    pub deferred_steps: u32,
    /// Training cameras, for the 3D filter.
    pub cameras: u32,
    /// Ring slots: one more than steps in flight.
    pub slots: u32,
    /// Photos carry a mask.
    #[serde(default)]
    pub masked: bool,
    /// The losses that steps have; a run that goes on has those of its own settings.
    #[serde(skip)]
    pub losses: Losses,
    /// Cameras that took the photos, where these have colours of their own; 0 = they have none.
    #[serde(skip)]
    pub photo_cameras: u32,
    /// Terms of the density of Gaussians, from some iteration on.
    #[serde(skip)]
    pub density: Option<DensityTerms>,
    /// Views whose cameras are corrected, training views first; 0 = none are.
    #[serde(default)]
    pub poses: u32,
    /// Some cameras have a lens that photos are seen through as they are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lens: bool,
    /// The mesh that Gaussians are bound to; none where they are free.
    #[serde(default)]
    pub bound: Option<Binding>,
    /// The vertices of a model of triangles, which then are what Gaussians are elsewhere; none for models of Gaussians.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub triangles: Option<TriangleSizes>,
}

impl Capacities {
    /// Ring slots: three steps are in flight, of which the device works on one while the others wait, and into the fourth
    /// slot comes the photo of the step after them.
    pub const SLOTS: u32 = 4;

    /// Capacities for images of the given sizes (width, height in pixels) with default chunk and slots.
    #[must_use]
    pub fn new(
        n_cap: u32,
        v_cap: u32,
        i_cap: u32,
        sh_degree: u32,
        sizes: impl IntoIterator<Item = (u32, u32)>,
    ) -> Self {
        let (mut max_pixels, mut max_tiles, mut max_width_px, mut cameras) = (1, 1, 1, 0);
        for (w, h) in sizes {
            max_pixels = max_pixels.max(w * h);
            max_tiles = max_tiles.max(w.div_ceil(TILE_PX) * h.div_ceil(TILE_PX));
            max_width_px = max_width_px.max(w);
            cameras += 1;
        }
        Self {
            n_cap: n_cap.max(256).next_multiple_of(256),
            n_limit: n_cap,
            v_cap: v_cap.max(256),
            // A whole image of one tile must fit a band.
            i_cap: i_cap.max(v_cap).max(256),
            chunk: CHUNK,
            max_pixels,
            max_tiles,
            max_lists: max_tiles,
            max_width_px,
            binding_bytes: u64::MAX,
            sh_degree,
            storage: Storage::Exact,
            deferred_steps: 0,
            cameras,
            slots: Self::SLOTS,
            masked: false,
            losses: Losses::default(),
            photo_cameras: 0,
            density: None,
            poses: 0,
            lens: false,
            bound: None,
            triangles: None,
        }
    }

    /// Makes room for lists of tiles of `side_px` pixels in images of the given sizes.
    pub fn list_tiles(&mut self, side_px: u32, sizes: impl IntoIterator<Item = (u32, u32)>) {
        let lists = sizes
            .into_iter()
            .map(|(w, h)| w.div_ceil(side_px) * h.div_ceil(side_px));
        self.max_lists = lists.max().unwrap_or(0).max(self.max_tiles);
    }

    /// How much of an image passes bind at once.
    #[must_use]
    pub const fn swaths(&self) -> Swaths {
        Swaths {
            max_pixels: self.max_pixels,
            max_width_px: self.max_width_px,
            binding_bytes: self.binding_bytes,
        }
    }

    /// Words a Gaussian takes in each tensor of the model.
    #[must_use]
    pub const fn planes(&self) -> StatePlanes {
        let planes = self.storage.planes(self.sh_degree);
        if self.bound.is_some() {
            planes.on_triangles()
        } else if self.deferred_steps > 0 {
            planes.with_deferred_sh()
        } else {
            planes
        }
    }

    /// Bytes of the table that missed optimiser steps of SH are made up for with.
    #[must_use]
    pub const fn rates_bytes(&self) -> u64 {
        match self.deferred_steps {
            0 => 0,
            steps => ROW_BYTES * (steps as u64 + 1),
        }
    }

    /// Tile intersections of one band of a banded step: a third of `i_cap`, so that the lists of a band fit beside the
    /// gradient records in the bytes an unbanded step takes, but at least one tile's worth: all records, or of triangles, which are many and small, as many as there are slots.
    #[must_use]
    pub fn band_cap(&self) -> u32 {
        self.v_cap.min(self.i_cap).max(self.i_cap / 3)
    }

    /// True when a view may see more Gaussians than there are records.
    #[must_use]
    pub fn may_see_too_many(&self) -> bool {
        self.v_cap < self.n_limit
    }

    /// Bits of the largest tile key; one key more than there are tiles marks "none".
    #[must_use]
    pub fn tile_bits(&self) -> u32 {
        32 - self.max_lists.leading_zeros()
    }

    /// True where some steps draw surfaces.
    #[must_use]
    pub fn surfaces(&self) -> bool {
        self.surfaces_alone() || self.losses.need(|needs| needs.neighbour)
    }

    /// True where some steps draw surfaces of one view alone.
    #[must_use]
    pub fn surfaces_alone(&self) -> bool {
        let of_one = self.losses.need(|needs| needs.surface.is_some() && !needs.neighbour);
        of_one || self.density.is_some_and(|terms| terms.sdf)
    }

    /// What photos carry.
    pub(super) fn parts(&self) -> PhotoParts {
        PhotoParts {
            masked: self.masked,
            depths: self.losses.need_maps(Maps::Depths),
            normals: self.losses.need_maps(Maps::Normals),
        }
    }

    /// Bytes of one ground-truth slot: a photo of the largest size in whole units.
    #[must_use]
    pub fn image_bytes(&self) -> u64 {
        Self::whole_units(photo_bytes(self.max_pixels.into(), self.parts()))
    }

    /// Bytes rounded up to the 16 that tensors are made of.
    #[must_use]
    pub const fn whole_units(bytes: u64) -> u64 {
        bytes.next_multiple_of(16)
    }
}
