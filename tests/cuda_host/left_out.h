#pragma once

namespace host_cuda {

/// Whether what orders threads at this line is to be left out (leave_out()). Notes that it was
/// reached.
[[nodiscard]] bool left_out(const char* file, int line);

}  // namespace host_cuda
