//! `kiln plan --explain`: every tensor of the plan with its class, size, place and lifetime.

use std::io::{self, Write};

use crate::memory::{Class, Plan, PlanLimits, Program};
use crate::train::{TrainError, TrainPlan};

/// Prints a row a tensor, in the order of the plan.
///
/// # Errors
/// [`TrainError`] when the plan cannot be placed or `out` cannot be written.
pub(super) fn print(plan: &TrainPlan, limits: PlanLimits, out: &mut dyn Write) -> Result<(), TrainError> {
    let placed = plan.place(limits)?;
    let write = |error| crate::export::ExportError::new(std::path::Path::new("standard output"), error);
    rows(plan, &placed, out).map_err(write)?;
    Ok(())
}

fn rows(plan: &TrainPlan, placed: &Plan, out: &mut dyn Write) -> io::Result<()> {
    let programs = plan.programs();
    writeln!(
        out,
        "tensors: name, class, purpose, bytes, block and offset, lifetime (commands of a program)"
    )?;
    for (at, tensor) in plan.table.tensors().iter().enumerate() {
        let slot = placed.slots.get(at).copied();
        let place = slot.map_or_else(String::new, |slot| format!("{}:{}", slot.block, slot.offset));
        let life = match tensor.class {
            Class::Arena => lifetime(placed.lifetimes.get(at).map_or(&[], Vec::as_slice), &programs),
            Class::Persistent | Class::Images | Class::Small | Class::Upload | Class::Readback => "the run".to_owned(),
        };
        writeln!(
            out,
            "  {:<28} {:<11} {:<14} {:>14} {:>16}  {life}",
            tensor.name,
            word(&tensor.class),
            word(&tensor.tag),
            tensor.bytes,
            place
        )?;
    }
    Ok(())
}

/// `step 3-17, evaluate 2-9`; the parts of a banded step share names, which are printed once with the widest range.
fn lifetime(lives: &[Option<(usize, usize)>], programs: &[&Program]) -> String {
    let mut named: Vec<(&str, usize, usize)> = Vec::new();
    for (life, program) in lives.iter().zip(programs) {
        let Some((first, last)) = *life else { continue };
        match named.iter_mut().find(|(name, ..)| *name == program.name) {
            Some((_, from, to)) => (*from, *to) = (first.min(*from), last.max(*to)),
            None => named.push((&program.name, first, last)),
        }
    }
    if named.is_empty() {
        return "never used".to_owned();
    }
    let parts: Vec<String> = named
        .iter()
        .map(|(name, first, last)| format!("{name} {first}-{last}"))
        .collect();
    parts.join(", ")
}

/// The word that files use for a class or a purpose.
fn word(value: &impl serde::Serialize) -> String {
    let json = serde_json::to_value(value).unwrap_or_default();
    json.as_str().unwrap_or_default().to_owned()
}
