//! The look at the bytes between tensors, by the device that may have written them.

use kiln_gpu::memory::{GUARD_PATTERN, Gpu, MemoryError};
use kiln_kernels::guard_bands::{self, Band, Report};
use kiln_program::ALIGNMENT;
use kiln_program::Program;

/// Looks at the bytes around every tensor; nothing is in flight. Only what was found comes to the host, 16 bytes a band.
///
/// # Errors
/// [`MemoryError::Overrun`] for the first band with a word that was written; never without guard bands.
pub fn check_guard_bands(gpu: &mut Gpu) -> Result<(), MemoryError> {
    let windows = gpu.guards().windows(gpu.device().caps().max_binding_bytes);
    let (upload, readback) = gpu.transfer_windows();
    let mut program = Program::new("guard_bands");
    let (mut table, mut places) = (Vec::<u8>::new(), Vec::new());
    let mut reports_end = 0;
    for window in &windows {
        let bands: Vec<Band> = window
            .bands
            .iter()
            .map(|[first_word, words]| Band {
                first_word: *first_word,
                words: *words,
            })
            .collect();
        let list = upload.slice(table.len() as u64, size_of_val(&bands[..]) as u64);
        table.extend_from_slice(bytemuck::cast_slice(&bands));
        table.resize(table.len().next_multiple_of(ALIGNMENT as usize), 0);
        let reports = readback.slice(reports_end, (bands.len() * size_of::<Report>()) as u64);
        reports_end += reports.bytes.next_multiple_of(ALIGNMENT);
        let count = u32::try_from(bands.len()).unwrap_or(u32::MAX);
        guard_bands::record(&mut program, list, window.view, reports, count, GUARD_PATTERN);
        places.push(reports);
    }
    if windows.is_empty() {
        return Ok(());
    }
    let host = gpu.memory_mut().host_mut(&upload.slice(0, table.len() as u64))?;
    host.copy_from_slice(&table);
    gpu.run(&program)?;
    let mut band = 0;
    for place in &places {
        for bytes in gpu.memory().host(place)?.chunks_exact(size_of::<Report>()) {
            let report: Report = bytemuck::pod_read_unaligned(bytes);
            if report.overwritten > 0 {
                let Report {
                    overwritten,
                    first,
                    found,
                    ..
                } = report;
                return Err(gpu.guards().overrun(band, first, found, overwritten));
            }
            band += 1;
        }
    }
    Ok(())
}
