//! Values that a thread finds when it starts: its index, the sizes of blocks and grids, the windows of memory.

use super::Space;
use super::vocabulary::vocabulary;

vocabulary! {
    /// A dimension of blocks and grids.
    Axis {
        /// The first one.
        X "x",
        /// The second one.
        Y "y",
        /// The third one.
        Z "z",
    }
}

vocabulary! {
    /// Which lanes a mask contains, compared with the thread's own lane.
    LaneRelation {
        /// The same lane.
        Equal "equal",
        /// Lanes with smaller numbers.
        Less "less",
        /// The same lane, and lanes with smaller numbers.
        LessEqual "less_equal",
        /// Lanes with larger numbers.
        Greater "greater",
        /// The same lane, and lanes with larger numbers.
        GreaterEqual "greater_equal",
    }
}

vocabulary! {
    /// A special value.
    Special {
        /// The index of the thread in its block.
        ThreadIndex(axis: Axis) "thread_index",
        /// The index of the block in the grid.
        BlockIndex(axis: Axis) "block_index",
        /// The number of threads of a block.
        BlockSize(axis: Axis) "block_size",
        /// The number of blocks of the grid.
        GridSize(axis: Axis) "grid_size",
        /// The number of the thread in its warp.
        Lane "lane",
        /// A set of lanes of the warp.
        LaneMask(relation: LaneRelation) "lane_mask",
        /// The start of shared memory in the generic address space; with 64 bits, as a pointer.
        SharedWindow "shared_window",
        /// The start of local memory in the generic address space; with 64 bits, as a pointer.
        LocalWindow "local_window",
        /// The start of constant bank 3 in the generic address space, a pointer.
        ConstantWindow "constant_window",
        /// The number of the multiprocessor, warp and lane.
        VirtualId "virtual_id",
        /// The sizes of the parts of [`Self::VirtualId`].
        VirtualConfiguration "virtual_configuration",
    }
}

impl Special {
    /// Returns whether it is small enough that its sign does not matter: indices and sizes of blocks and grids.
    pub fn is_small(self) -> bool {
        matches!(self, Self::ThreadIndex(_) | Self::BlockIndex(_) | Self::BlockSize(_) | Self::GridSize(_))
    }

    /// Returns the bits that may be set, where a block has at most 1024 threads; `None` if all may.
    pub fn most(self) -> Option<u64> {
        Some(match self {
            Self::ThreadIndex(_) => 0x3ff,
            Self::BlockSize(_) => 0x7ff,
            Self::BlockIndex(_) | Self::GridSize(_) => 0x7fff_ffff,
            Self::Lane => 0x1f,
            _ => return None,
        })
    }

    /// Returns the memory of which it is the start in the generic address space.
    pub fn window(self) -> Option<Space> {
        match self {
            Self::SharedWindow => Some(Space::Shared),
            Self::LocalWindow => Some(Space::Local),
            _ => None,
        }
    }
}
