//! Ends a run whose model outgrew its capacity, under `memory.on_full: stop`.

use super::{Context, Watch};
use crate::record::events::{Event, EventRow};
use crate::run::RunError;
use kiln_config::OnFull;

pub(super) struct Overflow;

impl Watch for Overflow {
    fn event(&mut self, row: &EventRow, ctx: &mut Context<'_>) {
        if let Event::DensifyCapped { dropped, n_cap } = row.event
            && ctx.profile.memory.on_full == OnFull::Stop
        {
            ctx.end(RunError::Overflow {
                iteration: row.it,
                dropped,
                n_cap,
            });
        }
    }
}
