//! `kiln plan --explain`: every block of the plan, and every tensor with its class, size, place and lifetime.

use std::io::{self, Write};

use super::exit::unprinted;
use crate::plan::TrainPlan;
use crate::run::RunError;
use kiln_gpu::memory::{Plan, PlanLimits};
use kiln_program::{Class, Command, Program, TensorTable};

/// Prints a row a block and a row a tensor, in the order of the plan.
///
/// # Errors
/// [`RunError`] when the plan cannot be placed or `out` cannot be written.
pub(super) fn print(plan: &TrainPlan, limits: PlanLimits, out: &mut dyn Write) -> Result<(), RunError> {
    let placed = plan.place(limits)?;
    let table = plan.whole_table();
    blocks(&placed, out).map_err(unprinted)?;
    tensors(&table, &placed, &plan.programs(), out).map_err(unprinted)?;
    Ok(())
}

/// The driver's allocations.
fn blocks(placed: &Plan, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "blocks: number, class, bytes, bytes asked of the driver, tensors, priority"
    )?;
    for (number, block) in placed.blocks.iter().enumerate() {
        let tensors = placed.slots.iter().filter(|slot| slot.block == number).count();
        writeln!(
            out,
            "  block {number:<4} {:<11} {:>14} {:>14} {tensors:>6} {:>6.2}",
            block.class.name(),
            block.bytes,
            block.request_bytes,
            block.class.priority()
        )?;
    }
    writeln!(out, "  on the device {:>38}", placed.device_bytes())?;
    writeln!(out, "  in the host   {:>38}", placed.host_bytes())
}

fn tensors(table: &TensorTable, placed: &Plan, programs: &[&Program], out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "tensors: name, class, purpose, bytes, block and offset, lifetime (program, commands from first to last)"
    )?;
    for (at, tensor) in table.tensors().iter().enumerate() {
        let slot = placed.slots.get(at).copied();
        let place = slot.map_or_else(String::new, |slot| format!("{}:{}", slot.block, slot.offset));
        let life = match tensor.class {
            Class::Arena => lifetime(placed.lifetimes.get(at).map_or(&[], Vec::as_slice), programs),
            Class::Persistent | Class::Images | Class::Small | Class::Upload | Class::Readback => "the run".to_owned(),
        };
        writeln!(
            out,
            "  {:<28} {:<11} {:<14} {:>14} {:>16}  {life}",
            tensor.name,
            tensor.class.name(),
            tensor.tag.name(),
            tensor.bytes,
            place
        )?;
    }
    Ok(())
}

/// `step 3-17 project..ssim_maps; evaluate 2-9 cull..rasterize`; programs that differ in a setting share names, which are
/// printed once with the widest range.
fn lifetime(lives: &[Option<(usize, usize)>], programs: &[&Program]) -> String {
    let mut named: Vec<(&Program, usize, usize)> = Vec::new();
    for (life, program) in lives.iter().zip(programs) {
        let Some((first, last)) = *life else { continue };
        match named.iter_mut().find(|(known, ..)| known.name == program.name) {
            Some((_, from, to)) => (*from, *to) = (first.min(*from), last.max(*to)),
            None => named.push((program, first, last)),
        }
    }
    if named.is_empty() {
        return "never used".to_owned();
    }
    let word = |program: &Program, at: usize| program.commands.get(at).map_or("", Command::name);
    let parts: Vec<String> = named
        .iter()
        .map(|(program, first, last)| {
            let (from, to) = (word(program, *first), word(program, *last));
            format!("{} {first}-{last} {from}..{to}", program.name)
        })
        .collect();
    parts.join("; ")
}
