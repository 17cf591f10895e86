// Which set of kernels a name stands for.
#include "core/kernels/cpu_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "every_cpu_backend.h"
#include "neuroshard/error.h"
#include "random_tasks.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;

class CpuKernelsByName : public testing::EveryCpuBackend {};

TEST_P(CpuKernelsByName, IsTheOneThatRuns) {
  EXPECT_EQ(select_cpu_kernels(GetParam()).name, GetParam());
  EXPECT_EQ(make_cpu_backend(testing::random_models(1), {.name = GetParam()})->name(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Cpu, CpuKernelsByName, ::testing::ValuesIn(cpu_backends()));

TEST(CpuKernels, ThoseThatTheCpuLacksAreRefused) {
  for (const CpuKernels* kernels : all_cpu_kernels()) {
    if (kernels->supported()) continue;
    try {
      (void)select_cpu_kernels(kernels->name);
      ADD_FAILURE() << kernels->name;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBackend);
      EXPECT_THAT(error.what(), HasSubstr("cannot run on this CPU"));
    }
  }
}

TEST(CpuKernels, UnknownNamesAreAnsweredWithAllThatThereAre) {
  try {
    (void)select_cpu_kernels("sse");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidInput);
    for (const std::string& name : cpu_backends()) EXPECT_THAT(error.what(), HasSubstr(name));
  }
}

TEST(CpuKernels, OfAvx512AreTakenWhereTheyAreFast) {
  const std::vector<std::string> available = available_cpu_backends();
  if (std::ranges::find(available, "avx512") == available.end()) GTEST_SKIP() << "no AVX-512";
  std::ifstream file("/proc/cpuinfo");
  const std::string cpuinfo{std::istreambuf_iterator<char>(file), {}};
  const bool fast = cpuinfo.find(" avx512_vbmi2") != std::string::npos;
  EXPECT_EQ(select_cpu_kernels("auto").name, fast ? "avx512" : "avx2");
}

TEST(CpuKernels, AutoIsTheFirstAvailableOne) {
  EXPECT_EQ(available_cpu_backends().front(), select_cpu_kernels("auto").name);
}

}  // namespace
}  // namespace neuroshard
