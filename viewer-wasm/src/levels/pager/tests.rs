#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
use super::super::chunks::Packed;
use super::*;
use crate::camera::{Lens, Pose};
use crate::math::Vec3;
use crate::pack::push_geometry;
use crate::ply::Filter;
use crate::splat::{Splat, plain};

const COUNTS: [u32; 3] = [600, 300, 100];

/// A street of leaves along z, a chunk for each level of four leaves.
fn text(n_leaves: usize) -> String {
    let n_groups = n_leaves.div_ceil(4);
    let files: Vec<String> = (0..3 * n_groups)
        .map(|file| format!("\"{}_{}/meta.json\"", file % 3, file / 3))
        .collect();
    let leaf = |at: usize| {
        let lods: Vec<String> = COUNTS
            .iter()
            .enumerate()
            .map(|(level, count)| {
                let (file, offset) = (3 * (at / 4) + level, (at % 4) as u32 * count);
                format!("\"{level}\":{{\"file\":{file},\"offset\":{offset},\"count\":{count}}}")
            })
            .collect();
        let bound = format!("\"bound\":{{\"min\":[-1,-1,{}],\"max\":[1,1,{}]}}", 2 * at, 2 * at + 2);
        format!("{{{bound},\"lods\":{{{}}}}}", lods.join(","))
    };
    let leaves: Vec<String> = (0..n_leaves).map(leaf).collect();
    format!(
        "{{\"version\":1,\"filenames\":[{}],\"tree\":{{\"children\":[{}]}}}}",
        files.join(","),
        leaves.join(",")
    )
}

/// Splats of a chunk; a leaf's lie in the middle of it.
fn chunk(file: usize) -> Packed {
    let mut packed = Packed::default();
    for of_group in 0..4 {
        let mut splat = Splat::of(&plain()).unwrap();
        splat.mean = [0.0, 0.0, (2 * (4 * (file / 3) + of_group) + 1) as f32];
        (0..COUNTS[file % 3]).for_each(|_| push_geometry(&splat, &mut packed.geometry));
    }
    packed
}

fn sight(z: f32) -> Sight {
    Pose::looking_at([0.0, 0.0, z], [0.0, 0.0, z + 1.0], [0.0, -1.0, 0.0]).sight(&Lens::plain([1600, 1000]), 1.0)
}

/// A pager and what the graphics device would hold: the depth of each splat by its place.
struct Stage {
    pager: Pager,
    textures: Vec<f32>,
    fetched: Vec<usize>,
    lost: Vec<usize>,
    /// Orders that the last look took.
    turns: usize,
}

impl Stage {
    fn new(n_leaves: usize, budget: u32) -> Self {
        let mut pager = Pager::new(text(n_leaves).as_bytes(), budget).unwrap();
        pager.model = Some(Model {
            count: pager.budget,
            degree: 0,
            filter: Filter::Classic,
            iteration: None,
        });
        Self {
            textures: vec![f32::NAN; pager.budget as usize],
            pager,
            fetched: Vec::new(),
            lost: Vec::new(),
            turns: 0,
        }
    }

    /// Takes all that can be had now.
    fn pump(&mut self) {
        while let Some(next) = self.pager.next_chunk() {
            self.fetched.push(next);
            match self.lost.contains(&next) {
                true => self.pager.lose(next),
                false => self.pager.chunks[next].hold(chunk(next)),
            }
            let unpacked: usize = self.pager.chunks.iter().map(Chunk::held).sum();
            assert!(unpacked <= self.pager.most_unpacked + 2400, "one chunk more at most");
        }
        while let Some((batch, _)) = self.pager.take() {
            for (at, (centre, _)) in (batch.first as usize..).zip(balls(&batch.geometry)) {
                self.textures[at] = centre[2];
            }
        }
        assert!(self.pager.held() <= self.pager.budget, "the budget holds");
    }

    /// Looks until nothing changes; gives the splats drawn of each leaf.
    fn look(&mut self, z: f32, n_leaves: usize) -> Vec<usize> {
        let mut drawn = Vec::new();
        for turn in 0.. {
            assert!(turn < 200, "it never rests");
            let order = self.pager.sort(&sight(z)).to_vec();
            drawn = vec![0; n_leaves];
            let rows = sight(z).rows[2];
            for at in order {
                // An order never names a place that holds something else by now.
                let depth = self.textures[at as usize];
                let known: Vec3 = [0.0, 0.0, depth];
                assert!(crate::math::dot([rows[0], rows[1], rows[2]], known) + rows[3] > 0.0);
                drawn[(depth / 2.0) as usize] += 1;
            }
            for count in &drawn {
                assert!(
                    *count == 0 || COUNTS.contains(&(*count as u32)),
                    "one level at a time: {drawn:?}"
                );
            }
            self.pump();
            if self.pager.news().is_none() {
                self.turns = turn;
                break;
            }
        }
        drawn
    }
}

