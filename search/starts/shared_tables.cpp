#include "search/starts/shared_tables.h"

#include <algorithm>
#include <utility>

#include "core/tables/table_rules.h"

namespace neuroshard {

std::vector<SharedTable> shared_tables(const PieceCatalog& catalog, const Task& task) {
  std::vector<SharedTable> tables;
  for (std::uint32_t t = 0; t < catalog.tables(); ++t) {
    SharedTable shared;
    shared.table = t;
    shared.most_slices = catalog.most_slices(t);
    const std::vector<bool> allowed = allowed_devices(task.tables[t].rules, task);
    for (std::uint32_t device = 0; device < allowed.size(); ++device) {
      if (allowed[device]) shared.devices.push_back(device);
    }
    shared.unit = catalog.whole(t);
    shared.bytes.push_back(catalog.size_bytes(shared.unit));
    while (catalog.can_split(shared.unit)) {
      shared.unit = catalog.half(shared.unit);
      shared.bytes.insert(shared.bytes.begin(), catalog.size_bytes(shared.unit));
    }
    shared.units = static_cast<std::uint32_t>(catalog.slices(t, shared.unit));
    shared.least_unit_bytes = shared.bytes.back() / shared.units;
    tables.push_back(std::move(shared));
  }
  std::stable_sort(tables.begin(), tables.end(), [&](const SharedTable& a, const SharedTable& b) {
    if (a.devices.size() != b.devices.size()) return a.devices.size() < b.devices.size();
    return catalog.size_bytes(catalog.whole(a.table)) > catalog.size_bytes(catalog.whole(b.table));
  });
  return tables;
}

Layout layout_of(const std::vector<SharedTable>& tables, const Sharing& sharing) {
  Layout layout;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    for (std::size_t d = 0; d < tables[t].devices.size(); ++d) {
      std::uint32_t piece = tables[t].unit;
      for (std::uint32_t units = sharing[t][d]; units != 0; units /= 2, --piece) {
        if (units % 2 != 0) layout.push_back({piece, tables[t].table, tables[t].devices[d]});
      }
    }
  }
  sort_layout(layout);
  return layout;
}

TakenDevices::TakenDevices(const ApartTables& apart, std::size_t tables, std::size_t devices)
    : words_((apart.groups() + 63) / 64), taken_(words_ * devices, 0), masks_(words_ * tables, 0) {
  for (std::size_t table = 0; table * words_ < masks_.size(); ++table) {
    for (const std::uint32_t group : apart.groups_of(table)) {
      masks_[table * words_ + group / 64] |= std::uint64_t{1} << (group % 64);
    }
  }
}

}  // namespace neuroshard
