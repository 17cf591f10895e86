#include "weights/collection/ranks/rank_cpus.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>

namespace neuroshard::ranks {
namespace {

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  std::vector<int> cpus;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

bool run_on(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  return ::sched_setaffinity(0, sizeof set, &set) == 0;
}

// Package and core; where the system does not say, each CPU is a core.
std::pair<int, int> core_of(int cpu) {
  const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
  std::ifstream package_file(folder + "physical_package_id");
  std::ifstream core_file(folder + "core_id");
  int package = 0;
  int core = 0;
  if (package_file >> package && core_file >> core) return {package, core};
  return {-1, cpu};
}

}  // namespace

std::vector<int> cpus_of_rank(const std::vector<int>& cpus, const std::vector<int>& cores, int rank,
                              int size) {
  std::vector<std::size_t> first_of_core;  // Positions in `cpus`, and the end.
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    if (i == 0 || cores[i] != cores[i - 1]) first_of_core.push_back(i);
  }
  const auto ranks = static_cast<std::size_t>(size);
  const bool whole_cores = first_of_core.size() >= ranks;
  const std::size_t units = whole_cores ? first_of_core.size() : cpus.size();
  first_of_core.push_back(cpus.size());
  const auto place = [&](std::size_t part) {
    const std::size_t unit = units / ranks * part;
    return static_cast<std::ptrdiff_t>(whole_cores ? first_of_core[unit] : unit);
  };
  const auto own = static_cast<std::size_t>(rank);
  return {cpus.begin() + place(own), cpus.begin() + place(own + 1)};
}

RankCpus::RankCpus(int rank, int size) {
  const std::vector<int> all = allowed_cpus();
  std::vector<std::pair<std::pair<int, int>, int>> sorted;
  sorted.reserve(all.size());
  for (const int cpu : all) sorted.push_back({core_of(cpu), cpu});
  std::ranges::sort(sorted);
  std::vector<int> cpus;
  std::vector<int> cores;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const bool same = i > 0 && sorted[i].first == sorted[i - 1].first;
    cpus.push_back(sorted[i].second);
    cores.push_back(i == 0 ? 0 : cores.back() + (same ? 0 : 1));
  }
  const std::vector<int> own = cpus_of_rank(cpus, cores, rank, size);
  if (own.empty() || own.size() == all.size()) return;
  if (run_on(own)) before_ = all;
}

RankCpus::~RankCpus() {
  if (!before_.empty()) (void)run_on(before_);
}

}  // namespace neuroshard::ranks