#[test]
fn everything_comes_when_there_is_room_for_it() {
    let mut stage = Stage::new(8, 100_000);
    assert_eq!(stage.pager.pending(), 8, "the coarsest level of each, once");
    assert_eq!(stage.pager.budget, 8 * (640 + 128), "no more than it can need");
    assert_eq!(stage.pager.finest(), 8 * 600);
    stage.pump();
    assert_eq!(stage.fetched, [2, 5], "the coarsest level of everything first");
    assert_eq!((stage.pager.share(), stage.pager.held()), (1.0, 800));
    assert_eq!(stage.look(-0.5, 8), [600; 8]);
    assert_eq!(stage.pager.pending(), 0);
    assert_eq!(stage.fetched, [2, 5, 0, 3]);
}

#[test]
fn a_small_budget_follows_the_camera() {
    let n = 16;
    let mut stage = Stage::new(n, 16 * 128 + 3000);
    stage.pump();
    let first = stage.look(-0.5, n);
    assert_eq!(first[0], 600, "{first:?}");
    assert_eq!(first[n - 1], 100, "{first:?}");
    for z in [6.0, 15.0, 22.0, 3.0, -0.5] {
        let drawn = stage.look(z, n);
        let near = (z.max(0.0) / 2.0) as usize + 1;
        assert_eq!(drawn[near], 600, "from {z}: {drawn:?}");
        assert!(drawn[near..].iter().all(|count| *count >= 100), "from {z}: {drawn:?}");
        assert_eq!(stage.pager.pending(), 0);
    }
    assert_eq!(
        stage.look(-0.5, n),
        first,
        "what is seen does not depend on the way there"
    );
}

/// With little memory for chunks the same comes to be seen, as fast; what is on its way counts too.
#[test]
fn chunks_wait_while_many_are_unpacked() {
    let n = 32;
    let mut free = Stage::new(n, 32 * 128 + 9000);
    let mut bound = Stage::new(n, 32 * 128 + 9000);
    bound.pager.most_unpacked = 2000;
    for z in [-0.5, 20.0, 55.0, 3.0] {
        assert_eq!(bound.look(z, n), free.look(z, n), "from {z}");
        assert_eq!((bound.pager.pending(), free.pager.pending()), (0, 0), "from {z}");
        assert!(
            free.turns <= 4,
            "{} turns from {z}: room is made for all at once",
            free.turns
        );
        bound.pager.trim();
        assert!(bound.pager.chunks.iter().map(Chunk::held).sum::<usize>() <= 2000);
    }
    let mut asked = Stage::new(n, 100_000);
    asked.pager.most_unpacked = 1000;
    let chunks: Vec<usize> = std::iter::from_fn(|| asked.pager.next_chunk()).collect();
    assert_eq!(chunks, [2, 5, 8], "400 splats each");
}

#[test]
fn a_budget_without_room_for_any_part_is_refused() {
    let refused = |text: &str, budget| Pager::new(text.as_bytes(), budget).err().unwrap();
    let why = refused(&text(4), 127);
    assert!(why.contains("room for 128 splats, and the budget is 127"), "{why}");
    let why = refused(&text(4).replace("\"count\":600", "\"count\":1048577"), 100_000);
    assert!(why.contains("chunks of at most 1048576"), "{why}");
    let mut stage = Stage::new(4, 128);
    assert_eq!(stage.look(-0.5, 4), [100, 0, 0, 0]);
}

#[test]
fn less_room_than_the_coarsest_levels_need_shows_what_is_near() {
    let mut stage = Stage::new(16, 10 * 128);
    stage.pump();
    let drawn = stage.look(-0.5, 16);
    assert_eq!(drawn[..10], [100; 10]);
    assert_eq!(drawn[10..], [0; 6]);
    let drawn = stage.look(12.5, 16);
    assert_eq!((drawn[6], drawn[14], drawn[0]), (100, 100, 0), "{drawn:?}");
}

