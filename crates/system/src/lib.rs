//! What Kiln asks of the operating system, behind one set of functions.
//!
//! Owns the differences: `unix` reads `/proc` and the control group, `windows` calls the system. What a system does not say is absent,
//! never guessed; on Windows no path of Unix is looked up, where it would lead into WSL's own files or nowhere.

mod awake;
mod gpu;
mod host;
mod load;
mod lock;
mod memory;
mod process;
mod signals;
mod surroundings;
mod terminal;
pub mod wsl;

#[cfg(unix)]
#[path = "unix.rs"]
mod system;
#[cfg(windows)]
#[path = "windows.rs"]
mod system;

pub use awake::Awake;
pub use gpu::SharedGpuMemory;
pub use host::{data_folder, host_name, kernel, os_name};
pub use load::{Ticks, processor_ticks};
pub use lock::{LOCK_FILE, Locked, is_locked, lock, lock_or_wait, share};
pub use memory::{Memory, available_bytes, memory, resident_bytes};
pub use process::{end_now, is_gone};
pub use signals::{Signal, for_each_signal, ignore_large_files};
pub use surroundings::Surroundings;
pub use terminal::can_redraw;
pub use wsl::is_wsl;
