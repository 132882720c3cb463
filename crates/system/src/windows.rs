//! Windows, by its own functions.
#![expect(unsafe_code, reason = "the system's functions are in C")]

use std::fs::File;
use std::future::poll_fn;
use std::io;
use std::os::windows::fs::OpenOptionsExt as _;
use std::path::Path;
use std::ptr::{null, null_mut};
use std::task::Poll;

use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close, ctrl_logoff, ctrl_shutdown};
use windows_sys::Wdk::System::SystemServices::RtlGetVersion;
use windows_sys::Win32::Foundation::{CloseHandle, ERROR_INVALID_PARAMETER, FILETIME, WAIT_OBJECT_0};
use windows_sys::Win32::System::Console::{
    ENABLE_VIRTUAL_TERMINAL_PROCESSING, GetConsoleMode, GetStdHandle, STD_ERROR_HANDLE, SetConsoleMode,
};
use windows_sys::Win32::System::Performance::{
    PDH_FMT_COUNTERVALUE_ITEM_W, PDH_FMT_LARGE, PDH_HCOUNTER, PDH_HQUERY, PDH_MORE_DATA, PdhAddEnglishCounterW,
    PdhCloseQuery, PdhCollectQueryData, PdhGetFormattedCounterArrayW, PdhOpenQueryW,
};
use windows_sys::Win32::System::Power::{ES_CONTINUOUS, ES_SYSTEM_REQUIRED, EXECUTION_STATE, SetThreadExecutionState};
use windows_sys::Win32::System::ProcessStatus::{K32GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS};
use windows_sys::Win32::System::SystemInformation::{GlobalMemoryStatusEx, MEMORYSTATUSEX, OSVERSIONINFOW};
use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, GetSystemTimes, OpenProcess, PROCESS_SYNCHRONIZE, TerminateProcess, WaitForSingleObject,
};
use windows_sys::w;

use crate::{LOCK_FILE, Memory, Signal, Ticks};

/// `FILE_ATTRIBUTE_HIDDEN`
const HIDDEN: u32 = 2;

pub(crate) fn memory() -> Option<Memory> {
    let mut found = MEMORYSTATUSEX {
        dwLength: size_of::<MEMORYSTATUSEX>() as u32,
        ..MEMORYSTATUSEX::default()
    };
    // SAFETY: the structure is of the size that it says.
    let is_known = unsafe { GlobalMemoryStatusEx(&raw mut found) } != 0;
    is_known.then_some(Memory {
        total: found.ullTotalPhys,
        available: found.ullAvailPhys,
    })
}

/// Job objects are not asked.
pub(crate) fn available_in_group() -> Option<u64> {
    None
}

pub(crate) fn resident_bytes() -> Option<u64> {
    let mut found = PROCESS_MEMORY_COUNTERS::default();
    let size = size_of::<PROCESS_MEMORY_COUNTERS>() as u32;
    // SAFETY: the structure is of that size, and the handle of this process needs no closing.
    let is_known = unsafe { K32GetProcessMemoryInfo(GetCurrentProcess(), &raw mut found, size) } != 0;
    is_known.then_some(found.WorkingSetSize as u64)
}

pub(crate) fn processor_ticks() -> Option<Ticks> {
    let [mut idle, mut kernel, mut user] = [FILETIME::default(); 3];
    // SAFETY: three structures to write to.
    let is_known = unsafe { GetSystemTimes(&raw mut idle, &raw mut kernel, &raw mut user) } != 0;
    let ticks = |time: FILETIME| u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime);
    // The kernel's time has the idle time in it.
    let all = ticks(kernel) + ticks(user);
    is_known.then(|| Ticks {
        busy: all.saturating_sub(ticks(idle)),
        all,
    })
}

pub(crate) fn host_name() -> Option<String> {
    std::env::var("COMPUTERNAME").ok()
}

