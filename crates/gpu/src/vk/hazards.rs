//! Which commands may overtake each other: where a recording needs barriers, and whether it has them.
//!
//! [`fences`] decides from byte ranges that commands touch; it is what recordings are made by. [`check`] looks at the
//! result from the other side: it goes through all pairs of commands with no barrier between them and asks for views of
//! theirs that share bytes, one of them written. The validation layer sees neither two passes that write the same bytes
//! nor tensors that share bytes of the arena on purpose; here both are errors with the names of passes and tensor.

use super::fence::Fence;
use super::{Hazard, Place, VkError};
use kiln_program::{Access, Command, Groups, Program, Span};

/// A byte range that a command touches.
#[derive(Clone, Copy, Debug)]
pub struct Touch {
    block: usize,
    start: u64,
    end: u64,
    write: bool,
    /// By a shader, rather than by a copy or by the front end.
    shader: bool,
    /// A barrier between passes came after it.
    past_passes: bool,
}

impl Touch {
    fn new(place: Place, (write, shader): (bool, bool), slack: u64) -> Self {
        Self {
            block: place.block,
            start: place.offset,
            end: place.offset + place.bytes + slack,
            write,
            shader,
            past_passes: false,
        }
    }

    /// What has to come between this and an earlier touch.
    fn fence_after(&self, earlier: &Self) -> Fence {
        let overlap = self.block == earlier.block && self.start < earlier.end && earlier.start < self.end;
        let between_passes = self.shader && earlier.shader;
        if !(self.write || earlier.write) || !overlap || (between_passes && earlier.past_passes) {
            Fence::None
        } else if between_passes {
            Fence::Passes
        } else {
            Fence::All
        }
    }
}

/// What `command` touches, in any of `slots` slots.
pub fn touches(command: &Command, place: &dyn Fn(&Span) -> Place, slots: u32) -> Vec<Touch> {
    let last = u64::from(slots.max(1) - 1);
    match command {
        Command::Hold(_) => Vec::new(),
        Command::Fill { view, .. } => vec![Touch::new(place(view), (true, false), 0)],
        Command::Copy {
            from,
            from_stride,
            to,
            to_stride,
        } => vec![
            Touch::new(place(from), (false, false), last * from_stride),
            Touch::new(place(to), (true, false), last * to_stride),
        ],
        Command::Dispatch(pass) => {
            let mut list: Vec<_> = pass
                .views
                .iter()
                .zip(pass.shader.bindings)
                .map(|(view, binding)| Touch::new(place(view), (binding.access != Access::Read, true), 0))
                .collect();
            if let Groups::Indirect(view) = &pass.groups {
                list.push(Touch::new(place(view), (false, false), 0));
            }
            list
        }
    }
}

/// For each command, the barrier before it: the least that keeps it from what it conflicts with.
pub fn fences(touches: &[Vec<Touch>]) -> Vec<Fence> {
    let mut open: Vec<Touch> = Vec::new();
    let mut fences = Vec::with_capacity(touches.len());
    for list in touches {
        let pairs = list.iter().flat_map(|t| open.iter().map(|o| t.fence_after(o)));
        let fence = pairs.max().unwrap_or(Fence::None);
        match fence {
            Fence::None => {}
            Fence::Passes => open.iter_mut().for_each(|touch| touch.past_passes = true),
            Fence::All => open.clear(),
        }
        open.extend_from_slice(list);
        fences.push(fence);
    }
    fences
}

/// How a command uses a view.
#[derive(Clone, Copy)]
struct Use {
    writes: bool,
    by_shader: bool,
}

impl Use {
    const READ_FIRST: Self = Self {
        writes: false,
        by_shader: false,
    };
    const COPIED_TO: Self = Self {
        writes: true,
        by_shader: false,
    };
}

