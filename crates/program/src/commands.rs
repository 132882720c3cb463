//! The list of passes, what each reads and writes, and how many groups it needs.

use super::{Bindings, Kernel, Shader, Span};

/// Number of workgroups of a pass.
#[derive(Clone, Debug)]
pub enum Groups {
    /// Known when the program is made.
    Direct([u32; 3]),
    /// Three words in device memory, written by an earlier pass.
    Indirect(Span),
}

/// One dispatch.
#[derive(Clone, Debug)]
pub struct Pass {
    /// The shader.
    pub shader: &'static Shader,
    /// Specialisation constants 0, 1, 2, ...
    pub spec: Vec<u32>,
    /// What is bound, in the shader's order.
    pub views: Vec<Span>,
    /// Push constants.
    pub push: Vec<u8>,
    /// Workgroups.
    pub groups: Groups,
}

/// One entry of a program.
#[derive(Clone, Debug)]
pub enum Command {
    /// Runs a compute shader.
    Dispatch(Pass),
    /// Fills a range with a repeated word.
    Fill {
        /// Target.
        view: Span,
        /// The word.
        value: u32,
    },
    /// Copies between tensors; strides select the ring slot's part.
    Copy {
        /// Source of slot 0.
        from: Span,
        /// Bytes added to the source per slot.
        from_stride: u64,
        /// Target of slot 0.
        to: Span,
        /// Bytes added to the target per slot.
        to_stride: u64,
    },
    /// Nothing to execute: these tensors hold values here that another program wrote or will read.
    Hold(Vec<Span>),
}

impl Command {
    /// Name for timestamps and print-outs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Dispatch(pass) => pass.shader.name,
            Self::Fill { .. } => "fill",
            Self::Copy { .. } => "copy",
            Self::Hold(_) => "hold",
        }
    }

    /// Every view the command touches.
    pub fn views(&self) -> Vec<Span> {
        match self {
            Self::Dispatch(pass) => {
                let mut views = pass.views.clone();
                if let Groups::Indirect(view) = &pass.groups {
                    views.push(*view);
                }
                views
            }
            Self::Fill { view, .. } => vec![*view],
            Self::Copy { from, to, .. } => vec![*from, *to],
            Self::Hold(views) => views.clone(),
        }
    }
}

/// A named list of commands, executed in order.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Name for reports and lost-device messages.
    pub name: String,
    /// The commands.
    pub commands: Vec<Command>,
}

impl Program {
    /// An empty program.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            commands: Vec::new(),
        }
    }

    /// Appends a dispatch of `kernel` with its specialisation constants, views and push constants, `()` for none.
    pub fn pass<B: Bindings, P: bytemuck::NoUninit, S: bytemuck::NoUninit>(
        &mut self,
        kernel: &'static Kernel<B, P, S>,
        spec: S,
        bind: B,
        push: P,
        groups: Groups,
    ) {
        self.commands.push(Command::Dispatch(Pass {
            shader: &kernel.shader,
            spec: bytemuck::pod_collect_to_vec(bytemuck::bytes_of(&spec)),
            views: bind.views(),
            push: bytemuck::bytes_of(&push).to_vec(),
            groups,
        }));
    }

    /// Appends a fill.
    pub fn fill(&mut self, view: Span, value: u32) {
        self.commands.push(Command::Fill { view, value });
    }

    /// States that `views` hold values at this point which no command of this program accounts for. Programs that work
    /// together on arena tensors begin and end with it, so that the plan keeps what passes between them.
    pub fn hold(&mut self, views: &[Span]) {
        self.commands.push(Command::Hold(views.to_vec()));
    }

    /// Appends a copy of the same range for every slot.
    pub fn copy(&mut self, from: Span, to: Span) {
        self.commands.push(Command::Copy {
            from,
            from_stride: 0,
            to,
            to_stride: 0,
        });
    }

    /// Appends a copy out of a ring: slot `s` reads `s * stride` bytes further on.
    pub fn copy_from_ring(&mut self, from: Span, stride: u64, to: Span) {
        self.commands.push(Command::Copy {
            from,
            from_stride: stride,
            to,
            to_stride: 0,
        });
    }

    /// Appends a copy into a ring: slot `s` writes `s * stride` bytes further on.
    pub fn copy_to_ring(&mut self, from: Span, to: Span, stride: u64) {
        self.commands.push(Command::Copy {
            from,
            from_stride: 0,
            to,
            to_stride: stride,
        });
    }
}

/// Groups along x and y for `n` workgroups when a grid axis holds at most 65 535 of them.
///
/// Shaders fold the grid back with `group_index()` and test against the real count.
#[must_use]
pub fn fold_groups(n: u32) -> [u32; 3] {
    const AXIS: u32 = 65_535;
    if n <= AXIS {
        [n, 1, 1]
    } else {
        [AXIS, n.div_ceil(AXIS), 1]
    }
}

impl Groups {
    /// Enough groups of `local` threads for `n` threads; zero threads still launch one group.
    #[must_use]
    pub fn cover(n: u32, local: u32) -> Self {
        Self::Direct(fold_groups(n.div_ceil(local).max(1)))
    }
}
