"""Links and speeds of a TorchRec topology, as tasks have them."""

from torchrec.distributed.planner.constants import CROSS_NODE_BANDWIDTH, HBM_MEM_BW, INTRA_NODE_BANDWIDTH
from torchrec.distributed.planner.types import CollectiveType, Topology

from neuroshard._core import (
    LEAST_GB_PER_SECOND,
    LEAST_SPEED,
    MOST_GB_PER_SECOND,
    MOST_SPEED,
    HostMemory,
    NodeLinks,
    Weights,
)
from neuroshard.errors import Error

GB_S_OF_BYTES_PER_MS = 1e-6

SAME_SPEED = 0.01


def links_of(topology: Topology) -> NodeLinks | None:
    """Bandwidths that are not TorchRec's defaults, which stand for no hardware; None: all are."""
    node = min(topology.intra_group_size, topology.world_size)
    bandwidths = topology.comms_bandwidths
    in_node = bandwidths.get_bw(node, node, CollectiveType.ALL_TO_ALL)
    between = topology.inter_host_bw
    if node < topology.world_size:
        between = bandwidths.get_bw(node, topology.world_size, CollectiveType.ALL_TO_ALL)
    given: dict[str, float] = {}
    for name, setting, bytes_per_ms, usual in (
        ("in_node_gb_s", "intra_host_bw", in_node, INTRA_NODE_BANDWIDTH),
        ("between_nodes_gb_s", "inter_host_bw", between, CROSS_NODE_BANDWIDTH),
    ):
        if bytes_per_ms == usual:
            continue
        given[name] = bytes_per_ms * GB_S_OF_BYTES_PER_MS
        if not LEAST_GB_PER_SECOND <= given[name] <= MOST_GB_PER_SECOND:
            raise Error(
                f"topology: {setting} is {bytes_per_ms:g} bytes/ms; give bytes per millisecond, "
                f"{LEAST_GB_PER_SECOND / GB_S_OF_BYTES_PER_MS:g} to {MOST_GB_PER_SECOND / GB_S_OF_BYTES_PER_MS:g}"
            )
    if not given:
        return None
    return NodeLinks(
        in_node_gb_s=given.get("in_node_gb_s", 0.0), between_nodes_gb_s=given.get("between_nodes_gb_s", 0.0)
    )


def host_memory_of(topology: Topology, *, prefetch: bool, ssd: bool = False) -> HostMemory | None:
    """Host memory of a rank, and its `ssd` beside it, with TorchRec's bandwidths; None: the ranks compute in host memory,
    or lack it or the SSD."""
    host_bytes = min(device.storage.ddr for device in topology.devices)
    ssd_bytes = min(device.storage.ssd for device in topology.devices) if ssd else 0
    if topology.compute_device == "cpu" or host_bytes <= 0 or (ssd and ssd_bytes <= 0):
        return None
    return HostMemory(
        host_bytes,
        topology.hbm_to_ddr_mem_bw * GB_S_OF_BYTES_PER_MS,
        prefetch=prefetch,
        ssd_bytes=ssd_bytes,
        ssd_gb_s=topology.ssd_mem_bw * GB_S_OF_BYTES_PER_MS if ssd else 0.0,
    )


def speed_of(topology: Topology, weights: Weights) -> float | None:
    """By how much memory is faster than that of the hardware of `weights`; 1 if the topology has TorchRec's default.
    None: it has not, and there is no datasheet to compare with."""
    if topology.hbm_mem_bw == HBM_MEM_BW:
        return 1.0
    if weights.memory_gb_s is None:
        return None
    speed = float(topology.hbm_mem_bw * GB_S_OF_BYTES_PER_MS / weights.memory_gb_s)
    if not LEAST_SPEED <= speed <= MOST_SPEED:
        raise Error(
            f"topology: hbm_mem_bw is {topology.hbm_mem_bw:g} bytes/ms, {speed:g} times that of the weights' hardware; "
            "give bytes per millisecond, or weights= of hardware that is more alike"
        )
    # Datasheets are rounded, and equal devices are planned best.
    return 1.0 if abs(speed - 1.0) < SAME_SPEED else speed