/// Every view of a command and how it is used, as it is declared.
fn uses(command: &Command) -> Vec<(Span, Use)> {
    match command {
        Command::Hold(_) => Vec::new(),
        Command::Fill { view, .. } => vec![(*view, Use::COPIED_TO)],
        Command::Copy { from, to, .. } => vec![(*from, Use::READ_FIRST), (*to, Use::COPIED_TO)],
        Command::Dispatch(pass) => {
            let bound = pass.views.iter().zip(pass.shader.bindings);
            let used = |access| Use {
                writes: access != Access::Read,
                by_shader: true,
            };
            let mut list: Vec<_> = bound.map(|(view, b)| (*view, used(b.access))).collect();
            if let Groups::Indirect(view) = pass.groups {
                list.push((view, Use::READ_FIRST));
            }
            list
        }
    }
}

/// Checks a recording with the barriers `fences`.
///
/// # Errors
/// [`VkError::Hazard`] at the first two commands that nothing keeps apart although one writes what the other touches.
pub fn check(
    program: &Program,
    fences: &[Fence],
    place: &dyn Fn(&Span) -> Place,
    name: &dyn Fn(&Span) -> String,
) -> Result<(), VkError> {
    let list: Vec<Vec<(Span, Place, Use)>> = program
        .commands
        .iter()
        .map(|c| {
            uses(c)
                .into_iter()
                .map(|(view, used)| (view, place(&view), used))
                .collect()
        })
        .collect();
    let title = |index: usize| {
        let pass = program.commands.get(index).map_or("?", Command::name);
        format!("`{pass}` (command {index})")
    };
    for (later, command) in list.iter().enumerate() {
        let nearest = |enough: Fence| {
            (0..=later)
                .rev()
                .find(|at| fences.get(*at).is_some_and(|f| *f >= enough))
        };
        // Back to the nearest barrier that orders everything before it.
        let (all, passes) = (nearest(Fence::All).unwrap_or(0), nearest(Fence::Passes).unwrap_or(0));
        for (earlier, before) in list.iter().enumerate().take(later).skip(all) {
            for (old, old_place, old_use) in before {
                for (new, new_place, new_use) in command {
                    let ordered = old_use.by_shader && new_use.by_shader && earlier < passes;
                    if !(old_use.writes || new_use.writes) || ordered || !share(old_place, new_place) {
                        continue;
                    }
                    let (old, new) = (name(old), name(new));
                    let tensor = if old == new { old } else { format!("{new}` and `{old}") };
                    return Err(VkError::Hazard(Box::new(Hazard {
                        program: program.name.clone(),
                        earlier: title(earlier),
                        later: title(later),
                        what: kind(old_use.writes, new_use.writes),
                        tensor,
                    })));
                }
            }
        }
    }
    Ok(())
}

fn share(a: &Place, b: &Place) -> bool {
    a.block == b.block && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes
}

const fn kind(old_write: bool, new_write: bool) -> &'static str {
    match (old_write, new_write) {
        (true, true) => "writes after a write",
        (true, false) => "reads after a write",
        _ => "writes after a read",
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_program::TensorTable;

    /// What the validation layer does not see: two passes that write the same bytes, under the same or different names.
    #[test]
    fn two_writes_are_a_hazard_also_under_two_names() {
        let mut table = TensorTable::default();
        let of = |table: &mut TensorTable, name: &str| {
            table.add(name, kiln_program::Class::Arena, kiln_program::Tag::Other, 64)
        };
        let (a, b) = (of(&mut table, "a"), of(&mut table, "b"));
        let mut program = Program::new("twice");
        program.fill(a, 1);
        program.fill(b, 2);
        let name = |view: &Span| table.get(view.tensor).unwrap().name.clone();
        let shared = |view: &Span| Place {
            block: 0,
            offset: 0,
            bytes: view.bytes,
        };
        let error = check(&program, &[Fence::None; 2], &shared, &name).unwrap_err();
        assert_eq!(
            error.to_string(),
            "internal error: in program `twice`, `fill` (command 1) writes after a write of `fill` (command 0) without a \
             barrier between them: `b` and `a`; please report this"
        );
        check(&program, &[Fence::None, Fence::All], &shared, &name).unwrap();
        let apart = |view: &Span| Place {
            block: 0,
            offset: 64 * view.tensor.index() as u64,
            bytes: view.bytes,
        };
        check(&program, &[Fence::None; 2], &apart, &name).unwrap();
    }
}
