#include "weights/lookups/recency_order.h"

namespace neuroshard {
namespace {

constexpr std::uint32_t lowest_bit(std::uint32_t number) { return number & (0U - number); }

}  // namespace

RecencyOrder::Place RecencyOrder::append() {
  add(++last_, 1);
  ++rows_;
  return last_;
}

void RecencyOrder::remove(Place place) {
  add(place, 0U - 1U);
  --rows_;
}

void RecencyOrder::compact(std::uint32_t more) {
  tree_.assign(std::size_t{1} + rows_ + more, 0);
  for (Place place = 1; place < tree_.size(); ++place) {
    tree_[place] += place <= rows_ ? 1 : 0;
    const Place next = place + lowest_bit(place);
    if (next < tree_.size()) tree_[next] += tree_[place];
  }
  last_ = rows_;
}

void RecencyOrder::clear() {
  tree_.clear();
  last_ = 0;
  rows_ = 0;
}

std::uint32_t RecencyOrder::up_to(Place place) const {
  std::uint32_t count = 0;
  for (; place > 0; place -= lowest_bit(place)) count += tree_[place];
  return count;
}

void RecencyOrder::add(Place place, std::uint32_t change) {
  for (; place < tree_.size(); place += lowest_bit(place)) tree_[place] += change;
}

}  // namespace neuroshard
