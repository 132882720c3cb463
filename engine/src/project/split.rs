//! How a scene is cut: what photos show, how much of it, and which block takes what.
//!
//! Owns the decisions and writes nothing. Photos belong to blocks by the points they are known to show; demand follows the same
//! points; a block is planned, and cut again until it fits.

use std::collections::BTreeSet;

use kiln_blocks::cut::{self, Block, CutError, Verdict};
use kiln_blocks::views::{MOSTLY, assign, share};
use kiln_blocks::{Grid, Ground, Heights, Rect, SIDE_CELLS};

use super::folder::BLOCK;
use super::records::SplitOptions;
use super::{BlockFolder, ProjectError, block_name};
use kiln_scene::{SceneIndex, View, evenly};

/// Gaussians that a pixel of surface is worth, where no number is set.
const PER_PIXEL: f64 = 0.05;
/// Part of a block's capacity that its demand may take.
const FILLED: f64 = 0.85;
/// Cells of the longer side where surface and heights are looked at: sparse points are few.
const COARSE_CELLS: usize = 64;
/// Gaussians by which weights are compared.
const UNIT: u64 = 1 << 40;
/// Points that are projected into photos whose own are not known.
const PROJECTED: usize = 20_000;

fn wide(place: [f32; 3]) -> [f64; 3] {
    place.map(f64::from)
}

/// A photo on the plane.
#[derive(Clone, Debug)]
struct Photo {
    name: String,
    /// Where the points are that it shows.
    places: Vec<[f64; 2]>,
    /// Where its camera is.
    camera: [f64; 2],
}

/// What is known of a scene before it is cut.
#[derive(Clone, Debug)]
pub struct Survey {
    /// The plane.
    pub ground: Ground,
    /// How high it is.
    pub heights: Heights,
    /// Gaussians by the surface that photos show.
    pub surface_gaussians: u64,
    grid: Grid,
    train: Vec<Photo>,
    test: Vec<Photo>,
}

/// A cut that fits.
#[derive(Clone, Debug)]
pub struct Cut {
    /// Gaussians of the whole scene.
    pub gaussians: u64,
    /// Names of the blocks.
    pub names: Vec<String>,
    /// The blocks.
    pub blocks: Vec<Block>,
    /// Names of the training views of each.
    pub train: Vec<Vec<String>>,
    /// Names of the held-out views that show mostly each.
    pub test: Vec<Vec<String>>,
}

impl Cut {
    /// Blocks that a training view is in, on average.
    #[must_use]
    pub fn views_used(&self, survey: &Survey) -> f64 {
        let used: usize = self.train.iter().map(Vec::len).sum();
        used as f64 / survey.train.len().max(1) as f64
    }
}

/// What a run on some views and points of a scene may grow to; none where it does not fit at all.
pub type Capacity<'a> = dyn FnMut(&SceneIndex) -> Result<Option<u32>, ProjectError> + 'a;

impl Survey {
    /// Looks at a scene whose training views are `scene.train`; `seen` is the same scene with every view in its training set, and
    /// the points that each shows.
    ///
    /// # Errors
    /// [`ProjectError::Unsuitable`] for a scene without sparse points.
    pub fn of(scene: &SceneIndex, seen: &SceneIndex, up: Option<[f64; 3]>) -> Result<Self, ProjectError> {
        if scene.points.is_empty() {
            return Err(ProjectError::Unsuitable {
                path: scene.root.clone(),
                reason: "it has no sparse points, which say where photos look".to_owned(),
                remedy: "give it the points3D file of its model".to_owned(),
            });
        }
        // A photo or a point far from all others decides neither which way is up nor where blocks are.
        let points: Vec<[f64; 3]> = scene.points_together().map(|point| wide(point.position)).collect();
        let together = scene.cameras_together();
        let cameras: Vec<[f64; 3]> = together.iter().map(|camera| wide(camera.position())).collect();
        let looking: Vec<[f64; 3]> = together.iter().map(|camera| wide(camera.rotation[2])).collect();
        let ground = match up {
            Some(up) => Ground::with_up(up),
            None => Ground::of(&looking, &cameras, &points),
        };
        let flat: Vec<[f64; 2]> = points.iter().map(|point| ground.flat(*point)).collect();
        let over: Vec<[f64; 2]> = cameras.iter().map(|camera| ground.flat(*camera)).collect();
        Ok(Self::on(ground, cut::grid_over(&over, &flat), scene, seen))
    }

