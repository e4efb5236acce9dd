// Every version of the inner loops that this processor runs, against plain loops in double.
#include "portable/tile_loops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace ffpa_jit::portable {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct alignas(64) Line {
  float x[16];
};

// 64-byte aligned floats, small integers: products and sums are exact in fp32.
class Matrix {
 public:
  Matrix(int rows, int row_length, std::mt19937& random) : lines_((rows * row_length + 15) / 16) {
    for (Line& line : lines_) {
      for (float& x : line.x) x = static_cast<float>(static_cast<int>(random() % 17) - 8);
    }
  }
  float* data() { return lines_.data()->x; }

 private:
  std::vector<Line> lines_;
};

class TileLoopsTest : public testing::TestWithParam<int> {
 protected:
  const TileLoops& loops() const {
    static const TileLoopsList list = available_tile_loops();
    return list.items[GetParam()].loops;
  }
};

TEST_P(TileLoopsTest, GemmIsExactOnSmallIntegers) {
  std::mt19937 random(7);
  for (int m : {4, 8, 64}) {
    for (int n : {32, 64, 160}) {
      for (int k : {1, 3, 64, 77}) {
        for (bool accumulate : {false, true}) {
          const int lda = k + 1, ldb = n + 16, ldc = n + 32;
          Matrix a(m, lda, random), b(k, ldb, random), c(m, ldc, random);
          const std::vector<float> before(c.data(), c.data() + m * ldc);
          loops().gemm(a.data(), lda, b.data(), ldb, c.data(), ldc, m, n, k, accumulate);
          for (int i = 0; i < m; ++i) {
            for (int j = 0; j < ldc; ++j) {
              double expected = j < n && !accumulate ? 0 : before[i * ldc + j];
              for (int x = 0; x < k && j < n; ++x)
                expected += a.data()[i * lda + x] * b.data()[x * ldb + j];
              ASSERT_EQ(c.data()[i * ldc + j], expected)
                  << m << " " << n << " " << k << " at " << i << "," << j;
            }
          }
        }
      }
    }
  }
}

TEST_P(TileLoopsTest, ExpRowIsAccurate) {
  std::mt19937 random(8);
  Line row[4];
  for (float range : {0.0f, 1e-3f, 1.0f, 20.0f, 84.0f}) {
    const float max = 3.25f;
    float in[64];
    double expected_sum = 0;
    for (int i = 0; i < 64; ++i) {
      in[i] = row[i / 16].x[i % 16] = max - range * static_cast<float>(random() % 10001) / 10000.0f;
    }
    const float sum = loops().exp_row(row[0].x, 64, max);
    for (int i = 0; i < 64; ++i) {
      const double expected = std::exp(static_cast<double>(in[i] - max));
      expected_sum += expected;
      EXPECT_NEAR(row[i / 16].x[i % 16] / expected, 1.0, 2e-7) << in[i] - max;
    }
    EXPECT_NEAR(sum / expected_sum, 1.0, 1e-6);
  }
}

TEST_P(TileLoopsTest, ExpRowAtTheEdges) {
  Line row[1];
  std::fill_n(row[0].x, 16, -kInfinity);
  row[0].x[3] = 5.0f;
  row[0].x[4] = 5.0f - 200.0f;
  row[0].x[5] = std::numeric_limits<float>::lowest();
  EXPECT_EQ(loops().exp_row(row[0].x, 16, 5.0f), 1.0f);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(row[0].x[i], i == 3 ? 1.0f : 0.0f);

  row[0].x[0] = std::nanf("");
  EXPECT_TRUE(std::isnan(loops().exp_row(row[0].x, 16, 5.0f)));
  EXPECT_TRUE(std::isnan(row[0].x[0]));
}

INSTANTIATE_TEST_SUITE_P(Versions, TileLoopsTest, testing::Range(0, available_tile_loops().count),
                         [](const auto& info) {
                           return available_tile_loops().items[info.param].name;
                         });

}  // namespace
}  // namespace ffpa_jit::portable
