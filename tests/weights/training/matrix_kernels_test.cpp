#include "weights/training/matrix_kernels.h"

#include <gtest/gtest.h>

#include "core/base/random.h"

namespace neuroshard::training {
namespace {

std::vector<float> random_values(std::size_t count, Random& random) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(2.0 * random.uniform() - 1.0);
  return values;
}

// Every shape of tile, with and without start values, A as it is and transposed.
void expect_same_bits(int rows, int columns, int depth) {
  Random random(static_cast<std::uint64_t>(rows * 10000 + columns * 100 + depth));
  const auto a = random_values(static_cast<std::size_t>(rows * depth), random);
  const auto b = random_values(static_cast<std::size_t>(depth * columns), random);
  const auto start = random_values(static_cast<std::size_t>(columns), random);
  for (const bool transposed : {false, true}) {
    for (const float* from : {start.data(), static_cast<const float*>(nullptr)}) {
      const auto multiply = [&](const MatrixKernels& kernels) {
        std::vector<float> c(static_cast<std::size_t>(rows * columns), -7.0F);
        kernels.multiply({.rows = rows,
                          .columns = columns,
                          .depth = depth,
                          .a = a.data(),
                          .a_row = transposed ? 1 : depth,
                          .a_column = transposed ? rows : 1,
                          .b = b.data(),
                          .b_row = columns,
                          .c = c.data(),
                          .c_row = columns,
                          .start = from});
        return c;
      };
      const std::vector<float> reference = multiply(*all_matrix_kernels().back());
      for (const MatrixKernels* kernels : all_matrix_kernels()) {
        if (!kernels->supported()) continue;
        SCOPED_TRACE(kernels->name);
        EXPECT_EQ(multiply(*kernels), reference);
      }
      for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < columns; ++j) {
          double sum = from != nullptr ? from[j] : 0.0;
          for (int k = 0; k < depth; ++k) {
            sum += static_cast<double>(a[transposed ? k * rows + i : i * depth + k]) *
                   b[k * columns + j];
          }
          ASSERT_NEAR(reference[i * columns + j], sum, 1e-4) << i << ", " << j;
        }
      }
    }
  }
}

TEST(MatrixKernels, AllGiveTheSameBits) {
  for (const int rows : {1, 2, 3, 4, 5, 6, 7, 12, 29}) {
    for (const int columns : {8, 16, 24, 40}) {
      for (const int depth : {1, 5, 64}) {
        SCOPED_TRACE(::testing::Message() << rows << " x " << columns << " x " << depth);
        expect_same_bits(rows, columns, depth);
      }
    }
  }
}

TEST(MatrixKernels, ThePortableOneIsLastAndAlwaysThere) {
  EXPECT_EQ(all_matrix_kernels().back()->name, "portable");
  EXPECT_TRUE(all_matrix_kernels().back()->supported());
}

}  // namespace
}  // namespace neuroshard::training
