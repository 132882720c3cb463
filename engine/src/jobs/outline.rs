//! A project of blocks as it would be made, with nothing written.

use serde::Serialize;

use crate::project::{Cut, PlanRecord, Survey};

/// A project that is not made.
#[derive(Debug, Serialize)]
pub struct Outline {
    /// Gaussians of the whole scene.
    pub gaussians: u64,
    /// Blocks that a training view is in, on average.
    pub views_used: f64,
    /// Its blocks.
    pub blocks: Vec<OutlinedBlock>,
}

/// One of its blocks.
#[derive(Debug, Serialize)]
pub struct OutlinedBlock {
    /// Name.
    pub name: String,
    /// Photos that it trains on.
    pub train_views: Vec<String>,
    /// Photos that it is measured on.
    pub test_views: Vec<String>,
    /// Gaussians that its core is to get.
    pub demand: u64,
    /// Gaussians of core and margin.
    pub wide_demand: f64,
    /// World units around the core.
    pub margin: f64,
    /// The plan of its run.
    pub planned: PlanRecord,
}

impl Outline {
    /// What a cut makes, with the plan of each block.
    pub(super) fn of(survey: &Survey, cut: &Cut, plans: Vec<PlanRecord>) -> Self {
        let views = cut.train.iter().zip(&cut.test);
        let blocks = cut.blocks.iter().zip(&cut.names).zip(views).zip(plans);
        Self {
            gaussians: cut.gaussians,
            views_used: cut.views_used(survey),
            blocks: blocks
                .map(|(((block, name), (train, test)), planned)| OutlinedBlock {
                    name: name.clone(),
                    train_views: train.clone(),
                    test_views: test.clone(),
                    demand: block.demand,
                    wide_demand: block.wide_demand,
                    margin: block.margin,
                    planned,
                })
                .collect(),
        }
    }
}