    /// Looks at a scene on the plane and over the bounds of an earlier split.
    #[must_use]
    pub fn again(scene: &SceneIndex, seen: &SceneIndex, ground: Ground, bounds: Rect) -> Self {
        Self::on(ground, Grid::again(bounds, SIDE_CELLS), scene, seen)
    }

    fn on(ground: Ground, mut grid: Grid, scene: &SceneIndex, seen: &SceneIndex) -> Self {
        let points = &scene.points;
        let some: Vec<[f32; 3]> = evenly(points.len(), PROJECTED.min(points.len()))
            .filter_map(|at| scene.points.get(at))
            .map(|point| point.position)
            .collect();
        let shown = |view: &View| -> Vec<[f32; 3]> {
            let listed = seen.train.binary_search_by(|other| order(other).cmp(&order(view)));
            let listed = listed.ok().and_then(|at| seen.train.get(at)).map(|view| &view.seen);
            match listed {
                Some(listed) if !listed.is_empty() => listed.iter().map(|point| point.position).collect(),
                _ => some
                    .iter()
                    .copied()
                    .filter(|place| view.camera.sees(*place).is_some())
                    .collect(),
            }
        };
        let photo = |view: &View, shown: &[[f32; 3]]| Photo {
            name: view.name.clone(),
            places: shown.iter().map(|place| ground.flat(wide(*place))).collect(),
            camera: ground.flat(wide(view.camera.position())),
        };
        let mut surface = Grid::new(grid.bounds(), COARSE_CELLS);
        let [columns, rows] = surface.cells();
        // The side of a pixel on the ground where photos are nearest, by cell.
        let mut pixel = vec![f64::INFINITY; columns * rows];
        let mut train = Vec::new();
        for view in &scene.train {
            let shown = shown(view);
            let photo = photo(view, &shown);
            for (place, flat) in shown.iter().zip(&photo.places) {
                grid.add(*flat, 1);
                if let Some([.., depth]) = view.camera.sees(*place).filter(|_| surface.bounds().contains(*flat)) {
                    surface.add(*flat, 1);
                    let side = &mut pixel[surface.index(*flat)];
                    *side = side.min(f64::from(depth) / f64::from(view.camera.fx));
                }
            }
            train.push(photo);
        }
        let cell = surface.cell() * surface.cell();
        let pixels: f64 = pixel
            .iter()
            .filter(|side| side.is_finite())
            .map(|side| cell / (side * side))
            .sum();
        let test = scene.test.iter().map(|view| photo(view, &shown(view))).collect();
        let heights = points.iter().map(|point| {
            let place = wide(point.position);
            (ground.flat(place), ground.height(place))
        });
        Self {
            heights: Heights::of(grid.bounds(), COARSE_CELLS, heights),
            surface_gaussians: ((PER_PIXEL * pixels) as u64).max(1),
            ground,
            grid,
            train,
            test,
        }
    }

    /// What the demand is spread over.
    #[must_use]
    pub fn bounds(&self) -> Rect {
        self.grid.bounds()
    }

