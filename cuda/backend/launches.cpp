#include "cuda/backend/launches.h"

#include "cuda/device/current_device.h"

namespace neuroshard::gpu {

Launches::Launches(const DeviceContext& context)
    : context_(context), workspace_([&] {
        const CurrentDevice current(context.device());
        return context.borrow_workspace();
      }()) {}

}  // namespace neuroshard::gpu
