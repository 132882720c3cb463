//! Which commands may overtake each other: where a recording needs barriers, and whether it has them.
//!
//! [`fences`] decides from byte ranges that commands touch; it is what recordings are made by. [`check`] looks at the
//! result from the other side: it goes through all pairs of commands with no barrier between them and asks for views of
//! theirs that share bytes, one of them written. The validation layer sees neither two passes that write the same bytes
//! nor tensors that share bytes of the arena on purpose; here both are errors with the names of passes and tensor.

use super::{Hazard, Place, VkError};
use crate::program::{Access, Command, Groups, Program, Span};

/// A byte range that a command touches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    block: usize,
    start: u64,
    end: u64,
    write: bool,
}

impl Touch {
    fn new(place: Place, write: bool, slack: u64) -> Self {
        Self {
            block: place.block,
            start: place.offset,
            end: place.offset + place.bytes + slack,
            write,
        }
    }

    fn conflicts(&self, other: &Self) -> bool {
        (self.write || other.write) && self.block == other.block && self.start < other.end && other.start < self.end
    }
}

/// What `command` touches, in any of `slots` slots.
pub(crate) fn touches(command: &Command, place: &dyn Fn(&Span) -> Place, slots: u32) -> Vec<Touch> {
    let last = u64::from(slots.max(1) - 1);
    match command {
        Command::Hold(_) => Vec::new(),
        Command::Fill { view, .. } => vec![Touch::new(place(view), true, 0)],
        Command::Copy {
            from,
            from_stride,
            to,
            to_stride,
        } => vec![
            Touch::new(place(from), false, last * from_stride),
            Touch::new(place(to), true, last * to_stride),
        ],
        Command::Dispatch(pass) => {
            let mut list: Vec<_> = pass
                .views
                .iter()
                .zip(pass.shader.bindings)
                .map(|(view, binding)| Touch::new(place(view), binding.access != Access::Read, 0))
                .collect();
            if let Groups::Indirect(view) = &pass.groups {
                list.push(Touch::new(place(view), false, 0));
            }
            list
        }
    }
}

/// For each command, whether a barrier comes before it: where it conflicts with a command since the last barrier.
pub(crate) fn fences(touches: &[Vec<Touch>]) -> Vec<bool> {
    let mut open: Vec<Touch> = Vec::new();
    let mut fences = Vec::with_capacity(touches.len());
    for list in touches {
        let fence = list.iter().any(|t| open.iter().any(|o| o.conflicts(t)));
        if fence {
            open.clear();
        }
        open.extend_from_slice(list);
        fences.push(fence);
    }
    fences
}

/// Every view of a command and whether it is written, as it is declared.
fn uses(command: &Command) -> Vec<(Span, bool)> {
    match command {
        Command::Hold(_) => Vec::new(),
        Command::Fill { view, .. } => vec![(*view, true)],
        Command::Copy { from, to, .. } => vec![(*from, false), (*to, true)],
        Command::Dispatch(pass) => {
            let bound = pass.views.iter().zip(pass.shader.bindings);
            let mut list: Vec<_> = bound.map(|(view, b)| (*view, b.access != Access::Read)).collect();
            if let Groups::Indirect(view) = pass.groups {
                list.push((view, false));
            }
            list
        }
    }
}

/// Checks a recording with barriers at `fences`.
///
/// # Errors
/// [`VkError::Hazard`] at the first two commands that nothing keeps apart although one writes what the other touches.
pub(crate) fn check(
    program: &Program,
    fences: &[bool],
    place: &dyn Fn(&Span) -> Place,
    name: &dyn Fn(&Span) -> String,
) -> Result<(), VkError> {
    let list: Vec<Vec<(Span, Place, bool)>> = program
        .commands
        .iter()
        .map(|c| {
            uses(c)
                .into_iter()
                .map(|(view, write)| (view, place(&view), write))
                .collect()
        })
        .collect();
    let title = |index: usize| {
        let pass = program.commands.get(index).map_or("?", Command::name);
        format!("`{pass}` (command {index})")
    };
    for (later, command) in list.iter().enumerate() {
        // Back to the nearest barrier: that one orders everything before it.
        let since = (0..=later).rev().find(|at| fences.get(*at) == Some(&true)).unwrap_or(0);
        for (earlier, before) in list.iter().enumerate().take(later).skip(since) {
            for (old, old_place, old_write) in before {
                for (new, new_place, new_write) in command {
                    if !(*old_write || *new_write) || !share(old_place, new_place) {
                        continue;
                    }
                    let (old, new) = (name(old), name(new));
                    let tensor = if old == new { old } else { format!("{new}` and `{old}") };
                    return Err(VkError::Hazard(Box::new(Hazard {
                        program: program.name.clone(),
                        earlier: title(earlier),
                        later: title(later),
                        what: kind(*old_write, *new_write),
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
    use crate::program::TensorTable;

    /// What the validation layer does not see: two passes that write the same bytes, under the same or different names.
    #[test]
    fn two_writes_are_a_hazard_also_under_two_names() {
        let mut table = TensorTable::default();
        let of = |table: &mut TensorTable, name: &str| {
            table.add(name, crate::program::Class::Arena, crate::program::Tag::Other, 64)
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
        let error = check(&program, &[false, false], &shared, &name).unwrap_err();
        assert_eq!(
            error.to_string(),
            "internal error: in program `twice`, `fill` (command 1) writes after a write of `fill` (command 0) without a \
             barrier between them: `b` and `a`; please report this"
        );
        check(&program, &[false, true], &shared, &name).unwrap();
        let apart = |view: &Span| Place {
            block: 0,
            offset: 64 * view.tensor.index() as u64,
            bytes: view.bytes,
        };
        check(&program, &[false, false], &apart, &name).unwrap();
    }
}
