#include "bench/machine/proc_files.h"

#include <gtest/gtest.h>

#include <vector>

namespace neuroshard::bench {
namespace {

constexpr const char* kCpuinfo =
    "processor\t: 0\nmodel name\t: Some CPU @ 2.5GHz\ncpu MHz\t\t: 2595.124\nflags\t\t: fpu sse2 "
    "avx2 "
    "fma avx\n\nprocessor\t: 1\nmodel name\t: Other\ncpu MHz\t\t: 3421.900\n";

TEST(ProcFiles, FieldIsThatOfTheFirstLineWithTheWholeKey) {
  EXPECT_EQ(field_of(kCpuinfo, "model name"), "Some CPU @ 2.5GHz");
  EXPECT_EQ(field_of(kCpuinfo, "model"), "");
  EXPECT_EQ(field_of("", "model name"), "");
  EXPECT_EQ(field_of("a: 1", "a"), "1");
  EXPECT_EQ(field_of("a:\nb: 2", "a"), "");
}

TEST(ProcFiles, ClocksOfAllCores) {
  EXPECT_EQ(clocks_of(kCpuinfo), "2595-3421 MHz");
  EXPECT_EQ(clocks_of("cpu MHz : 2000.0\n"), "2000 MHz");
  EXPECT_EQ(clocks_of("nothing\n"), "");
}

TEST(ProcFiles, FlagsAreWholeWords) {
  EXPECT_EQ(arithmetic_flags("fpu sse2 avx2 fma avx"), "avx avx2 fma");
  EXPECT_EQ(arithmetic_flags("xavx2 fma4"), "");
}

TEST(ProcFiles, PeakMemoryInBytes) {
  EXPECT_EQ(peak_resident_bytes("Name:\tx\nVmHWM:\t    1234 kB\n"), 1234 * 1024);
  EXPECT_EQ(peak_resident_bytes("Name:\tx\n"), std::nullopt);
  EXPECT_EQ(peak_resident_bytes("VmHWM:\t12\n"), std::nullopt);
}

TEST(ProcFiles, PeakMemoryOfThisProcessGrowsWithWhatItTouches) {
  const auto before = peak_resident_bytes();
  if (!before) GTEST_SKIP() << "no /proc here";
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  std::vector<char> touched(kBytes);
  // Volatile, or clang finds out that nobody needs the memory.
  volatile char* bytes = touched.data();
  for (std::size_t i = 0; i < kBytes; i += 1024) bytes[i] = 'x';
  EXPECT_GE(*peak_resident_bytes(), static_cast<std::int64_t>(kBytes));
  EXPECT_GE(*peak_resident_bytes(), *before);
  EXPECT_EQ(bytes[0], 'x');
}

TEST(ProcFiles, MissingFileIsEmpty) { EXPECT_EQ(contents_if_readable("/proc/no such file"), ""); }

}  // namespace
}  // namespace neuroshard::bench
