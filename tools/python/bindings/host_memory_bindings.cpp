#include <nanobind/nanobind.h>
#include <nanobind/operators.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "core/tables/host_memory_fields.h"
#include "neuroshard/error.h"
#include "neuroshard/host_memory.h"
#include "neuroshard/task.h"
#include "tools/python/bindings/bindings.h"

namespace neuroshard::python {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;

/// The library speaks of GiB, as files do.
void require_bytes(const char* argument, std::int64_t bytes) {
  if (bytes >= 0 && bytes <= kMaxTaskBytes) return;
  throw Error(std::string("host memory: ") + argument + " is " + std::to_string(bytes) +
              "; give 0 to 2^60 bytes");
}

HostMemory checked_host_memory(const HostMemory& host) {
  require_bytes("bytes", host.bytes);
  require_bytes("ssd_bytes", host.ssd_bytes);
  if (host.ssd_bytes == 0 && host.ssd_gb_s != 0.0) {
    throw Error("host memory: ssd_gb_s is stated, but no ssd_bytes; give both, or neither");
  }
  if (const auto problem = host_memory_problem_of(host)) throw Error("host memory: " + *problem);
  return host;
}

}  // namespace

void bind_host_memory(nb::module_& module) {
  nb::class_<HostMemory>(module, "HostMemory",
                         "Memory of the host beside HBM, for tables that are larger than all HBM.")
      .def(
          "__init__",
          [](HostMemory* self, std::int64_t bytes, double link_gb_s, std::string_view policy,
             bool prefetch, bool of_node, std::int64_t ssd_bytes, double ssd_gb_s) {
            new (self) HostMemory(checked_host_memory({.bytes = bytes,
                                                       .link_gb_s = link_gb_s,
                                                       .policy = host_policy_from_name(policy),
                                                       .prefetch = prefetch,
                                                       .of_node = of_node,
                                                       .ssd_bytes = ssd_bytes,
                                                       .ssd_gb_s = ssd_gb_s}));
          },
          "bytes"_a, "link_gb_s"_a, nb::kw_only(), "policy"_a = "lru", "prefetch"_a = false,
          "of_node"_a = false, "ssd_bytes"_a = 0, "ssd_gb_s"_a = 0.0,
          "`bytes`: for each device, or with `of_node` for each node, whose devices share it. "
          "`link_gb_s`: GB/s (1e9 bytes) between a device and its host in each direction, as "
          "reached. `policy`: \"lru\", a cache in HBM keeps the rows that were "
          "looked up last, as FBGEMM's does; or \"static\", the most popular rows are in HBM for "
          "good, as RecShard has it. `prefetch`: rows are fetched behind the iteration before, as "
          "TorchRec's PrefetchTrainPipelineSparseDist does. `ssd_bytes`, `ssd_gb_s`: an SSD for "
          "each "
          "device, for rows that the host has no room for, and GB/s of its reads and writes.")
      .def_ro("bytes", &HostMemory::bytes)
      .def_ro("link_gb_s", &HostMemory::link_gb_s)
      .def_prop_ro("policy",
                   [](const HostMemory& host) { return std::string(name_of(host.policy)); })
      .def_ro("prefetch", &HostMemory::prefetch)
      .def_ro("of_node", &HostMemory::of_node)
      .def_ro("ssd_bytes", &HostMemory::ssd_bytes)
      .def_ro("ssd_gb_s", &HostMemory::ssd_gb_s)
      .def(nb::self == nb::self, nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__repr__",
           [](const HostMemory& host) { return "HostMemory(" + host_memory_text(host) + ")"; });
}

}  // namespace neuroshard::python