pub(crate) fn os_name() -> Option<String> {
    kernel().map(|version| format!("Windows {version}"))
}

pub(crate) fn kernel() -> Option<String> {
    let mut found = OSVERSIONINFOW {
        dwOSVersionInfoSize: size_of::<OSVERSIONINFOW>() as u32,
        ..OSVERSIONINFOW::default()
    };
    // SAFETY: the structure is of the size that it says.
    let is_known = unsafe { RtlGetVersion(&raw mut found) } == 0;
    is_known.then(|| {
        format!(
            "{}.{}.{}",
            found.dwMajorVersion, found.dwMinorVersion, found.dwBuildNumber
        )
    })
}

pub(crate) fn is_gone(process: u32) -> bool {
    // SAFETY: a handle that is closed again; none is no handle.
    unsafe {
        let handle = OpenProcess(PROCESS_SYNCHRONIZE, 0, process);
        if handle.is_null() {
            // Of a process that is there but another's, access is denied.
            return io::Error::last_os_error().raw_os_error() == Some(ERROR_INVALID_PARAMETER.cast_signed());
        }
        let ended = WaitForSingleObject(handle, 0) == WAIT_OBJECT_0;
        CloseHandle(handle);
        ended
    }
}

/// The performance counter of shared memory, for all processes and devices: which there are changes, and a query without a name in it asks
/// anew each time.
pub(crate) struct GpuCounter {
    query: PDH_HQUERY,
    counter: PDH_HCOUNTER,
}

// SAFETY: the library's handles belong to no thread, and calls with one come one after the other, as `read` and `drop` are behind a lock.
unsafe impl Send for GpuCounter {}

impl GpuCounter {
    pub(crate) fn open() -> Option<Self> {
        let mut found = Self {
            query: null_mut(),
            counter: null_mut(),
        };
        let path = w!(r"\GPU Process Memory(*)\Shared Usage");
        // SAFETY: names that end in 0, and handles to write to; a query that was opened is closed when `found` is dropped.
        let is_there = unsafe {
            PdhOpenQueryW(null(), 0, &raw mut found.query) == 0
                && PdhAddEnglishCounterW(found.query, path, 0, &raw mut found.counter) == 0
        };
        is_there.then_some(found)
    }

    /// Names of instances, and bytes.
    pub(crate) fn read(&self) -> Option<Vec<(String, u64)>> {
        let (mut bytes, mut count) = (0, 0);
        // SAFETY: an open query; without room the call says how much it wants.
        let said = unsafe {
            if PdhCollectQueryData(self.query) != 0 {
                return None;
            }
            PdhGetFormattedCounterArrayW(self.counter, PDH_FMT_LARGE, &raw mut bytes, &raw mut count, null_mut())
        };
        if said != PDH_MORE_DATA {
            return (said == 0).then(Vec::new);
        }
        let item = size_of::<PDH_FMT_COUNTERVALUE_ITEM_W>();
        // Items come first, and the names that they point to behind them.
        let mut room = vec![PDH_FMT_COUNTERVALUE_ITEM_W::default(); (bytes as usize).div_ceil(item)];
        bytes = (room.len() * item) as u32;
        let place = room.as_mut_ptr();
        // SAFETY: there are so many bytes at that place.
        let said =
            unsafe { PdhGetFormattedCounterArrayW(self.counter, PDH_FMT_LARGE, &raw mut bytes, &raw mut count, place) };
        let items = room.get(..count as usize).filter(|_| said == 0)?;
        let of_item = |found: &PDH_FMT_COUNTERVALUE_ITEM_W| {
            // SAFETY: the name ends in 0 and lies in `room`; the value was asked for in this form. A status of 0 or 1 is a value.
            unsafe {
                let length = (0..).take_while(|&at| *found.szName.add(at) != 0).count();
                let name = String::from_utf16_lossy(std::slice::from_raw_parts(found.szName, length));
                let value = u64::try_from(found.FmtValue.Anonymous.largeValue).ok()?;
                (found.FmtValue.CStatus <= 1).then_some((name, value))
            }
        };
        Some(items.iter().filter_map(of_item).collect())
    }
}

