#include "weights/lookups/sessions.h"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <string>

#include "core/base/count_up.h"
#include "core/base/message_text.h"
#include "neuroshard/error.h"
#include "weights/lookups/integer_stream.h"
#include "weights/lookups/npy_header.h"
#include "weights/lookups/sequential_file.h"

namespace neuroshard {

std::vector<std::int64_t> open_npy_sessions(const std::filesystem::path& path,
                                            std::int64_t samples) {
  SequentialFile file(path);
  const NpyHeader header = read_npy_header(file);
  if (header.shape.size() != 1 || header.shape[0] != samples) {
    throw Error(file.name() + ": sessions are [" + joined(header.shape) +
                "]; give one for each of the " + std::to_string(samples) + " samples");
  }
  file.require(samples, header.element_bytes, "sessions");
  std::vector<std::int64_t> sessions(static_cast<std::size_t>(samples));
  std::vector<std::int32_t> narrow;
  read_integers(file, header.element_bytes, sessions, narrow);
  return sessions;
}

AccessStream distinct_samples(const AccessStream& batch, std::span<const std::int64_t> sessions) {
  const auto lookups_of = [&](std::size_t sample) {
    const auto first = static_cast<std::size_t>(batch.offsets[sample]);
    const auto end = static_cast<std::size_t>(batch.offsets[sample + 1]);
    return std::span(batch.indices).subspan(first, end - first);
  };
  const auto compared = [&](std::size_t a, std::size_t b) {
    if (sessions[a] != sessions[b]) return sessions[a] <=> sessions[b];
    const auto of_a = lookups_of(a);
    const auto of_b = lookups_of(b);
    return std::lexicographical_compare_three_way(of_a.begin(), of_a.end(), of_b.begin(),
                                                  of_b.end());
  };
  std::vector<std::size_t> order = count_up<std::size_t>(sessions.size());
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return std::is_lt(compared(a, b)); });
  std::vector<char> is_repeated(sessions.size(), 0);
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (std::is_eq(compared(order[i - 1], order[i]))) is_repeated[order[i]] = 1;
  }
  AccessStream left;
  for (std::size_t sample = 0; sample < sessions.size(); ++sample) {
    if (is_repeated[sample] != 0) continue;
    const auto lookups = lookups_of(sample);
    left.indices.insert(left.indices.end(), lookups.begin(), lookups.end());
    left.offsets.push_back(static_cast<std::int64_t>(left.indices.size()));
  }
  return left;
}

}  // namespace neuroshard
