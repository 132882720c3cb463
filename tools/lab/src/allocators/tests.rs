//! Sparse binding against a driver that keeps books.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use super::*;
use kiln::memory::{BlockRounding, MIB, Plan, PlanLimits};
use kiln::program::{Tag, TensorTable};

const PAGE: u64 = 1 << 16;

fn open(heap_bytes: u64) -> (SimulatedDriver, Sparse<SimulatedDriver>, TensorTable) {
    let mut table = TensorTable::default();
    // Four rows of 20 pages and a bit, so that rows share pages.
    table.add("model/sh[0]", Class::Persistent, Tag::Parameters, 4 * (20 * PAGE + 256));
    table.add("images/target", Class::Images, Tag::Images, MIB);
    let driver = SimulatedDriver::new(heap_bytes, 1 << 30, BlockRounding::NONE);
    let limits = PlanLimits {
        block_bytes: 1 << 30,
        binding_bytes: u64::MAX,
        rounding: BlockRounding::NONE,
    };
    let plan = Plan::new(&table, &[], limits).unwrap();
    let sparse = Sparse::commit(driver.clone(), &table, &plan).unwrap();
    (driver, sparse, table)
}

fn request(table: &TensorTable, used_bytes: u64) -> Request<'_> {
    Request {
        rows: Some(Rows {
            rows: 4,
            row_bytes: 20 * PAGE + 256,
            used_bytes,
        }),
        ..Request::whole(0, &table.tensors()[0])
    }
}

#[test]
fn pages_are_bound_under_every_row_as_it_fills_and_unbound_as_it_empties() {
    let (driver, mut sparse, table) = open(u64::MAX);
    let handle = sparse.allocate(&request(&table, PAGE)).unwrap();
    let space = sparse.range(handle).unwrap().block;
    let row = 20 * PAGE + 256;
    for used in [PAGE, 5 * PAGE + 1, 20 * PAGE, 3 * PAGE, 0, 20 * PAGE + 256, 1] {
        sparse.resize(handle, &request(&table, used)).unwrap();
        for page in 0..(4 * row).div_ceil(PAGE) {
            let (start, end) = (page * PAGE, (page + 1) * PAGE);
            let inside = |k: u64| k * row < end && start < k * row + used;
            let wanted = used > 0 && (0..4).any(inside);
            assert_eq!(
                driver.is_bound(space, page),
                wanted,
                "page {page} with {used} bytes a row"
            );
        }
        let reserved = driver.stats().reserved_bytes - MIB;
        assert!(reserved >= driver.bound_bytes(space), "more pages are bound than taken");
        assert!(
            reserved < driver.bound_bytes(space) + 16 * MIB,
            "pages are kept: {reserved}"
        );
    }
    sparse.free(handle);
    assert_eq!(driver.stats().reserved_bytes, MIB, "only the planned block is left");
}

#[test]
fn pages_of_two_tensors_are_never_the_same() {
    let (driver, mut sparse, table) = open(u64::MAX);
    let handles: Vec<Handle> = (0..3)
        .map(|_| sparse.allocate(&request(&table, PAGE)).unwrap())
        .collect();
    for (turn, handle) in (0..60u64).zip(handles.iter().cycle()) {
        sparse
            .resize(*handle, &request(&table, turn * 7919 % (20 * PAGE)))
            .unwrap();
        let pages = driver.bound_pages();
        let mut unique = pages.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), pages.len(), "a page is bound twice");
    }
}

#[test]
fn a_full_heap_leaves_bindings_as_they_were() {
    let (driver, mut sparse, table) = open(3 * MIB + 3 * PAGE);
    let handle = sparse.allocate(&request(&table, PAGE)).unwrap();
    let before = driver.bound_pages();
    assert!(matches!(
        sparse.resize(handle, &request(&table, 20 * PAGE)),
        Err(Refused::Heap { .. })
    ));
    assert_eq!(driver.bound_pages(), before);
    assert!(sparse.resize(handle, &request(&table, 2 * PAGE)).is_ok());
}

#[test]
fn what_is_not_persistent_lies_as_planned() {
    let (_, mut sparse, table) = open(u64::MAX);
    let target = Request::whole(1, &table.tensors()[1]);
    let handle = sparse.allocate(&target).unwrap();
    let range = sparse.range(handle).unwrap();
    assert_eq!((range.offset, range.bytes), (0, MIB));
    assert!(
        sparse
            .allocate(&Request {
                bytes: 2 * MIB,
                ..target
            })
            .is_err()
    );
}