impl Drop for GpuCounter {
    fn drop(&mut self) {
        if !self.query.is_null() {
            // SAFETY: opened here, and used by nobody else.
            unsafe {
                PdhCloseQuery(self.query);
            }
        }
    }
}

pub(crate) fn end_now(code: u8) -> ! {
    // SAFETY: the handle of this process needs no closing.
    unsafe {
        TerminateProcess(GetCurrentProcess(), code.into());
    }
    // Not reached: this process may end itself.
    std::process::exit(code.into())
}

/// What a thread asks of the system's sleep.
pub(crate) type Waking = EXECUTION_STATE;

pub(crate) fn keep_awake() -> Waking {
    execution_state(ES_CONTINUOUS | ES_SYSTEM_REQUIRED)
}

pub(crate) fn ask_again(before: Waking) {
    // Without that bit, as the call's failure has none, nothing was asked for that lasts.
    let lasts = before & ES_CONTINUOUS != 0;
    execution_state(if lasts { before } else { ES_CONTINUOUS });
}

/// Looking starts the system's idle time anew, and changes nothing that lasts.
#[cfg(test)]
pub(crate) fn is_kept_awake() -> bool {
    execution_state(ES_SYSTEM_REQUIRED) & (ES_CONTINUOUS | ES_SYSTEM_REQUIRED) == ES_CONTINUOUS | ES_SYSTEM_REQUIRED
}

/// Sets the state and gives the one before.
fn execution_state(state: EXECUTION_STATE) -> EXECUTION_STATE {
    // SAFETY: takes a number and returns one.
    unsafe { SetThreadExecutionState(state) }
}

pub(crate) fn takes_control_sequences() -> bool {
    // SAFETY: the handle is the system's and stays open; `mode` is written to.
    unsafe {
        let handle = GetStdHandle(STD_ERROR_HANDLE);
        let mut mode = 0;
        GetConsoleMode(handle, &raw mut mode) != 0
            && SetConsoleMode(handle, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING) != 0
    }
}

pub(crate) fn open_for_lock(folder: &Path) -> io::Result<File> {
    File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .attributes(HIDDEN)
        .open(folder.join(LOCK_FILE))
}

pub(crate) fn open_to_look(folder: &Path) -> io::Result<Option<File>> {
    match File::options().read(true).open(folder.join(LOCK_FILE)) {
        // Nobody has locked it yet.
        Err(error) if error.kind() == io::ErrorKind::NotFound && folder.is_dir() => Ok(None),
        opened => opened.map(Some),
    }
}

pub(crate) fn listener(mut take: impl FnMut(Signal) + Send + 'static) -> io::Result<impl FnOnce() + Send + 'static> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let (mut c, mut again, mut close, mut log_off, mut shut_down) = (
        ctrl_c()?,
        ctrl_break()?,
        ctrl_close()?,
        ctrl_logoff()?,
        ctrl_shutdown()?,
    );
    Ok(move || {
        runtime.block_on(poll_fn(move |context| {
            loop {
                let interrupt = c.poll_recv(context).is_ready() || again.poll_recv(context).is_ready();
                let terminate = close.poll_recv(context).is_ready()
                    || log_off.poll_recv(context).is_ready()
                    || shut_down.poll_recv(context).is_ready();
                match (interrupt, terminate) {
                    (true, _) => take(Signal::Interrupt),
                    (_, true) => take(Signal::Terminate),
                    _ => return Poll::<()>::Pending,
                }
            }
        }));
    })
}

/// There is no such limit.
#[expect(clippy::unnecessary_wraps, reason = "other systems refuse")]
pub(crate) fn ignore_large_files() -> io::Result<()> {
    Ok(())
}
