#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "tools/python/bindings/bindings.h"
#include "weights/lookups/access_stream.h"

namespace neuroshard::python {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;

using Integers = nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>;

Integers array_of(std::vector<std::int64_t> values) {
  auto* owned = new std::vector<std::int64_t>(std::move(values));
  const nb::capsule owner(
      owned, [](void* vector) noexcept { delete static_cast<std::vector<std::int64_t>*>(vector); });
  return Integers(owned->data(), {owned->size()}, owner);
}

std::pair<Integers, Integers> draw_lookups(const Table& table, std::int64_t batch_size, int bags,
                                           std::uint64_t seed, std::uint64_t stream) {
  Table summed = table;
  summed.features = 1.0;
  summed.pooling = Pooling::kSum;
  summed.weighted = false;
  AccessStream lookups;
  {
    const nb::gil_scoped_release released;
    Random random(seed, stream);
    const std::vector<std::uint32_t> touches = plan_touches(summed, batch_size, random);
    lookups = make_stream(summed, touches, batch_size * bags, random);
  }
  return {array_of(std::move(lookups.indices)), array_of(std::move(lookups.offsets))};
}

}  // namespace

void bind_lookups(nb::module_& module) {
  module.def("draw_lookups", &draw_lookups, "table"_a, "batch_size"_a, nb::kw_only(), "bags"_a = 1,
             "seed"_a = 0, "stream"_a = 0,
             "Row ids that a batch looks up in `table`, with its access histogram, and offsets: "
             "bag i has ids[offsets[i]:offsets[i + 1]]. Each sample has so many `bags`, as many as "
             "features read the table; each lookup is in a random one. Seed and stream decide "
             "what is drawn. Raises Error at 2^32 lookups or more.");
}

}  // namespace neuroshard::python
