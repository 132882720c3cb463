//! A step as data: tensors that have no address yet, and the passes that read and write them.
//!
//! Owns: the table of tensors ([`TensorTable`], [`View`]) and the list of commands ([`Program`], [`Shader`], [`Groups`]).
//! Promises: no device, no driver call, no file; whatever is declared here can be planned, printed and tested without
//! any of them. Barriers, arena offsets, timestamps and print-outs all come from this one declaration.

mod commands;
mod tensor;

pub use commands::{Access, Binding, Command, Groups, Pass, Program, Shader, fold_groups};
pub use tensor::{ALIGNMENT, Class, Tag, TensorDesc, TensorId, TensorTable, View};