    /// Cuts the scene; `capacity` is asked what a run may grow to, and `most` is more than it ever answers.
    ///
    /// # Errors
    /// [`ProjectError::DoesNotFit`] when no cut fits, and the errors of `capacity`.
    pub fn cut(
        &self,
        scene: &SceneIndex,
        options: &SplitOptions,
        most: u64,
        capacity: &mut Capacity<'_>,
    ) -> Result<Cut, ProjectError> {
        let total = options.gaussians.unwrap_or(self.surface_gaussians).max(1);
        let demand = self.grid.demand(total);
        let (least_views, most_views) = (options.min_views as usize, options.max_views as usize);
        let Some(count) = options.blocks else {
            let blocks = cut::cut(&demand, options.margin, |block| {
                let views = self.views_in(&block.wide());
                if views.len() < least_views {
                    return Ok(Verdict::TooSmall);
                }
                if views.len() > most_views || block.wide_demand > FILLED * most as f64 {
                    return Ok(Verdict::TooLarge);
                }
                let found = capacity(&self.part(scene, &views, &block.wide()))?;
                Ok(match found {
                    Some(found) if block.wide_demand <= FILLED * f64::from(found) => Verdict::Fits,
                    _ => Verdict::TooLarge,
                })
            });
            return match blocks {
                Ok(blocks) => Ok(self.filled(blocks, total)),
                Err(CutError::Asked(error)) => Err(error),
                Err(CutError::Stuck(block)) => Err(self.stuck(&block, options)),
                Err(CutError::Fewer(_)) => Err(too_few(options, 1)),
            };
        };
        let blocks = cut::cut_into(&demand, options.margin, count as usize, |block| {
            let views = self.views_in(&block.wide()).len();
            let small = views < least_views;
            Ok(if small { Verdict::TooSmall } else { Verdict::Fits })
        });
        let blocks = blocks.map_err(|error| match error {
            CutError::Asked(error) => error,
            CutError::Stuck(block) => self.stuck(&block, options),
            CutError::Fewer(found) => too_few(options, found),
        })?;
        // As much of what is wanted as the fullest block holds.
        let mut holds = total;
        for (number, block) in blocks.iter().enumerate() {
            let views = self.views_in(&block.wide());
            let found = capacity(&self.part(scene, &views, &block.wide()))?;
            let Some(found) = found.filter(|_| views.len() <= most_views) else {
                return Err(ProjectError::DoesNotFit {
                    reason: format!(
                        "block {number} of {count} has {} views, and its plan does not fit",
                        views.len()
                    ),
                    remedy: "more `--blocks`, a larger profile, or a larger `--max-views`".to_owned(),
                });
            };
            let room = FILLED * f64::from(found) / (block.wide_demand / total as f64).max(f64::MIN_POSITIVE);
            holds = holds.min(room as u64);
        }
        if options.gaussians.is_some() && holds < total {
            return Err(ProjectError::DoesNotFit {
                reason: format!("{count} blocks hold {holds} Gaussians, and {total} are wanted"),
                remedy: format!("`--gaussians {holds}`, more `--blocks`, or a larger profile"),
            });
        }
        let demand = self.grid.demand(holds.max(1));
        let blocks = blocks.iter().map(|block| block.with(&demand)).collect();
        Ok(self.filled(blocks, holds.max(1)))
    }

    /// Cuts a block of an earlier split in two, along its longer side unless that leaves a half too few views; the scene is one of
    /// its views and all points. Gives the halves, and which part of the block's Gaussians, margin included, each is to hold.
    ///
    /// # Errors
    /// [`ProjectError::DoesNotFit`] for a block too small to be cut, [`ProjectError::Changed`] for one of another grid.
    pub fn halve(
        &self,
        block: &BlockFolder,
        names: [String; 2],
        options: &SplitOptions,
    ) -> Result<(Cut, [f64; 2]), ProjectError> {
        let BlockFolder {
            root, record: block, ..
        } = block;
        let core = Rect::from(&block.core);
        // The grid counts what the block's own photos show, and its core is to get what it was given.
        let unit = self.grid.demand(UNIT);
        let of_core = |demand| {
            Block::of_core(demand, core, options.margin).ok_or_else(|| ProjectError::Changed {
                path: root.join(BLOCK),
                found: "its core is not one of the scene's grid".to_owned(),
            })
        };
        let inside = of_core(&unit)?.demand.max(1);
        let total = u128::from(block.demand) * u128::from(UNIT) / u128::from(inside);
        let demand = self.grid.demand(u64::try_from(total).unwrap_or(u64::MAX));
        let whole = of_core(&demand)?;
        let has_few = |half: &Block| self.views_in(&half.wide()).len() < options.min_views as usize;
        let Some(mut halves) = cut::halve(&whole, &demand, options.margin, has_few) else {
            return Err(ProjectError::DoesNotFit {
                reason: format!(
                    "{} has {} views, and halves of it would have fewer than {} or no area",
                    block.name,
                    self.train.len(),
                    options.min_views
                ),
                remedy: "train it on a larger card, or split the scene again for a smaller profile".to_owned(),
            });
        };
        let parts = halves.each_ref().map(|half| match whole.wide_demand {
            all if all > 0.0 => half.wide_demand / all,
            _ => 0.5,
        });
        let both = (halves[0].demand + halves[1].demand).max(1);
        let low = u128::from(block.demand) * u128::from(halves[0].demand) / u128::from(both);
        halves[0].demand = u64::try_from(low).unwrap_or(block.demand);
        halves[1].demand = block.demand - halves[0].demand;
        let cut = Cut {
            names: names.to_vec(),
            ..self.filled(halves.to_vec(), block.demand)
        };
        Ok((cut, parts))
    }

