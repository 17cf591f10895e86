#pragma once

namespace neuroshard::bench {

/// Clock of the core that runs this, in GHz, as it is under load: from a chain of additions, each
/// of which takes one cycle and waits for the one before. /proc/cpuinfo often says something else,
/// above all in a virtual machine. 0 where it cannot be told (only x86-64 has been taught).
/// Takes a tenth of a second.
[[nodiscard]] double measured_clock_ghz();

}  // namespace neuroshard::bench
