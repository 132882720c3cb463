//! Devices and their memory.

use ash::vk::Result as Code;

use super::{complete, golden};
use kiln_gpu::memory::MemoryError;
use kiln_gpu::vk::{DriverDeath, Hazard, VkError};
use kiln_program::Tag;

#[test]
fn devices() {
    let errors = vec![
        VkError::Loader("libvulkan.so.1: cannot open shared object file".to_owned()),
        VkError::NoDevice("the loader found no Vulkan driver".to_owned()),
        VkError::Unsupported {
            device: "Card 80".to_owned(),
            what: "timeline semaphores".to_owned(),
        },
        VkError::OutOfMemory {
            what: "block 3".to_owned(),
            bytes: 1 << 30,
            result: Code::ERROR_OUT_OF_DEVICE_MEMORY,
        },
        VkError::call("vkCreateDevice")(Code::ERROR_OUT_OF_HOST_MEMORY),
        VkError::Pipeline {
            shader: "rasterize.lanes",
            driver: "Dozen Mesa 25.0.7".to_owned(),
            result: Code::ERROR_OUT_OF_HOST_MEMORY,
        },
        VkError::DriverDied(Box::new(DriverDeath {
            device: "Microsoft Direct3D12 (Card 80)".to_owned(),
            driver: "Dozen Mesa 26.1.0".to_owned(),
            how: "signal 11 (invalid memory)".to_owned(),
        })),
        VkError::Lost {
            during: "step".to_owned(),
        },
        VkError::Hazard(Box::new(Hazard {
            program: "step".to_owned(),
            earlier: "`rasterize` (command 40)".to_owned(),
            later: "`loss` (command 42)".to_owned(),
            what: "reads after a write",
            tensor: "pixels/image".to_owned(),
        })),
        VkError::Timeout("step".to_owned(), 60),
        VkError::Call {
            call: "vkCreateDevice",
            result: Code::ERROR_INITIALIZATION_FAILED,
        },
    ];
    let examples = complete!(
        VkError,
        errors,
        [
            Loader,
            NoDevice,
            Unsupported,
            OutOfMemory,
            Pipeline,
            DriverDied,
            Lost,
            Hazard,
            Timeout,
            Call
        ]
    );
    golden("device", examples);
}

#[test]
fn memory() {
    let errors = vec![
        MemoryError::OverBudget {
            needed_bytes: 9 << 30,
            cap_bytes: 7 << 30,
            largest: "model/sh[0] (1.0 GiB), step/keys (0.5 GiB)".to_owned(),
        },
        MemoryError::TooLarge {
            tensor: "step/keys".to_owned(),
            tag: Tag::Intersections,
            bytes: 5 << 30,
            limit: "storage-buffer binding",
            limit_bytes: 4 << 30,
        },
        MemoryError::NotAsPlanned {
            block: "block 2 (arena)".to_owned(),
            planned_bytes: 1 << 20,
            requested_bytes: (1 << 20) + 256,
        },
        MemoryError::OutOfRange {
            tensor: "ring/status".to_owned(),
            offset: 64,
            bytes: 128,
        },
        MemoryError::Overrun {
            tensor: "records/order".to_owned(),
            side: "behind",
            distance: 4,
            found: 0x3f80_0000,
            count: 3,
        },
        MemoryError::Vulkan(VkError::Lost {
            during: "step".to_owned(),
        }),
    ];
    let examples = complete!(
        MemoryError,
        errors,
        [OverBudget, TooLarge, NotAsPlanned, OutOfRange, Overrun, Vulkan]
    );
    golden("memory", examples);
}
