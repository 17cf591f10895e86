#include "core/base/nearest_name.h"

#include <algorithm>
#include <vector>

#include "core/base/count_up.h"

namespace neuroshard {
namespace {

/// Optimal string alignment distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> two_up(b.size() + 1);
  std::vector<std::size_t> up = count_up<std::size_t>(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({up[j] + 1, row[j - 1] + 1, up[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], two_up[j - 2] + 1);
      }
    }
    std::swap(two_up, up);
    std::swap(up, row);
  }
  return up[b.size()];
}

}  // namespace

std::string_view nearest_name(std::string_view typed, std::span<const std::string> names) {
  constexpr std::size_t kLongestTyped = 100;
  if (typed.size() > kLongestTyped) return {};
  std::size_t least = std::max<std::size_t>(1, typed.size() / 3) + 1;
  std::string_view nearest;
  for (const std::string& name : names) {
    const std::size_t changes = distance(typed, name);
    if (changes >= least || changes >= name.size()) continue;
    least = changes;
    nearest = name;
  }
  return nearest;
}

}  // namespace neuroshard
