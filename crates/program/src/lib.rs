//! A step as data: tensors that have no address yet, and the passes that read and write them.
//!
//! Owns: the table of tensors ([`TensorTable`], [`Span`]) and the list of commands ([`Program`], [`Kernel`],
//! [`Groups`]).
//! Promises: no device, no driver call, no file; whatever is declared here can be planned, printed and tested without
//! any of them. Barriers, arena offsets, timestamps and print-outs all come from this one declaration.

mod commands;
mod kernel;
mod tensor;

pub use commands::{Command, Groups, Pass, Program, fold_groups};
pub use kernel::{Access, Binding, Bindings, Kernel, Shader};
pub use tensor::{ALIGNMENT, Class, Shape, Span, Tag, TensorDesc, TensorId, TensorTable};
