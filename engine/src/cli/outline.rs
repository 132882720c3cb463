//! `kiln split --plan-only`: what would be made, and nothing written.

use std::io::{self, Write};

use serde::Serialize;

use crate::memory::MIB;
use crate::project::{Cut, PlanRecord, Survey};

use crate::record::words::count;

/// A project that is not made.
#[derive(Debug, Serialize)]
pub(super) struct Outline {
    /// Gaussians of the whole scene.
    gaussians: u64,
    /// Blocks that a training view is in, on average.
    views_used: f64,
    blocks: Vec<OutlinedBlock>,
}

/// One of its blocks.
#[derive(Debug, Serialize)]
struct OutlinedBlock {
    name: String,
    train_views: Vec<String>,
    test_views: Vec<String>,
    /// Gaussians that its core is to get.
    demand: u64,
    /// Gaussians of core and margin.
    wide_demand: f64,
    /// World units around the core.
    margin: f64,
    planned: PlanRecord,
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

    /// Prints it for people, or for programs.
    pub(super) fn print(&self, json: bool, out: &mut dyn Write) -> io::Result<()> {
        if json {
            serde_json::to_writer_pretty(&mut *out, self)?;
            return writeln!(out);
        }
        writeln!(
            out,
            "{} for {} Gaussians; views are used {:.1} times on average",
            count(self.blocks.len(), "block"),
            self.gaussians,
            self.views_used
        )?;
        for block in &self.blocks {
            writeln!(
                out,
                "{}  {:>6} views {:>10} Gaussians, {:>10.0} with the margin of {:.3}, {}",
                block.name,
                block.train_views.len(),
                block.demand,
                block.wide_demand,
                block.margin,
                in_words(&block.planned)
            )?;
        }
        Ok(())
    }
}

/// A block's plan: a run takes what is planned, and more where its card has more room than the demand asks for.
pub(super) fn in_words(planned: &PlanRecord) -> String {
    format!(
        "its run has room for {} and takes {:.1} MiB of a cap of {:.1} MiB",
        planned.gaussians,
        planned.device_bytes as f64 / MIB as f64,
        planned.cap_bytes as f64 / MIB as f64
    )
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn people_and_programs_read_the_same() {
        let outline = Outline {
            gaussians: 1000,
            views_used: 1.25,
            blocks: vec![OutlinedBlock {
                name: "b0000".to_owned(),
                train_views: vec!["a.jpg".to_owned()],
                test_views: Vec::new(),
                demand: 1000,
                wide_demand: 1200.4,
                margin: 0.5,
                planned: PlanRecord {
                    gaussians: 5000,
                    device_bytes: 60 * MIB,
                    cap_bytes: 7168 * MIB,
                },
            }],
        };
        let printed = |json| {
            let mut out = Vec::new();
            outline.print(json, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            printed(false),
            "1 block for 1000 Gaussians; views are used 1.2 times on average\n\
             b0000       1 views       1000 Gaussians,       1200 with the margin of 0.500, its run has room for 5000 and \
             takes 60.0 MiB of a cap of 7168.0 MiB\n"
        );
        let json: serde_json::Value = serde_json::from_str(&printed(true)).unwrap();
        assert_eq!(json["blocks"][0]["planned"]["gaussians"], 5000);
        assert_eq!(json["blocks"][0]["train_views"][0], "a.jpg");
    }
}
