//! Tests of the Windows program, by what is compared.

mod bytes;
mod folders;
mod killed;
mod program;
mod served;
mod signals;