#[test]
fn what_is_lost_leaves_the_coarser_level_and_may_come_later() {
    let mut stage = Stage::new(4, 100_000);
    stage.lost = vec![0];
    stage.pump();
    assert_eq!(stage.look(-0.5, 4), [100; 4]);
    assert_eq!(stage.pager.pending(), 0);
    stage.lost.clear();
    stage.pager.forgive(0);
    assert_eq!(stage.look(-0.5, 4), [600; 4]);
    let mut stage = Stage::new(4, 100_000);
    stage.lost = vec![0, 1, 2];
    stage.pump();
    assert_eq!((stage.pager.share(), stage.pager.held()), (1.0, 0));
}

/// A part at one level and an environment, and the files of a chunk of 100 splats.
const SMALL: &str = r#"{"filenames":["0_0/meta.json"],"environment":"env/meta.json","tree":{"bound":{"min":[-9,-9,-9],"max":[9,9,9]},
    "lods":{"0":{"file":0,"offset":10,"count":90}}}}"#;

fn small_files() -> std::collections::BTreeMap<String, Vec<u8>> {
    let splats = sog::tests::Random::new(100, 1);
    let mut files = std::collections::BTreeMap::new();
    kiln_formats::sog::write_files(&splats, true, &mut |name, bytes| {
        files.insert(name.to_owned(), bytes.to_vec());
        Ok(())
    })
    .unwrap();
    files
}

/// An environment of no splats is there as soon as it has come, and one that leaves no room for the model is refused.
#[test]
fn environments_of_any_size() {
    let files = small_files();
    let meta = String::from_utf8(files["meta.json"].clone()).unwrap();
    let of = |paths: Vec<String>| -> Vec<&[u8]> {
        let name = |path: &String| path.rsplit_once('/').unwrap().1.to_owned();
        paths.iter().map(|path| files[&name(path)].as_slice()).collect()
    };
    for (budget, count, shown) in [(10_000, 0, 90), (256, 100, 190), (192, 100, 90)] {
        let mut pager = Pager::new(SMALL.as_bytes(), budget).unwrap();
        for chunk in [0, 1] {
            assert_eq!(pager.next_chunk(), Some(chunk));
            let count = if chunk == 0 { 100 } else { count };
            let meta = meta.replacen("\"count\":100", &format!("\"count\":{count}"), 1);
            match pager.describe(chunk, meta.as_bytes()) {
                Ok(paths) => pager.come(chunk, &of(paths)).unwrap(),
                Err(why) => {
                    assert!(chunk == 1 && budget == 192 && why.contains("room for 64"), "{why}");
                    pager.lose(chunk);
                }
            }
        }
        let mut taken = 0;
        while let Some((batch, _)) = pager.take() {
            taken += batch.len();
        }
        assert_eq!((taken, pager.share(), pager.pending()), (shown, 1.0, 0), "{budget}");
    }
}

/// Descriptions and images of chunks as they are written, and what they may say wrongly.
#[test]
fn chunks_are_read_as_they_are_written() {
    let files = small_files();
    let mut pager = Pager::new(SMALL.as_bytes(), 10_000).unwrap();
    assert_eq!(
        (pager.next_chunk(), pager.next_chunk(), pager.path(0)),
        (Some(0), None, "0_0/meta.json")
    );
    let meta = String::from_utf8(files["meta.json"].clone()).unwrap();
    let short = meta.replacen("\"count\":100", "\"count\":99", 1);
    assert!(
        pager
            .describe(0, short.as_bytes())
            .unwrap_err()
            .contains("99 splats, and leaves name 100")
    );
    let large = meta.replacen("\"count\":100", "\"count\":1048577", 1);
    assert!(
        pager
            .describe(0, large.as_bytes())
            .unwrap_err()
            .contains("1048577 splats")
    );
    for chunk in [0, 1] {
        let paths = pager.describe(chunk, meta.as_bytes()).unwrap();
        let folder = ["0_0/", "env/"][chunk];
        let images: Vec<&[u8]> = paths
            .iter()
            .map(|path| files[path.strip_prefix(folder).unwrap()].as_slice())
            .collect();
        assert!(pager.come(chunk, &images[1..]).is_err());
        pager.come(chunk, &images).unwrap();
        assert_eq!(pager.next_chunk(), [Some(1), None][chunk]);
    }
    assert_eq!(pager.model().unwrap().degree, 1);
    let mut taken = 0;
    while let Some((batch, _)) = pager.take() {
        assert_eq!(batch.sh.len(), 4 * batch.len());
        taken += batch.len();
    }
    assert_eq!((taken, pager.share()), (190, 1.0));
}