    /// Numbers of the training views that a box has enough of.
    fn views_in(&self, wide: &Rect) -> Vec<usize> {
        let has = |photo: &Photo| share(&photo.places, wide) >= kiln_blocks::views::LEAST_SHARE;
        let numbers = self.train.iter().enumerate();
        numbers.filter(|(_, photo)| has(photo)).map(|(at, _)| at).collect()
    }

    /// The scene with these training views and the points in a box.
    fn part(&self, scene: &SceneIndex, views: &[usize], wide: &Rect) -> SceneIndex {
        let flat = |place: [f32; 3]| self.ground.flat(place.map(f64::from));
        scene.part(views, |place| wide.contains(flat(place)))
    }

    /// The scene as the run of a block of `cut` sees it: its views, and the points of core and margin.
    #[must_use]
    pub fn scene_of(&self, scene: &SceneIndex, cut: &Cut, at: usize) -> SceneIndex {
        let names =
            |lists: &[Vec<String>]| -> BTreeSet<String> { lists.get(at).into_iter().flatten().cloned().collect() };
        let (train, test) = (names(&cut.train), names(&cut.test));
        let numbers = scene.train.iter().enumerate();
        let views: Vec<usize> = numbers
            .filter(|(_, view)| train.contains(&view.name))
            .map(|(at, _)| at)
            .collect();
        let wide = cut.blocks.get(at).map_or(Rect::PLANE, Block::wide);
        let mut part = self.part(scene, &views, &wide);
        part.test = scene
            .test
            .iter()
            .filter(|view| test.contains(&view.name))
            .cloned()
            .collect();
        part
    }

    /// Blocks with their views.
    fn filled(&self, blocks: Vec<Block>, gaussians: u64) -> Cut {
        let cores: Vec<Rect> = blocks.iter().map(|block| block.core).collect();
        let wide: Vec<Rect> = blocks.iter().map(Block::wide).collect();
        let places: Vec<&[[f64; 2]]> = self.train.iter().map(|photo| &photo.places[..]).collect();
        let cameras: Vec<[f64; 2]> = self.train.iter().map(|photo| photo.camera).collect();
        let named = |list: Vec<usize>| {
            let names = list.into_iter().filter_map(|at| self.train.get(at));
            names.map(|photo| photo.name.clone()).collect()
        };
        let mostly = |rect: &Rect| {
            let shows = |photo: &&Photo| share(&photo.places, rect) >= MOSTLY;
            self.test.iter().filter(shows).map(|photo| photo.name.clone()).collect()
        };
        Cut {
            gaussians,
            train: assign(&places, &cameras, &wide, &cores)
                .into_iter()
                .map(named)
                .collect(),
            test: wide.iter().map(mostly).collect(),
            names: (0..blocks.len()).map(block_name).collect(),
            blocks,
        }
    }

    fn stuck(&self, block: &Block, options: &SplitOptions) -> ProjectError {
        let views = self.views_in(&block.wide()).len();
        ProjectError::DoesNotFit {
            reason: format!(
                "a block of {views} views that is to hold {:.0} Gaussians does not fit the profile, and halves of it would have \
                 fewer than {} views or no area",
                block.wide_demand, options.min_views
            ),
            remedy: "fewer `--gaussians`, a smaller `--min-views`, a smaller `--margin` or a larger profile".to_owned(),
        }
    }
}

fn too_few(options: &SplitOptions, found: usize) -> ProjectError {
    ProjectError::DoesNotFit {
        reason: format!(
            "no more than {found} blocks have {} training views each, and {} are wanted",
            options.min_views,
            options.blocks.unwrap_or(1)
        ),
        remedy: format!("`--blocks {found}`, or a smaller `--min-views`"),
    }
}

/// What views are sorted by.
fn order(view: &View) -> (&str, &str) {
    (kiln_scene::without_extension(&view.name), &view.name)
}
